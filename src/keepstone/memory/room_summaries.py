"""Episodic memory: what stands for what was said. A thread out of its messages, a session out of threads and messages,
a day out of sessions, a week out of days; made anew when somebody speaks of an earlier time.

By the language model when there is one and it answers, else out of the very sentences that were said.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from keepstone.access.meter import metered
from keepstone.access.principals import worker_for
from keepstone.access.readscope import account_scope, job_scope
from keepstone.engine.index import Source, passages_of
from keepstone.engine.pack import own_words
from keepstone.engine.summarise import PartSummary, RoomLine, summarise, summarise_parts
from keepstone.engine.summarise_model import summarise_by_model
from keepstone.errors import UpstreamError
from keepstone.memory.rooms import find_place, schedule_room_indexing
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.room import Room, Summary, Tier, Utterance
from keepstone.services import Services
from keepstone.store import accounts, passages, rooms
from keepstone.store import summaries as store
from keepstone.store.db import Connection

SILENCE = timedelta(hours=1)
_MANY = 20_000  # messages that are read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A summary to be: what it is of, and its words."""

    tier: Tier
    thread_id: str | None
    starts_at: datetime
    ends_at: datetime
    message_count: int
    source_ids: list[str]
    content: str


async def list_summaries(
    services: Services, principal: Principal, place: str, page: PageRequest, *, tier: Tier | None
) -> Page[Summary]:
    """Those that hold, the latest first."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        room = await find_place(conn, principal, place)
        return await store.page(conn, room.space, tier, page)


async def sum_up_thread(services: Services, account: int, space: int, thread_id: str) -> None:
    """For a thread that was closed, or has grown long."""
    async with services.db.transaction(job_scope(account, space)) as conn:
        room = await rooms.by_space(conn, space)
        said = await rooms.of_thread(conn, thread_id)
        before = await store.of_thread(conn, thread_id)
    if room is None or not said or (before and before.source_ids == [message.id for message in said]):
        return
    made = _Made(
        tier="thread", thread_id=thread_id, starts_at=said[0].ts, ends_at=said[-1].ts, message_count=len(said),
        source_ids=[message.id for message in said], content=await _of_lines(services, account, room, said, "thread"),
    )  # fmt: skip
    await _keep(services, account, room, made, [before] if before else [])


async def due_rooms(services: Services) -> list[tuple[int, int]]:
    """Account and space of the rooms where a session, a day or a week is over and has no summary yet."""
    now = services.clock()
    async with services.db.unscoped() as conn:
        candidates = await rooms.unsummarised(conn, now, silence=SILENCE)
    return [(room.account, room.space) for room in candidates if _is_due(room, now)]


def _is_due(room: rooms.Unsummarised, now: datetime) -> bool:
    try:
        zone = ZoneInfo(room.timezone)
    except ZoneInfoNotFoundError:
        return True  # summing it up says what is wrong
    if room.session_over or (room.days_from is not None and _next_midnight(room.days_from, zone) <= now):
        return True
    return room.weeks_from is not None and _next_monday(room.weeks_from, zone) <= now


async def sum_up(services: Services, account: int, space: int) -> None:
    """Sessions that are over, days that are over, weeks that are over, as far as they are not right yet."""
    now = services.clock()
    async with services.db.transaction(job_scope(account, space)) as conn:
        room = await rooms.by_space(conn, space)
        was = await rooms.due(conn, space)
        owner = await accounts.get(conn)
    if room is None or was is None or owner is None:
        return
    zone = ZoneInfo(owner.timezone)
    session, day, week = was.session, was.day, was.week
    if session is not None:
        start, session = await _sessions(services, account, room, session, now)
        day = _least(day, _midnight(start.astimezone(zone).date(), zone))
    if day is not None:
        week = _least(week, _monday(day.astimezone(zone).date(), zone))
        day = await _days(services, account, room, day, now, zone)
    if week is not None:
        week = await _weeks(services, account, room, week, now, zone)
    async with services.db.transaction(job_scope(account, space)) as conn:
        await rooms.done(conn, space, room.last_seq, rooms.Due(session=session, day=day, week=week))


async def _sessions(
    services: Services, account: int, room: Room, since: datetime, now: datetime
) -> tuple[datetime, datetime | None]:
    """Returns where the first of them begins, and where one is still under way."""
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        start = await rooms.session_start(conn, room.space, since, silence=int(SILENCE.total_seconds()))
        threads = {thread.thread_id or "": thread for thread in await store.that_hold(conn, room.space, "thread")}
    under_way: datetime | None = None
    begin: datetime | None = start
    while begin is not None:
        async with services.db.transaction(job_scope(account, room.space)) as conn:
            said = await rooms.between(conn, room.space, begin, limit=_MANY)
            talks = sessions(said)
            following: datetime | None = None
            if len(said) == _MANY:
                # The last may go on; one that is as long as that goes on as another.
                following = talks.pop()[0].ts if len(talks) > 1 else said[-1].ts + timedelta(microseconds=1)
            elif talks and now - talks[-1][-1].ts < SILENCE:
                under_way = talks.pop()[0].ts
            existing = await store.that_hold(conn, room.space, "session", since=begin, until=following)
        await _keep_sessions(
            services, account, room, talks, {summary.starts_at: summary for summary in existing}, threads
        )
        begin = following
    return start, under_way


async def _keep_sessions(
    services: Services,
    account: int,
    room: Room,
    talks: Sequence[list[Utterance]],
    before: dict[datetime, Summary],
    threads: Mapping[str, Summary],
) -> None:
    for session in talks:
        ids = [message.id for message in session]
        existing = before.pop(session[0].ts, None)
        if existing is not None and existing.source_ids == ids:
            continue
        within = {message.thread_id for message in session if message.thread_id in threads}
        parts = [_part(threads[thread]) for thread in threads if thread in within]
        alone = [message for message in session if message.thread_id not in within]
        made = _Made(
            tier="session", thread_id=None, starts_at=session[0].ts, ends_at=session[-1].ts, message_count=len(session),
            source_ids=ids, content=await _of_both(services, account, room, alone, parts, "session"),
        )  # fmt: skip
        await _keep(services, account, room, made, [existing] if existing else [])
    await _drop(services, account, room, list(before.values()))  # no session begins there any more


async def _days(
    services: Services, account: int, room: Room, since: datetime, now: datetime, zone: ZoneInfo
) -> datetime | None:
    """Returns where the day begins that is not over yet, if anything was said since."""
    day = since.astimezone(zone).date()
    while True:
        begin, end = _midnight(day, zone), _midnight(day + timedelta(days=1), zone)
        if end > now:
            return begin
        await _period(services, account, room, "day", "session", begin, end)
        following = await _next(services, account, room, "session", end)
        if following is None:
            return None if room.last_at is None or room.last_at < end else _midnight(now.astimezone(zone).date(), zone)
        day = following.astimezone(zone).date()


async def _weeks(
    services: Services, account: int, room: Room, since: datetime, now: datetime, zone: ZoneInfo
) -> datetime | None:
    monday = since.astimezone(zone).date()
    while True:
        begin, end = _midnight(monday, zone), _midnight(monday + timedelta(days=7), zone)
        if end > now:
            return begin
        await _period(services, account, room, "week", "day", begin, end)
        following = await _next(services, account, room, "day", end)
        if following is None:
            return None if room.last_at is None or room.last_at < end else _monday(now.astimezone(zone).date(), zone)
        monday = _monday(following.astimezone(zone).date(), zone).astimezone(zone).date()


async def _period(
    services: Services, account: int, room: Room, tier: Tier, below: Tier, begin: datetime, end: datetime
) -> None:
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        parts = await store.that_hold(conn, room.space, below, since=begin, until=end)
        before = await store.that_hold(conn, room.space, tier, since=begin, until=end)
    ids = [part.id for part in parts]
    if not parts:
        await _drop(services, account, room, before)
        return
    if len(before) == 1 and before[0].source_ids == ids:
        return
    made = _Made(
        tier=tier, thread_id=None, starts_at=begin, ends_at=end, source_ids=ids,
        message_count=sum(part.message_count for part in parts),
        content=await _of_both(services, account, room, [], [_part(part) for part in parts], tier),
    )  # fmt: skip
    await _keep(services, account, room, made, before)


async def _next(services: Services, account: int, room: Room, tier: Tier, since: datetime) -> datetime | None:
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        return await store.first_since(conn, room.space, tier, since)


async def _of_lines(services: Services, account: int, room: Room, said: Sequence[Utterance], tier: str) -> str:
    return await _of_both(services, account, room, said, [], tier)


async def _of_both(
    services: Services, account: int, room: Room, said: Sequence[Utterance], parts: Sequence[PartSummary], tier: str
) -> str:
    lines = [RoomLine(speaker=message.name, text=own_words(message.text), at=message.ts) for message in said]
    model = metered(services, worker_for(account), room=room.id)
    if model is not None:
        try:
            return await summarise_by_model(model, [*parts, *lines], tier=tier)
        except UpstreamError:
            pass  # a summary of what was said is better than none
    # In a thread: for a long session it takes a while.
    summaries = [await asyncio.to_thread(summarise_parts, parts)] if parts else []
    summaries += [await asyncio.to_thread(summarise, lines)] if lines else []
    return "\n".join(summaries)


async def _keep(services: Services, account: int, room: Room, made: _Made, before: Sequence[Summary]) -> None:
    """In the place of those before, and findable."""
    if not made.content.strip():
        return
    now = services.clock()
    summary = Summary(
        id=new_id("sum"), tier=made.tier, thread_id=made.thread_id, content=made.content, starts_at=made.starts_at,
        ends_at=made.ends_at, message_count=made.message_count, source_ids=made.source_ids, created_at=now,
    )  # fmt: skip
    services.embedders.need()
    source = Source(kind="summary", id=summary.id, text=summary.content, at=summary.starts_at)
    cut = await passages_of([source], services.embedders.active, visibility=room.visibility)
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        await rooms.hold(conn, room.space)
        await _supersede(conn, before, now)
        await store.insert(conn, room.space, summary, visibility=room.visibility)
        if cut:
            await passages.insert(conn, room.space, cut)
        await schedule_room_indexing(conn, services, account, room.space)


async def _drop(services: Services, account: int, room: Room, gone: Sequence[Summary]) -> None:
    if gone:
        async with services.db.transaction(job_scope(account, room.space)) as conn:
            await _supersede(conn, gone, services.clock())


async def _supersede(conn: Connection, before: Sequence[Summary], now: datetime) -> None:
    ids = [summary.id for summary in before]
    await store.supersede(conn, ids, now)
    await passages.delete(conn, "summary", ids)


def sessions(said: Sequence[Utterance]) -> list[list[Utterance]]:
    """What was said without an hour's silence between."""
    talks: list[list[Utterance]] = []
    for message in said:
        if talks and message.ts - talks[-1][-1].ts < SILENCE:
            talks[-1].append(message)
        else:
            talks.append([message])
    return talks


def _part(summary: Summary) -> PartSummary:
    return PartSummary(text=summary.content, at=summary.starts_at)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _monday(day: date, zone: ZoneInfo) -> datetime:
    return _midnight(day - timedelta(days=day.weekday()), zone)


def _next_midnight(at: datetime, zone: ZoneInfo) -> datetime:
    return _midnight(at.astimezone(zone).date() + timedelta(days=1), zone)


def _next_monday(at: datetime, zone: ZoneInfo) -> datetime:
    return _monday(at.astimezone(zone).date() + timedelta(days=7), zone)


def _least(first: datetime | None, other: datetime) -> datetime:
    return other if first is None else min(first, other)
