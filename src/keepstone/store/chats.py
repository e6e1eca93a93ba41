"""Chats of a workspace, and what was said in them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.chat import Chat, ChatMessage
from keepstone.store.db import Connection, fetch_all, fetch_one, fetch_value, update_rows

_CHAT: LiteralString = """
    SELECT c.id, c.title, s.name AS workspace_id, c.created_by, c.created_at, c.updated_at, c.deleted_at
      FROM chats c JOIN spaces s USING (account, space)
"""
_MESSAGE: LiteralString = """
    SELECT m.id, m.seq, m.role, m.text AS content, m.user_id, m.agent AS model, m.at AS created_at, m.metadata
      FROM messages m
"""


async def insert(conn: Connection, space: int, chat: Chat) -> None:
    await conn.execute(
        """
        INSERT INTO chats (space, id, title, created_by, created_at, updated_at)
        VALUES (%(space)s, %(id)s, %(title)s, %(by)s, %(at)s, %(at)s)
        """,
        {"space": space, "id": chat.id, "title": chat.title, "by": chat.created_by, "at": chat.created_at},
    )


async def get(conn: Connection, chat_id: str) -> Chat | None:
    """Of the workspaces that the transaction reaches."""
    return await fetch_one(conn, Chat, f"{_CHAT} WHERE c.id = %(id)s", {"id": chat_id})


async def page(
    conn: Connection, spaces: Sequence[int], *, after: tuple[datetime, str] | None, limit: int, deleted: bool = False
) -> list[Chat]:
    """The newest first."""
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Chat,
        f"""{_CHAT}
         WHERE c.space = ANY(%(spaces)s) AND (c.deleted_at IS NOT NULL) = %(deleted)s
           AND (%(at)s::timestamptz IS NULL OR (c.created_at, c.id) < (%(at)s, %(last)s))
         ORDER BY c.created_at DESC, c.id DESC
         LIMIT %(limit)s
        """,
        {"spaces": list(spaces), "deleted": deleted, "at": at, "last": last, "limit": limit},
    )


async def update(conn: Connection, chat_id: str, **changes: Any) -> None:
    await update_rows(conn, "chats", {"id": chat_id}, changes)


async def hold(conn: Connection, chat_id: str) -> bool:
    """Until the transaction ends, nobody else says anything in it, or moves it. False when it is not there, or no
    longer where the transaction reaches.
    """
    rows = await conn.execute("SELECT FROM chats WHERE id = %s AND deleted_at IS NULL FOR NO KEY UPDATE", [chat_id])
    return await rows.fetchone() is not None


async def others_in(conn: Connection, chat_id: str, user_id: str) -> bool:
    """Whether anybody else said or saved something in it."""
    return await fetch_value(
        conn,
        """
        SELECT EXISTS (SELECT FROM messages WHERE thread_id = %(chat)s AND user_id <> %(user)s)
            OR EXISTS (SELECT FROM memories WHERE kind = 'chat' AND source_chat_id = %(chat)s AND user_id <> %(user)s)
        """,
        {"chat": chat_id, "user": user_id},
    )


async def move(conn: Connection, chat_id: str, space: int) -> None:
    """To another workspace, with what was said. The transaction reaches both workspaces."""
    params = {"chat": chat_id, "space": space}
    await conn.execute("UPDATE chats SET space = %(space)s WHERE account = %(account)s AND id = %(chat)s", params)
    await conn.execute(
        "UPDATE messages SET space = %(space)s WHERE account = %(account)s AND thread_id = %(chat)s", params
    )
    await conn.execute(
        "UPDATE summaries SET space = %(space)s WHERE account = %(account)s AND thread_id = %(chat)s", params
    )
    await conn.execute(
        "UPDATE distillations SET space = %(space)s WHERE account = %(account)s AND chat_id = %(chat)s", params
    )


async def say(conn: Connection, space: int, chat_id: str, message: ChatMessage, speaker: str) -> None:
    """Append it, and the chat has moved on."""
    await conn.execute(
        """
        INSERT INTO messages (space, id, speaker, user_id, agent, role, text, at, thread_id, metadata)
        VALUES (%(space)s, %(id)s, %(speaker)s, %(user)s, %(model)s, %(role)s, %(text)s, %(at)s, %(chat)s, %(metadata)s)
        """,
        {
            "space": space,
            "id": message.id,
            "speaker": speaker,
            "user": message.user_id,
            "model": message.model,
            "role": message.role,
            "text": message.content,
            "at": message.created_at,
            "chat": chat_id,
            "metadata": Jsonb(message.metadata),
        },
    )
    await conn.execute("UPDATE chats SET updated_at = %s WHERE id = %s", [message.created_at, chat_id])


async def message(conn: Connection, chat_id: str, message_id: str) -> ChatMessage | None:
    return await fetch_one(
        conn,
        ChatMessage,
        f"{_MESSAGE} WHERE m.thread_id = %(chat)s AND m.id = %(id)s",
        {"chat": chat_id, "id": message_id},
    )


async def last_message(conn: Connection, chat_id: str) -> ChatMessage | None:
    return await fetch_one(
        conn, ChatMessage, f"{_MESSAGE} WHERE m.thread_id = %(chat)s ORDER BY m.seq DESC LIMIT 1", {"chat": chat_id}
    )


async def messages(conn: Connection, chat_id: str, *, beyond: int, limit: int) -> list[ChatMessage]:
    """Those behind that place (`seq`), in the order in which they were said, whatever a clock says."""
    return await fetch_all(
        conn,
        ChatMessage,
        f"{_MESSAGE} WHERE m.thread_id = %(chat)s AND m.seq > %(beyond)s ORDER BY m.seq LIMIT %(limit)s",
        {"chat": chat_id, "beyond": beyond, "limit": limit},
    )


async def history(conn: Connection, chat_id: str, *, beyond: int = 0) -> list[ChatMessage]:
    """All that was said after that place (`seq`), in order."""
    return await fetch_all(
        conn,
        ChatMessage,
        f"{_MESSAGE} WHERE m.thread_id = %(chat)s AND m.seq > %(beyond)s ORDER BY m.seq",
        {"chat": chat_id, "beyond": beyond},
    )


async def last_said(conn: Connection, chat_id: str) -> str | None:
    """The id of what the user said last."""
    return await fetch_value(
        conn,
        "SELECT id FROM messages WHERE thread_id = %(chat)s AND role = 'user' ORDER BY seq DESC LIMIT 1",
        {"chat": chat_id},
    )
