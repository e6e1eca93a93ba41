"""What is asked of chat memories alone: those of one chat."""

from collections.abc import Sequence
from typing import LiteralString

from keepstone.model.chat import ChatMemory
from keepstone.store import memories
from keepstone.store.db import Connection, fetch_all

SHAPE = memories.Shape(kind="chat", row=ChatMemory)


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, ChatMemory]:
    return await memories.by_ids(conn, SHAPE, ids)


async def of_chat(conn: Connection, chat_id: str, *, any_state: bool = False) -> list[ChatMemory]:
    """The newest first; or, in any state, also those that are put away."""
    state: LiteralString = "" if any_state else memories.LIVE
    return await fetch_all(
        conn,
        ChatMemory,
        f"{SHAPE.select} AND m.source_chat_id = %(chat)s {state} ORDER BY m.created_at DESC, m.id DESC",
        {"chat": chat_id},
    )
