"""What a workspace remembers: memories of the kind `chat`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.chat import ChatMemory, MemoryVersion
from keepstone.store.db import Connection, fetch_all, fetch_one, update_rows

_MEMORY: LiteralString = """
    SELECT m.id, m.content, m.summary, m.type AS category, m.source_type, m.source_chat_id, m.source_message_id,
           s.name AS workspace_id, m.user_id, m.metadata, m.version, m.created_at, m.updated_at, m.deleted_at
      FROM memories m JOIN spaces s USING (account, space)
     WHERE m.kind = 'chat'
"""


async def insert(conn: Connection, space: int, memory: ChatMemory, content_hash: bytes) -> None:
    await conn.execute(
        """
        INSERT INTO memories (space, id, kind, type, content, summary, metadata, user_id, source_type, source_chat_id,
                              source_message_id, content_hash, size_bytes, created_at, updated_at, accessed_at)
        VALUES (%(space)s, %(id)s, 'chat', %(category)s, %(content)s, %(summary)s, %(metadata)s, %(user)s, %(source)s,
                %(chat)s, %(message)s, %(hash)s, %(size)s, %(at)s, %(at)s, %(at)s)
        """,
        {
            "space": space,
            "id": memory.id,
            "category": memory.category,
            "content": memory.content,
            "summary": memory.summary,
            "metadata": Jsonb(memory.metadata),
            "user": memory.user_id,
            "source": memory.source_type,
            "chat": memory.source_chat_id,
            "message": memory.source_message_id,
            "hash": content_hash,
            "size": len(memory.content.encode()),
            "at": memory.created_at,
        },
    )


async def by_hash(conn: Connection, space: int, content_hash: bytes) -> ChatMemory | None:
    return await fetch_one(
        conn,
        ChatMemory,
        f"""{_MEMORY} AND m.space = %(space)s AND m.content_hash = %(hash)s AND m.deleted_at IS NULL
         ORDER BY m.created_at LIMIT 1
        """,
        {"space": space, "hash": content_hash},
    )


async def get(conn: Connection, memory_id: str) -> ChatMemory | None:
    """Of the workspaces that the transaction reaches, whatever its state."""
    return await fetch_one(conn, ChatMemory, f"{_MEMORY} AND m.id = %(id)s", {"id": memory_id})


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, ChatMemory]:
    """Those of them that are there."""
    found = await fetch_all(
        conn, ChatMemory, f"{_MEMORY} AND m.id = ANY(%(ids)s) AND m.deleted_at IS NULL", {"ids": list(ids)}
    )
    return {memory.id: memory for memory in found}


async def of_chat(conn: Connection, chat_id: str) -> list[ChatMemory]:
    """The newest first."""
    return await fetch_all(
        conn,
        ChatMemory,
        f"""{_MEMORY} AND m.source_chat_id = %(chat)s AND m.deleted_at IS NULL
         ORDER BY m.created_at DESC, m.id DESC
        """,
        {"chat": chat_id},
    )


async def page(
    conn: Connection, space: int, *, after: tuple[datetime, str] | None, limit: int, deleted: bool = False
) -> list[ChatMemory]:
    """The newest first; or what is in the trash, what went there last first."""
    at, last = after or (None, None)
    when: LiteralString = "m.deleted_at" if deleted else "m.created_at"
    state: LiteralString = "m.deleted_at IS NOT NULL" if deleted else "m.deleted_at IS NULL AND m.cold_at IS NULL"
    return await fetch_all(
        conn,
        ChatMemory,
        f"""{_MEMORY} AND m.space = %(space)s AND {state}
           AND (%(at)s::timestamptz IS NULL OR ({when}, m.id) < (%(at)s, %(last)s))
         ORDER BY {when} DESC, m.id DESC
         LIMIT %(limit)s
        """,
        {"space": space, "at": at, "last": last, "limit": limit},
    )


async def update(conn: Connection, memory_id: str, changes: Mapping[str, Any]) -> None:
    """Columns of the row by their names."""
    prepared = {name: Jsonb(value) if name == "metadata" else value for name, value in changes.items()}
    await update_rows(conn, "memories", {"id": memory_id, "kind": "chat"}, prepared)


async def versions(conn: Connection, memory_id: str) -> list[MemoryVersion]:
    """The latest first."""
    return await fetch_all(
        conn,
        MemoryVersion,
        """
        SELECT version, change, content, summary, changed_by, changed_at
          FROM memory_versions WHERE memory_id = %(id)s ORDER BY version DESC
        """,
        {"id": memory_id},
    )
