"""The map of a vault, and the vectors that it is made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg.types.json import Jsonb

from keepstone.store.db import Connection, fetch_one, fetch_rows, fetch_value

ShownStar = tuple[str, str, list[str], datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapState:
    """When it was made, and of how many capsules."""

    made_at: datetime
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Map(MapState):
    points: list[dict[str, Any]]
    clusters: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Placed:
    id: str
    title: str
    beginning: str
    tags: tuple[str, ...]
    changed_at: datetime
    vector: NDArray[np.float32]


async def get(conn: Connection, space: int) -> Map | None:
    return await fetch_one(
        conn,
        Map,
        """
        SELECT made_at, capsules AS size, points, clusters FROM constellations
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"space": space},
    )


async def shown(conn: Connection, space: int) -> dict[str, ShownStar]:
    """Title, kind, tags, date and last change of every capsule that is there, by its id."""
    rows = await fetch_rows(
        conn,
        """
        SELECT m.id, m.title, m.type, m.tags, m.created_at, m.updated_at FROM memories m
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.kind = 'capsule' AND m.deleted_at IS NULL
           AND m.cold_at IS NULL
        """,
        {"space": space},
    )
    return {row[0]: row[1:] for row in rows}


async def state(conn: Connection, space: int) -> MapState | None:
    """Of the map that there is."""
    return await fetch_one(
        conn,
        MapState,
        "SELECT made_at, capsules AS size FROM constellations WHERE account = %(account)s AND space = %(space)s",
        {"space": space},
    )


async def put(
    conn: Connection, space: int, points: Sequence[dict[str, Any]], clusters: Sequence[dict[str, Any]]
) -> None:
    await conn.execute(
        """
        INSERT INTO constellations (account, space, capsules, points, clusters)
        VALUES (%(account)s, %(space)s, %(capsules)s, %(points)s, %(clusters)s)
        ON CONFLICT (account, space)
        DO UPDATE SET made_at = excluded.made_at, capsules = excluded.capsules, points = excluded.points,
                      clusters = excluded.clusters
        """,
        {"space": space, "capsules": len(points), "points": Jsonb(list(points)), "clusters": Jsonb(list(clusters))},
    )


async def sizes(conn: Connection, space: int) -> tuple[int, int, datetime | None]:
    """How many capsules a vault has now, how many are on its map, and when it was made; zeros for what is no vault."""
    rows = await fetch_rows(
        conn,
        """
        SELECT s.memory_count, coalesce(c.capsules, 0), c.made_at
          FROM spaces s LEFT JOIN constellations c USING (account, space)
         WHERE s.account = %(account)s AND s.space = %(space)s AND s.kind = 'vault'
        """,
        {"space": space},
    )
    return rows[0] if rows else (0, 0, None)


async def any_vectors(conn: Connection, space: int) -> bool:
    return await fetch_value(
        conn,
        "SELECT EXISTS (SELECT 1 FROM vectors WHERE account = %(account)s AND space = %(space)s)",
        {"space": space},
    )


async def vectors(conn: Connection, space: int) -> list[Placed]:
    """Every capsule's beginning, in the set that most of them have."""
    rows = await conn.execute(
        """
        WITH largest AS (
            SELECT v.vector_set FROM vectors v JOIN vector_sets s USING (account, vector_set)
             WHERE v.account = %(account)s AND v.space = %(space)s AND s.state = 'serving'
             GROUP BY v.vector_set ORDER BY count(*) DESC, v.vector_set LIMIT 1)
        SELECT m.id, coalesce(m.title, ''), left(m.content, 400), m.tags, m.updated_at, halfvec_send(v.embedding)
          FROM memories m
          JOIN passages p ON p.account = m.account AND p.source_kind = 'memory' AND p.source_id = m.id AND p.part = 0
          JOIN vectors v ON v.account = p.account AND v.space = p.space AND v.passage = p.passage
                        AND v.vector_set = (SELECT vector_set FROM largest)
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.kind = 'capsule' AND m.deleted_at IS NULL
           AND m.cold_at IS NULL
         ORDER BY m.created_at, m.id
        """,
        {"space": space},
        binary=True,
    )
    # As bytes, which begin with the number of dimensions: millions of numbers would keep the event loop for seconds.
    return [
        Placed(name, title, text, tuple(tags), changed, np.frombuffer(vector, ">f2", offset=4).astype(np.float32))
        for name, title, text, tags, changed, vector in await rows.fetchall()
    ]
