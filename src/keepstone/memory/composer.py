"""The composer: what an agent is given to answer a message, out of four layers in a fixed order, under a hard wall.

Owns what goes into a prompt and how much of it, and compaction. Who may see what is settled before anything is read: in
a room, what was said there, the participants' profiles and the project, public or shared; in a direct message, that
conversation, that user's profile and the project, private or shared. Nothing in a text can widen it. Composing stores
nothing but a compaction, and calls a language model for nothing else.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from keepstone.access.meter import metered
from keepstone.access.principals import act_for
from keepstone.access.readscope import account_scope, audience_scope
from keepstone.engine import lookup
from keepstone.engine.gather import NOTES, SearchPlace
from keepstone.engine.pack import CLOSING, OPENING, defused, own_words
from keepstone.engine.summarise import RoomLine, summarise
from keepstone.engine.summarise_model import summarise_by_model
from keepstone.errors import Invalid, NotFound, UpstreamError
from keepstone.memory.agents import find_agent
from keepstone.memory.projects import require_project
from keepstone.memory.room_memories import EVERYBODY
from keepstone.memory.rooms import find_dm, find_room, recent_messages
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.room import PROMPTED, Agent, Fact, Landmark, Participant, Room, RoomMemory, Summary, Utterance
from keepstone.services import Services
from keepstone.store import candidates, facts, room_memories, rooms, summaries
from keepstone.store.db import Connection

FULL = 0.7  # of the window: from here on the oldest part is compacted
LEFT = 0.55  # of the window, that the whole may take after that
SHARE = 0.12  # of the window, at most, for what was recalled, for summaries, and for facts
RECALLED = 10
RELEVANT = 0.03  # low, since summaries that say the same share in it
_NEAREST_SUMMARIES = 3
_SUMMARY, _LEAST = 1_500, 240  # characters of a compaction without a language model


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    layer: str
    name: str
    tokens: int
    ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    messages: list[dict[str, str]]
    sections: list[Section]
    prompt_tokens: int
    window: int
    compacted: bool
    run_ids: list[str]
    visibility: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """Whom an agent answers, where, and all that it may read for that."""

    room: Room
    agent: Agent
    user_id: str
    user_name: str
    participants: Sequence[Participant]
    agents: Sequence[str]
    project_id: str | None
    scope: ReadScope
    fact_scopes: list[tuple[str, str]]
    run_ids: list[str]

    @property
    def visibility(self) -> list[str]:
        return ["private", "shared"] if self.room.agent else ["public", "shared"]

    def lets(self, memory: RoomMemory) -> bool:
        """The filter once more, on what the database gave: where it is from, who may see it, whose memory it is."""
        own = memory.visibility != "private" or memory.user_id == self.user_id
        return (
            memory.run_id in self.run_ids
            and memory.visibility in self.visibility
            and memory.agent_id in {self.agent.slug, EVERYBODY}
            and own
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """What the layers hold for this message."""

    working: list[Utterance]
    compacted: list[str]  # of the last messages those that the compaction stands for
    compaction: summaries.Compaction | None
    episodic: list[Summary]
    semantic: list[RoomMemory]
    structured: list[Fact]
    landmarks: list[Landmark]


@dataclass(slots=True)
class _Counted:
    """Texts with their tokens, each counted once."""

    count: Callable[[str], int]
    known: dict[str, int] = field(default_factory=dict[str, int])

    def __call__(self, text: str) -> int:
        if text not in self.known:
            self.known[text] = self.count(text)
        return self.known[text]


async def compose_room(
    services: Services, principal: Principal, room_id: str, *, agent: str, user: str | None, text: str,
    window: int | None,
) -> Composed:  # fmt: skip
    """The prompt for an agent that is in the room."""
    if user is not None:
        principal = await act_for(services, principal, user)
    wall = await room_wall(services, principal, room_id, agent)
    return await _compose(services, principal, wall, text, window)


async def compose_dm(
    services: Services, principal: Principal, agent: str, *, user: str | None, text: str, project_id: str | None,
    window: int | None,
) -> Composed:  # fmt: skip
    """The prompt for an agent that answers the calling user alone."""
    if user is not None:
        principal = await act_for(services, principal, user)
    wall = await dm_wall(services, principal, agent, project_id)
    return await _compose(services, principal, wall, text, window)


async def room_wall(services: Services, principal: Principal, room_id: str, agent: str) -> Wall:
    """What an agent of the room may read to answer the caller there."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        room = await find_room(conn, principal, room_id)
        agents = await rooms.agents(conn, room.space)
        if agent not in agents:
            raise NotFound("There is no such agent in this room.")
        participants = await rooms.participants(conn, room.space)
        return await _wall(conn, principal, room, await find_agent(conn, agent), participants, agents, room.project_id)


async def dm_wall(services: Services, principal: Principal, agent: str, project_id: str | None) -> Wall:
    """What an agent may read to answer the caller alone."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await require_project(conn, principal, project_id)
        room = await find_dm(conn, principal, agent)
        me = await rooms.people(conn, [str(principal.user_id)])
        return await _wall(conn, principal, room, await find_agent(conn, agent), me, [agent], project_id)


async def _wall(
    conn: Connection, principal: Principal, room: Room, agent: Agent, participants: Sequence[Participant],
    agents: Sequence[str], project_id: str | None,
) -> Wall:  # fmt: skip
    """The two filters, made once, from who asks and where: nothing later adds to them."""
    people = [one.user_id for one in participants]
    profiles = await rooms.named(conn, "profile", people)
    projects = await rooms.named(conn, "project", [project_id]) if project_id else []
    parts = await rooms.parts(conn, [room.space, *profiles, *projects], [agent.slug])
    account = await rooms.named(conn, "global", [principal.account_id])
    me = next((one for one in participants if one.user_id == principal.user_id), None)
    name = (me.name or me.email.split("@", maxsplit=1)[0]) if me else ""
    return Wall(
        room=room,
        agent=agent,
        user_id=str(principal.user_id),
        user_name=name,
        participants=participants,
        agents=agents,
        project_id=project_id,
        scope=audience_scope(
            principal, [room.space, *profiles, *projects, *parts, *account], private=room.agent is not None
        ),
        fact_scopes=[
            *([("room", room.id)] if room.agent is None else []),
            *([("project", project_id)] if project_id else []),
            *(("user", one) for one in people),
            ("global", principal.account_id),
        ],
        run_ids=[
            room.run_id,
            *(f"profile:{one}" for one in people),
            *([f"project:{project_id}"] if project_id else []),
        ],
    )


async def _compose(services: Services, principal: Principal, wall: Wall, text: str, window: int | None) -> Composed:
    size = window or wall.agent.context_window
    count = _Counted(services.tokenizer.count)
    found = await _read(services, principal, wall, text)
    # In a thread: to count 40 long messages, or to read the vocabulary for the first time, takes a while.
    composed = await asyncio.to_thread(_fit, wall, found, text, size, count)
    compacted = False
    if composed.prompt_tokens > FULL * size and len(found.working) > 1:
        working = sum(count(one["content"]) + 4 for one in composed.messages[1:-1])
        compacted = await _compact(services, principal, wall, found, size, composed.prompt_tokens - working, count)
        found = await _read(services, principal, wall, text)
        composed = await asyncio.to_thread(_fit, wall, found, text, size, count)
    composed = _shrunk(wall, found, text, size, count, composed)
    return Composed(
        messages=composed.messages, sections=composed.sections, prompt_tokens=composed.prompt_tokens,
        window=composed.window, compacted=compacted, run_ids=composed.run_ids, visibility=composed.visibility,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ the layers


async def _read(services: Services, principal: Principal, wall: Wall, text: str) -> _Read:
    """Each layer, in the wall's scope alone."""
    question = lookup.question(own_words(text), speaker=wall.user_name or None, asked_at=services.clock())
    latest, asked = await asyncio.gather(
        recent_messages(services, principal, wall.room), lookup.ask(services, question, _standing(services, wall))
    )
    standing, compaction = asked.place, asked.place.compaction
    semantic: list[RoomMemory] = []
    near: list[Summary] = []
    if not standing.empty:
        async with services.db.transaction(wall.scope) as conn:
            # Twice as many, since summaries are among them, and say the same again tier upon tier.
            matches = await lookup.find(conn, asked, limit=2 * RECALLED, floor=RELEVANT, style=NOTES)
            memories = await room_memories.by_ids(conn, matches.ids)
            summed = await summaries.by_ids(conn, matches.ids)
        semantic = [memories[name] for name in matches.ids if name in memories and wall.lets(memories[name])][:RECALLED]
        near = [summed[name] for name in matches.ids if name in summed][:_NEAREST_SUMMARIES]
    # By their ids: what is told late may stand before what was compacted.
    compacted = set(compaction.source_ids) if compaction else set[str]()
    working = [one for one in latest[-PROMPTED:] if one.id not in compacted]
    if working and (working[-1].user, working[-1].text) == (wall.user_id, text):
        working = working[:-1]  # it was said in the room already
    known = {summary.id for summary in standing.recent}
    return _Read(
        working=working,
        compacted=[one.id for one in latest[-PROMPTED:] if one.id in compacted],
        compaction=compaction,
        episodic=sorted(
            [*standing.recent, *(summary for summary in near if summary.id not in known)],
            key=lambda summary: summary.starts_at,
        ),
        semantic=semantic,
        structured=standing.structured,
        landmarks=standing.landmarks,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing(SearchPlace):
    """What does not depend on the question; and how much there is to search."""

    compaction: summaries.Compaction | None
    structured: list[Fact]
    landmarks: list[Landmark]
    recent: list[Summary]


async def _standing(services: Services, wall: Wall) -> _Standing:
    async with services.db.transaction(wall.scope) as conn:
        return _Standing(
            scope=wall.scope,
            size=await candidates.survey(conn, wall.scope.spaces),
            compaction=await summaries.compaction(conn, wall.room.space, _view(wall)),
            structured=await facts.of_scopes(conn, wall.fact_scopes),
            landmarks=await room_memories.landmarks(conn, wall.room.space),
            recent=await _recent(conn, wall.room.space),
        )


async def _recent(conn: Connection, space: int) -> list[Summary]:
    """What stands for the time before the last messages: the last week, the days after it, the sessions after those."""
    weeks = await summaries.that_hold(conn, space, "week", limit=1)
    days = await summaries.that_hold(conn, space, "day", since=weeks[-1].ends_at if weeks else None, limit=3)
    last = days[-1].ends_at if days else weeks[-1].ends_at if weeks else None
    return [*weeks, *days, *await summaries.that_hold(conn, space, "session", since=last, limit=3)]


# ------------------------------------------------------------------------------------------------ the prompt


def _fit(wall: Wall, found: _Read, text: str, size: int, count: _Counted) -> Composed:
    """The prompt of these layers: landmarks all, of the others what their share of the window holds."""
    share = int(SHARE * size)
    episodic, episodic_ids = _within([(one.id, _summed(one)) for one in reversed(found.episodic)], share, count)
    if found.compaction:
        episodic = [f"- (compacted) {defused(found.compaction.content)}", *episodic]
        episodic_ids = [found.compaction.id, *episodic_ids]
    semantic, semantic_ids = _within([(one.id, _recalled(wall, one)) for one in found.semantic], share, count)
    structured, structured_ids = _within([(one.id, _fact(wall, one)) for one in found.structured], share, count)
    landmarks = [f"- [{one.created_at:%Y-%m-%d}] {defused(one.text)}" for one in found.landmarks]
    lines = [_said(wall, one) for one in found.working]
    header = "\n".join(
        [
            *_place(wall),
            OPENING,
            *_part("[LANDMARKS] decided, and still in force", landmarks),
            *_part("[FACTS] exact values", structured),
            *_part("[SUMMARIES] earlier conversation", episodic),
            *_part("[RECALL] what may matter now", semantic),
            CLOSING,
        ]
    )
    system = f"{wall.agent.instructions}\n\n{header}" if wall.agent.instructions else header
    asked = {"role": "user", "content": f"{wall.user_name}: {text}" if wall.user_name else text}
    messages = [{"role": "system", "content": system}, *lines, asked]
    sections = [
        Section(layer="instructions", name="agent", tokens=count(wall.agent.instructions), ids=[wall.agent.slug]),
        Section(
            layer="working", name=f"the last {len(lines)} messages", ids=[one.id for one in found.working],
            tokens=sum(count(one["content"]) for one in lines),
        ),
        Section(layer="episodic", name="summaries", tokens=_total(episodic, count), ids=episodic_ids),
        Section(layer="semantic", name="recall", tokens=_total(semantic, count), ids=semantic_ids),
        Section(layer="structured", name="facts", tokens=_total(structured, count), ids=structured_ids),
        Section(
            layer="landmarks", name="landmarks", tokens=_total(landmarks, count),
            ids=[one.id for one in found.landmarks],
        ),
        Section(layer="message", name="latest message", tokens=count(asked["content"]), ids=[]),
    ]  # fmt: skip
    return Composed(
        messages=messages,
        sections=sections,
        prompt_tokens=sum(count(one["content"]) + 4 for one in messages) + 3,
        window=size,
        compacted=False,
        run_ids=wall.run_ids,
        visibility=wall.visibility,
    )


def _shrunk(wall: Wall, found: _Read, text: str, size: int, count: _Counted, composed: Composed) -> Composed:
    """What does not fit the window at all goes without what can be done without, least needed first."""
    for part in ("semantic", "episodic", "structured"):
        if composed.prompt_tokens <= size:
            return composed
        found = _without(found, **{part: []})
        composed = _fit(wall, found, text, size, count)
    while composed.prompt_tokens > size and found.working:
        found = _without(found, working=found.working[max(1, len(found.working) // 4) :])
        composed = _fit(wall, found, text, size, count)
    if composed.prompt_tokens > size:
        raise Invalid(
            f"The message, the agent's instructions and the landmarks alone take {composed.prompt_tokens} tokens, and "
            f"the window has {size}: shorten the message, or give the agent a larger window."
        )
    return composed


def _without(found: _Read, **parts: Any) -> _Read:
    kept = {name: getattr(found, name) for name in _Read.__slots__}
    return _Read(**(kept | parts))


def _within(lines: Sequence[tuple[str, str]], most: int, count: _Counted) -> tuple[list[str], list[str]]:
    """The first of them that fit."""
    kept: list[str] = []
    ids: list[str] = []
    spent = 0
    for one, text in lines:
        cost = count(text) + 1
        if spent + cost <= most:
            kept.append(text)
            ids.append(one)
            spent += cost
    return kept, ids


def _place(wall: Wall) -> list[str]:
    people = ", ".join(f"{defused(one.name or one.email)} ({one.user_id})" for one in wall.participants)
    where = (
        f"[DIRECT MESSAGE] with {people}; nobody else reads along"
        if wall.room.agent
        else f"[ROOM] {defused(wall.room.name)} ({wall.room.id})"
    )
    lines = [f"You are {defused(wall.agent.name)} ({wall.agent.slug}).", where]
    lines += [f"[PROJECT] {wall.project_id}"] if wall.project_id else []
    lines += [f"[PARTICIPANTS] {people}; agents: {', '.join(wall.agents)}"] if not wall.room.agent else []
    return lines


def _part(title: str, lines: Sequence[str]) -> list[str]:
    return [title, *lines] if lines else []


def _said(wall: Wall, message: Utterance) -> dict[str, str]:
    """The agent's own words are its own; everybody else is named."""
    attached = "".join(f" [attachment: {defused(_attachment(one))}]" for one in message.attachments)
    if message.agent == wall.agent.slug:
        return {"role": "assistant", "content": message.text + attached}
    named = f"[{message.ts:%Y-%m-%d %H:%M}] {defused(message.name)}: {message.text}{attached}"
    return {"role": "user", "content": named}


def _attachment(given: dict[str, Any]) -> str:
    return str(given.get("name") or given.get("url") or given.get("id") or "file")


def _summed(summary: Summary) -> str:
    return f"- ({summary.tier}, {summary.starts_at:%Y-%m-%d}) {defused(summary.content)}"


def _recalled(wall: Wall, memory: RoomMemory) -> str:
    names = {one.user_id: one.name or one.email for one in wall.participants}
    who = names.get(memory.user_id or "")
    label = ", ".join([memory.type, *([defused(who)] if who else [])])
    return f"- [{memory.created_at:%Y-%m-%d}] ({label}) {defused(memory.text)}"


def _fact(wall: Wall, fact: Fact) -> str:
    names = {one.user_id: one.name or one.email for one in wall.participants}
    whose = names.get(fact.scope_id, fact.scope_kind) if fact.scope_kind == "user" else fact.scope_kind
    return f"- {defused(whose)}: {defused(fact.key)} = {defused(fact.value)}"


def _total(lines: Sequence[str], count: _Counted) -> int:
    return sum(count(one) + 1 for one in lines)


# ------------------------------------------------------------------------------------------------- compaction


async def _compact(
    services: Services, principal: Principal, wall: Wall, found: _Read, size: int, rest: int, count: _Counted
) -> bool:
    """Put the oldest part of the working memory into fewer words. The messages stay in the store. Of two who do so at
    the same moment one is kept.
    """
    share = int(SHARE * size)
    old = _oldest(wall, found, int(LEFT * size) - rest - share, count)
    if not old:
        return False
    before = found.compaction
    lines = [RoomLine(speaker=one.name, text=own_words(one.text), at=one.ts) for one in old]
    earlier = [RoomLine(speaker="", text=before.content, at=old[0].ts)] if before else []
    content = ""
    model = metered(services, principal, room=wall.room.id)
    if model is not None:
        try:
            content = await summarise_by_model(model, [*earlier, *lines], tier="compaction", max_tokens=share)
        except UpstreamError:
            content = ""
    if not content or count(content) > 1.5 * share:
        # So that what was compacted before is not lost, and the whole stays within its share.
        most = max(_LEAST, min(_SUMMARY, 3 * share))
        content = await asyncio.to_thread(summarise, [*_lines_of(before), *lines], most=most)
    async with services.db.transaction(wall.scope) as conn:
        await rooms.hold(conn, wall.room.space)
        now = await summaries.compaction(conn, wall.room.space, _view(wall))
        if (now.id if now else None) != (before.id if before else None):
            return False
        await summaries.insert_compaction(
            conn, wall.room.space, new_id("sum"), _view(wall), content, starts_at=old[0].ts, ends_at=old[-1].ts,
            source_ids=[*found.compacted, *(one.id for one in old)], visibility=wall.room.visibility,
        )  # fmt: skip
    return True


def _lines_of(before: summaries.Compaction | None) -> list[RoomLine]:
    """An earlier compaction as the lines that it was made of."""
    found: list[RoomLine] = []
    for line in before.content.splitlines() if before else []:
        speaker, _, text = line.partition(": ")
        found.append(RoomLine(speaker=speaker, text=text or line, at=datetime.min.replace(tzinfo=UTC)))
    return found


def _oldest(wall: Wall, found: _Read, room: int, count: _Counted) -> list[Utterance]:
    """As many of the oldest as have to go for the rest to have room; at least a quarter, so that it is not done each
    time.
    """
    costs = [count(_said(wall, one)["content"]) + 4 for one in found.working]
    kept = len(found.working)
    spent = 0
    while kept > 0 and spent + costs[kept - 1] <= room:
        kept -= 1
        spent += costs[kept]
    return found.working[: max(kept, len(found.working) // 4)]


def _view(wall: Wall) -> str:
    """Each agent has its own window, and so its own compaction of a room."""
    return f"agent:{wall.agent.slug}"
