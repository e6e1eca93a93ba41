"""What is remembered for entities: memories of the kind `entity`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import sql
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from keepstone.model.entity import EntityMemory, EntityVersion, Wanted
from keepstone.store.db import Connection, fetch_all, fetch_value, update_rows
from keepstone.store.entity_filters import Params, meant

_MEMORY: LiteralString = """
    SELECT m.id, m.space, m.content, m.metadata, m.tags AS categories, e.user_id, e.agent_id, e.app_id, e.run_id,
           m.source_type AS role, m.agent AS actor_id, m.type IS NOT DISTINCT FROM 'immutable' AS immutable,
           m.valid_to AS expires_at, m.version, m.created_at, m.updated_at, m.deleted_at
      FROM memories m JOIN entities e USING (account, space)
"""


async def insert(conn: Connection, memory: EntityMemory, content_hash: bytes, user_id: str | None) -> None:
    """`user_id` is the user of ours who says so, if it is one."""
    await conn.execute(
        """
        INSERT INTO memories (space, id, kind, type, content, tags, metadata, user_id, agent, source_type, content_hash,
                              size_bytes, valid_from, valid_to, created_at, updated_at)
        VALUES (%(space)s, %(id)s, 'entity', %(type)s, %(content)s, %(tags)s, %(metadata)s, %(user)s, %(actor)s,
                %(role)s, %(hash)s, %(size)s, %(at)s, %(until)s, %(at)s, %(changed)s)
        """,
        {
            "space": memory.space,
            "id": memory.id,
            "type": "immutable" if memory.immutable else None,
            "content": memory.content,
            "tags": memory.categories,
            "metadata": Jsonb(memory.metadata),
            "user": user_id,
            "actor": memory.actor_id,
            "role": memory.role,
            "hash": content_hash,
            "size": len(memory.content.encode()),
            "at": memory.created_at,
            "until": memory.expires_at,
            "changed": memory.updated_at,
        },
    )


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, EntityMemory]:
    """Of the spaces that the transaction reaches, whatever their state."""
    found = await fetch_all(
        conn, EntityMemory, f"{_MEMORY} WHERE m.kind = 'entity' AND m.id = ANY(%(ids)s)", {"ids": list(ids)}
    )
    return {memory.id: memory for memory in found}


async def by_hash(conn: Connection, space: int, content_hash: bytes) -> list[EntityMemory]:
    """Those that say exactly this, the oldest first."""
    return await fetch_all(
        conn,
        EntityMemory,
        f"""{_MEMORY} WHERE m.kind = 'entity' AND m.space = %(space)s AND m.content_hash = %(hash)s
           AND m.deleted_at IS NULL
         ORDER BY m.created_at, m.id LIMIT 20""",
        {"space": space, "hash": content_hash},
    )


async def page(
    conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime, *, limit: int, offset: int
) -> list[EntityMemory]:
    """The newest first."""
    params: Params = {"spaces": list(spaces), "now": now, "limit": limit, "offset": offset}
    query = sql.SQL(
        _MEMORY
        + """ WHERE m.space = ANY(%(spaces)s) AND {meant}
         ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s OFFSET %(offset)s"""
    ).format(meant=meant(wanted, params))
    async with conn.cursor(row_factory=class_row(EntityMemory)) as cursor:
        await cursor.execute(query, params)
        return await cursor.fetchall()


async def count(conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime) -> int:
    params: Params = {"spaces": list(spaces), "now": now}
    query = sql.SQL(
        """
        SELECT count(*) FROM memories m JOIN entities e USING (account, space)
         WHERE m.space = ANY(%(spaces)s) AND {meant}
        """
    ).format(meant=meant(wanted, params))
    row = await (await conn.execute(query, params)).fetchone()
    return row[0] if row else 0


async def in_trash(conn: Connection, spaces: Sequence[int], *, limit: int, offset: int) -> list[EntityMemory]:
    """What went there last first."""
    return await fetch_all(
        conn,
        EntityMemory,
        f"""{_MEMORY} WHERE m.kind = 'entity' AND m.space = ANY(%(spaces)s) AND m.deleted_at IS NOT NULL
         ORDER BY m.deleted_at DESC, m.id DESC LIMIT %(limit)s OFFSET %(offset)s""",
        {"spaces": list(spaces), "limit": limit, "offset": offset},
    )


async def any_expire(conn: Connection, spaces: Sequence[int]) -> bool:
    return await fetch_value(
        conn,
        """
        SELECT EXISTS (SELECT FROM memories
                        WHERE kind = 'entity' AND space = ANY(%(spaces)s) AND valid_to IS NOT NULL)
        """,
        {"spaces": list(spaces)},
    )


async def passages_of(
    conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime, *, most: int
) -> list[int] | None:
    """The passages of all memories that are meant; None when those are more memories than that."""
    params: Params = {"spaces": list(spaces), "now": now, "most": most + 1}
    query = sql.SQL(
        """
        SELECT m.id FROM memories m JOIN entities e USING (account, space)
         WHERE m.space = ANY(%(spaces)s) AND {meant} LIMIT %(most)s
        """
    ).format(meant=meant(wanted, params))
    ids = [one for (one,) in await (await conn.execute(query, params)).fetchall()]
    if len(ids) > most:
        return None
    # Apart from that query: together, a planner that knows nothing of the tables yet may compare each with each.
    rows = await conn.execute(
        "SELECT passage FROM passages WHERE source_kind = 'memory' AND source_id = ANY(%s)", [ids], binary=True
    )
    return [passage for (passage,) in await rows.fetchall()]


async def which_pass(
    conn: Connection, spaces: Sequence[int], wanted: Wanted, now: datetime, passages: Sequence[int]
) -> set[int]:
    """Those of these passages that are of memories that are meant."""
    rows = await conn.execute(
        """
        SELECT passage, source_id FROM passages
         WHERE space = ANY(%s) AND passage = ANY(%s) AND source_kind = 'memory'
        """,
        [list(spaces), list(passages)],
    )
    sources: dict[int, str] = dict(await rows.fetchall())
    params: Params = {"ids": list(set(sources.values())), "now": now}
    query = sql.SQL(
        "SELECT m.id FROM memories m JOIN entities e USING (account, space) WHERE m.id = ANY(%(ids)s) AND {meant}"
    ).format(meant=meant(wanted, params))
    passing = {one for (one,) in await (await conn.execute(query, params)).fetchall()}
    return {passage for passage, source in sources.items() if source in passing}


async def update(conn: Connection, memory_id: str, changes: Mapping[str, Any]) -> None:
    """Columns of the row by their names."""
    prepared = {name: Jsonb(value) if name == "metadata" else value for name, value in changes.items()}
    await update_rows(conn, "memories", {"id": memory_id, "kind": "entity"}, prepared)


async def put_away(conn: Connection, ids: Sequence[str], at: datetime) -> None:
    """Into the trash, each as another version."""
    await conn.execute(
        """
        UPDATE memories SET deleted_at = %(at)s, version = version + 1
         WHERE kind = 'entity' AND id = ANY(%(ids)s) AND deleted_at IS NULL
        """,
        {"at": at, "ids": list(ids)},
    )


async def versions(conn: Connection, memory_id: str) -> list[EntityVersion]:
    """In their order."""
    return await fetch_all(
        conn,
        EntityVersion,
        """
        SELECT version, change, content, metadata, tags AS categories, changed_at
          FROM memory_versions WHERE memory_id = %(id)s ORDER BY version
        """,
        {"id": memory_id},
    )
