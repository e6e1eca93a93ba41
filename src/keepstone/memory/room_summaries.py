"""Episodic memory: what stands for what was said. A thread out of its messages, a session out of threads and messages,
a day out of sessions, a week out of days; made anew when somebody speaks of an earlier time.

By the language model when there is one and it answers, else out of the very sentences that were said.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from keepstone.access.meter import try_model
from keepstone.access.principals import worker_for
from keepstone.access.readscope import inside, job_scope
from keepstone.engine.cutting import Source
from keepstone.engine.echoes import new_words
from keepstone.engine.index import passages_of
from keepstone.engine.summarise import PartSummary, RoomLine, summarise, summarise_parts
from keepstone.engine.summarise_model import summarise_by_model
from keepstone.memory.names import speaker_key, told_apart
from keepstone.memory.rooms import find_place, schedule_room_indexing
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.room import Room, Summary, Tier, Utterance
from keepstone.model.workspace import Member
from keepstone.services import Services
from keepstone.store import accounts, passages, room_messages, rooms, workspaces
from keepstone.store import summaries as store
from keepstone.store.db import Connection

SILENCE = timedelta(hours=1)
_MANY = 20_000  # messages that are read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class _RoomWork:
    """A room whose summaries are being made, by a job."""

    services: Services
    account: int
    room: Room
    zone: ZoneInfo
    people: Sequence[Member]
    agents: Sequence[str]

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        return self.services.db.transaction(job_scope(self.account, self.room.space))


async def list_summaries(
    services: Services, principal: Principal, place: str, page: PageRequest, *, tier: Tier | None
) -> Page[Summary]:
    """Those that hold, the latest first."""
    async with inside(services, principal, find_place, place) as (conn, room):
        return await store.page(conn, room.space, tier, page)


async def sum_up_thread(services: Services, account: int, space: int, thread_id: str) -> None:
    """For a thread that was closed, or has grown long."""
    async with services.db.transaction(job_scope(account, space)) as conn:
        work = await _work(conn, services, account, space)
        said = await rooms.of_thread(conn, thread_id)
        before = await store.of_thread(conn, thread_id)
    if work is not None and said:
        await _make(work, _of_messages("thread", said, thread_id), [before] if before else [], said, [])


async def _work(conn: Connection, services: Services, account: int, space: int) -> _RoomWork | None:
    room, owner = await rooms.by_space(conn, space), await accounts.get(conn)
    if room is None or owner is None:
        return None
    return _RoomWork(
        services=services, account=account, room=room, zone=ZoneInfo(owner.timezone),
        people=await workspaces.members(conn, space), agents=await rooms.agents(conn, space),
    )  # fmt: skip


async def due_rooms(services: Services) -> list[tuple[int, int]]:
    """Account and space of the rooms where a session, a day or a week is over and has no summary yet."""
    now = services.clock()
    async with services.db.of_server() as conn:
        candidates = await rooms.unsummarised(conn, now, silence=SILENCE)
    return [(room.account, room.space) for room in candidates if _is_due(room, now)]


def _is_due(room: rooms.Unsummarised, now: datetime) -> bool:
    try:
        zone = ZoneInfo(room.timezone)
    except ZoneInfoNotFoundError:
        return True  # summing it up says what is wrong
    if room.session_over or (room.days_from is not None and _begin_of("day", room.days_from, zone, later=1) <= now):
        return True
    return room.weeks_from is not None and _begin_of("week", room.weeks_from, zone, later=1) <= now


async def sum_up(services: Services, account: int, space: int) -> None:
    """Sessions that are over, days that are over, weeks that are over, as far as they are not right yet."""
    now = services.clock()
    async with services.db.transaction(job_scope(account, space)) as conn:
        work = await _work(conn, services, account, space)
        was = await rooms.due(conn, space)
    if work is None or was is None:
        return
    room, zone = work.room, work.zone
    session, day, week = was.session, was.day, was.week
    if session is not None:
        start, session = await _sessions(work, session, now)
        first = _begin_of("day", start, zone)
        day = min(day or first, first)
    if day is not None:
        first = _begin_of("week", day, zone)
        week = min(week or first, first)
        day = await _periods(work, "day", "session", day, now, zone)
    if week is not None:
        week = await _periods(work, "week", "day", week, now, zone)
    async with work.transaction() as conn:
        await rooms.done(conn, space, room.last_seq, rooms.Due(session=session, day=day, week=week))


async def _sessions(work: _RoomWork, since: datetime, now: datetime) -> tuple[datetime, datetime | None]:
    """Returns where the first of them begins, and where one is still under way."""
    space = work.room.space
    async with work.transaction() as conn:
        start = await rooms.session_start(conn, space, since, silence=int(SILENCE.total_seconds()))
        threads = {thread.thread_id or "": thread for thread in await store.that_hold(conn, space, "thread")}
    under_way: datetime | None = None
    begin: datetime | None = start
    while begin is not None:
        async with work.transaction() as conn:
            said = await rooms.between(conn, space, begin, limit=_MANY)
            talks = sessions(said)
            following: datetime | None = None
            if len(said) == _MANY:
                # The last may go on; one that is as long as that goes on as another.
                following = talks.pop()[0].ts if len(talks) > 1 else said[-1].ts + timedelta(microseconds=1)
            elif talks and now - talks[-1][-1].ts < SILENCE:
                under_way = talks.pop()[0].ts
            existing = await store.that_hold(conn, space, "session", since=begin, until=following)
        await _keep_sessions(work, talks, {summary.starts_at: summary for summary in existing}, threads)
        begin = following
    return start, under_way


async def _keep_sessions(
    work: _RoomWork, talks: Sequence[list[Utterance]], before: dict[datetime, Summary], threads: Mapping[str, Summary]
) -> None:
    for session in talks:
        existing = before.pop(session[0].ts, None)
        within = {message.thread_id for message in session if message.thread_id in threads}
        parts = [threads[thread] for thread in threads if thread in within]
        alone = [message for message in session if message.thread_id not in within]
        await _make(work, _of_messages("session", session), [existing] if existing else [], alone, parts)
    await _drop(work, list(before.values()))  # no session begins there any more


async def _periods(
    work: _RoomWork, tier: Tier, below: Tier, since: datetime, now: datetime, zone: ZoneInfo
) -> datetime | None:
    """Days out of sessions, or weeks out of days. Returns where the one begins that is not over yet, if anything was
    said since.
    """
    begin = _begin_of(tier, since, zone)
    while (end := _begin_of(tier, begin, zone, later=1)) <= now:
        await _period(work, tier, below, begin, end)
        async with work.transaction() as conn:
            following = await store.first_since(conn, work.room.space, below, end)
        if following is None:
            last_at = work.room.last_at
            return None if last_at is None or last_at < end else _begin_of(tier, now, zone)
        begin = _begin_of(tier, following, zone)
    return begin


async def _period(work: _RoomWork, tier: Tier, below: Tier, begin: datetime, end: datetime) -> None:
    async with work.transaction() as conn:
        parts = await store.that_hold(conn, work.room.space, below, since=begin, until=end)
        before = await store.that_hold(conn, work.room.space, tier, since=begin, until=end)
    if not parts:
        await _drop(work, before)
        return
    made = Summary(
        id=new_id("sum"), tier=tier, thread_id=None, content="", starts_at=begin, ends_at=end, created_at=begin,
        message_count=sum(part.message_count for part in parts), source_ids=[part.id for part in parts],
    )  # fmt: skip
    await _make(work, made, before, [], parts)


def _of_messages(tier: Tier, said: Sequence[Utterance], thread_id: str | None = None) -> Summary:
    """What is to stand for these; its words are still to be made."""
    return Summary(
        id=new_id("sum"), tier=tier, thread_id=thread_id, content="", starts_at=said[0].ts, ends_at=said[-1].ts,
        message_count=len(said), source_ids=[message.id for message in said], created_at=said[0].ts,
    )  # fmt: skip


async def _make(
    work: _RoomWork, summary: Summary, before: Sequence[Summary], said: Sequence[Utterance], parts: Sequence[Summary]
) -> None:
    """Put it into words, out of these messages and summaries, and keep it in the place of those before; unless one of
    the same is there.
    """
    if [earlier.source_ids for earlier in before] == [summary.source_ids]:
        return
    services, room = work.services, work.room
    content = await _in_words(work, summary.tier, said, parts)
    if not content.strip():
        return
    now = services.clock()
    summary = replace(summary, content=content, created_at=now)
    services.embedders.need()
    source = Source(kind="summary", id=summary.id, text=summary.content, at=summary.starts_at)
    cut = await passages_of(services, [source], visibility=room.visibility)
    async with work.transaction() as conn:
        await rooms.hold(conn, room.space)
        as_read = await room_messages.unchanged(conn, said)
        if not as_read or not await store.still_there(conn, [part.id for part in parts]):
            return  # whoever erased or corrected them has marked the room: it is summed up anew
        await _supersede(conn, before, now)
        await store.insert(conn, room.space, summary, visibility=room.visibility)
        if cut:
            await passages.insert(conn, room.space, cut)
        await schedule_room_indexing(conn, services, work.account, room.space)


async def _in_words(work: _RoomWork, tier: str, said: Sequence[Utterance], parts: Sequence[Summary]) -> str:
    async with work.transaction() as conn:
        own = [await new_words(conn, work.room.space, message.text, before=message.seq) for message in said]
    names = told_apart(work.people, said, work.agents)
    lines = [
        RoomLine(speaker=names[speaker_key(message)], text=text, at=message.ts.astimezone(work.zone))
        for message, text in zip(said, own, strict=True)
    ]
    summed = [PartSummary(text=part.content, at=part.starts_at.astimezone(work.zone)) for part in parts]
    content = await try_model(
        work.services, worker_for(work.account), room=work.room.id,
        ask=lambda model: summarise_by_model(model, [*summed, *lines], tier=tier),
    )  # fmt: skip
    if content is not None:
        return content
    run = work.services.offload.run
    summaries = [await run(sum(len(part.text) for part in summed), summarise_parts, summed)] if summed else []
    summaries += [await run(sum(len(line.text) for line in lines), summarise, lines)] if lines else []
    return "\n".join(summaries)


async def _drop(work: _RoomWork, gone: Sequence[Summary]) -> None:
    if gone:
        async with work.transaction() as conn:
            await _supersede(conn, gone, work.services.clock())


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


def _begin_of(tier: Tier, at: datetime, zone: ZoneInfo, *, later: int = 0) -> datetime:
    """When the day or the week begins that this moment is in, or one that many later."""
    day = at.astimezone(zone).date()
    if tier == "week":
        day -= timedelta(days=day.weekday())
    length = timedelta(days=7 if tier == "week" else 1)
    return datetime.combine(day + later * length, time(), zone).astimezone(UTC)
