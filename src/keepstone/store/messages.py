"""Messages: appended, never rewritten."""

import asyncio
from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepstone.model.message import KeptMessage, Message
from keepstone.model.plan import Capacity
from keepstone.model.principal import Visibility
from keepstone.store import spaces
from keepstone.store.arrays import jsons, texts, times
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_dict, fetch_rows, fetch_value

_FEW = 100  # that are made ready in no time

_LATELY = 500  # messages


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedTalk:
    """The space, and whether a job that indexes what is new in it is on its way; the ids of the messages that are new;
    when somebody last spoke here before them, and in which session; and what the user may keep, if it was asked for
    somebody who is there.
    """

    space: int
    indexing_scheduled: bool
    new: Set[str]
    last: tuple[datetime, str] | None
    room: Capacity | None


async def append(
    conn: Connection, messages: Sequence[Message], *, kind: str, name: str, owner: str | None,
    visibilities: Sequence[Visibility], visibility: str,
) -> AppendedTalk:  # fmt: skip
    """Append them in their order to this space of the owner's, which is made when it was not there, and look up what
    else has to be known of it and of them. Until the transaction ends, which reaches what is in it from here on, nobody
    else adds to it. A client's id that is there changes nothing.
    """
    columns = _columns(messages) if len(messages) <= _FEW else await asyncio.to_thread(_columns, messages)
    given = {
        **columns, "kind": kind, "name": name, "owner": owner, "visibility": visibility,
        "visibilities": f"{{{','.join(visibilities)}}}",
    }  # fmt: skip
    rows: list[Any] = []
    while not rows:
        rows = await fetch_rows(
            conn,
            """
            SELECT * FROM append_talk(%(account)s, %(visibilities)s, %(kind)s, %(name)s, %(owner)s, %(id)s,
                                      %(client_id)s, %(speaker)s, %(text)s, %(at)s, %(reply_to)s, %(metadata)s,
                                      %(visibility)s, %(owner)s)
            """,
            given,
        )
        if not rows:
            await spaces.ensure(conn, kind=kind, name=name, owner=owner)
    space, indexing_scheduled, ids, last_at, session, allowed, used, cold_tier = rows[0]
    return AppendedTalk(
        space=space,
        indexing_scheduled=indexing_scheduled,
        new={message.id for message in messages} if ids is None else set(ids),
        last=None if last_at is None else (last_at, session),
        room=None if used is None else Capacity(allowed=allowed, used=used, cold_tier=cold_tier),
    )


def _columns(messages: Sequence[Message]) -> dict[str, Any]:
    return {
        "id": texts(message.id for message in messages),
        "client_id": texts(message.client_id for message in messages),
        "speaker": texts(message.speaker for message in messages),
        "text": texts(message.text for message in messages),
        "at": times(message.at for message in messages),
        "reply_to": texts(message.reply_to for message in messages),
        "metadata": jsons(message.metadata for message in messages),
    }


async def ids_of(conn: Connection, space: int, names: Sequence[str]) -> dict[str, str]:
    """The ids of messages by what their callers call them: an id of the caller's own, or ours."""
    if not names:
        return {}
    return await fetch_dict(
        conn,
        """
        SELECT id, id FROM messages
         WHERE account = %(account)s AND space = %(space)s AND id = ANY(%(names)s)
        UNION ALL
        SELECT client_id, id FROM messages
         WHERE account = %(account)s AND space = %(space)s AND client_id = ANY(%(names)s)
        """,
        {"space": space, "names": list(names)},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage(KeptMessage):
    """`answered` is the id of what it can't be understood without."""

    answered: str | None


async def with_preceding(conn: Connection, ids: Sequence[str], dependent: Sequence[str]) -> dict[str, FoundMessage]:
    """These messages by their ids. Some can't be understood alone: of them also what they answer, which is what they
    name, or else what was said within the hour before.
    """
    if not ids:
        return {}
    messages = await fetch_all(
        conn,
        FoundMessage,
        """
        WITH chosen AS MATERIALIZED (
            SELECT m.id, m.seq, m.client_id, m.speaker, m.text, m.at, m.reply_to, m.metadata,
                   CASE WHEN m.id = ANY(%(dependent)s) THEN coalesce(
                       (SELECT r.id FROM messages r
                         WHERE r.account = %(account)s AND r.space = m.space AND r.id = m.reply_to),
                       (SELECT r.id FROM messages r
                         WHERE r.account = %(account)s AND r.space = m.space AND r.client_id = m.reply_to),
                       (SELECT b.id FROM messages b
                         WHERE b.account = %(account)s AND b.space = m.space AND (b.at, b.seq) < (m.at, m.seq)
                           AND b.at >= m.at - interval '1 hour'
                         ORDER BY b.at DESC, b.seq DESC LIMIT 1)) END AS answered
              FROM messages m WHERE m.account = %(account)s AND m.id = ANY(%(ids)s)
        )
        SELECT * FROM chosen
        UNION ALL
        SELECT m.id, m.seq, m.client_id, m.speaker, m.text, m.at, m.reply_to, m.metadata, NULL FROM messages m
         WHERE m.account = %(account)s AND m.id = ANY(ARRAY(SELECT answered FROM chosen)) AND m.id <> ALL(%(ids)s)
        """,
        {"ids": texts(ids), "dependent": texts(dependent)},
    )
    return {message.id: message for message in messages}


async def page(
    conn: Connection, space: int, *, after: tuple[datetime, int] | None, limit: int, speaker: str | None = None,
    since: datetime | None = None, until: datetime | None = None, start: str | None = None, latest_first: bool = False,
) -> list[KeptMessage]:  # fmt: skip
    """In the order in which they were said or backwards, what comes behind `after`: of one speaker, from a time on,
    before another, or all. `start` is a message: it and what follows it, or backwards what was said before it.
    """
    at, last = after or (None, None)
    beyond, order = ("<", "at DESC, seq DESC") if latest_first else (">", "at, seq")
    reached = "<" if latest_first else ">="
    return await fetch_all(
        conn,
        KeptMessage,
        f"""
        SELECT id, seq, client_id, speaker, text, at, reply_to, metadata FROM messages
         WHERE account = %(account)s AND space = %(space)s
           AND (%(at)s::timestamptz IS NULL OR (at, seq) {beyond} (%(at)s, %(last)s::bigint))
           AND (%(start)s::text IS NULL
                OR (at, seq) {reached} (SELECT s.at, s.seq FROM messages s
                                         WHERE s.account = %(account)s AND s.space = %(space)s AND s.id = %(start)s))
           AND (%(speaker)s::text IS NULL OR speaker = %(speaker)s)
           AND (%(since)s::timestamptz IS NULL OR at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR at < %(until)s)
         ORDER BY {order} LIMIT %(limit)s
        """,
        {
            "space": space, "at": at, "last": last, "limit": limit, "speaker": speaker, "since": since, "until": until,
            "start": start,
        },
    )  # fmt: skip


async def last_times(conn: Connection, spaces: Sequence[int]) -> dict[int, datetime]:
    """When somebody last spoke in each of these, as it was said."""
    return await fetch_dict(
        conn,
        """
        SELECT s.space, m.at FROM unnest(%(spaces)s::bigint[]) AS s (space)
         CROSS JOIN LATERAL (SELECT at FROM messages WHERE account = %(account)s AND space = s.space
                              ORDER BY at DESC, seq DESC LIMIT 1) m
        """,
        {"spaces": list(spaces)},
    )


async def speakers(conn: Connection, spaces: Sequence[int]) -> dict[int, int]:
    """How many people spoke in each of these, among the last that was said: to look at all of it would take long."""
    return await fetch_dict(
        conn,
        """
        SELECT s.space, m.people FROM unnest(%(spaces)s::bigint[]) AS s (space)
         CROSS JOIN LATERAL (SELECT count(DISTINCT speaker)::int AS people
                               FROM (SELECT speaker FROM messages WHERE account = %(account)s AND space = s.space
                                      ORDER BY at DESC, seq DESC LIMIT %(most)s) latest) m
        """,
        {"spaces": list(spaces), "most": _LATELY},
    )


async def still_there(conn: Connection, message_ids: Sequence[str]) -> bool:
    """Whether all of these are: what somebody said who was erased meanwhile is not."""
    return await fetch_value(
        conn,
        "SELECT count(*) = %(number)s FROM messages WHERE account = %(account)s AND id = ANY(%(ids)s)",
        {"ids": list(message_ids), "number": len(message_ids)},
    )


async def said_around(
    conn: Connection, space: int, texts: Sequence[str], since: Sequence[datetime], until: Sequence[datetime], *,
    before: int | None,
) -> set[str]:  # fmt: skip
    """Those of the texts that stand in something that was said in the space in their time; with `before`, earlier than
    the message of that number. White space counts for nothing.
    """
    rows = await fetch_column(
        conn,
        """
        SELECT t.said FROM unnest(%(texts)s::text[], %(since)s::timestamptz[], %(until)s::timestamptz[])
                           AS t (said, since, until)
         WHERE EXISTS (SELECT 1 FROM messages m
                        WHERE m.account = %(account)s AND m.space = %(space)s AND m.at >= t.since AND m.at < t.until
                          AND (%(before)s::bigint IS NULL OR m.seq < %(before)s)
                          AND position(split_part(t.said, ' ', 1) IN m.text) > 0  -- cheaper, and seldom true
                          AND position(t.said IN regexp_replace(m.text, '\\s+', ' ', 'g')) > 0)
        """,
        {"space": space, "texts": list(texts), "since": list(since), "until": list(until), "before": before},
    )
    return set(rows)
