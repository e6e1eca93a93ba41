"""Chats of a workspace, and what was said in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.chat import Chat, ChatKind, ChatMessage, ChatOrder
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import (
    Connection,
    fetch_all,
    fetch_column,
    fetch_one,
    fetch_page,
    fetch_rows,
    fetch_value,
    insert_row,
    select_value,
    update_rows,
)

_CHAT: LiteralString = """
    SELECT c.id, c.title, s.name AS workspace_id, c.created_by, c.created_at, c.updated_at, c.deleted_at,
           c.kind, c.beside
      FROM chats c JOIN spaces s USING (account, space)
     WHERE c.account = %(account)s
"""
_MESSAGE: LiteralString = """
    SELECT m.id, m.seq, m.role, m.text AS content, m.user_id, m.agent AS model, m.at AS created_at, m.metadata,
           m.follows, m.aside
      FROM messages m WHERE m.account = %(account)s AND m.thread_id = %(chat)s
"""


async def insert(conn: Connection, space: int, chat: Chat) -> None:
    times = {"created_at": chat.created_at, "updated_at": chat.created_at}
    values = {"space": space, "id": chat.id, "title": chat.title, "unfound": False, "kind": chat.kind}
    values |= {"beside": chat.beside}
    await insert_row(conn, "chats", {**values, "created_by": chat.created_by, "named_by": chat.created_by, **times})


async def get(conn: Connection, chat_id: str) -> Chat | None:
    """Of the workspaces that the transaction reaches."""
    return await fetch_one(conn, Chat, f"{_CHAT} AND c.id = %(id)s", {"id": chat_id})


async def page(
    conn: Connection, spaces: Sequence[int], page: PageRequest, *, kind: ChatKind | None, order: ChatOrder, titled: str
) -> Page[Chat]:
    """The newest first, or those in which something was said last; `titled` is part of their title. Of a quorum, which
    is two chats, the second.
    """
    query: LiteralString = f"""{_CHAT} AND c.space = ANY(%(spaces)s) AND c.deleted_at IS NULL
        AND (%(kind)s::text IS NULL OR c.kind = %(kind)s AND (c.kind <> 'quorum' OR c.beside IS NOT NULL))
        AND (%(titled)s = '' OR position(lower(%(titled)s) IN lower(c.title)) > 0)"""
    params = {"spaces": list(spaces), "kind": kind, "titled": titled}
    when: LiteralString = "c.updated_at" if order == "activity" else "c.created_at"
    return await fetch_page(conn, Chat, query, params, page, when=when, key="c.id")


async def trash(
    conn: Connection, whole: Sequence[int], own: Sequence[int], user_id: str, page: PageRequest, *, since: datetime
) -> Page[Chat]:
    """What was deleted since then: of some spaces all, of others what this user began."""
    query: LiteralString = f"""{_CHAT} AND c.deleted_at >= %(since)s
        AND (c.space = ANY(%(whole)s) OR c.space = ANY(%(own)s) AND c.created_by = %(user)s)"""
    params = {"since": since, "whole": list(whole), "own": list(own), "user": user_id}
    return await fetch_page(conn, Chat, query, params, page, when="c.created_at", key="c.id")


async def update(conn: Connection, chat_id: str, **changes: Any) -> None:
    await update_rows(conn, "chats", {"id": chat_id}, changes)


async def hold(conn: Connection, chat_id: str) -> bool:
    """Until the transaction ends, nobody else says anything in it, or moves it. False when it is not there, or no
    longer where the transaction reaches.
    """
    return await select_value(conn, "chats", "id", {"id": chat_id, "deleted_at": None}, hold=True) is not None


async def others_in(conn: Connection, chat_id: str, user_id: str) -> bool:
    """Whether anybody else said or saved something in it."""
    return await fetch_value(
        conn,
        """
        SELECT EXISTS (SELECT 1 FROM messages
                        WHERE account = %(account)s AND thread_id = %(chat)s AND user_id <> %(user)s)
            OR EXISTS (SELECT 1 FROM memories
                        WHERE account = %(account)s AND kind = 'chat' AND source_chat_id = %(chat)s
                          AND user_id <> %(user)s)
        """,
        {"chat": chat_id, "user": user_id},
    )


async def move(conn: Connection, chat_id: str, space: int) -> None:
    """To another workspace, with what was said. The transaction reaches both workspaces."""
    to = {"space": space}
    await update_rows(conn, "chats", {"id": chat_id}, to)
    await update_rows(conn, "messages", {"thread_id": chat_id}, to)
    await update_rows(conn, "summaries", {"thread_id": chat_id}, to)
    await update_rows(conn, "distillations", {"chat_id": chat_id}, to)


async def say(
    conn: Connection, space: int, chat_id: str, message: ChatMessage, speaker: str, *, sent_by: str | None = None
) -> None:
    """Append it, and the chat has moved on. `sent_by` is whom a model answers. Unless the message says what it follows,
    that is the end of the branch that is gone on with.
    """
    if message.follows is None:
        last = await last_message(conn, chat_id)
        message = replace(message, follows=last.id if last else chat_id)
    values = {
        "space": space,
        "id": message.id,
        "speaker": speaker,
        "user_id": message.user_id,
        "sent_by": sent_by,
        "agent": message.model,
        "role": message.role,
        "text": message.content,
        "at": message.created_at,
        "thread_id": chat_id,
        "metadata": Jsonb(message.metadata),
        "follows": message.follows,
        "aside": message.aside,
    }
    await insert_row(conn, "messages", values)
    await update(conn, chat_id, updated_at=message.created_at, unfound=True)


async def unfound(conn: Connection, chat_id: str, *, limit: int) -> list[ChatMessage]:
    """What was said since what can be found, in its order."""
    query: LiteralString = f"""{_MESSAGE}
           AND m.seq > (SELECT c.found_up_to FROM chats c WHERE c.account = %(account)s AND c.id = m.thread_id)
         ORDER BY m.seq LIMIT %(limit)s"""
    return await fetch_all(conn, ChatMessage, query, {"chat": chat_id, "limit": limit})


async def mark_found(conn: Connection, chat_id: str, seq: int) -> None:
    """All up to this message can be found."""
    await update(conn, chat_id, found_up_to=seq)


async def unfound_chats(conn: Connection) -> list[tuple[int, int, str]]:
    """Account, workspace and id of chats in which more was said than can be found. Needs no scope."""
    return await fetch_rows(conn, "SELECT * FROM unfound_chats()")


async def message_ids(conn: Connection, chat_id: str) -> list[str]:
    return await fetch_column(
        conn, "SELECT id FROM messages WHERE account = %(account)s AND thread_id = %(chat)s", {"chat": chat_id}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidInChat(ChatMessage):
    """With the chat in which it was said."""

    chat_id: str
    chat_title: str


async def said_in_chats(conn: Connection, ids: Sequence[str]) -> dict[str, SaidInChat]:
    """Those of them that were said in chats which are not in the trash."""
    messages = await fetch_all(
        conn,
        SaidInChat,
        """
        SELECT m.id, m.seq, m.role, m.text AS content, m.user_id, m.agent AS model, m.at AS created_at, m.metadata,
               c.id AS chat_id, c.title AS chat_title
          FROM messages m JOIN chats c ON c.account = m.account AND c.id = m.thread_id AND c.space = m.space
         WHERE m.account = %(account)s AND m.id = ANY(%(ids)s) AND c.deleted_at IS NULL
        """,
        {"ids": list(ids)},
    )
    return {message.id: message for message in messages}


async def message(conn: Connection, chat_id: str, message_id: str) -> ChatMessage | None:
    return await fetch_one(conn, ChatMessage, f"{_MESSAGE} AND m.id = %(id)s", {"chat": chat_id, "id": message_id})


async def last_message(conn: Connection, chat_id: str, *, but_broken: bool = False) -> ChatMessage | None:
    """With `but_broken` the last that is no answer which broke off."""
    query: LiteralString = f"""{_MESSAGE} AND NOT m.aside AND NOT (%(but_broken)s AND m.metadata ? 'incomplete')
        ORDER BY m.seq DESC LIMIT 1"""
    return await fetch_one(conn, ChatMessage, query, {"chat": chat_id, "but_broken": but_broken})


async def messages(
    conn: Connection, chat_id: str, *, beyond: int = 0, before: int | None = None, limit: int | None = None
) -> list[ChatMessage]:
    """Those of the branch that is gone on with, behind that place (`seq`) and before the other, in the order in which
    they were said, whatever a clock says.
    """
    query: LiteralString = f"""{_MESSAGE} AND NOT m.aside AND m.seq > %(beyond)s
           AND (%(before)s::bigint IS NULL OR m.seq < %(before)s)
         ORDER BY m.seq LIMIT %(limit)s"""
    return await fetch_all(
        conn, ChatMessage, query, {"chat": chat_id, "beyond": beyond, "before": before, "limit": limit}
    )


async def last_said(conn: Connection, chat_id: str) -> str | None:
    """The id of what the user said last."""
    return await fetch_value(
        conn,
        """
        SELECT id FROM messages WHERE account = %(account)s AND thread_id = %(chat)s AND role = 'user' AND NOT aside
         ORDER BY seq DESC LIMIT 1
        """,
        {"chat": chat_id},
    )
