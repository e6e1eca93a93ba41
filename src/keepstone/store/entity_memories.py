"""What is asked of memories of entities alone: those that pass a filter."""

from collections.abc import Sequence
from datetime import datetime

from psycopg import sql

from keepstone.model.entity import EntityMemory, Wanted
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_value
from keepstone.store.entity_filters import Params, meant

SHAPE = memories.Shape(
    kind="entity",
    row=EntityMemory,
    columns=", e.user_id AS for_user, e.agent_id AS for_agent, e.app_id AS for_app, e.run_id AS for_run",
    joins="JOIN entities e ON e.account = m.account AND e.space = m.space",
)


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, EntityMemory]:
    return await memories.by_ids(conn, SHAPE, ids)


async def page(
    conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime, *, limit: int, offset: int
) -> list[EntityMemory]:
    """The newest first."""
    params: Params = {"spaces": list(spaces), "now": now, "limit": limit, "offset": offset}
    query = sql.SQL(
        SHAPE.select
        + """ AND m.space = ANY(%(spaces)s) AND {meant}
         ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s OFFSET %(offset)s"""
    ).format(meant=meant(wanted, params))
    return await fetch_all(conn, EntityMemory, query, params)


async def count(conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime) -> int:
    params: Params = {"spaces": list(spaces), "now": now}
    query = sql.SQL(f"SELECT count(*) {SHAPE.source} AND m.space = ANY(%(spaces)s) AND {{meant}}").format(
        meant=meant(wanted, params)
    )
    return await fetch_value(conn, query, params)


async def in_trash(conn: Connection, spaces: Sequence[int], *, limit: int, offset: int) -> list[EntityMemory]:
    """What went there last first."""
    return await fetch_all(
        conn,
        EntityMemory,
        f"""{SHAPE.select} AND m.space = ANY(%(spaces)s) AND m.deleted_at IS NOT NULL
         ORDER BY m.deleted_at DESC, m.id DESC LIMIT %(limit)s OFFSET %(offset)s""",
        {"spaces": list(spaces), "limit": limit, "offset": offset},
    )


async def any_expire(conn: Connection, spaces: Sequence[int]) -> bool:
    return await fetch_value(
        conn,
        """
        SELECT EXISTS (SELECT FROM memories
                        WHERE account = %(account)s AND kind = 'entity' AND space = ANY(%(spaces)s)
                          AND valid_to IS NOT NULL)
        """,
        {"spaces": list(spaces)},
    )


async def passages_of(
    conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime, *, most: int
) -> list[int] | None:
    """The passages of all memories that are meant; None when those are more memories than that."""
    params: Params = {"spaces": list(spaces), "now": now, "most": most + 1}
    query = sql.SQL(f"SELECT m.id {SHAPE.source} AND m.space = ANY(%(spaces)s) AND {{meant}} LIMIT %(most)s").format(
        meant=meant(wanted, params)
    )
    ids = await fetch_column(conn, query, params)
    if len(ids) > most:
        return None
    # Apart from that query: together, a planner that knows nothing of the tables yet may compare each with each.
    return await fetch_column(
        conn,
        """
        SELECT passage FROM passages
         WHERE account = %(account)s AND source_kind = 'memory' AND source_id = ANY(%(ids)s)
        """,
        {"ids": ids},
        binary=True,
    )


async def which_pass(
    conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime, passages: Sequence[int]
) -> set[int]:
    """Those of these passages that are of memories that are meant."""
    rows = await conn.execute(
        """
        SELECT passage, source_id FROM passages
         WHERE account = %(account)s AND space = ANY(%(spaces)s) AND passage = ANY(%(passages)s)
           AND source_kind = 'memory'
        """,
        {"spaces": list(spaces), "passages": list(passages)},
    )
    sources: dict[int, str] = dict(await rows.fetchall())
    params: Params = {"ids": list(set(sources.values())), "now": now}
    query = sql.SQL(f"SELECT m.id {SHAPE.source} AND m.id = ANY(%(ids)s) AND {{meant}}").format(
        meant=meant(wanted, params)
    )
    passing = set(await fetch_column(conn, query, params))
    return {passage for passage, source in sources.items() if source in passing}
