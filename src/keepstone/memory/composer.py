"""The composer: what an agent is given to answer a message, out of four layers in a fixed order.

Owns what is read for a prompt, and compaction. Who may see what is settled before (`audience`). Composing stores
nothing but a compaction, and calls a language model for nothing else.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from keepstone.access.meter import try_model
from keepstone.access.principals import act_for
from keepstone.access.readscope import account_scope
from keepstone.engine import lookup, traced
from keepstone.engine.gathered import NOTES, SearchPlace
from keepstone.engine.nearness import nearest_first
from keepstone.engine.pack import begins_at
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.quotation import own_words
from keepstone.engine.search import Matches
from keepstone.engine.summarise import RoomLine, summarise
from keepstone.engine.summarise_model import summarise_by_model
from keepstone.memory.audience import Audience, dm_audience, room_audience
from keepstone.memory.compose_traces import ReadLayers, end_trace
from keepstone.memory.names import speaker_key, told_apart
from keepstone.memory.prompt import SHARE, Composed, Layers, TokenCounts, as_message, fit, shrunk
from keepstone.memory.rooms import recent_messages
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal
from keepstone.model.room import PROMPTED, Fact, Landmark, RoomMemory, Summary, Utterance
from keepstone.services import Services
from keepstone.store import candidates, facts, room_memories, room_messages, rooms, summaries
from keepstone.store.db import Connection, enter

FULL = 0.7  # of the window: from here on the oldest part is compacted
LEFT = 0.55  # of the window, that the whole may take after that
RECALLED = 10
RELEVANT = 0.03  # low, since summaries that say the same share in it
_NEAREST_SUMMARIES = 3
_SUMMARY, _LEAST = 1_500, 240  # characters of a compaction without a language model
_KINDS = ("memory", "summary")  # of what lies in a room's spaces and is searched
_SIGNS = str.maketrans(dict.fromkeys('_-./:"{}[]', " "))  # between the words of a key or a value


async def compose(
    services: Services, principal: Principal, place: str, *, user: str | None, text: str, window: int | None,
    agent: str | None = None, project_id: str | None = None,
) -> Composed:  # fmt: skip
    """The prompt for an agent of a room; without an `agent`, for the one whose direct messages are the place."""
    principal = await act_for(services, principal, user)
    trace = traced.begin(services, principal, "composition", text, place=place, agent=agent, project_id=project_id)
    question = lookup.question(own_words(text), asked_at=services.clock(), zone=principal.timezone)
    asked = await lookup.ask(services, question, _settled(services, principal, place, agent, project_id))
    trace.asked_of(asked.place.scope, asked.place.audience.room.space, question=asked.question)
    trace.step("look up")
    composed = await _composed(services, principal, asked, text, window, trace)
    return replace(composed, trace_id=trace.id)


# ------------------------------------------------------------------------------------------------ the layers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing(SearchPlace):
    """Whom the prompt is for and what of it does not depend on the question; and how much there is to search. `latest`
    is None where Redis has the last messages.
    """

    audience: Audience
    latest: list[Utterance] | None
    compaction: summaries.Compaction | None
    structured: list[Fact]
    landmarks: list[Landmark]
    recent: list[Summary]


async def _settled(
    services: Services, principal: Principal, place: str, agent: str | None, project_id: str | None
) -> _Standing:
    """The audience, and in its scope what stands, in one transaction."""
    async with services.db.transaction(account_scope(principal)) as conn:
        if agent is None:
            audience = await dm_audience(conn, principal, place, project_id)
        else:
            audience = await room_audience(conn, principal, place, agent)
        await enter(conn, audience.scope)
        return await _standing(conn, services, audience)


async def _composed(
    services: Services, principal: Principal, asked: lookup.AskedOf[_Standing], text: str, window: int | None,
    trace: traced.TraceDraft,
) -> Composed:  # fmt: skip
    """What of the layers fits, compacted where it does not."""
    audience = asked.place.audience
    size = window or audience.agent.context_window
    count = TokenCounts(services.tokenizer.count)

    def ended(composed: Composed, layers: Layers, read: ReadLayers) -> Composed:
        trace.step("fit", composed.prompt_tokens)
        end_trace(trace, audience, composed, layers, read)
        return composed

    async def fitted(layers: Layers) -> Composed:
        # In a thread: to count 40 long messages, or to read the vocabulary for the first time, takes a while.
        return await asyncio.to_thread(fit, audience, layers, text, size, count)

    read = await _read(services, principal, asked, text, size)
    layers = read.layers
    trace.step("search")
    if layers.compacted:
        whole = await fitted(layers.uncompacted)
        if whole.prompt_tokens <= FULL * size:
            return ended(whole, layers.uncompacted, read)
    composed = await fitted(layers)
    compacted = False
    if composed.prompt_tokens > FULL * size and len(layers.working) > 1:
        working = sum(count(message["content"]) + 4 for message in composed.messages[1:-1])
        rest = composed.prompt_tokens - working
        # Only an agent's own window leaves a trace: one that a caller asks for is for this prompt.
        if size == audience.agent.context_window:
            compacted = await _compact(services, principal, audience, layers, size, rest, count)
            read = await _read(services, principal, await _asked_again(services, asked), text, size)
            layers = read.layers
        else:
            shorter = await _shortened(services, audience, layers, size, rest, count)
            compacted, layers = shorter != layers, shorter
        trace.step("compact")
    if layers.compacted:
        texts = [own_words(message.text) for message in layers.compacted]
        near = await nearest_first(asked.question, texts, account=principal.account)
        layers = replace(layers, earlier=[layers.compacted[place] for place in near])
    composed = shrunk(audience, layers, text, size, count, await fitted(layers))
    return ended(replace(composed, compacted=compacted), layers, read)


async def _asked_again(services: Services, asked: lookup.AskedOf[_Standing]) -> lookup.AskedOf[_Standing]:
    """The same question of the same audience, when what stands may have changed."""
    async with services.db.transaction(asked.place.scope) as conn:
        return replace(asked, place=await _standing(conn, services, asked.place.audience))


async def _standing(conn: Connection, services: Services, audience: Audience) -> _Standing:
    space = audience.room.space
    return _Standing(
        scope=audience.scope,
        audience=audience,
        size=await candidates.survey(conn, audience.scope.spaces),
        latest=await rooms.latest(conn, space, limit=PROMPTED) if services.working is None else None,
        compaction=await summaries.compaction(conn, space, _view(audience)),
        structured=await facts.of_scopes(conn, audience.fact_scopes),
        landmarks=await room_memories.landmarks(conn, space),
        recent=await summaries.before_now(conn, space),
    )


async def _read(
    services: Services, principal: Principal, asked: lookup.AskedOf[_Standing], text: str, size: int
) -> ReadLayers:
    """Each layer, in the audience's scope alone."""
    standing, compaction, audience = asked.place, asked.place.compaction, asked.place.audience
    latest = standing.latest
    if latest is None:
        latest = await recent_messages(services, principal, audience.room)
    found = await _found(services, _spoken_by(asked, audience.user_name))
    # By their ids: what is told late may stand before what was compacted.
    gone = set(compaction.source_ids) if compaction else set[str]()
    working = [message for message in latest[-PROMPTED:] if message.id not in gone]
    said: str | None = None
    if working and (working[-1].user, working[-1].text) == (audience.user_id, text):
        said = working.pop().id  # it was said in the room already
    layers = Layers(
        working=working,
        said=said,
        compacted=[message for message in latest[-PROMPTED:] if message.id in gone],
        compaction=compaction,
        episodic=found.episodic,
        behind=found.behind,
        semantic=found.semantic,
        structured=await _nearest_facts(asked.question, standing.structured, int(SHARE * size), principal.account),
        landmarks=standing.landmarks,
    )
    return ReadLayers(layers=layers, matches=found.matches)


def _spoken_by(asked: lookup.AskedOf[_Standing], name: str) -> lookup.AskedOf[_Standing]:
    """Who asks is known once the audience is; the embedders have seen the question by then."""
    question = asked.question
    return replace(asked, question=replace(question, question=replace(question.question, speaker=name or None)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What the question finds, and the summaries that stand for the time before; the messages behind the shorter."""

    semantic: list[RoomMemory]
    episodic: list[Summary]
    behind: dict[str, frozenset[str]]
    matches: Matches | None = None


async def _found(services: Services, asked: lookup.AskedOf[_Standing]) -> _Found:
    standing, audience = asked.place, asked.place.audience
    if standing.empty and not standing.recent:
        return _Found(semantic=[], episodic=[], behind={})
    async with services.db.transaction(audience.scope) as conn:
        # Twice as many, since summaries are among them, and say the same again tier upon tier.
        matches = await lookup.find(conn, asked, limit=2 * RECALLED, floor=RELEVANT, style=NOTES)
        of_kind = {kind: [hit.source_id for hit in matches.hits if hit.source_kind == kind] for kind in _KINDS}
        memories = await room_memories.by_ids(conn, of_kind["memory"]) if of_kind["memory"] else {}
        summed = await summaries.by_ids(conn, of_kind["summary"]) if of_kind["summary"] else {}
        near = [summed[name] for name in of_kind["summary"] if name in summed][:_NEAREST_SUMMARIES]
        known = {summary.id for summary in near}
        episodic = [*near, *(summary for summary in reversed(standing.recent) if summary.id not in known)]
        # Those that stand for no more than a prompt holds word for word.
        short = [summary.id for summary in episodic if summary.message_count <= PROMPTED + 1]
        behind = await summaries.messages_behind(conn, short) if short else {}
    semantic = [memories[name] for name in of_kind["memory"] if name in memories and audience.lets(memories[name])]
    return _Found(semantic=semantic[:RECALLED], episodic=episodic, behind=behind, matches=matches)


async def _nearest_facts(asked: EmbeddedQuestion, known: list[Fact], room: int, account: int) -> list[Fact]:
    """By what was asked, unless there is surely room for all of them."""
    told = [f"{fact.key} {fact.value}".translate(_SIGNS) for fact in known]
    if sum(map(len, told)) < room:
        return known
    return [known[place] for place in await nearest_first(asked, told, account=account)]


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
    lines = _lines(audience, layers, old)
    earlier = [RoomLine(speaker="", text=before.content, at=old[0].ts)] if before else []
    content = await try_model(
        services, principal, room=audience.room.id,
        ask=lambda model: summarise_by_model(model, [*earlier, *lines], tier="compaction", max_tokens=share),
    )  # fmt: skip
    if not content or count(content) > 1.5 * share:
        content = await _in_fewer_words(services, before, lines, share)
    async with services.db.transaction(audience.scope) as conn:
        await rooms.hold(conn, audience.room.space)
        now = await summaries.compaction(conn, audience.room.space, _view(audience))
        if now != before or not await room_messages.unchanged(conn, old):
            return False
        await summaries.insert_compaction(
            conn, audience.room.space, new_id("sum"), _view(audience), content, starts_at=old[0].ts, ends_at=old[-1].ts,
            source_ids=[said.id for said in [*layers.compacted, *old]], visibility=audience.room.visibility,
        )  # fmt: skip
    return True


async def _shortened(
    services: Services, audience: Audience, layers: Layers, size: int, rest: int, count: TokenCounts
) -> Layers:
    """The same for a window that is not the agent's own: nothing is kept, and nobody else sees it."""
    share = int(SHARE * size)
    old = _oldest(audience, layers, int(LEFT * size) - rest - share, count)
    if not old:
        return layers
    before = layers.compaction
    content = await _in_fewer_words(services, before, _lines(audience, layers, old), share)
    since = min(old[0].ts, before.since) if before else old[0].ts
    compaction = summaries.Compaction(id="", content=content, beyond=0, source_ids=[], since=since)
    rest_of_it = layers.working[len(old) :]
    return replace(layers, working=rest_of_it, compacted=[*layers.compacted, *old], compaction=compaction)


async def _in_fewer_words(
    services: Services, before: summaries.Compaction | None, lines: Sequence[RoomLine], share: int
) -> str:
    """By rules; so that what was compacted before is not lost, and the whole stays within its share."""
    whole = [*_lines_of(before), *lines]
    most = max(_LEAST, min(_SUMMARY, 3 * share))
    return await services.offload.run(sum(len(line.text) for line in whole), summarise, whole, most=most)


def _lines(audience: Audience, layers: Layers, said: Sequence[Utterance]) -> list[RoomLine]:
    said_before = [*layers.working, *layers.compacted]
    names = told_apart(audience.participants, said_before, audience.agents, audience.namesakes)
    return [
        RoomLine(
            speaker=names.get(speaker_key(message), message.name), text=own_words(message.text),
            at=message.ts.astimezone(audience.zone),
        )
        for message in said
    ]  # fmt: skip


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
    costs = [count(as_message(audience, message, {})["content"]) + 4 for message in layers.working]
    return layers.working[: max(begins_at(costs, room), len(layers.working) // 4)]


def _view(audience: Audience) -> str:
    """Each agent has its own window, and so its own compaction of a room."""
    return f"agent:{audience.agent.slug}"
