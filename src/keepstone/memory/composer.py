"""The composer: what an agent is given to answer a message, out of four layers in a fixed order.

Owns what is read for a prompt, and compaction. Who may see what is settled before (`audience`). Composing stores
nothing but a compaction, and calls a language model for nothing else.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from keepstone.access.meter import try_model
from keepstone.access.principals import act_for
from keepstone.engine import lookup
from keepstone.engine.gather import NOTES, SearchPlace
from keepstone.engine.pack import begins_at
from keepstone.engine.quotation import own_words
from keepstone.engine.summarise import RoomLine, summarise
from keepstone.engine.summarise_model import summarise_by_model
from keepstone.memory.audience import Audience, dm_audience, room_audience
from keepstone.memory.prompt import SHARE, Composed, Layers, TokenCounts, as_message, fit, shrunk
from keepstone.memory.rooms import recent_messages
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal
from keepstone.model.room import PROMPTED, Fact, Landmark, RoomMemory, Summary, Utterance
from keepstone.services import Services
from keepstone.store import candidates, facts, messages, room_memories, rooms, summaries
from keepstone.store.db import Connection

FULL = 0.7  # of the window: from here on the oldest part is compacted
LEFT = 0.55  # of the window, that the whole may take after that
RECALLED = 10
RELEVANT = 0.03  # low, since summaries that say the same share in it
_NEAREST_SUMMARIES = 3
_SUMMARY, _LEAST = 1_500, 240  # characters of a compaction without a language model


async def compose(
    services: Services, principal: Principal, place: str, *, user: str | None, text: str, window: int | None,
    agent: str | None = None, project_id: str | None = None,
) -> Composed:  # fmt: skip
    """The prompt for an agent of a room; without an `agent`, for the one whose direct messages are the place."""
    principal = await act_for(services, principal, user)
    if agent is None:
        audience = await dm_audience(services, principal, place, project_id)
    else:
        audience = await room_audience(services, principal, place, agent)
    size = window or audience.agent.context_window
    count = TokenCounts(services.tokenizer.count)
    layers = await _read(services, principal, audience, text)
    # In a thread: to count 40 long messages, or to read the vocabulary for the first time, takes a while.
    composed = await asyncio.to_thread(fit, audience, layers, text, size, count)
    compacted = False
    if composed.prompt_tokens > FULL * size and len(layers.working) > 1:
        working = sum(count(message["content"]) + 4 for message in composed.messages[1:-1])
        compacted = await _compact(services, principal, audience, layers, size, composed.prompt_tokens - working, count)
        layers = await _read(services, principal, audience, text)
        composed = await asyncio.to_thread(fit, audience, layers, text, size, count)
    composed = shrunk(audience, layers, text, size, count, composed)
    return replace(composed, compacted=compacted)


# ------------------------------------------------------------------------------------------------ the layers


async def _read(services: Services, principal: Principal, audience: Audience, text: str) -> Layers:
    """Each layer, in the audience's scope alone."""
    question = lookup.question(own_words(text), speaker=audience.user_name or None, asked_at=services.clock())
    latest, asked = await asyncio.gather(
        recent_messages(services, principal, audience.room),
        lookup.ask(services, question, _standing(services, audience)),
    )
    standing, compaction = asked.place, asked.place.compaction
    semantic: list[RoomMemory] = []
    near: list[Summary] = []
    if not standing.empty:
        async with services.db.transaction(audience.scope) as conn:
            # Twice as many, since summaries are among them, and say the same again tier upon tier.
            matches = await lookup.find(conn, asked, limit=2 * RECALLED, floor=RELEVANT, style=NOTES)
            memories = await room_memories.by_ids(conn, matches.ids)
            summed = await summaries.by_ids(conn, matches.ids)
        semantic = [memories[name] for name in matches.ids if name in memories and audience.lets(memories[name])][
            :RECALLED
        ]
        near = [summed[name] for name in matches.ids if name in summed][:_NEAREST_SUMMARIES]
    # By their ids: what is told late may stand before what was compacted.
    compacted = set(compaction.source_ids) if compaction else set[str]()
    working = [message for message in latest[-PROMPTED:] if message.id not in compacted]
    if working and (working[-1].user, working[-1].text) == (audience.user_id, text):
        working = working[:-1]  # it was said in the room already
    known = {summary.id for summary in standing.recent}
    return Layers(
        working=working,
        compacted=[message.id for message in latest[-PROMPTED:] if message.id in compacted],
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


async def _standing(services: Services, audience: Audience) -> _Standing:
    async with services.db.transaction(audience.scope) as conn:
        return _Standing(
            scope=audience.scope,
            size=await candidates.survey(conn, audience.scope.spaces),
            compaction=await summaries.compaction(conn, audience.room.space, _view(audience)),
            structured=await facts.of_scopes(conn, audience.fact_scopes),
            landmarks=await room_memories.landmarks(conn, audience.room.space),
            recent=await _recent(conn, audience.room.space),
        )


async def _recent(conn: Connection, space: int) -> list[Summary]:
    """What stands for the time before the last messages: the last week, the days after it, the sessions after those."""
    weeks = await summaries.that_hold(conn, space, "week", limit=1)
    days = await summaries.that_hold(conn, space, "day", since=weeks[-1].ends_at if weeks else None, limit=3)
    last = days[-1].ends_at if days else weeks[-1].ends_at if weeks else None
    return [*weeks, *days, *await summaries.that_hold(conn, space, "session", since=last, limit=3)]


# ------------------------------------------------------------------------------------------------- compaction


async def _compact(
    services: Services,
    principal: Principal,
    audience: Audience,
    layers: Layers,
    size: int,
    rest: int,
    count: TokenCounts,
) -> bool:
    """Put the oldest part of the working memory into fewer words. The messages stay in the store. Of two who do so at
    the same moment one is kept.
    """
    share = int(SHARE * size)
    old = _oldest(audience, layers, int(LEFT * size) - rest - share, count)
    if not old:
        return False
    before = layers.compaction
    lines = [RoomLine(speaker=said.name, text=own_words(said.text), at=said.ts) for said in old]
    earlier = [RoomLine(speaker="", text=before.content, at=old[0].ts)] if before else []
    content = await try_model(
        services, principal, room=audience.room.id,
        ask=lambda model: summarise_by_model(model, [*earlier, *lines], tier="compaction", max_tokens=share),
    )  # fmt: skip
    if not content or count(content) > 1.5 * share:
        # So that what was compacted before is not lost, and the whole stays within its share.
        most = max(_LEAST, min(_SUMMARY, 3 * share))
        whole = [*_lines_of(before), *lines]
        size = sum(len(line.text) for line in whole)
        content = await services.offload.run(size, summarise, whole, most=most)
    async with services.db.transaction(audience.scope) as conn:
        await rooms.hold(conn, audience.room.space)
        now = await summaries.compaction(conn, audience.room.space, _view(audience))
        if now != before or not await messages.still_there(conn, [said.id for said in old]):
            return False
        await summaries.insert_compaction(
            conn, audience.room.space, new_id("sum"), _view(audience), content, starts_at=old[0].ts, ends_at=old[-1].ts,
            source_ids=[*layers.compacted, *(said.id for said in old)], visibility=audience.room.visibility,
        )  # fmt: skip
    return True


def _lines_of(before: summaries.Compaction | None) -> list[RoomLine]:
    """An earlier compaction as the lines that it was made of."""
    lines: list[RoomLine] = []
    for line in before.content.splitlines() if before else []:
        speaker, _, text = line.partition(": ")
        lines.append(RoomLine(speaker=speaker, text=text or line, at=datetime.min.replace(tzinfo=UTC)))
    return lines


def _oldest(audience: Audience, layers: Layers, room: int, count: TokenCounts) -> list[Utterance]:
    """As many of the oldest as have to go for the rest to have room; at least a quarter, so that it is not done each
    time.
    """
    costs = [count(as_message(audience, message)["content"]) + 4 for message in layers.working]
    return layers.working[: max(begins_at(costs, room), len(layers.working) // 4)]


def _view(audience: Audience) -> str:
    """Each agent has its own window, and so its own compaction of a room."""
    return f"agent:{audience.agent.slug}"
