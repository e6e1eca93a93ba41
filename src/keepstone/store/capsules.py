"""What is asked of capsules alone: by tag, kind, project and date; their vault, tags and timeline."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import LiteralString

from keepstone.model.capsule import Capsule
from keepstone.model.page import Page, PageRequest
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_dict, fetch_rows, select_row

SHAPE = memories.Shape(kind="capsule", row=Capsule)
_LIVE: LiteralString = f"""
    m.account = %(account)s AND m.space = %(space)s AND m.kind = 'capsule' {memories.LIVE}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapsuleFilter:
    """Which capsules: all conditions hold together."""

    tag: str | None = None
    kind: str | None = None
    project_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def anything(self) -> bool:
        return self == CapsuleFilter()


_WANTED: LiteralString = """
    AND (%(tag)s::text IS NULL OR m.tags @> ARRAY[%(tag)s::text])
    AND (%(kind)s::text IS NULL OR m.type = %(kind)s)
    AND (%(project_id)s::text IS NULL OR m.project_id = %(project_id)s)
    AND (%(since)s::timestamptz IS NULL OR m.created_at >= %(since)s)
    AND (%(until)s::timestamptz IS NULL OR m.created_at < %(until)s)
"""


async def page(
    conn: Connection, space: int, wanted: CapsuleFilter, page: PageRequest, *, ids: Sequence[str] | None = None
) -> Page[Capsule]:
    """The newest first; with `ids` only those."""
    where: LiteralString = f"{memories.LIVE} {_WANTED} AND (%(ids)s::text[] IS NULL OR m.id = ANY(%(ids)s))"
    params = asdict(wanted) | {"ids": None if ids is None else list(ids)}
    return await memories.page(conn, SHAPE, [space], page, where=where, params=params)


async def ids_of(conn: Connection, space: int, wanted: CapsuleFilter) -> list[str]:
    query: LiteralString = f"SELECT m.id FROM memories m WHERE {_LIVE} {_WANTED}"
    return await fetch_column(conn, query, {**asdict(wanted), "space": space})


async def cold(conn: Connection, space: int, page: PageRequest) -> Page[Capsule]:
    """What was moved to the cold tier, and from there not to the trash; the latest first."""
    where: LiteralString = "AND m.cold_at IS NOT NULL AND m.deleted_at IS NULL"
    return await memories.page(conn, SHAPE, [space], page, when="m.cold_at", where=where)


async def titles(conn: Connection, space: int, ids: Sequence[str] | None = None) -> dict[str, str]:
    """Of every capsule that is there, by its id; or of these."""
    return await fetch_dict(
        conn,
        f"SELECT m.id, m.title FROM memories m WHERE {_LIVE} AND (%(ids)s::text[] IS NULL OR m.id = ANY(%(ids)s))",
        {"space": space, "ids": None if ids is None else list(ids)},
    )


async def least_read(conn: Connection, space: int, *, limit: int) -> list[Capsule]:
    """Those that nobody has read for longest."""
    return await fetch_all(
        conn,
        Capsule,
        f"{SHAPE.select} AND m.space = %(space)s {memories.LIVE} ORDER BY m.accessed_at, m.id LIMIT %(limit)s",
        {"space": space, "limit": limit},
    )


async def tags(conn: Connection, space: int) -> list[tuple[str, int]]:
    """Each tag with the number of capsules that have it, the most used first."""
    return await fetch_rows(
        conn,
        f"""
        SELECT tag, count(*) FROM memories m, unnest(m.tags) AS tag WHERE {_LIVE}
         GROUP BY tag ORDER BY count(*) DESC, tag
        """,
        {"space": space},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """Where a user's capsules lie, and what it holds."""

    space: int
    size_bytes: int
    memory_count: int


async def vault(conn: Connection, user_id: str) -> Vault | None:
    where = {"kind": "vault", "owner": user_id, "name": user_id}
    return await select_row(conn, Vault, "spaces", where)


async def count_put_away(conn: Connection, space: int) -> tuple[int, int]:
    """In the trash, and in the cold tier."""
    [counts] = await fetch_rows(
        conn,
        """
        SELECT count(*) FILTER (WHERE deleted_at IS NOT NULL), count(*) FILTER (WHERE deleted_at IS NULL)
          FROM memories
         WHERE account = %(account)s AND space = %(space)s AND kind = 'capsule'
           AND (deleted_at IS NOT NULL OR cold_at IS NOT NULL)
        """,
        {"space": space},
    )
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    start: str
    count: int
    titles: list[str]
    tags: list[str]


async def by_date(conn: Connection, space: int, bucket: str, timezone: str) -> list[Dated]:
    """Capsules by day, week or month of their making in this time zone, with their titles and most used tags."""
    return await fetch_all(
        conn,
        Dated,
        f"""
        WITH dated AS (
            SELECT to_char(date_trunc(%(bucket)s, m.created_at AT TIME ZONE %(zone)s), 'YYYY-MM-DD') AS start,
                   m.title AS title, m.tags
              FROM memories m WHERE {_LIVE}
        ), tagged AS (
            SELECT d.start, tag, row_number() OVER (PARTITION BY d.start ORDER BY count(*) DESC, tag) AS place
              FROM dated d, unnest(d.tags) AS tag GROUP BY d.start, tag
        ), used AS (
            SELECT t.start, array_agg(t.tag ORDER BY t.place) AS tags FROM tagged t WHERE t.place <= 5 GROUP BY t.start
        )
        SELECT d.start, count(*) AS count, array_agg(d.title) AS titles, coalesce(min(u.tags), '{{}}') AS tags
          FROM dated d LEFT JOIN used u USING (start) GROUP BY d.start ORDER BY d.start
        """,
        {"space": space, "bucket": bucket, "zone": timezone},
    )


async def with_all_terms(conn: Connection, space: int, terms: Sequence[str], *, limit: int) -> dict[str, int]:
    """The capsules in which every one of these terms stands, each with the passage that has most of them."""
    if not terms:
        return {}
    return await fetch_dict(
        conn,
        """
        SELECT source_id, (array_agg(passage ORDER BY matched DESC, passage))[1]
          FROM (SELECT p.source_id, p.passage, array_agg(t.term) AS found, count(*) AS matched
                  FROM terms t JOIN passages p USING (account, space, passage)
                 WHERE t.account = %(account)s AND t.space = %(space)s AND t.term = ANY(%(terms)s)
                 GROUP BY p.source_id, p.passage) AS each
          CROSS JOIN LATERAL unnest(found) AS term
         GROUP BY source_id
        HAVING count(DISTINCT term) = %(number)s
         LIMIT %(limit)s
        """,
        {"space": space, "terms": list(terms), "number": len(set(terms)), "limit": limit},
    )
