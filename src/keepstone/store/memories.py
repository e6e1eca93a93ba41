"""Memories of every kind, and their versions: the only module that writes either table.

What distinguishes a kind here is its `Shape`: which rows are its own, what they are read as, and what is joined to
them. Filters of a kind are text that the modules beside this one give to `page` and `matching`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Generic, LiteralString, TypeVar

from psycopg import sql
from psycopg.types.json import Jsonb

from keepstone.model.memory import Memory, MemoryT, Version
from keepstone.model.page import Page, PageRequest
from keepstone.store.arrays import texts
from keepstone.store.db import (
    Connection,
    delete_rows,
    fetch_all,
    fetch_column,
    fetch_one,
    fetch_page,
    fetch_rows,
    fetch_value,
    insert_new_row,
    insert_new_rows,
    update_rows,
)

Where = LiteralString | sql.Composable  # more conditions, each with its AND
VersionT = TypeVar("VersionT", bound=Version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Generic[MemoryT]):
    """The rows of one kind: `columns` and `joins` are what its row class has beyond `Memory`."""

    kind: LiteralString
    row: type[MemoryT]
    columns: LiteralString = ""
    joins: LiteralString = ""

    @property
    def select(self) -> LiteralString:
        """Up to and with the condition that it is of this kind; more conditions follow."""
        return f"SELECT {_COLUMNS}{self.columns} {self.source}"

    @property
    def source(self) -> LiteralString:
        return f"""
            FROM memories m JOIN spaces s ON s.account = m.account AND s.space = m.space {self.joins}
           WHERE m.account = %(account)s AND m.kind = '{self.kind}'"""


_COLUMNS: LiteralString = """
    m.id, m.space, s.name AS place, m.type, m.title, m.content, m.summary, m.tags, m.metadata, m.visibility, m.user_id,
    m.agent, m.run_id, m.project_id, m.source_type, m.source_chat_id, m.source_message_id, m.role, m.actor, m.immutable,
    m.path, m.key, m.address, m.content_hash, m.size_bytes, m.version_bytes, m.kept_bytes, m.version, m.superseded_by,
    m.valid_from, m.valid_to, m.created_at, m.updated_at, m.accessed_at, m.deleted_at, m.cold_at"""
_OWN = tuple(one.name for one in fields(Memory) if one.name != "place")  # the columns of the table
LIVE: LiteralString = "AND m.deleted_at IS NULL AND m.cold_at IS NULL"
HOLDS: LiteralString = f"{LIVE} AND m.superseded_by IS NULL"
IN_TRASH: LiteralString = "AND m.deleted_at >= %(since)s"  # and can still be brought back
HERE: LiteralString = "AND m.space = ANY(%(spaces)s)"


# -------------------------------------------------------------------------------------------------------- reading


async def get(conn: Connection, shape: Shape[MemoryT], memory_id: str) -> MemoryT | None:
    """Of the spaces that the transaction reaches, whatever its state."""
    return await fetch_one(conn, shape.row, f"{shape.select} AND m.id = %(id)s", {"id": memory_id})


async def by_ids(
    conn: Connection, shape: Shape[MemoryT], ids: Sequence[str], *, any_state: bool = False
) -> dict[str, MemoryT]:
    """Those of them that are there; or, in any state, also those that are put away."""
    state: LiteralString = "" if any_state else LIVE
    rows = await fetch_all(conn, shape.row, f"{shape.select} AND m.id = ANY(%(ids)s) {state}", {"ids": list(ids)})
    return {memory.id: memory for memory in rows}


async def by_hash(conn: Connection, shape: Shape[MemoryT], space: int, content_hash: bytes) -> list[MemoryT]:
    """Those that are there, hold, and say exactly this; the oldest first."""
    return await fetch_all(
        conn,
        shape.row,
        f"""{shape.select} AND m.space = %(space)s AND m.content_hash = %(hash)s {LIVE} AND m.superseded_by IS NULL
         ORDER BY m.created_at, m.id LIMIT 20""",
        {"space": space, "hash": content_hash},
    )


async def page(
    conn: Connection,
    shape: Shape[MemoryT],
    spaces: Sequence[int],
    page: PageRequest,
    *,
    when: LiteralString = "m.created_at",
    where: LiteralString = LIVE,
    params: Mapping[str, Any] | None = None,
) -> Page[MemoryT]:
    """Those of which `where` holds, by the column `when`, the latest first."""
    # Of one space they come out of the index in their order; of several all would have to be sorted first.
    here: LiteralString = "AND m.space = %(space)s" if len(spaces) == 1 else HERE
    given = {**(params or {}), "spaces": list(spaces), "space": spaces[0] if spaces else None}
    return await fetch_page(conn, shape.row, f"{shape.select} {here} {where}", given, page, when=when, key="m.id")


async def trash(
    conn: Connection, shape: Shape[MemoryT], spaces: Sequence[int], request: PageRequest, *, since: datetime,
    made_by: str | None = None,
) -> Page[MemoryT]:  # fmt: skip
    """What was deleted since then, the latest first: everybody's, or what one user made."""
    where: LiteralString = f"{IN_TRASH} AND (%(made_by)s::text IS NULL OR m.user_id = %(made_by)s)"
    params = {"since": since, "made_by": made_by}
    return await page(conn, shape, spaces, request, when="m.deleted_at", where=where, params=params)


async def versions(
    conn: Connection, row: type[VersionT], memory_id: str, *, before: int | None = None, limit: int | None = None
) -> list[VersionT]:
    """The latest first."""
    return await fetch_all(
        conn,
        row,
        """
        SELECT version, change, title, content, summary, type, project_id, tags, metadata, changed_by, changed_at
          FROM memory_versions
         WHERE account = %(account)s AND memory_id = %(id)s AND (%(before)s::int IS NULL OR version < %(before)s)
         ORDER BY version DESC LIMIT %(limit)s
        """,
        {"id": memory_id, "before": before, "limit": limit},
    )


async def bytes_of_versions(conn: Connection, memory_id: str) -> int:
    """Of all that there are."""
    return await fetch_value(
        conn,
        """
        SELECT coalesce(sum(octet_length(title) + octet_length(content)
                            + CASE WHEN metadata = '{}' THEN 0 ELSE octet_length(metadata::text) END), 0)::bigint
          FROM memory_versions
         WHERE account = %(account)s AND memory_id = %(id)s
        """,
        {"id": memory_id},
    )


async def passages_of(
    conn: Connection, shape: Shape[Any], where: Where, params: Mapping[str, Any], *, most: int
) -> tuple[int, ...] | None:
    """The passages of all memories of which `where` holds; None when those are more memories than that."""
    # Each is looked up by its source (OFFSET 0 keeps it so): joined, a planner that knows nothing of the tables yet may
    # compare each with each.
    query = _query(
        """
        WITH passing AS MATERIALIZED (SELECT m.id {source} {where} LIMIT %(most)s + 1)
        SELECT CASE WHEN (SELECT count(*) FROM passing) <= %(most)s THEN ARRAY(
            SELECT p.passage FROM passing m
             CROSS JOIN LATERAL (SELECT p.passage FROM passages p
                                  WHERE p.account = %(account)s AND p.source_kind = 'memory' AND p.source_id = m.id
                                 OFFSET 0) p) END
        """,
        shape,
        where,
    )
    [passages] = await fetch_column(conn, query, {**params, "most": most}, binary=True)
    return None if passages is None else tuple(passages)


async def which_pass(
    conn: Connection,
    shape: Shape[Any],
    where: Where,
    params: Mapping[str, Any],
    *,
    spaces: Sequence[int],
    passages: Sequence[int],
) -> set[int]:
    """Those of these passages, which lie in these spaces, that are of memories of which `where` holds."""
    query = _query(
        """
        WITH sources AS MATERIALIZED (
            SELECT p.passage, p.source_id FROM passages p
             WHERE p.account = %(account)s AND p.space = ANY(%(spaces)s) AND p.passage = ANY(%(passages)s)
               AND p.source_kind = 'memory'
        ), passing AS MATERIALIZED (
            SELECT m.id {source} AND m.id = ANY (ARRAY(SELECT source_id FROM sources)) {where}
        )
        SELECT coalesce(array_agg(s.passage), '{{}}') FROM sources s WHERE s.source_id IN (SELECT id FROM passing)
        """,
        shape,
        where,
    )
    given = {**params, "spaces": list(spaces), "passages": list(passages)}
    [found] = await fetch_column(conn, query, given, binary=True)
    return set(found)


# -------------------------------------------------------------------------------------------------------- writing


async def insert(conn: Connection, shape: Shape[Any], memory: Memory) -> bool:
    """False when something of its id, or the same where that may stand once, is there already."""
    return await insert_new_row(conn, "memories", {"kind": shape.kind, **_columns(memory)})


async def update(conn: Connection, before: Memory, after: Memory) -> None:
    """The columns in which the two differ."""
    was = _columns(before)
    changes = {name: value for name, value in _columns(after).items() if name != "id" and _differs(value, was[name])}
    await update_rows(conn, "memories", {"id": after.id}, changes)


async def put_away(
    conn: Connection,
    ids: Sequence[str],
    change: str,
    changed_by: str | None,
    *,
    deleted_at: datetime | None = None,
    cold_at: datetime | None = None,
    superseded_by: str | None = None,
) -> list[tuple[Any, ...]]:
    """To the trash or the cold tier, with another version of each, in one statement: there may be tens of thousands.
    Returns of each space how many were in neither before, and their bytes.
    """
    return await fetch_rows(
        conn,
        """
        WITH was AS MATERIALIZED (
            SELECT id, space, kept_bytes, deleted_at IS NULL AND cold_at IS NULL AS live FROM memories
             WHERE account = %(account)s AND id = ANY(%(ids)s)
        ), done AS (
            UPDATE memories m SET deleted_at = coalesce(%(deleted)s, m.deleted_at),
                                  cold_at = coalesce(%(cold)s, m.cold_at),
                                  superseded_by = coalesce(%(by)s, m.superseded_by), version = m.version + 1,
                                  version_bytes = m.version_bytes + octet_length(m.title) + octet_length(m.content)
                                      + CASE WHEN m.metadata = '{}' THEN 0 ELSE octet_length(m.metadata::text) END
              FROM was WHERE m.account = %(account)s AND m.id = was.id
            RETURNING m.account, m.space, m.id, m.version, m.title, m.content, m.summary, m.type, m.project_id, m.tags,
                      m.metadata, m.visibility
        ), noted AS (
            INSERT INTO memory_versions (account, space, memory_id, version, change, title, content, summary, type,
                                         project_id, tags, metadata, visibility, changed_by)
            SELECT account, space, id, version, %(change)s, title, content, summary, type, project_id, tags, metadata,
                   visibility, %(changed_by)s
              FROM done WHERE account = %(account)s
            ON CONFLICT DO NOTHING)
        SELECT space, count(*) FILTER (WHERE live), coalesce(sum(kept_bytes) FILTER (WHERE live), 0)::bigint
          FROM was GROUP BY space
        """,
        {
            "ids": texts(ids), "deleted": deleted_at, "cold": cold_at, "by": superseded_by, "change": change,
            "changed_by": changed_by,
        },
    )  # fmt: skip


async def add_version(conn: Connection, ids: Sequence[str], change: str, changed_by: str | None) -> None:
    """The rows as they are now, under their present version, unless that was written before them (an archive's)."""
    await conn.execute(
        """
        INSERT INTO memory_versions (account, space, memory_id, version, change, title, content, summary, type,
                                     project_id, tags, metadata, visibility, changed_by)
        SELECT m.account, m.space, m.id, m.version, %(change)s, m.title, m.content, m.summary, m.type, m.project_id,
               m.tags, m.metadata, m.visibility, %(by)s
          FROM memories m WHERE m.account = %(account)s AND m.id = ANY(%(ids)s)
        ON CONFLICT DO NOTHING
        """,
        {"ids": list(ids), "change": change, "by": changed_by},
    )


async def insert_versions(conn: Connection, memory: Memory, history: Sequence[Version]) -> None:
    """A history that was exported, as it was."""
    of_it = {"space": memory.space, "memory_id": memory.id, "visibility": memory.visibility}
    rows = [{**asdict(version), "metadata": Jsonb(version.metadata), **of_it} for version in history]
    await insert_new_rows(conn, "memory_versions", rows)


async def touch(conn: Connection, ids: Sequence[str]) -> None:
    """They were read, or found; to the minute: what is used all the time costs no write each time. What somebody else
    is just writing is used by them: nobody waits.
    """
    if not ids:
        return
    await conn.execute(
        """
        UPDATE memories SET accessed_at = now()
         WHERE account = %(account)s
           AND id IN (SELECT id FROM memories
                       WHERE account = %(account)s AND id = ANY(%(ids)s)
                         AND accessed_at < now() - interval '1 minute'
                       ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
        """,
        {"ids": list(ids)},
    )


async def prolong(conn: Connection, ids: Sequence[str], now: datetime) -> None:
    """The time that they last begins anew. What somebody else is just writing is left to them: nobody waits."""
    await conn.execute(
        """
        UPDATE memories SET valid_to = timezone('UTC', timezone('UTC', %(now)s)
                                           + make_interval(secs => (metadata ->> 'ttl_seconds')::float8))
         WHERE account = %(account)s
           AND id IN (SELECT id FROM memories
                       WHERE account = %(account)s AND id = ANY(%(ids)s) AND valid_to > %(now)s
                       ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
        """,
        {"ids": list(ids), "now": now},
    )


async def move(conn: Connection, memory_ids: Sequence[str], space: int) -> None:
    """To another space, with their versions. The transaction reaches both."""
    await update_rows(conn, "memory_versions", {"memory_id": list(memory_ids)}, {"space": space})
    await update_rows(conn, "memories", {"id": list(memory_ids)}, {"space": space})


async def remove(conn: Connection, memory_id: str) -> None:
    """For good, with its versions. Its passages are the caller's."""
    await delete_rows(conn, "memories", {"id": memory_id})


async def purge(conn: Connection, days: int) -> int:
    """What has been in the trash or the cold tier for that long, of all accounts. Needs no scope."""
    return await fetch_value(conn, "SELECT purge_memories(%(days)s)", {"days": days})


async def count_in(conn: Connection, space: int, *, memories: int = 0, messages: int = 0, size: int) -> None:
    """So many more, or fewer, and something has changed."""
    await conn.execute(
        """
        UPDATE spaces SET memory_count = memory_count + %(memories)s, message_count = message_count + %(messages)s,
                          size_bytes = size_bytes + %(size)s,
                          changed_at = now(), revision = revision + 1
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"memories": memories, "messages": messages, "size": size, "space": space},
    )


def _query(text: LiteralString, shape: Shape[Any], where: Where) -> sql.Composed:
    condition = where if isinstance(where, sql.Composable) else sql.SQL(where)
    return sql.SQL(text).format(source=sql.SQL(shape.source), where=condition)


def _columns(memory: Memory) -> dict[str, Any]:
    return {name: getattr(memory, name) for name in _OWN} | {"metadata": Jsonb(memory.metadata)}


def _differs(new: Any, old: Any) -> bool:
    return new.obj != old.obj if isinstance(new, Jsonb) else new != old
