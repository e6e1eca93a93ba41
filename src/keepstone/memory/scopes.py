"""Scopes: group conversations of any length. `ingest` keeps what was said, `recall` finds what matters to an arriving
turn, `ask` answers a question from it.

A scope is its user's, or for a service key that names nobody the account's. The caller picks its name.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keepstone.access.meter import asked_of_ledger, begin_standing, charge, metered, once
from keepstone.access.plans import check_room
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import lookup, traced
from keepstone.engine.answer import Answered, answer
from keepstone.engine.cutting import Source
from keepstone.engine.dates import zone_named
from keepstone.engine.echoes import may_echo, new_words
from keepstone.engine.gathered import SearchPlace
from keepstone.engine.index import TalkPlace, TalkSession, passages_of, places_of, put_in
from keepstone.engine.pack import Evidence, context, depends, quoted
from keepstone.engine.question import Question
from keepstone.engine.rank import named
from keepstone.engine.search import Hit, Matches
from keepstone.engine.terms import terms
from keepstone.engine.weigh import AnswerPlaces, Said, weigh
from keepstone.errors import Invalid
from keepstone.memory import scope_traces
from keepstone.memory.shelf import add_indexing, schedule_indexing
from keepstone.model.memory import json_bytes
from keepstone.model.message import KeptMessage, Message, NewPassage, check_said
from keepstone.model.principal import Principal
from keepstone.observe.tracing import name_trace
from keepstone.services import Services
from keepstone.store import candidates, memories
from keepstone.store import messages as message_store
from keepstone.store import passages as passage_store
from keepstone.store import statements as statement_store
from keepstone.store.db import Connection, enter
from keepstone.store.messages import AppendedTalk
from keepstone.store.passages import PassageColumns
from keepstone.store.surveys import survey_talk

LONGEST_QUESTION = 32 * 1024
ABSTAIN_BELOW = 0.5  # of the probability that the scope speaks of it at all
QUOTED = 3
LONG = 2_000  # characters: of a longer message a prompt gets the parts that were found
ASK_LIMIT = 10
FACTS = 30
ANSWER_TOKENS = 400
KEPT_CHARACTERS = 100_000  # of an answer that is kept for a retry
FEW = 100  # messages: what is done to more of them would hold the event loop
_VISIBILITY = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    new: int
    message_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRecall:
    """`people` are those whom the turn concerns, with what holds of them, the newest first."""

    context: str
    evidence: list[Evidence]
    people: dict[str, list[str]]
    credits: int
    degraded: str | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeAnswer:
    answer: str
    evidence: list[Evidence]
    abstained: bool
    credits: int
    trace_id: str | None = None


async def ingest(services: Services, principal: Principal, scope_id: str, messages: Sequence[Message]) -> Ingested:
    """Append to the scope, which is made with its first message. The same `client_id` again changes nothing. A plain
    write: no model is called.
    """
    services.embedders.need()
    now = services.clock()
    for number, message in enumerate(messages):
        check_said(message.at, now, f"transcript.{number}.ts")
    own = await _new_words(services, principal, scope_id, messages)
    # Of many messages the next are cut while the database takes those before them: one slice at a time, for it takes
    # no longer than that, and every process that cuts has to start, and to learn the words.
    cutting: list[asyncio.Task[list[NewPassage]]] = []
    for at in range(0, len(messages), passage_store.AT_ONCE):
        part, before = messages[at : at + passage_store.AT_ONCE], cutting[-1] if cutting else None
        cutting.append(asyncio.create_task(_cut(services, part, own, before)))
    try:
        if len(cutting) == 1:
            await cutting[0]
        async with services.db.transaction(account_scope(principal)) as conn:
            talk = await message_store.append(
                conn, messages, kind="scope", name=scope_id, owner=principal.user_id,
                visibilities=space_scope(principal).visibilities, visibility=_VISIBILITY,
            )  # fmt: skip
            new = [message for message in messages if message.id in talk.new]
            # Only what was there before, or is replied to, has to be looked up.
            wanted = {message.client_id for message in messages if message.id not in talk.new}
            wanted |= {message.reply_to for message in messages}
            known = await message_store.ids_of(conn, talk.space, [name for name in wanted if name is not None])
            if new:
                await _keep(conn, services, principal, talk, new, known, cutting)
    finally:
        for task in cutting:
            task.cancel()
    return Ingested(
        new=len(new),
        message_ids=[message.id if message.id in talk.new else known[str(message.client_id)] for message in messages],
    )


async def _cut(
    services: Services, messages: Sequence[Message], own: Mapping[str, str], before: asyncio.Task[Any] | None
) -> list[NewPassage]:
    """As soon as those before are, if there are any."""
    if before is not None:
        await asyncio.wait([before])

    def sources() -> list[Source]:
        return [
            Source(kind="message", id=message.id, text=own[message.id], at=message.at, speaker=message.speaker)
            for message in messages
        ]

    made = sources() if len(messages) <= FEW else await asyncio.to_thread(sources)
    return await passages_of(services, made, visibility=_VISIBILITY)


async def _keep(
    conn: Connection, services: Services, principal: Principal, talk: AppendedTalk,
    new: Sequence[Message], known: Mapping[str, str], cutting: Sequence[Awaitable[list[NewPassage]]],
) -> None:  # fmt: skip
    """All that follows from messages that are new: their passages, the counters of their space, and a job."""
    size = sum(_kept_bytes(message) for message in new)
    if principal.user_id is not None:
        check_room(services, talk.room, size)
    last = TalkSession(*talk.last) if talk.last else None
    places = places_of(new, last, known) if len(new) <= FEW else await asyncio.to_thread(places_of, new, last, known)
    readying = [asyncio.create_task(_ready(passages, places)) for passages in cutting]
    grown: int | None = size
    try:
        for ready in readying:
            columns = await ready
            if columns.number:
                number = 0 if grown is None else len(new)
                await passage_store.insert_columns(
                    conn, talk.space, columns, size=grown, messages=number, scheduled=True
                )  # fmt: skip
                grown = None
    finally:
        for task in readying:
            task.cancel()
    if grown is not None:  # nothing of it can be found
        await memories.count_in(conn, talk.space, messages=len(new), size=size)
        await schedule_indexing(conn, services, principal.account, talk.space)
        return
    if last is not None and any(message.at < last.at for message in new):
        await passage_store.await_vectors_behind(conn, [message.id for message in new])
    if not talk.indexing_scheduled:
        await add_indexing(conn, services, principal.account, talk.space)


async def _ready(cut: Awaitable[list[NewPassage]], places: Mapping[str, TalkPlace]) -> PassageColumns:
    passages = await cut

    def ready() -> PassageColumns:
        return passage_store.columns_of(put_in(passages, places))

    return ready() if len(passages) <= FEW else await asyncio.to_thread(ready)


async def _new_words(
    services: Services, principal: Principal, scope_id: str, messages: Sequence[Message]
) -> dict[str, str]:
    """What each of them says that was not handed out here: they are kept whole, and found by that."""
    own = {message.id: message.text for message in messages}
    doubtful = [message for message in messages if may_echo(message.text)]
    if doubtful:
        async with services.db.transaction(account_scope(principal)) as conn:
            named_space = await candidates.find_and_survey(conn, kind="scope", name=scope_id, owner=principal.user_id)
            if named_space is not None:
                await enter(conn, space_scope(principal, named_space[0]))
                own |= {message.id: await new_words(conn, named_space[0], message.text) for message in doubtful}
    return own


def _kept_bytes(message: Message) -> int:
    return len(message.speaker.encode()) + len(message.text.encode()) + json_bytes(message.metadata)


async def recall(
    services: Services,
    principal: Principal,
    scope_id: str,
    *,
    speaker: str,
    text: str,
    ts: datetime | None = None,
    limit: int = 10,
    max_tokens: int | None = None,
    as_of: datetime | None = None,
    min_relevance: float | None = None,
    request_id: str | None = None,
) -> ScopeRecall:
    """What this scope knows that matters to an arriving turn. Who speaks is part of the question."""
    _check_length(text)
    if ts is not None:
        check_said(ts, services.clock(), "message.ts")
    asked_at = ts or as_of or services.clock()
    question = Question(text=text, speaker=speaker, asked_at=asked_at, zone=principal.timezone, until=as_of)

    async def work(call_id: str) -> ScopeRecall:
        trace = traced.begin(
            services, principal, "recall", text, speaker=speaker, scope_id=scope_id, limit=limit, max_tokens=max_tokens,
            as_of=as_of, min_relevance=min_relevance,
        )  # fmt: skip
        asked = await lookup.ask(services, question, _survey(services, principal, scope_id, "recall", call_id))
        trace.asked_of(asked.place.scope, question=asked.question)
        trace.step("look up")
        if asked.place.empty:
            trace.end()
            return ScopeRecall(context="", evidence=[], people={}, credits=0, trace_id=trace.id)
        async with services.db.transaction(asked.place.scope) as conn:
            matches = await lookup.find(conn, asked, limit=limit, floor=min_relevance)
            evidence = await _evidence(conn, matches.hits)
            people = await _people(conn, asked.place, question, evidence)
            cost = await charge(services, conn, principal, "recall", call_id)
        trace.step("search")
        zone = zone_named(principal.timezone)
        packed = context(evidence, max_tokens=max_tokens, people=people, zone=zone)
        trace.step("pack")
        trace.end(lambda: scope_traces.of_recall(matches, evidence, people, packed, zone))
        return ScopeRecall(
            context=packed, evidence=evidence, people=people, credits=cost, degraded=matches.degraded,
            trace_id=trace.id,
        )  # fmt: skip

    parameters = ["recall", scope_id, speaker, text, ts, limit, max_tokens, as_of, min_relevance]
    recalled = await once(services, principal, request_id, parameters, work, keep=_is_short)
    name_trace(recalled.trace_id)
    return recalled


async def ask(
    services: Services,
    principal: Principal,
    scope_id: str,
    *,
    question: str,
    as_of: datetime | None = None,
    max_tokens: int | None = None,
    request_id: str | None = None,
) -> ScopeAnswer:
    """An answer from the evidence with its citations; without a language model the best evidence, quoted."""
    _check_length(question)
    asked_at = as_of or services.clock()
    wanted = Question(text=question, speaker=None, asked_at=asked_at, zone=principal.timezone, until=as_of)
    zone = zone_named(principal.timezone)

    async def work(call_id: str) -> ScopeAnswer:
        trace = traced.begin(
            services, principal, "ask", question, scope_id=scope_id, as_of=as_of, max_tokens=max_tokens
        )  # fmt: skip
        asked = await lookup.ask(services, wanted, _survey(services, principal, scope_id, "ask", call_id))
        trace.asked_of(asked.place.scope, question=asked.question)
        trace.step("look up")
        if asked.place.empty:
            trace.end()
            return ScopeAnswer(answer="", evidence=[], abstained=True, credits=0, trace_id=trace.id)
        model = await metered(services, principal)
        async with services.db.transaction(asked.place.scope) as conn:
            matches = await lookup.find(conn, asked, limit=ASK_LIMIT)
            evidence = await _evidence(conn, matches.hits)
        trace.step("search")
        weighed = await _weigh(services, question, evidence, matches)
        outdated = {evidence[place].message_id for place in weighed.outdated}
        evidence = [evidence[place] for place in weighed.places]
        trace.step("judge")
        # A model judges by itself what is in the evidence. Without one, both the judge and the search have to doubt.
        doubted = weighed.answered < ABSTAIN_BELOW
        if model is None and doubted and all(item.relevance < ABSTAIN_BELOW for item in evidence):
            evidence = []
        text = quoted(_close_to_first(evidence), max_tokens=max_tokens, zone=zone, outdated=outdated)
        read: Sequence[Evidence] = ()  # by a model, whose words may be anybody's of these
        answered: Answered | None = None
        if model is not None and evidence:
            answered = await answer(model, question, evidence, max_tokens=max_tokens or ANSWER_TOKENS, zone=zone)
            text = answered.text or ""
            trace.step("model")
            read = evidence
            evidence = [evidence[number] for number in answered.cited] or evidence if text else []
        if not text:
            trace.end(lambda: scope_traces.of_answer(matches, (), read, outdated, "", zone, answered))
            return ScopeAnswer(answer="", evidence=[], abstained=True, credits=0, trace_id=trace.id)
        async with services.db.transaction(asked.place.scope) as conn:
            cost = await charge(services, conn, principal, "ask", call_id)
        trace.end(lambda: scope_traces.of_answer(matches, evidence, read, outdated, text, zone, answered))
        return ScopeAnswer(answer=text, evidence=evidence, abstained=False, credits=cost, trace_id=trace.id)

    parameters = ["ask", scope_id, question, as_of, max_tokens]
    done = await once(services, principal, request_id, parameters, work, keep=_is_short)
    name_trace(done.trace_id)
    return done


async def _weigh(services: Services, question: str, evidence: Sequence[Evidence], matches: Matches) -> AnswerPlaces:
    """Which of the evidence answers. Without a judge the search decides. By terms alone nobody can tell whether there
    is an answer elsewhere, and what was found shares a word with the question.
    """
    if services.judge is None or not evidence:
        return AnswerPlaces(list(range(len(evidence))), 1.0 if matches.degraded else matches.answerable)
    scores = {hit.source_id: hit.score for hit in matches.hits}
    # Of a long message what was found in it, and no more than is read: rules try all that they are given.
    said = [
        Said(item.speaker, (item.excerpt or item.text)[:LONG], item.ts, scores[item.message_id]) for item in evidence
    ]
    weighed = await weigh(services.judge, question, said)
    return replace(weighed, answered=1.0) if matches.degraded else weighed


def _close_to_first(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    """As many as are worth quoting beside the answer."""
    return [item for item in evidence[:QUOTED] if item is evidence[0] or item.relevance >= evidence[0].relevance / 2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopePlace(SearchPlace):
    """`subjects` are those of whom something is known in it."""

    subjects: Sequence[str] = ()


async def _survey(services: Services, principal: Principal, scope_id: str, action: str, call_id: str) -> ScopePlace:
    """The scope. If anything was ever said in it, the caller must be able to pay for the action."""
    month, line_ids = asked_of_ledger(services, action, call_id)
    known = await survey_talk(
        services.db, space_scope(principal), kind="scope", name=scope_id, owner=principal.user_id, month=month,
        call_ids=line_ids,
    )  # fmt: skip
    if known is None or not known.size.passages:
        return ScopePlace(scope=account_scope(principal), size=candidates.NOTHING)
    await begin_standing(services, principal, action, known.standing)
    return ScopePlace(scope=space_scope(principal, known.space), size=known.size, subjects=known.subjects)


async def _evidence(conn: Connection, hits: Sequence[Hit]) -> list[Evidence]:
    """The hits as the whole messages they are from, with what was said before where they need it."""
    said = await message_store.with_preceding(
        conn, [hit.source_id for hit in hits], [hit.source_id for hit in hits if depends(hit.text)]
    )

    def shown(message: KeptMessage, hit: Hit | None, earlier: KeptMessage | None = None) -> Evidence:
        return Evidence(
            message_id=message.id, id=message.client_id, speaker=message.speaker, text=message.text, ts=message.at,
            order=message.seq, metadata=message.metadata, relevance=hit.relevance if hit else 0.0,
            session=hit.session if hit else None, why=hit.why if hit else {},
            excerpt=hit.text if hit and len(message.text) > LONG else None,
            before=shown(earlier, None) if earlier else None,
        )  # fmt: skip

    return [
        shown(message, hit, said.get(message.answered or ""))
        for hit in hits
        if (message := said.get(hit.source_id)) is not None
    ]


async def _people(
    conn: Connection, place: ScopePlace, question: Question, evidence: Sequence[Evidence]
) -> dict[str, list[str]]:
    """Whom the turn names, and who says "I" in it, with what holds of them at the time of the question; of who speaks
    and of who is quoted first only what has to do with the turn.
    """
    known = place.subjects
    meant = named(question.text, known, question.speaker)
    beside = [question.speaker or "", *(item.speaker for item in evidence[:3])]
    subjects = [subject for subject in dict.fromkeys([*sorted(meant), *beside]) if subject in known]
    if not subjects:
        return {}
    noted = await statement_store.current(conn, place.space, subjects, until=question.until, limit=FACTS)
    asked = set(question.terms)
    facts = {
        subject: [
            row.text
            for row in noted
            if row.subject == subject and (subject in meant or not asked.isdisjoint(terms(row.text)))
        ]
        for subject in subjects
    }
    return {subject: known_facts for subject, known_facts in facts.items() if known_facts}


def _is_short(answer: ScopeRecall | ScopeAnswer) -> bool:
    """Whether it may be kept in memory in case it is asked for again."""
    return sum(len(item.text) for item in answer.evidence) <= KEPT_CHARACTERS


def _check_length(text: str) -> None:
    if len(text.encode()) > LONGEST_QUESTION:
        raise Invalid("The text is longer than 32 KB: shorten it, and ingest what it should know beforehand.")
