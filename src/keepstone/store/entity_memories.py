"""What is asked of memories of entities alone: those that pass a filter."""

from collections.abc import Sequence
from datetime import datetime

from psycopg import sql

from keepstone.model.entity import EntityFilter, EntityMemory
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all, fetch_value
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
    conn: Connection, spaces: Sequence[int], wanted: EntityFilter, now: datetime, *, limit: int, offset: int
) -> list[EntityMemory]:
    """The newest first."""
    params: Params = {"spaces": list(spaces), "now": now, "limit": limit, "offset": offset}
    query = sql.SQL(
        SHAPE.select
        + """ AND m.space = ANY(%(spaces)s) AND {meant}
         ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s OFFSET %(offset)s"""
    ).format(meant=meant(wanted, params))
    return await fetch_all(conn, EntityMemory, query, params)


async def count(conn: Connection, spaces: Sequence[int], wanted: EntityFilter, now: datetime) -> int:
    params: Params = {"spaces": list(spaces), "now": now}
    query = sql.SQL(f"SELECT count(*) {SHAPE.source} AND m.space = ANY(%(spaces)s) AND {{meant}}").format(
        meant=meant(wanted, params)
    )
    return await fetch_value(conn, query, params)


async def in_trash(
    conn: Connection, spaces: Sequence[int], since: datetime, *, limit: int, offset: int
) -> list[EntityMemory]:  # fmt: skip
    """What went there since then, the latest first."""
    return await fetch_all(
        conn,
        EntityMemory,
        f"""{SHAPE.select} AND m.space = ANY(%(spaces)s) {memories.IN_TRASH}
         ORDER BY m.deleted_at DESC, m.id DESC LIMIT %(limit)s OFFSET %(offset)s""",
        {"spaces": list(spaces), "since": since, "limit": limit, "offset": offset},
    )


async def any_expire(conn: Connection, spaces: Sequence[int]) -> bool:
    return await fetch_value(
        conn,
        """
        SELECT EXISTS (SELECT 1 FROM memories
                        WHERE account = %(account)s AND kind = 'entity' AND space = ANY(%(spaces)s)
                          AND valid_to IS NOT NULL)
        """,
        {"spaces": list(spaces)},
    )


async def passages_of(
    conn: Connection, spaces: Sequence[int], wanted: EntityFilter, now: datetime, *, most: int
) -> tuple[int, ...] | None:
    """The passages of all memories that are meant; None when those are more memories than that."""
    params: Params = {"spaces": list(spaces), "now": now}
    where = sql.SQL("AND m.space = ANY(%(spaces)s) AND {}").format(meant(wanted, params))
    return await memories.passages_of(conn, SHAPE, where, params, most=most)


async def which_pass(
    conn: Connection, spaces: Sequence[int], wanted: EntityFilter, now: datetime, passages: Sequence[int]
) -> set[int]:
    """Those of these passages that are of memories that are meant."""
    params: Params = {"now": now}
    where = sql.SQL("AND {}").format(meant(wanted, params))
    return await memories.which_pass(conn, SHAPE, where, params, spaces=spaces, passages=passages)
