"""Rooms and direct messages: the places, who is in them, what was said, and the threads of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.page import Page, PageRequest
from keepstone.model.room import Agent, Room, Thread, Utterance
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
    insert_returning,
    insert_row,
    select_column,
    select_row,
    select_value,
    update_rows,
)

_ROOM: LiteralString = """
    SELECT s.name AS id, s.title AS name, s.space, p.name AS project_id, CASE s.kind WHEN 'dm' THEN s.name END AS agent,
           s.owner, s.created_at, r.last_at, r.last_seq
      FROM spaces s JOIN rooms r USING (account, space)
      LEFT JOIN spaces p ON p.account = r.account AND p.kind = 'project' AND p.owner IS NULL AND p.name = r.project_id
                        AND p.deleted_at IS NULL
     WHERE s.account = %(account)s
"""
_OF_USER: LiteralString = """
    AND s.kind = 'room' AND s.part_of IS NULL
    AND CASE WHEN %(since)s::timestamptz IS NULL THEN s.deleted_at IS NULL ELSE s.deleted_at >= %(since)s END
    AND EXISTS (SELECT 1 FROM members m WHERE m.account = %(account)s AND m.space = s.space AND m.user_id = %(user)s)
"""
_UTTERANCE: LiteralString = """
    SELECT m.id, m.seq, m.user_id AS "user", m.agent, m.speaker AS name, m.text, m.at AS ts, m.thread_id,
           m.attachments, m.version, m.edited_at, m.metadata ->> 'trace_id' AS trace_id
      FROM messages m
     WHERE m.account = %(account)s
"""
_THREAD: LiteralString = """
    SELECT id, title, message_count, opened_at, closed_at FROM threads WHERE account = %(account)s
"""


async def create(conn: Connection, room_id: str, name: str, project_id: str | None, by: str) -> int:
    room = {"kind": "room", "name": room_id, "title": name, "named_by": by}
    space = await insert_returning(conn, "spaces", room, "space")
    await insert_row(conn, "rooms", {"space": space, "project_id": project_id})
    return space


async def ensure_dm(conn: Connection, user_id: str, agent: str) -> None:
    """Two who make it at once get the same."""
    await conn.execute(
        """
        WITH made AS (
            INSERT INTO spaces (account, kind, name, owner) VALUES (%(account)s, 'dm', %(agent)s, %(user)s)
            ON CONFLICT (account, kind, owner, name) DO NOTHING RETURNING space)
        INSERT INTO rooms (account, space) SELECT %(account)s, space FROM made
        RETURNING 1
        """,
        {"agent": agent, "user": user_id},
    )


async def _room(conn: Connection, conditions: LiteralString, **params: Any) -> Room | None:
    return await fetch_one(conn, Room, f"{_ROOM} {conditions}", params)


async def get(conn: Connection, room_id: str, user_id: str, *, since: datetime | None = None) -> Room | None:
    """If this user is in it; with `since`, if it is in the trash since then or later."""
    return await _room(conn, f"{_OF_USER} AND s.name = %(id)s", id=room_id, user=user_id, since=since)


async def get_dm(conn: Connection, user_id: str, agent: str) -> Room | None:
    this: LiteralString = "AND s.kind = 'dm' AND s.owner = %(user)s AND s.name = %(agent)s"
    return await _room(conn, this, user=user_id, agent=agent)


async def by_space(conn: Connection, space: int) -> Room | None:
    """For a job."""
    return await _room(conn, "AND s.space = %(space)s AND s.deleted_at IS NULL", space=space)


async def page(conn: Connection, user_id: str, page: PageRequest, *, since: datetime | None = None) -> Page[Room]:
    """Those that this user is in, the newest first; with `since`, those in the trash since then."""
    params = {"user": user_id, "since": since}
    return await fetch_page(conn, Room, f"{_ROOM} {_OF_USER}", params, page, when="s.created_at", key="s.name")


async def hold(conn: Connection, space: int) -> Room | None:
    """Until the transaction ends, nobody else says anything in it."""
    await conn.execute(
        "SELECT space FROM rooms WHERE account = %(account)s AND space = %(space)s FOR UPDATE", {"space": space}
    )
    return await by_space(conn, space)


async def move(conn: Connection, space: int, project_id: str | None) -> None:
    """Into a project, or out of all."""
    await update_rows(conn, "rooms", {"space": space}, {"project_id": project_id})


async def add_agent(conn: Connection, space: int, agent: str) -> None:
    await insert_new_row(conn, "room_agents", {"space": space, "agent": agent})


async def remove_agent(conn: Connection, space: int, agent: str) -> bool:
    return await delete_rows(conn, "room_agents", {"space": space, "agent": agent}) > 0


async def agents(conn: Connection, space: int, *, when_said: str | None = None) -> list[str]:
    """Those in the room; or who were in it when this message was said."""
    return await fetch_column(
        conn,
        """
        SELECT r.agent FROM room_agents r JOIN agents a ON a.account = r.account AND a.slug = r.agent
         WHERE r.account = %(account)s AND r.space = %(space)s AND a.deleted_at IS NULL
           AND (%(message)s::text IS NULL
                OR r.added_at <= (SELECT m.recorded_at FROM messages m
                                   WHERE m.account = %(account)s AND m.space = %(space)s AND m.id = %(message)s))
         ORDER BY r.added_at, r.agent
        """,
        {"space": space, "message": when_said},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAmong:
    """An agent of a room, and all that are in it."""

    agent: Agent
    slugs: list[str]


async def agent_among(conn: Connection, space: int, slug: str) -> AgentAmong | None:
    """None if it is not in the room."""
    rows = await fetch_rows(
        conn,
        """
        SELECT ARRAY(SELECT r.agent FROM room_agents r JOIN agents o ON o.account = r.account AND o.slug = r.agent
                      WHERE r.account = %(account)s AND r.space = %(space)s AND o.deleted_at IS NULL
                      ORDER BY r.added_at, r.agent),
               a.slug, a.name, a.context_window, a.instructions, a.created_by, a.created_at, a.updated_at
          FROM agents a
         WHERE a.account = %(account)s AND a.slug = %(slug)s AND a.deleted_at IS NULL
        """,
        {"space": space, "slug": slug},
    )
    for slugs, *values in rows:
        if slug in slugs:
            names = ("slug", "name", "context_window", "instructions", "created_by", "created_at", "updated_at")
            return AgentAmong(agent=Agent(**dict(zip(names, values, strict=True))), slugs=slugs)
    return None


async def part(conn: Connection, space: int, kind: str, agent: str) -> int:
    """Where this agent keeps what it remembers of the place; made when it was not there."""
    this = {"part_of": space, "name": f"{space}/{agent}"}
    await insert_new_row(conn, "spaces", {"kind": kind, **this})
    return await select_value(conn, "spaces", "space", this)


async def parts(conn: Connection, spaces: Sequence[int], agents: Sequence[str]) -> list[int]:
    """Where these agents keep what they remember of these places, as far as they do."""
    return await fetch_column(
        conn,
        """
        SELECT p.space FROM spaces p
         WHERE p.account = %(account)s AND p.part_of = ANY(%(spaces)s)
           AND split_part(p.name, '/', 2) = ANY(%(agents)s) AND p.deleted_at IS NULL
        """,
        {"spaces": list(spaces), "agents": list(agents)},
    )


async def named(conn: Connection, kind: str, names: Sequence[str]) -> list[int]:
    """The spaces of these profiles, or projects."""
    where = {"kind": kind, "name": list(names), "part_of": None, "deleted_at": None}
    return await select_column(conn, "spaces", "space", where)


async def read_by_agent(
    conn: Connection, room: int, agent: str, *, profiles: Sequence[str], project: str | None, account_id: str
) -> list[int]:
    """The spaces beside the room's own that an agent reads there: these profiles, the project, its own parts of all of
    them and of the room, and what is the account's.
    """
    named = [*(("profile", user) for user in profiles), *([("project", project)] if project else [])]
    return await fetch_column(
        conn,
        """
        WITH places AS MATERIALIZED (
            SELECT s.space, s.kind FROM spaces s
              JOIN unnest(%(kinds)s::text[], %(names)s::text[]) AS n (kind, name) ON n.kind = s.kind AND n.name = s.name
             WHERE s.account = %(account)s AND s.part_of IS NULL AND s.deleted_at IS NULL)
        SELECT space FROM places
        UNION ALL
        SELECT p.space FROM spaces p
         WHERE p.account = %(account)s
           AND p.part_of = ANY(%(room)s || ARRAY(SELECT space FROM places WHERE kind <> 'global'))
           AND split_part(p.name, '/', 2) = %(agent)s AND p.deleted_at IS NULL
        """,
        {
            "kinds": [*(kind for kind, _ in named), "global"],
            "names": [*(name for _, name in named), account_id],
            "room": room,
            "agent": agent,
        },
    )


async def say(
    conn: Connection, room: Room, message: Utterance, client_id: str | None, *, sent_by: str | None = None
) -> int:
    """Append it; the room's row is held. Returns its place. Summaries of its time have to be made anew. `sent_by` is
    who let an agent say it.
    """
    values = {
        "space": room.space,
        "id": message.id,
        "client_id": client_id,
        "speaker": message.name,
        "user_id": message.user,
        "sent_by": sent_by,
        "agent": message.agent,
        "text": message.text,
        "at": message.ts,
        "thread_id": message.thread_id,
        "visibility": room.visibility,
        "attachments": Jsonb(message.attachments),
        "metadata": Jsonb({"trace_id": message.trace_id} if message.trace_id else {}),
    }
    seq: int = await insert_returning(conn, "messages", values, "seq")
    await conn.execute(
        """
        UPDATE rooms SET last_at = greatest(last_at, %(at)s), last_seq = %(seq)s,
                         dirty_from = least(coalesce(dirty_from, %(at)s), %(at)s)
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"at": message.ts, "seq": seq, "space": room.space},
    )
    return seq


async def utterances(conn: Connection, conditions: LiteralString, **params: Any) -> list[Utterance]:
    """Messages `m` of which these hold, each with its AND, and whatever follows them."""
    return await fetch_all(conn, Utterance, f"{_UTTERANCE} {conditions}", params)


async def by_client_id(conn: Connection, space: int, client_id: str) -> Utterance | None:
    these: LiteralString = "AND m.space = %(space)s AND m.client_id = %(client)s"
    return next(iter(await utterances(conn, these, space=space, client=client_id)), None)


async def latest(conn: Connection, space: int, *, limit: int, beyond: int = 0) -> list[Utterance]:
    """The last that were said, in order; of those that came after that place (`seq`)."""
    these: LiteralString = (
        "AND m.space = %(space)s AND m.seq > %(beyond)s ORDER BY m.at DESC, m.seq DESC LIMIT %(limit)s"
    )
    return (await utterances(conn, these, space=space, beyond=beyond, limit=limit))[::-1]


async def messages(
    conn: Connection, space: int, *, after: tuple[datetime, int] | None, limit: int, thread_id: str | None = None,
    latest_first: bool = False,
) -> list[Utterance]:  # fmt: skip
    """Page by page, in the order in which they were said, or backwards."""
    at, last = after or (None, None)
    beyond, order = ("<", "m.at DESC, m.seq DESC") if latest_first else (">", "m.at, m.seq")
    return await fetch_all(
        conn,
        Utterance,
        f"""{_UTTERANCE}
           AND m.space = %(space)s AND (%(thread)s::text IS NULL OR m.thread_id = %(thread)s)
           AND (%(at)s::timestamptz IS NULL OR (m.at, m.seq) {beyond} (%(at)s, %(last)s::bigint))
         ORDER BY {order} LIMIT %(limit)s
        """,
        {"space": space, "thread": thread_id, "at": at, "last": last, "limit": limit},
    )


async def between(
    conn: Connection, space: int, since: datetime, *, until: datetime | None = None, limit: int = 20_000
) -> list[Utterance]:
    """What was said from then on, in order."""
    these: LiteralString = """
           AND m.space = %(space)s AND m.at >= %(since)s AND (%(until)s::timestamptz IS NULL OR m.at < %(until)s)
         ORDER BY m.at, m.seq LIMIT %(limit)s
    """
    return await utterances(conn, these, space=space, since=since, until=until, limit=limit)


async def session_start(conn: Connection, space: int, at: datetime, *, silence: int) -> datetime:
    """When the session that was under way at that time began: before it there were so many seconds of silence."""
    start: datetime | None = await fetch_value(
        conn,
        """
        WITH RECURSIVE back AS (
            SELECT %(at)s::timestamptz AS at
            UNION ALL
            SELECT (SELECT m.at FROM messages m
                     WHERE m.account = %(account)s AND m.space = %(space)s AND m.at < b.at
                       AND m.at >= b.at - make_interval(secs => %(silence)s)
                     ORDER BY m.at LIMIT 1)
              FROM back b WHERE b.at IS NOT NULL)
        SELECT min(at) FROM back
        """,
        {"space": space, "at": at, "silence": silence},
    )
    return start or at


async def of_thread(conn: Connection, thread_id: str, *, limit: int = 20_000) -> list[Utterance]:
    these: LiteralString = "AND m.thread_id = %(thread)s ORDER BY m.at, m.seq LIMIT %(limit)s"
    return await utterances(conn, these, thread=thread_id, limit=limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """From when on summaries have to be made anew, tier by tier; None for nothing."""

    session: datetime | None
    day: datetime | None
    week: datetime | None


async def due(conn: Connection, space: int) -> Due | None:
    return await fetch_one(
        conn,
        Due,
        """
        SELECT dirty_from AS session, days_from AS day, weeks_from AS week FROM rooms
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"space": space},
    )


async def done(conn: Connection, space: int, last_seq: int, now: Due) -> None:
    """The summaries are right up to `now`, unless something was said after that message: then all is looked at again,
    which changes nothing where nothing changed.
    """
    await conn.execute(
        """
        UPDATE rooms
           SET dirty_from = CASE WHEN last_seq = %(seq)s THEN %(session)s ELSE least(dirty_from, %(session)s) END,
               days_from = %(day)s, weeks_from = %(week)s
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"seq": last_seq, "session": now.session, "day": now.day, "week": now.week, "space": space},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsummarised:
    """A room that lacks summaries: of a session that is over, or of days and weeks from these times on."""

    account: int
    space: int
    session_over: bool
    days_from: datetime | None
    weeks_from: datetime | None
    timezone: str


async def unsummarised(conn: Connection, now: datetime, *, silence: timedelta) -> list[Unsummarised]:
    """The rooms in which summaries are missing, or may be soon. Needs no scope."""
    return await fetch_all(
        conn, Unsummarised, "SELECT * FROM rooms_to_sum_up(%(now)s, %(silence)s)", {"now": now, "silence": silence}
    )


async def open_thread(conn: Connection, space: int, thread: Thread, by: str | None = None) -> bool:
    """False when there is one of this id in the account already. `by` is who gave it its title."""
    values = {"space": space, "id": thread.id, "title": thread.title, "named_by": by, "opened_at": thread.opened_at}
    return await insert_new_row(conn, "threads", values)


async def thread(conn: Connection, space: int, thread_id: str) -> Thread | None:
    return await select_row(conn, Thread, "threads", {"space": space, "id": thread_id})


async def threads(conn: Connection, space: int, page: PageRequest) -> Page[Thread]:
    query: LiteralString = f"{_THREAD} AND space = %(space)s"
    return await fetch_page(conn, Thread, query, {"space": space}, page, when="opened_at")


async def grow_thread(conn: Connection, thread_id: str) -> int:
    """One message more; returns how many there are."""
    return await fetch_value(
        conn,
        """
        UPDATE threads SET message_count = message_count + 1 WHERE account = %(account)s AND id = %(id)s
        RETURNING message_count
        """,
        {"id": thread_id},
    )


async def close_thread(conn: Connection, thread_id: str, at: datetime) -> None:
    await update_rows(conn, "threads", {"id": thread_id}, {"closed_at": at})


async def with_parts(conn: Connection, spaces: Sequence[int]) -> list[int]:
    """These, and every agent's part of them."""
    return await fetch_column(
        conn,
        """
        SELECT space FROM spaces
         WHERE account = %(account)s AND (space = ANY(%(spaces)s) OR part_of = ANY(%(spaces)s)) AND deleted_at IS NULL
        """,
        {"spaces": list(spaces)},
    )
