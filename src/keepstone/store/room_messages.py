"""Messages of rooms one by one: which are still to be read, their wordings, the trash, and what of a room follows.

What was said is changed and removed by functions of the database alone (`repeatable/12_corrections.sql`), which hold
themselves to rooms.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.page import Page, PageRequest
from keepstone.model.room import MessageVersion, Trashed, TrashedUtterance, Utterance
from keepstone.store import rooms
from keepstone.store.db import (
    Connection,
    fetch_all,
    fetch_one,
    fetch_page,
    fetch_rows,
    fetch_value,
    select_value,
    update_rows,
)

_TRASHED: LiteralString = """
    SELECT t.id, t.seq, t.user_id AS "user", t.agent, t.speaker AS name, t.text, t.at AS ts, t.thread_id, t.attachments,
           t.version, t.edited_at, t.deleted_at, t.deleted_by, t.revived, t.revived_from
      FROM trashed_messages t
     WHERE t.account = %(account)s AND t.space = %(space)s
"""


async def get(conn: Connection, space: int, message_id: str) -> Utterance | None:
    these: LiteralString = "AND m.space = %(space)s AND m.id = %(id)s"
    return next(iter(await rooms.utterances(conn, these, space=space, id=message_id)), None)


async def sent_by(conn: Connection, message_id: str) -> str | None:
    """At whose request an agent said it."""
    return await select_value(conn, "messages", "sent_by", {"id": message_id})


async def trashed(conn: Connection, space: int, message_id: str) -> TrashedUtterance | None:
    query: LiteralString = f"{_TRASHED} AND t.id = %(id)s"
    return await fetch_one(conn, TrashedUtterance, query, {"space": space, "id": message_id})


async def client_id_in_trash(conn: Connection, space: int, client_id: str) -> bool:
    return await select_value(conn, "trashed_messages", "id", {"space": space, "client_id": client_id}) is not None


async def unchanged(conn: Connection, said: Sequence[Utterance]) -> bool:
    """Whether all of these are there and worded as they were when they were read."""
    return await fetch_value(
        conn,
        """
        SELECT count(*) = %(number)s FROM messages m
          JOIN unnest(%(ids)s::text[], %(versions)s::int[]) AS w (id, version) ON w.id = m.id AND w.version = m.version
         WHERE m.account = %(account)s AND m.id = ANY(%(ids)s)
        """,
        {
            "ids": [message.id for message in said],
            "versions": [message.version for message in said],
            "number": len(said),
        },
    )


async def awaiting_takeaways(conn: Connection, space: int, *, limit: int) -> list[Utterance]:
    """What was not read for facts yet, or is worded otherwise since, in the order in which it came."""
    these: LiteralString = """
           AND m.space = %(space)s
           AND (m.reread OR m.seq > (SELECT r.takeaways_seq FROM rooms r
                                      WHERE r.account = %(account)s AND r.space = %(space)s))
         ORDER BY m.seq LIMIT %(limit)s
    """
    return await rooms.utterances(conn, these, space=space, limit=limit)


async def takeaways_kept(conn: Connection, space: int, message: Utterance) -> None:
    """It was read, as it is worded now. What came before it was read before it."""
    await update_rows(conn, "messages", {"id": message.id, "reread": True}, {"reread": False})
    await conn.execute(
        """
        UPDATE rooms SET takeaways_seq = greatest(takeaways_seq, %(seq)s)
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"seq": message.seq, "space": space},
    )


# ------------------------------------------------------------------------------------------------- the messages


async def reword(conn: Connection, space: int, after: Utterance, by: str, at: datetime) -> bool:
    """False when it is not there."""
    return await fetch_value(
        conn,
        "SELECT reword_message(%(account)s, %(space)s, %(id)s, %(text)s, %(attachments)s, %(by)s, %(at)s)",
        {
            "space": space, "id": after.id, "text": after.text, "attachments": Jsonb(after.attachments), "by": by,
            "at": at,
        },
    )  # fmt: skip


async def put_away(
    conn: Connection, space: int, message_id: str, by: str, at: datetime, revived: Sequence[tuple[str, str]]
) -> bool:
    """Into the trash. False when it is not there. `revived`: what holds again, and what it had been superseded by."""
    return await fetch_value(
        conn,
        "SELECT trash_message(%(account)s, %(space)s, %(id)s, %(by)s, %(at)s, %(revived)s, %(revived_from)s)",
        {
            "space": space, "id": message_id, "by": by, "at": at, "revived": [old for old, _ in revived],
            "revived_from": [new for _, new in revived],
        },
    )  # fmt: skip


async def bring_back(conn: Connection, space: int, message_id: str, by: str, at: datetime) -> bool:
    """False when it is not in the trash."""
    given: dict[str, Any] = {"space": space, "id": message_id, "by": by, "at": at}
    return await fetch_value(conn, "SELECT restore_message(%(account)s, %(space)s, %(id)s, %(by)s, %(at)s)", given)


async def versions(conn: Connection, message_id: str) -> list[MessageVersion]:
    """The latest first; of a message that nothing was done to, the only one."""
    return await fetch_all(
        conn,
        MessageVersion,
        """
        SELECT version, change, text, attachments, changed_by, changed_at FROM message_versions
         WHERE account = %(account)s AND message_id = %(id)s
        UNION ALL
        SELECT 1, 'created', text, attachments, coalesce(user_id, sent_by), recorded_at FROM messages
         WHERE account = %(account)s AND id = %(id)s AND version = 1
         ORDER BY version DESC
        """,
        {"id": message_id},
    )


# ------------------------------------------------------------------------------------------- what follows from it


async def follow(conn: Connection, space: int, at: datetime) -> None:
    """Something that was said then is another now, or is gone, or is back: summaries of its time have to be made anew,
    and what lies in Redis is no longer the latest. The room is held.
    """
    another = await fetch_value(conn, "SELECT nextval(pg_get_serial_sequence('keepstone.messages', 'seq'))")
    await conn.execute(
        """
        UPDATE rooms r
           SET last_at = (SELECT max(m.at) FROM messages m WHERE m.account = %(account)s AND m.space = %(space)s),
               last_seq = %(another)s, dirty_from = least(r.dirty_from, %(at)s)
         WHERE r.account = %(account)s AND r.space = %(space)s
        """,
        {"space": space, "at": at, "another": another},
    )


async def read_again(conn: Connection, space: int, said: Sequence[str], *, but: str) -> bool:
    """Other messages that say one of these are read for memories once more: it was known already when they were read.
    Whether there are any.
    """
    return await fetch_value(
        conn,
        """
        WITH again AS (
            UPDATE messages m SET reread = true
             WHERE m.account = %(account)s AND m.space = %(space)s AND m.id <> %(but)s
               AND EXISTS (SELECT 1 FROM unnest(%(said)s::text[]) AS s (text) WHERE position(s.text IN m.text) > 0)
            RETURNING 1)
        SELECT count(*) > 0 FROM again
        """,
        {"space": space, "said": list(said), "but": but},
    )


async def count_thread(conn: Connection, thread_id: str) -> None:
    """How many messages there are in it by now."""
    await conn.execute(
        """
        UPDATE threads SET message_count = (SELECT count(*) FROM messages
                                             WHERE account = %(account)s AND thread_id = %(id)s)
         WHERE account = %(account)s AND id = %(id)s
        """,
        {"id": thread_id},
    )


async def drop_summaries(conn: Connection, space: int, message: Utterance) -> list[tuple[str, str, str | None]]:
    """All that hold words of this message, tier upon tier, also those that were superseded: id, tier and thread of
    each. A compaction also stands for what those before it stood for: all of an agent's go together.
    """
    return await fetch_rows(
        conn,
        """
        WITH RECURSIVE told AS (
            SELECT s.id FROM summaries s
             WHERE s.account = %(account)s AND s.space = %(space)s
               AND (s.source_ids @> ARRAY[%(message)s::text]
                    OR s.tier = 'compaction'
                       AND EXISTS (SELECT 1 FROM summaries o
                                    WHERE o.account = %(account)s AND o.space = %(space)s AND o.tier = 'compaction'
                                      AND o.thread_id = s.thread_id AND o.ends_at >= %(at)s))
            UNION
            SELECT s.id FROM told t
              JOIN summaries s ON s.account = %(account)s AND s.space = %(space)s AND s.tier IN ('day', 'week')
                              AND s.source_ids @> ARRAY[t.id])
        DELETE FROM summaries d USING told t
         WHERE d.account = %(account)s AND d.id = t.id RETURNING d.id, d.tier, d.thread_id
        """,
        {"space": space, "message": message.id, "at": message.ts},
    )


# ---------------------------------------------------------------------------------------------------- the trash


async def trash(
    conn: Connection, spaces: Sequence[int], page: PageRequest, *, user: str, moderates: bool, since: datetime
) -> Page[Trashed]:
    """What was deleted since then and this user can restore, the latest first. Messages: what they deleted themselves,
    and who `moderates` what others than its author did. What agents remember alike, and was deleted at once, stands
    there once; and not at all while the message that it was taken from is in the trash itself.
    """
    return await fetch_page(
        conn,
        Trashed,
        """
        SELECT * FROM (
            SELECT 'message' AS kind, t.id, t.text, t.user_id, t.agent, t.at AS created_at, t.deleted_at, t.deleted_by
              FROM trashed_messages t
             WHERE t.account = %(account)s AND t.space = ANY(%(spaces)s) AND t.deleted_at >= %(since)s
               AND (t.deleted_by = %(user)s OR %(moderates)s AND coalesce(t.deleted_by <> t.user_id, true))
            UNION ALL
            (SELECT DISTINCT ON (m.kind, m.deleted_at, m.content_hash, m.source_message_id)
                    CASE m.kind WHEN 'semantic' THEN 'memory' ELSE m.kind END, m.id, m.content, m.user_id, m.agent,
                    m.created_at, m.deleted_at, v.changed_by
               FROM memories m
               LEFT JOIN memory_versions v ON v.account = m.account AND v.memory_id = m.id AND v.version = m.version
              WHERE m.account = %(account)s AND m.space = ANY(%(spaces)s) AND m.kind IN ('semantic', 'landmark')
                AND m.deleted_at >= %(since)s
                AND (m.source_message_id IS NULL
                     OR EXISTS (SELECT 1 FROM messages s WHERE s.account = %(account)s AND s.id = m.source_message_id))
              ORDER BY m.kind, m.deleted_at, m.content_hash, m.source_message_id, m.id)) trash
         WHERE true
        """,
        {"spaces": list(spaces), "user": user, "moderates": moderates, "since": since},
        page,
        when="deleted_at",
    )
