"""Search: from a question to the turns that answer it, inside a read scope. No language model, no surface.

Candidates by terms and by meaning, the turns beside them, late interaction, then one order (`rank`). The database is
asked in one transaction; the embedder works before it, with no connection held.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

import numpy as np

from cairn.engine import rank, terms
from cairn.engine.bm25 import idf
from cairn.engine.calibrate import Terms, relevance
from cairn.engine.late import maxsim
from cairn.engine.time import timeprox, windows
from cairn.errors import UpstreamError
from cairn.model.message import Passage
from cairn.model.principal import ReadScope
from cairn.providers.embedder import Embedder, Embedding
from cairn.services import Services
from cairn.store import passages as store
from cairn.store.db import Connection

CANDIDATES = 50
SCORED = 2000  # what stands further down by its terms counts as without them


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`speaker` is who asks; `asked_at` is what "yesterday" is counted from; nothing after `until` is seen."""

    text: str
    speaker: str | None
    asked_at: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A turn that was found, with the windows of it that were looked at."""

    source_kind: str
    source_id: str
    speaker: str | None
    at: datetime
    session: str | None
    text: str
    score: float
    relevance: float
    why: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`degraded` says what was missing: `terms` means that nothing could be found by meaning."""

    hits: list[Hit]
    answerable: float = 0.0  # the probability that the space speaks of it at all
    degraded: str | None = None


@dataclass(slots=True, kw_only=True)
class _Turn:
    """What is known of a turn while it is a candidate: the best of its windows."""

    passages: list[Passage] = field(default_factory=list[Passage])
    bm25: float = 0.0
    maxsim: float = rank.MISSING
    pooled: float = rank.MISSING
    multilingual: float = rank.MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """All that the database knows of the candidates."""

    passages: Sequence[Passage]
    followed: Mapping[int, int]  # by which passage
    total: int
    frequencies: Mapping[str, int]
    terms: Terms
    bm25: Mapping[int, float]
    similar: Mapping[str, Mapping[int, float]]
    tokens: Mapping[int, bytes]


async def search(
    services: Services,
    scope: ReadScope,
    question: Question,
    *,
    limit: int,
    floor: float | None = None,
    weights: rank.Weights | None = None,
) -> Found:
    """The best turns, at most `limit`, none below the relevance `floor`."""
    async with services.db.transaction(scope) as conn:
        size = await store.statistics(conn, scope.spaces)
    embedded = await _embed(_useful(services.embedders.active, question, size), question.text)
    async with services.db.transaction(scope) as conn:
        evidence = await _gather(conn, scope, question, embedded, size, count=max(CANDIDATES, 2 * limit))
    hits, answerable = _ranked(question, embedded, evidence, weights, limit)
    kept = [hit for hit in hits if floor is None or hit.relevance >= floor]
    return Found(hits=kept, answerable=answerable, degraded=None if embedded and evidence.similar else "terms")


def _useful(embedders: Sequence[Embedder], question: Question, size: store.Statistics) -> list[Embedder]:
    """All of them, unless question and space are English and there is a finer model for that."""
    if size.foreign_text or terms.guess(question.text) != "en" or not terms.latin(question.text):
        return list(embedders)
    return [embedder for embedder in embedders if not embedder.multilingual] or list(embedders)


async def _embed(embedders: Sequence[Embedder], text: str) -> dict[str, tuple[Embedder, Embedding]]:
    """The question as each embedder sees it; one that can't be reached is left out."""

    async def one(embedder: Embedder) -> Embedding | None:
        try:
            return (await embedder.embed([text]))[0]
        except UpstreamError:
            return None

    made = await asyncio.gather(*(one(embedder) for embedder in embedders))
    return {
        embedder.name: (embedder, embedding)
        for embedder, embedding in zip(embedders, made, strict=True)
        if embedding is not None
    }


async def _gather(
    conn: Connection,
    scope: ReadScope,
    question: Question,
    embedded: Mapping[str, tuple[Embedder, Embedding]],
    size: store.Statistics,
    *,
    count: int,
) -> _Evidence:
    spaces = scope.spaces
    wanted = Counter(terms.terms(question.text))
    frequencies = await store.document_frequencies(conn, spaces, list(wanted))
    weights = {
        term: float(idf(frequencies[term], size.passages)) * times
        for term, times in wanted.items()
        if term in frequencies
    }
    average = size.term_total / max(size.passages, 1)
    sets = await store.serving_sets(conn)
    scored = await store.by_terms(conn, spaces, weights, average=average, limit=SCORED)
    candidates = set(list(scored)[:count])
    known = {name: sets[name] for name in embedded if name in sets}
    for name, number in known.items():
        candidates |= set(await store.by_vector(conn, spaces, number, embedded[name][1].pooled, limit=count))
    beside = await store.neighbours(conn, spaces, sorted(candidates))
    everyone = sorted(candidates | {one for pair in beside.values() for one in pair if one is not None})
    passages = await store.get(conn, spaces, everyone)
    if question.until is not None:
        passages = [passage for passage in passages if passage.at <= question.until]
    return _Evidence(
        passages=passages,
        followed={before: passage for passage, (before, _) in beside.items() if before is not None}
        | {passage: after for passage, (_, after) in beside.items() if after is not None},
        total=size.passages,
        frequencies=frequencies,
        terms=Terms(
            total=sum(float(idf(frequencies.get(term, 0), size.passages)) * times for term, times in wanted.items()),
            known=sum(weights.values()),
            passages=size.passages,
        ),
        bm25=scored,
        similar={
            name: await store.similarities(conn, spaces, number, embedded[name][1].pooled, everyone)
            for name, number in known.items()
        },
        tokens={
            passage: packed
            for name, number in known.items()
            if embedded[name][1].tokens is not None
            for passage, packed in (await store.tokens(conn, spaces, number, everyone)).items()
        },
    )


def _ranked(
    question: Question,
    embedded: Mapping[str, tuple[Embedder, Embedding]],
    evidence: _Evidence,
    weights: rank.Weights | None,
    limit: int,
) -> tuple[list[Hit], float]:
    turns = _turns(question, embedded, evidence)
    if not turns:
        return [], 0.0
    speakers = {turn.passages[0].speaker or "" for turn in turns}
    about = rank.named(question.text, speakers, question.speaker)
    near = timeprox([turn.passages[0].at.timestamp() for turn in turns], windows(question.text, question.asked_at))
    positions = _positions(turns, evidence.followed)
    candidates = [
        rank.Candidate(
            session=turn.passages[0].session,
            position=positions[index],
            chars=sum(len(passage.text) for passage in turn.passages),
            bm25=turn.bm25,
            maxsim=turn.maxsim,
            pooled=turn.pooled,
            multilingual=turn.multilingual,
            spoken=1.0 if turn.passages[0].speaker in about else 0.0,
            near=float(near[index]),
            latin=terms.latin(turn.passages[0].text),
        )
        for index, turn in enumerate(turns)
    ]
    scores = rank.scores(candidates, weights or _weights(question, embedded))
    # The same thing said twice takes one place; half as many again are enough to fill the places left free.
    best = rank.order(scores)[: limit + limit // 2 + 10]
    order = _distinct(turns, best)[:limit]
    answerable, believed = relevance(candidates, scores, order, evidence.terms)
    hits = [
        _hit(turns[index], candidates[index], float(scores[index]), believed[place])
        for place, index in enumerate(order)
    ]
    return hits, answerable


# With pooled vectors of any model and nothing finer; and with nothing but terms.
_POOLED = rank.Weights(maxsim=0.0, bm25=0.5, pooled=1.0, multilingual=1.0)
_TERMS = rank.Weights(maxsim=0.0, bm25=1.0, pooled=0.0)


def _weights(question: Question, embedded: Mapping[str, tuple[Embedder, Embedding]]) -> rank.Weights:
    if not embedded:
        return _TERMS
    if all(embedding.tokens is None for _, embedding in embedded.values()):
        return _POOLED
    return rank.weights_for(terms.guess(question.text))


def _distinct(turns: Sequence[_Turn], best: Sequence[int]) -> list[int]:
    texts = [_text(turns[index]) for index in best]
    speakers = [turns[index].passages[0].speaker or "" for index in best]
    return [best[place] for place in rank.collapse(range(len(best)), texts, speakers)]


def _turns(question: Question, embedded: Mapping[str, tuple[Embedder, Embedding]], evidence: _Evidence) -> list[_Turn]:
    """Passages grouped to turns, in the order in which they were said, each with the best of its windows."""
    late = _late(question, embedded, evidence)
    turns: dict[tuple[str, str], _Turn] = {}
    for passage in evidence.passages:
        turn = turns.setdefault((passage.source_kind, passage.source_id), _Turn())
        turn.passages.append(passage)
        turn.bm25 = max(turn.bm25, evidence.bm25.get(passage.passage, 0.0))
        turn.maxsim = _best(turn.maxsim, late.get(passage.passage, rank.MISSING))
        for name, (embedder, _) in embedded.items():
            similarity = evidence.similar.get(name, {}).get(passage.passage, rank.MISSING)
            if embedder.multilingual:
                turn.multilingual = _best(turn.multilingual, similarity)
            else:
                turn.pooled = _best(turn.pooled, similarity)
    return list(turns.values())


def _late(
    question: Question, embedded: Mapping[str, tuple[Embedder, Embedding]], evidence: _Evidence
) -> dict[int, float]:
    """MaxSim of every passage that has token vectors, each of the question's tokens weighted by its word's idf."""
    asked = next((embedding.tokens for _, embedding in embedded.values() if embedding.tokens is not None), None)
    if asked is None or not evidence.tokens:
        return {}
    words = terms.words(question.text)

    def weight(start: int, end: int) -> float:
        found = [evidence.frequencies.get(word.term, 0) for word in words if word.start < end and start < word.end]
        return float(idf(max(found, default=0), evidence.total))

    values = maxsim(asked.vectors, [weight(*span) for span in asked.spans], list(evidence.tokens.values()))
    return dict(zip(evidence.tokens, map(float, values), strict=True))


def _positions(turns: Sequence[_Turn], followed: Mapping[int, int]) -> list[int]:
    """Places in the conversation such that turns said one after the other are one apart, and no others."""
    positions = [0]
    for before, turn in pairwise(turns):
        follows = followed.get(before.passages[-1].passage) == turn.passages[0].passage
        positions.append(positions[-1] + (1 if follows else 2))
    return positions


def _hit(turn: _Turn, candidate: rank.Candidate, score: float, believed: float) -> Hit:
    first = turn.passages[0]
    features = {
        "maxsim": candidate.maxsim,
        "bm25": candidate.bm25,
        "meaning": candidate.pooled,
        "multilingual": candidate.multilingual,
        "speaker": candidate.spoken,
        "time": candidate.near,
    }
    return Hit(
        source_kind=first.source_kind,
        source_id=first.source_id,
        speaker=first.speaker,
        at=first.at,
        session=first.session,
        text=_text(turn),
        score=score,
        relevance=believed,
        why={name: round(value, 4) for name, value in features.items() if np.isfinite(value)},
    )


def _text(turn: _Turn) -> str:
    return " ".join(passage.text for passage in turn.passages)


def _best(one: float, other: float) -> float:
    if not np.isfinite(one):
        return other
    return one if not np.isfinite(other) else max(one, other)
