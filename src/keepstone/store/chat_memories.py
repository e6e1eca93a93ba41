"""What is asked of chat memories alone: those of one chat, and what may stand before a turn."""

from collections.abc import Sequence
from typing import LiteralString

from keepstone.model.chat import ChatMemory
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all, fetch_value

SHAPE = memories.Shape(kind="chat", row=ChatMemory)


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, ChatMemory]:
    return await memories.by_ids(conn, SHAPE, ids)


async def of_chat(conn: Connection, chat_id: str, *, any_state: bool = False) -> list[ChatMemory]:
    """Those that hold, the newest first; or, in any state, all."""
    state: LiteralString = "" if any_state else memories.HOLDS
    return await fetch_all(
        conn,
        ChatMemory,
        f"{SHAPE.select} AND m.source_chat_id = %(chat)s {state} ORDER BY m.created_at DESC, m.id DESC",
        {"chat": chat_id},
    )


async def more_than(conn: Connection, space: int, number: int) -> bool:
    """Whether more than so many hold."""
    return await fetch_value(
        conn,
        f"""
        SELECT count(*) > %(number)s
          FROM (SELECT 1 FROM memories m
                 WHERE m.account = %(account)s AND m.kind = 'chat' AND m.space = %(space)s {memories.HOLDS}
                 LIMIT %(number)s + 1) AS known
        """,
        {"space": space, "number": number},
    )


async def newest(conn: Connection, space: int, limit: int) -> list[ChatMemory]:
    """Those that hold, the newest first."""
    return await fetch_all(
        conn,
        ChatMemory,
        f"""{SHAPE.select} AND m.space = %(space)s {memories.LIVE} AND m.superseded_by IS NULL
         ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s""",
        {"space": space, "limit": limit},
    )


async def standing(conn: Connection, space: int, limit: int) -> list[ChatMemory]:
    """Those that hold and were kept as standing wishes, the newest first."""
    return await fetch_all(
        conn,
        ChatMemory,
        f"""{SHAPE.select} AND m.space = %(space)s AND m.metadata @> '{{"standing": true}}'
          {memories.LIVE} AND m.superseded_by IS NULL ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s""",
        {"space": space, "limit": limit},
    )
