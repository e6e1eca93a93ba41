"""Search: from a question to the turns that answer it, inside a read scope. No language model, no surface.

Candidates by terms and by meaning, the turns beside them, late interaction, then one order (`rank`). The embedders work
first (`read`, `read_for`), with no connection held; then the database is asked (`search`).
"""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keepstone.engine import rank, terms
from keepstone.engine.bm25 import idf, telling
from keepstone.engine.calibrate import Terms, relevance
from keepstone.engine.language.scripts import latin
from keepstone.engine.language.stopwords import guess
from keepstone.engine.late import maxsim
from keepstone.engine.turns import Features, Turns, candidates, grouped
from keepstone.engine.when import freshness, timeprox, windows
from keepstone.errors import UpstreamError
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedder, Embedding
from keepstone.services import Services
from keepstone.store import candidates as store
from keepstone.store.db import Connection

# For a filter that many things pass: which of these passages do?
Passes = Callable[[Connection, Sequence[int]], Awaitable[Collection[int]]]

CANDIDATES = 50
WIDER = 2.5  # times as many are looked at under such a filter at first
ENOUGH = 4  # times as many passages as are taken, before common words are left out of the search for them


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`speaker` is who asks; `asked_at` is what "yesterday" is counted from. Nothing after `until` is seen, nothing but
    `sources`, or `passages`, if they are given, and nothing that does not pass.
    """

    text: str
    speaker: str | None
    asked_at: datetime
    until: datetime | None = None
    sources: tuple[str, ...] | None = None
    passages: tuple[int, ...] | None = None
    passes: Passes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What is searched: talk, where what stands beside a turn matters, or notes, which stand alone; and whether words
    count, or only meaning. `several`: any number may answer, each for itself, also when they say the same.
    """

    talk: bool = True
    words: bool = True
    several: bool = False


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
class Found:
    """`degraded` says what was missing: `terms` means that nothing could be found by meaning."""

    hits: list[Hit]
    answerable: float = 0.0  # the probability that the space speaks of it at all
    degraded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """All that the database knows of the candidates."""

    passages: Sequence[store.Placed]
    total: int
    frequencies: Mapping[str, int]
    terms: Terms
    bm25: Mapping[int, float]
    near: Mapping[str, Mapping[int, store.Near]]  # by model and passage


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A question as the embedders that it surely needs see it."""

    question: Question
    embedded: Mapping[str, tuple[Embedder, Embedding]]

    def within(self, sources: Sequence[str]) -> "Read":
        """The same question, of these sources alone."""
        return replace(self, question=replace(self.question, sources=tuple(sources)))


async def read(services: Services, question: Question) -> Read:
    """Can be done while the space is still being looked up. English needs the multilingual model only in a space that
    has something else.
    """
    embedders = services.embedders.active
    if guess(question.text) == "en" and latin(question.text):
        embedders = tuple(each for each in embedders if not each.multilingual) or embedders
    return Read(question=question, embedded=await _embed(embedders, question.text))


async def read_for(services: Services, asked: Read, size: store.Survey) -> Read:
    """The same question, for spaces that may need more embedders than the question itself."""
    if not size.foreign_text:
        return asked
    rest = [each for each in services.embedders.active if each.name not in asked.embedded]
    return replace(asked, embedded={**asked.embedded, **await _embed(rest, asked.question.text)})


async def search(
    conn: Connection,
    scope: ReadScope,
    asked: Read,
    size: store.Survey,
    *,
    limit: int,
    floor: float | None = None,
    style: Style | None = None,
    count: int | None = None,
    enough: int = CANDIDATES,
) -> Found:
    """The best turns, at most `limit`, none below the relevance `floor`.

    `conn` is in a transaction with this scope, and `size` is the survey of its spaces. `count` candidates are looked at
    by their words and as many by their meaning: twice the limit if nothing is said. Under a filter that many pass,
    `enough` of those are wanted that do.
    """
    question, embedded, style = asked.question, asked.embedded, style or Style()
    count = max(CANDIDATES, count or 2 * limit)
    evidence = await _gather(conn, scope, question, embedded, size, style, count=count, enough=enough)
    weights = _weights(question, embedded, style)
    hits, answerable = _ranked(question, embedded, evidence, weights, limit, several=style.several)
    kept = [hit for hit in hits if floor is None or hit.relevance >= floor]
    return Found(hits=kept, answerable=answerable, degraded=None if any(evidence.near.values()) else "terms")


async def _embed(embedders: Sequence[Embedder], text: str) -> dict[str, tuple[Embedder, Embedding]]:
    """The question as each embedder sees it; one that can't be reached is left out."""

    async def one(embedder: Embedder) -> Embedding | None:
        try:
            start, end = embedder.cut(text)[0]  # what it reads whole
            return (await embedder.embed([text[start:end]]))[0]
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
    size: store.Survey,
    style: Style,
    *,
    count: int,
    enough: int,
) -> _Evidence:
    spaces, until = scope.spaces, question.until
    only = None if question.passages is None else list(question.passages)
    if question.sources is not None:
        only = await store.of_sources(conn, spaces, question.sources)
    narrow = store.Narrow(until=until, passages=only)
    wanted = Counter(terms.terms(question.text))
    frequencies = await store.document_frequencies(conn, spaces, list(wanted))
    weights = {term: float(idf(n, size.passages)) * wanted[term] for term, n in frequencies.items()}
    # Under a filter the rare words may be gone, and what is left is counted quickly.
    rare = telling(frequencies, ENOUGH * count) if narrow == store.EVERYTHING else list(weights)
    best = {term: weights[term] for term in rare} if style.words else {}
    asked = {size.sets[name]: embedding for name, (_, embedding) in embedded.items() if name in size.sets}
    english = guess(question.text) == "en"

    async def candidates_of(limit: int) -> list[list[int]]:
        """By words and by each of the models, the best first."""
        chosen = [await store.by_terms(conn, spaces, best, average=size.average, limit=limit, narrow=narrow)]
        for name, (embedder, embedding) in embedded.items():
            if name in size.sets:
                # Where there is a finer model for English, the other is for what that can't read.
                foreign = english and embedder.multilingual and len(embedded) > 1
                found = store.by_vector(
                    conn, spaces, size.sets[name], embedding.pooled, limit=limit, indexed=size.indexed, narrow=narrow,
                    only_foreign=foreign,
                )  # fmt: skip
                chosen.append(list(await found))
        return chosen

    if question.passes is None:
        chosen = set[int]().union(*await candidates_of(count))
    else:
        chosen = await _passing(conn, question.passes, candidates_of, count, enough)
    placed = await (store.with_neighbours if style.talk else store.alone)(conn, spaces, sorted(chosen))
    seen = [passage for passage in placed if until is None or passage.at <= until]
    numbers = [passage.passage for passage in seen]
    near = {
        number: await store.nearness(
            conn, spaces, number, embedding.pooled, numbers, tokens=embedding.tokens is not None
        )
        for number, embedding in asked.items()
    }
    return _Evidence(
        passages=seen,
        total=size.passages,
        frequencies=frequencies,
        terms=_weight(wanted, frequencies, size.passages),
        bm25=await store.scores(conn, spaces, weights, numbers, average=size.average),
        near={name: near[size.sets[name]] for name in embedded if name in size.sets},
    )


async def _passing(
    conn: Connection,
    passes: Passes,
    candidates_of: Callable[[int], Awaitable[list[list[int]]]],
    count: int,
    enough: int,
) -> set[int]:
    """The best of what passes; if too few of the nearest do, it is looked for further."""
    limit = int(WIDER * count)
    looked, passing = set[int](), set[int]()
    while True:
        ranked = await candidates_of(limit)
        unseen = set[int]().union(*ranked) - looked
        looked |= unseen
        passing |= set(await passes(conn, sorted(unseen)))
        kept = [[passage for passage in one if passage in passing][:count] for one in ranked]
        more = any(len(one) == limit and len(few) < enough for one, few in zip(ranked, kept, strict=True))
        if not more or limit >= store.WIDEST:
            return set[int]().union(*kept)
        limit = store.WIDEST


def _weight(wanted: Mapping[str, int], frequencies: Mapping[str, int], passages: int) -> Terms:
    weights = idf([frequencies.get(term, 0) for term in wanted], passages) * list(wanted.values())
    known = [term in frequencies for term in wanted]
    return Terms(total=float(weights.sum()), known=float(weights[known].sum()), passages=passages)


def _ranked(
    question: Question,
    embedded: Mapping[str, tuple[Embedder, Embedding]],
    evidence: _Evidence,
    weights: rank.Weights,
    limit: int,
    *,
    several: bool,
) -> tuple[list[Hit], float]:
    turns = grouped(evidence.passages)
    if not turns.windows:
        return [], 0.0
    at = [windows[0].at.timestamp() for windows in turns.windows]
    near: dict[bool, dict[int, float]] = {True: {}, False: {}}  # multilingual or not
    for name, (embedder, _) in embedded.items():
        near[embedder.multilingual] |= {one: found.similarity for one, found in evidence.near.get(name, {}).items()}
    late = _late(question, embedded, evidence)
    features = Features(
        bm25=turns.best(evidence.bm25, otherwise=0.0),
        maxsim=turns.best(late),
        pooled=turns.best(near[False]),
        multilingual=turns.best(near[True]),
        near=timeprox(at, windows(question.text, question.asked_at)),
        fresh=freshness(question.text, at),
    )
    speakers = {passage.speaker or "" for passage in evidence.passages}
    found = candidates(turns, features, rank.named(question.text, speakers, question.speaker))
    scores = rank.scores(found, weights)
    # The same thing said twice takes one place; half as many again are enough to fill the places left free.
    best = rank.order(scores)[: limit + limit // 2 + 10]
    texts = [turns.text(index) for index in best]
    said_by = [turns.windows[index][0].speaker or "" for index in best]
    order = best if several else [best[place] for place in rank.collapse(range(len(best)), texts, said_by)]
    order = order[:limit]
    answerable, believed = relevance(found, scores, order, evidence.terms, several=several)
    told = (evidence.bm25, late, near[True], near[False])
    hits = [
        _hit(turns, index, turns.telling(index, *told), found[index], float(scores[index]), believed[place])
        for place, index in enumerate(order)
    ]
    return hits, answerable


# With pooled vectors of any model and nothing finer; and with nothing but terms.
_POOLED = rank.Weights(maxsim=0.0, bm25=0.5, pooled=1.0, multilingual=1.0)
_TERMS = rank.Weights(maxsim=0.0, bm25=1.0, pooled=0.0)


def _weights(question: Question, embedded: Mapping[str, tuple[Embedder, Embedding]], style: Style) -> rank.Weights:
    weights = rank.weights_for(guess(question.text))
    if not embedded:
        weights = _TERMS
    elif all(embedding.tokens is None for _, embedding in embedded.values()):
        weights = _POOLED
    if not style.talk:
        # A long note is found by one of its windows, none of which is long.
        weights = weights.without("neighbour", "session", "length")
    return weights if style.words else weights.without("bm25")


def _late(
    question: Question, embedded: Mapping[str, tuple[Embedder, Embedding]], evidence: _Evidence
) -> dict[int, float]:
    """MaxSim of every passage that has token vectors, each of the question's tokens weighted by its word's idf."""
    name, asked = next(
        ((name, embedding.tokens) for name, (_, embedding) in embedded.items() if embedding.tokens is not None),
        ("", None),
    )
    tokens = {passage: near.tokens for passage, near in evidence.near.get(name, {}).items() if near.tokens is not None}
    if asked is None or not tokens:
        return {}
    words = terms.words(question.text)

    def weight(start: int, end: int) -> float:
        found = [evidence.frequencies.get(word.term, 0) for word in words if word.start < end and start < word.end]
        return float(idf(max(found, default=0), evidence.total))

    values = maxsim(asked.vectors, [weight(*span) for span in asked.spans], list(tokens.values()))
    return dict(zip(tokens, map(float, values), strict=True))


def _hit(turns: Turns, index: int, window: str, candidate: rank.Candidate, score: float, believed: float) -> Hit:
    first = turns.windows[index][0]
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
        source_kind=first.source_kind,
        source_id=first.source_id,
        speaker=first.speaker,
        at=first.at,
        session=first.session,
        text=turns.text(index),
        window=window,
        score=score,
        relevance=believed,
        why={name: round(value, 4) for name, value in features.items() if not math.isnan(value)},
        place=first.place,
    )
