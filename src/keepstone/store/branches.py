"""The branches of a chat: which of its messages stand in the same place, and which branch is read and gone on with."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from keepstone.model.chat import ChatMessage
from keepstone.store.db import Connection, fetch_rows, fetch_value, update_rows


async def with_siblings(conn: Connection, chat_id: str, said: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Each with what stands in its place on other branches."""
    rows = await fetch_rows(
        conn,
        """
        SELECT array_agg(id ORDER BY seq) FROM messages
         WHERE account = %(account)s AND thread_id = %(chat)s AND follows = ANY(%(places)s)
         GROUP BY follows, role HAVING count(*) > 1
        """,
        {"chat": chat_id, "places": [message.follows for message in said]},
    )
    groups = {name: tuple(group) for (group,) in rows for name in group}
    return [replace(message, siblings=groups.get(message.id, ())) for message in said]


async def links(conn: Connection, chat_id: str) -> list[tuple[str, str | None]]:
    """Every message of a chat, on whatever branch, with what it follows, in the order in which they were said."""
    return await fetch_rows(
        conn,
        "SELECT id, follows FROM messages WHERE account = %(account)s AND thread_id = %(chat)s ORDER BY seq",
        {"chat": chat_id},
    )


async def choose(conn: Connection, chat_id: str, path: Collection[str]) -> None:
    """These are read and gone on with, the others stand aside. What follows nothing is on every branch."""
    await conn.execute(
        """
        UPDATE messages SET aside = NOT id = ANY(%(path)s)
         WHERE account = %(account)s AND thread_id = %(chat)s AND follows IS NOT NULL
           AND aside = (id = ANY(%(path)s))
        """,
        {"chat": chat_id, "path": list(path)},
    )


async def leave(conn: Connection, chat_id: str, message: ChatMessage) -> str:
    """This message and what came after it stand aside from now on. Returns what it follows: another one in its place
    follows that too.
    """
    follows = message.follows or await _before(conn, chat_id, message.seq) or chat_id
    if message.follows is None:
        await update_rows(conn, "messages", {"id": message.id}, {"follows": follows})
    await conn.execute(
        """
        UPDATE messages SET aside = true
         WHERE account = %(account)s AND thread_id = %(chat)s AND seq >= %(seq)s AND NOT aside
        """,
        {"chat": chat_id, "seq": message.seq},
    )
    return follows


async def _before(conn: Connection, chat_id: str, seq: int) -> str | None:
    return await fetch_value(
        conn,
        """
        SELECT id FROM messages
         WHERE account = %(account)s AND thread_id = %(chat)s AND seq < %(seq)s AND NOT aside
         ORDER BY seq DESC LIMIT 1
        """,
        {"chat": chat_id, "seq": seq},
    )
