"""Scopes: group conversations of any length. `ingest` keeps what was said, `recall` finds what matters to an arriving
turn, `ask` answers a question from it.

A scope is its user's, or for a service key that names nobody the account's. The caller picks its name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from keepstone.access.meter import begin, charge, metered, once
from keepstone.access.plans import require_room
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import lookup
from keepstone.engine.answer import answer
from keepstone.engine.cutting import Source
from keepstone.engine.gather import SearchPlace
from keepstone.engine.index import TalkSession, in_place, passages_of
from keepstone.engine.pack import Evidence, context, depends, quoted
from keepstone.engine.question import Question
from keepstone.engine.rank import named
from keepstone.engine.search import Hit
from keepstone.errors import Invalid
from keepstone.memory.kinds import json_bytes
from keepstone.memory.shelf import schedule_indexing
from keepstone.model.message import KeptMessage, Message
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import candidates, memories, spaces
from keepstone.store import messages as message_store
from keepstone.store import passages as passage_store
from keepstone.store import statements as statement_store
from keepstone.store.db import Connection, enter

LONGEST_QUESTION = 32 * 1024
ABSTAIN_BELOW = 0.5  # of the probability that the scope speaks of it at all
QUOTED = 3
LONG = 2_000  # characters: of a longer message a prompt gets the parts that were found
ASK_LIMIT = 10
FACTS = 30
ANSWER_TOKENS = 400
KEPT_CHARACTERS = 100_000  # of an answer that is kept for a retry
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeAnswer:
    answer: str
    evidence: list[Evidence]
    abstained: bool
    credits: int


async def ingest(services: Services, principal: Principal, scope_id: str, messages: Sequence[Message]) -> Ingested:
    """Append to the scope, which is made with its first message. The same `client_id` again changes nothing. A plain
    write: no model is called.
    """
    services.embedders.need()
    sources = [
        Source(kind="message", id=message.id, text=message.text, at=message.at, speaker=message.speaker)
        for message in messages
    ]
    passages = await passages_of(services, sources, visibility=_VISIBILITY)
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await spaces.hold(conn, kind="scope", name=scope_id, owner=principal.user_id)
        await enter(conn, space_scope(principal, space))
        stored = await message_store.insert(conn, space, messages, visibility=_VISIBILITY)
        # Only what was there before, or is replied to, has to be looked up.
        wanted = {message.client_id for message in messages if message.id not in stored}
        wanted |= {message.reply_to for message in messages}
        known = await message_store.ids_of(conn, space, [name for name in wanted if name is not None])
        new = [message for message in messages if message.id in stored]
        if new:
            size = sum(_kept_bytes(message) for message in new)
            await require_room(conn, services, principal, size)
            await memories.count_in(conn, space, memories=0, size=size)
            last = await passage_store.last_session(conn, space)
            made = in_place(passages, new, TalkSession(*last) if last else None, known)
            if made:
                await passage_store.insert(conn, space, made)
                if last is not None and any(message.at < last[0] for message in new):
                    await passage_store.await_vectors_behind(conn, [message.id for message in new])
            await schedule_indexing(conn, services, principal.account, space)
    return Ingested(
        new=len(new),
        message_ids=[message.id if message.id in stored else known[str(message.client_id)] for message in messages],
    )


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
    question = Question(text=text, speaker=speaker, asked_at=ts or as_of or services.clock(), until=as_of)

    async def work(call_id: str) -> ScopeRecall:
        asked = await lookup.ask(services, question, _survey(services, principal, scope_id, "recall", call_id))
        if asked.place.empty:
            return ScopeRecall(context="", evidence=[], people={}, credits=0)
        async with services.db.transaction(asked.place.scope) as conn:
            matches = await lookup.find(conn, asked, limit=limit, floor=min_relevance)
            evidence = await _evidence(conn, matches.hits)
            people = await _people(conn, asked.place.space, question, evidence)
            cost = await charge(services, conn, principal, "recall", call_id)
        return ScopeRecall(
            context=context(evidence, max_tokens=max_tokens, people=people),
            evidence=evidence,
            people=people,
            credits=cost,
            degraded=matches.degraded,
        )

    parameters = ["recall", scope_id, speaker, text, ts, limit, max_tokens, as_of, min_relevance]
    return await once(services, principal, request_id, parameters, work, keep=_is_short)


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
    wanted = Question(text=question, speaker=None, asked_at=as_of or services.clock(), until=as_of)

    async def work(call_id: str) -> ScopeAnswer:
        asked = await lookup.ask(services, wanted, _survey(services, principal, scope_id, "ask", call_id))
        if asked.place.empty:
            return ScopeAnswer(answer="", evidence=[], abstained=True, credits=0)
        model = await metered(services, principal)
        async with services.db.transaction(asked.place.scope) as conn:
            matches = await lookup.find(conn, asked, limit=ASK_LIMIT)
            # A model judges by itself what is in the evidence; without one the features of the search have to. By
            # terms alone they can't tell much, and what was found shares a word with the question.
            judged = model is not None or matches.degraded is not None
            speaks_of_it = judged or matches.answerable >= ABSTAIN_BELOW
            evidence = await _evidence(conn, matches.hits if speaks_of_it else [])
        close_to_best = [item for item in evidence if item.relevance >= evidence[0].relevance / 2]
        text = quoted(close_to_best[:QUOTED], max_tokens=max_tokens)
        if model is not None and evidence:
            answered = await answer(model, question, evidence, max_tokens=max_tokens or ANSWER_TOKENS)
            text = answered.text or ""
            evidence = [evidence[number] for number in answered.cited] or evidence if text else []
        async with services.db.transaction(asked.place.scope) as conn:
            cost = await charge(services, conn, principal, "ask", call_id)
        return ScopeAnswer(answer=text, evidence=evidence, abstained=not text, credits=cost)

    parameters = ["ask", scope_id, question, as_of, max_tokens]
    return await once(services, principal, request_id, parameters, work, keep=_is_short)


async def _survey(services: Services, principal: Principal, scope_id: str, action: str, call_id: str) -> SearchPlace:
    """The scope. If anything was ever said in it, the caller must be able to pay for the action."""
    async with services.db.transaction(account_scope(principal)) as conn:
        named_space = await candidates.find_and_survey(conn, kind="scope", name=scope_id, owner=principal.user_id)
        if named_space is None or not named_space[1].passages:
            return SearchPlace(scope=account_scope(principal), size=candidates.NOTHING)
        await begin(services, conn, action, call_id)
    space, size = named_space
    return SearchPlace(scope=space_scope(principal, space), size=size)


async def _evidence(conn: Connection, hits: Sequence[Hit]) -> list[Evidence]:
    """The hits as the whole messages they are from, with what was said before where they need it."""
    before = await message_store.preceding(conn, [hit.source_id for hit in hits if depends(hit.text)])
    said = await message_store.by_ids(conn, [*(hit.source_id for hit in hits), *before.values()])

    def shown(message: KeptMessage, hit: Hit | None, earlier: KeptMessage | None = None) -> Evidence:
        return Evidence(
            message_id=message.id, id=message.client_id, speaker=message.speaker, text=message.text, ts=message.at,
            order=message.seq, metadata=message.metadata, relevance=hit.relevance if hit else 0.0,
            session=hit.session if hit else None, why=hit.why if hit else {},
            excerpt=hit.text if hit and len(message.text) > LONG else None,
            before=shown(earlier, None) if earlier else None,
        )  # fmt: skip

    return [
        shown(said[hit.source_id], hit, said.get(before.get(hit.source_id, "")))
        for hit in hits
        if hit.source_id in said
    ]


async def _people(
    conn: Connection, space: int, question: Question, evidence: Sequence[Evidence]
) -> dict[str, list[str]]:
    """Who speaks, who is named, and who is quoted first, with what holds of them at the time of the question."""
    known = await statement_store.subjects(conn, space)
    concerned = [
        question.speaker,
        *sorted(named(question.text, known, question.speaker)),
        *(item.speaker for item in evidence[:3]),
    ]
    subjects = [subject for subject in dict.fromkeys(concerned) if subject in known]
    noted = await statement_store.current(conn, space, subjects, until=question.until, limit=FACTS)
    facts = {subject: [row.text for row in noted if row.subject == subject] for subject in subjects}
    return {subject: known_facts for subject, known_facts in facts.items() if known_facts}


def _is_short(answer: ScopeRecall | ScopeAnswer) -> bool:
    """Whether it may be kept in memory in case it is asked for again."""
    return sum(len(item.text) for item in answer.evidence) <= KEPT_CHARACTERS


def _check_length(text: str) -> None:
    if len(text.encode()) > LONGEST_QUESTION:
        raise Invalid("The text is longer than 32 KB: shorten it, and ingest what it should know beforehand.")
