"""Search: from a question to the turns that answer it, inside a read scope. No language model, no surface.

`gather` has the candidates by terms and by meaning and the turns beside them; here they get their features, late
interaction among them, one order (`rank`) and a relevance (`calibrate`). `lookup` is the way in.
"""

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from keepstone.engine import about, rank, terms
from keepstone.engine.bm25 import idf
from keepstone.engine.calibrate import relevance
from keepstone.engine.features import PassageGroups, candidates, group_by_source
from keepstone.engine.gather import CANDIDATES, TALK, Gathered, SearchPlace, Style, gather
from keepstone.engine.language.stopwords import guess
from keepstone.engine.late import Vectors, best_products, weighted
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.when import freshness, timeprox, windows
from keepstone.providers.embedder import Span
from keepstone.store.db import Connection

PERSON_TURNS = 40  # to see whether they speak of whom a question names

Place_co = TypeVar("Place_co", bound=SearchPlace, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A turn that was found, with the windows of it that were looked at."""

    source_kind: str
    source_id: str
    speaker: str | None
    at: datetime
    session: str | None
    text: str
    window: str  # the part of it that speaks most for it
    score: float
    relevance: float
    why: dict[str, float]
    place: dict[str, Any] | None = None  # of a part of a document: where in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """`degraded` says what was missing: `terms` means that nothing could be found by meaning."""

    hits: list[Hit]
    answerable: float = 0.0  # the probability that the space speaks of it at all
    degraded: str | None = None

    @property
    def ids(self) -> list[str]:
        """The sources of the hits, the best first."""
        return [hit.source_id for hit in self.hits]


@dataclass(frozen=True, slots=True)
class AskedOf(Generic[Place_co]):
    """A question, embedded as the place needs it, and the place."""

    place: Place_co
    question: EmbeddedQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSet:
    """The candidates with their features, and the passages of each. `late`, `bm25` and `near` are by passage; `near`
    also by whether the model is multilingual.
    """

    groups: PassageGroups
    candidates: Sequence[rank.Candidate]
    bm25: Mapping[int, float]
    late: Mapping[int, float]
    near: Mapping[bool, Mapping[int, float]]
    person: float | None  # how far it speaks of whom the question names, rather than of others


async def find(
    conn: Connection,
    asked_of: AskedOf[SearchPlace],
    *,
    limit: int,
    floor: float | None = None,
    style: Style = TALK,
    count: int | None = None,
    enough: int = CANDIDATES,
) -> Matches:
    """The best turns, at most `limit`, none below the relevance `floor`.

    `conn` is in a transaction with the place's scope. `count` candidates are looked at by their words and as many by
    their meaning: twice the limit if nothing is said. Under a filter that many pass, `enough` of those are wanted that
    do.
    """
    place, asked = asked_of.place, asked_of.question
    if place.empty:
        return Matches(hits=[])
    gathered = await gather(conn, place, asked, style, count=max(CANDIDATES, count or 2 * limit), enough=enough)
    if not gathered.passages:
        return Matches(hits=[], degraded=None if gathered.by_meaning else "terms")
    # In a thread: of many who ask at once, none keeps the event loop for long.
    return await asyncio.to_thread(_ranked, asked, gathered, style, limit, floor)


def _ranked(
    asked: EmbeddedQuestion, gathered: Gathered, style: Style, limit: int, floor: float | None
) -> Matches:  # fmt: skip
    described = describe(asked, gathered)
    scores = rank.scores(described.candidates, weights_of(asked, style))
    order = best_of(described, scores, limit, several=style.several)
    answerable, believed = relevance(
        described.candidates, scores, order, gathered.terms,
        person=described.person, talk=style.talk, several=style.several, seen_by=asked.embedded,
    )  # fmt: skip
    hits = [
        _hit(described, index, float(scores[index]), probability)
        for index, probability in zip(order, believed, strict=True)
        if floor is None or probability >= floor
    ]
    return Matches(hits=hits, answerable=answerable, degraded=None if gathered.by_meaning else "terms")


def describe(asked: EmbeddedQuestion, gathered: Gathered) -> CandidateSet:
    """Each candidate with all that `rank` and `calibrate` go by."""
    question, groups = asked.question, group_by_source(gathered.passages)
    at = [windows[0].at.timestamp() for windows in groups.windows]
    near: dict[bool, dict[int, float]] = {True: {}, False: {}}  # multilingual or not
    for name, (embedder, _) in asked.embedded.items():
        similar = gathered.near.get(name, {})
        near[embedder.multilingual] |= {passage: nearness.similarity for passage, nearness in similar.items()}
    tokens = _late(asked, gathered)
    late = tokens.matched(tokens.weights) if tokens else {}
    speakers = {passage.speaker or "" for passage in gathered.passages}
    named = rank.named(question.text, speakers, question.speaker)
    features = {
        "bm25": groups.best(gathered.bm25, otherwise=0.0),
        "maxsim": groups.best(late),
        "pooled": groups.best(near[False]),
        "multilingual": groups.best(near[True]),
        "near": timeprox(at, windows(question.text, question.asked_at)),
        "fresh": freshness(question.text, at),
    }
    return CandidateSet(
        groups=groups,
        candidates=candidates(groups, features, named),
        bm25=gathered.bm25,
        late=late,
        near=near,
        person=_person(question.text, named, groups, tokens) if tokens else None,
    )


def best_of(described: CandidateSet, scores: rank.Floats, limit: int, *, several: bool) -> list[int]:
    """The places of the best candidates, in order. Unless `several` may answer, the same thing said twice takes one
    place.
    """
    # Half as many again are enough to fill the places left free.
    best = rank.order(scores)[: limit + limit // 2 + 10]
    return (best if several else rank.collapse(best, described.groups.text))[:limit]


# With pooled vectors of any model and nothing finer; and with nothing but terms.
_POOLED = rank.Weights(maxsim=0.0, bm25=0.5, pooled=1.0, multilingual=1.0)
_TERMS = rank.Weights(maxsim=0.0, bm25=1.0, pooled=0.0)


def weights_of(asked: EmbeddedQuestion, style: Style) -> rank.Weights:
    """What each feature counts for this question, and for what the embedders gave for it."""
    weights = rank.weights_for(guess(asked.question.text))
    if not asked.embedded:
        weights = _TERMS
    elif all(embedding.tokens is None for _, embedding in asked.embedded.values()):
        weights = _POOLED
    if not style.talk:
        # A long note is found by one of its windows, none of which is long.
        weights = weights.without("neighbour", "session", "length")
    return weights if style.words else weights.without("bm25")


@dataclass(frozen=True, slots=True)
class TokenProducts:
    """How well each passage that has token vectors matches each of the question's, and what the latter weigh: the idf
    of their words.
    """

    passages: Sequence[int]
    best: Vectors
    spans: Sequence[Span]
    weights: Sequence[float]

    def matched(self, weights: Sequence[float]) -> dict[int, float]:
        """MaxSim of every passage."""
        return dict(zip(self.passages, map(float, weighted(self.best, weights)), strict=True))


def _late(asked: EmbeddedQuestion, gathered: Gathered) -> TokenProducts | None:
    name, tokens = next(
        ((name, embedding.tokens) for name, (_, embedding) in asked.embedded.items() if embedding.tokens is not None),
        ("", None),
    )
    near = gathered.near.get(name, {})
    packed = {passage: nearness.tokens for passage, nearness in near.items() if nearness.tokens is not None}
    if tokens is None or not packed:
        return None
    words = terms.words(asked.question.text)

    def weight(start: int, end: int) -> float:
        inside = (word.term for word in words if word.start < end and start < word.end)
        return float(idf(max((gathered.frequencies.get(term, 0) for term in inside), default=0), gathered.total))

    weights = [weight(*span) if span[0] < span[1] else None for span in tokens.spans]
    # What is no word of the question, as a piece that some encoders put before it, counts as its least telling word.
    least = min((known for known in weights if known is not None), default=1.0)
    known = [least if value is None else value for value in weights]
    return TokenProducts(list(packed), best_products(tokens.vectors, list(packed.values())), tokens.spans, known)


def _person(question: str, named: frozenset[str], groups: PassageGroups, tokens: TokenProducts) -> float | None:
    """By the turns that have most of what is asked for, whoever it is asked of."""
    # What was said to me, or by me to somebody, is said of both.
    if not named or rank.FIRST_PERSON.search(question):
        return None
    matched = groups.best(tokens.matched(about.without_names(question, tokens.spans, tokens.weights, named)), 0.0)
    nearest = rank.order(matched)[:PERSON_TURNS]
    turns = [(groups.windows[index][0].speaker, groups.text(index)) for index in nearest]
    return about.balance(turns, named, matched[nearest])


def _hit(described: CandidateSet, index: int, score: float, believed: float) -> Hit:
    groups, candidate = described.groups, described.candidates[index]
    first, near = groups.windows[index][0], described.near
    features = {
        "maxsim": candidate.maxsim,
        "bm25": candidate.bm25,
        "meaning": candidate.pooled,
        "multilingual": candidate.multilingual,
        "speaker": candidate.spoken,
        "time": candidate.near,
        "freshness": candidate.fresh,
    }
    return Hit(
        source_kind=first.source_kind, source_id=first.source_id, speaker=first.speaker, at=first.at,
        session=first.session, text=groups.text(index),
        window=groups.telling(index, described.bm25, described.late, near[True], near[False]),
        score=score, relevance=believed, place=first.place,
        why={name: round(value, 4) for name, value in features.items() if not math.isnan(value)},
    )  # fmt: skip
