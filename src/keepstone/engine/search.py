"""Search: from a question to the turns that answer it, inside a read scope. No language model, no surface.

Candidates by terms and by meaning, the turns beside them, late interaction, then one order (`rank`). The embedders work
first (`embed_question`), with no connection held; then the database is asked (`search`). `lookup` puts both together.
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
from keepstone.engine.features import Features, PassageGroups, candidates, group_by_source
from keepstone.engine.language.scripts import latin
from keepstone.engine.language.stopwords import guess
from keepstone.engine.late import maxsim
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
    """`speaker` is who asks; `asked_at` is what "yesterday" is counted from. Nothing after `until` is seen."""

    text: str
    speaker: str | None
    asked_at: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlace:
    """The spaces that are searched, how large they are together, and what in them counts: nothing but `sources`, or
    `passages`, if they are given, and nothing that does not pass.
    """

    scope: ReadScope
    size: store.Survey
    sources: tuple[str, ...] | None = None
    passages: tuple[int, ...] | None = None
    passes: Passes | None = None

    @property
    def space(self) -> int:
        """The first of the spaces; where there is one, that one."""
        return self.scope.spaces[0]

    @property
    def empty(self) -> bool:
        """Whether nothing can be found here, whatever is asked."""
        return not self.size.passages or self.sources == () or self.passages == ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What is searched: talk, where what stands beside a turn matters, or notes, which stand alone; and whether words
    count, or only meaning. `several`: any number may answer, each for itself, also when they say the same.
    """

    talk: bool = True
    words: bool = True
    several: bool = False


TALK = Style()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """All that the database knows of the candidates. `by_meaning`: there were vectors to compare the question with."""

    passages: Sequence[store.Placed]
    total: int
    frequencies: Mapping[str, int]
    terms: Terms
    bm25: Mapping[int, float]
    near: Mapping[str, Mapping[int, store.Near]]  # by model and passage
    by_meaning: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The candidates with what each is worth, and the places of the best of them, in order. `late` and `near` are by
    passage; `near` by whether the model is multilingual.
    """

    groups: PassageGroups
    candidates: Sequence[rank.Candidate]
    scores: rank.Floats
    order: Sequence[int]
    late: Mapping[int, float]
    near: Mapping[bool, Mapping[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedQuestion:
    """A question as embedders see it, by the name of the model."""

    question: Question
    embedded: Mapping[str, tuple[Embedder, Embedding]]


async def embed_question(services: Services, question: Question) -> EmbeddedQuestion:
    """By the embedders that it surely needs, so that it can be done while the space is still being looked up. English
    needs the multilingual model only in a space that has something else.
    """
    embedders = services.embedders.active
    if guess(question.text) == "en" and latin(question.text):
        embedders = tuple(embedder for embedder in embedders if not embedder.multilingual) or embedders
    return EmbeddedQuestion(question=question, embedded=await _embed(embedders, question.text))


async def embed_for_spaces(services: Services, asked: EmbeddedQuestion, size: store.Survey) -> EmbeddedQuestion:
    """The same question, for spaces that may need more embedders than the question itself."""
    if not size.foreign_text:
        return asked
    rest = [embedder for embedder in services.embedders.active if embedder.name not in asked.embedded]
    return replace(asked, embedded={**asked.embedded, **await _embed(rest, asked.question.text)})


async def search(
    conn: Connection,
    place: SearchPlace,
    asked: EmbeddedQuestion,
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
    if place.empty:
        return Matches(hits=[])
    gathered = await gather(conn, place, asked, style, count=max(CANDIDATES, count or 2 * limit), enough=enough)
    if not gathered.passages:
        return Matches(hits=[], degraded=None if gathered.by_meaning else "terms")
    ranking = rank_gathered(asked, gathered, weights_of(asked, style), limit, several=style.several)
    answerable, believed = relevance(
        ranking.candidates, ranking.scores, ranking.order, gathered.terms, several=style.several
    )
    hits = [
        _hit(ranking, index, gathered.bm25, probability)
        for index, probability in zip(ranking.order, believed, strict=True)
        if floor is None or probability >= floor
    ]
    return Matches(hits=hits, answerable=answerable, degraded=None if gathered.by_meaning else "terms")


async def _embed(embedders: Sequence[Embedder], text: str) -> dict[str, tuple[Embedder, Embedding]]:
    """The question as each embedder sees it; one that can't be reached is left out."""

    async def by(embedder: Embedder) -> Embedding | None:
        try:
            start, end = embedder.cut(text)[0]  # what it reads whole
            return (await embedder.embed([text[start:end]]))[0]
        except UpstreamError:
            return None

    made = await asyncio.gather(*(by(embedder) for embedder in embedders))
    return {
        embedder.name: (embedder, embedding)
        for embedder, embedding in zip(embedders, made, strict=True)
        if embedding is not None
    }


async def gather(
    conn: Connection, place: SearchPlace, asked: EmbeddedQuestion, style: Style, *, count: int, enough: int = CANDIDATES
) -> Gathered:
    """The candidates, with all that the order is made from."""
    question, embedded, size, spaces = asked.question, asked.embedded, place.size, place.scope.spaces
    only = None if place.passages is None else list(place.passages)
    if place.sources is not None:
        only = await store.of_sources(conn, spaces, place.sources)
    narrow = store.Narrow(until=question.until, passages=only)
    wanted = Counter(terms.terms(question.text))
    frequencies = await store.document_frequencies(conn, spaces, list(wanted))
    weight = _weight(wanted, frequencies, size.passages)
    weights = {term: float(idf(n, size.passages)) * wanted[term] for term, n in frequencies.items()}
    # Under a filter the rare words may be gone, and what is left is counted quickly.
    rare = telling(frequencies, ENOUGH * count) if narrow == store.EVERYTHING else list(weights)
    best = {term: weights[term] for term in rare} if style.words else {}
    models = {name: size.sets[name] for name in embedded if name in size.sets}
    english = guess(question.text) == "en"

    async def candidates_of(limit: int) -> list[list[int]]:
        """By words and by each of the models, the best first."""
        ranked = [await store.by_terms(conn, spaces, best, average=size.average, limit=limit, narrow=narrow)]
        for name, vector_set in models.items():
            embedder, embedding = embedded[name]
            # Where there is a finer model for English, the other is for what that can't read.
            foreign = english and embedder.multilingual and len(embedded) > 1
            nearest = await store.by_vector(
                conn, spaces, vector_set, embedding.pooled, limit=limit, indexed=size.indexed, narrow=narrow,
                only_foreign=foreign,
            )  # fmt: skip
            ranked.append(list(nearest))
        return ranked

    ranked = [] if only == [] else await candidates_of(count if place.passes is None else int(WIDER * count))
    by_meaning = any(ranked[1:]) or not ranked
    if place.passes is None:
        chosen = set[int]().union(*ranked)
    else:
        chosen = await _passing(conn, place.passes, ranked, candidates_of, count, enough)
    if not chosen:
        # When nothing had been said by then, nothing was missed for lack of vectors.
        if question.until is not None and not by_meaning:
            by_meaning = not await store.any_passage(conn, spaces, question.until)
        return Gathered(
            passages=[], total=size.passages, frequencies=frequencies, terms=weight, bm25={}, near={},
            by_meaning=by_meaning,
        )  # fmt: skip
    placed = await (store.with_neighbours if style.talk else store.alone)(conn, spaces, sorted(chosen))
    seen = [passage for passage in placed if question.until is None or passage.at <= question.until]
    numbers = [passage.passage for passage in seen]
    near = {
        name: await store.nearness(
            conn, spaces, vector_set, embedded[name][1].pooled, numbers, tokens=embedded[name][1].tokens is not None
        )
        for name, vector_set in models.items()
    }
    return Gathered(
        passages=seen,
        total=size.passages,
        frequencies=frequencies,
        terms=weight,
        bm25=await store.scores(conn, spaces, weights, numbers, average=size.average),
        near=near,
        by_meaning=by_meaning or any(near.values()),
    )


async def _passing(
    conn: Connection,
    passes: Passes,
    ranked: list[list[int]],
    candidates_of: Callable[[int], Awaitable[list[list[int]]]],
    count: int,
    enough: int,
) -> set[int]:
    """The best of what passes; if too few of the nearest do, it is looked for further."""
    limit = int(WIDER * count)
    looked, passing = set[int](), set[int]()
    while True:
        unseen = set[int]().union(*ranked) - looked
        looked |= unseen
        passing |= set(await passes(conn, sorted(unseen)))
        kept = [[passage for passage in passages if passage in passing][:count] for passages in ranked]
        more = any(len(all_) == limit and len(few) < enough for all_, few in zip(ranked, kept, strict=True))
        if not more or limit >= store.WIDEST:
            return set[int]().union(*kept)
        limit = store.WIDEST
        ranked = await candidates_of(limit)


def _weight(wanted: Mapping[str, int], frequencies: Mapping[str, int], passages: int) -> Terms:
    weights = idf([frequencies.get(term, 0) for term in wanted], passages) * list(wanted.values())
    known = [term in frequencies for term in wanted]
    return Terms(total=float(weights.sum()), known=float(weights[known].sum()), passages=passages)


def rank_gathered(
    asked: EmbeddedQuestion, gathered: Gathered, weights: rank.Weights, limit: int, *, several: bool
) -> Ranking:
    """One order, and at most `limit` places of it."""
    question, groups = asked.question, group_by_source(gathered.passages)
    at = [windows[0].at.timestamp() for windows in groups.windows]
    near: dict[bool, dict[int, float]] = {True: {}, False: {}}  # multilingual or not
    for name, (embedder, _) in asked.embedded.items():
        similar = gathered.near.get(name, {})
        near[embedder.multilingual] |= {passage: nearness.similarity for passage, nearness in similar.items()}
    late = _late(asked, gathered)
    features = Features(
        bm25=groups.best(gathered.bm25, otherwise=0.0),
        maxsim=groups.best(late),
        pooled=groups.best(near[False]),
        multilingual=groups.best(near[True]),
        near=timeprox(at, windows(question.text, question.asked_at)),
        fresh=freshness(question.text, at),
    )
    speakers = {passage.speaker or "" for passage in gathered.passages}
    ranked = candidates(groups, features, rank.named(question.text, speakers, question.speaker))
    scores = rank.scores(ranked, weights)
    # The same thing said twice takes one place; half as many again are enough to fill the places left free.
    best = rank.order(scores)[: limit + limit // 2 + 10]
    if not several:
        best = rank.collapse(best, groups.text)
    return Ranking(groups=groups, candidates=ranked, scores=scores, order=best[:limit], late=late, near=near)


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


def _late(asked: EmbeddedQuestion, gathered: Gathered) -> dict[int, float]:
    """MaxSim of every passage that has token vectors, each of the question's tokens weighted by its word's idf."""
    name, tokens = next(
        ((name, embedding.tokens) for name, (_, embedding) in asked.embedded.items() if embedding.tokens is not None),
        ("", None),
    )
    near = gathered.near.get(name, {})
    packed = {passage: nearness.tokens for passage, nearness in near.items() if nearness.tokens is not None}
    if tokens is None or not packed:
        return {}
    words = terms.words(asked.question.text)

    def weight(start: int, end: int) -> float:
        inside = (word.term for word in words if word.start < end and start < word.end)
        return float(idf(max((gathered.frequencies.get(term, 0) for term in inside), default=0), gathered.total))

    values = maxsim(tokens.vectors, [weight(*span) for span in tokens.spans], list(packed.values()))
    return dict(zip(packed, map(float, values), strict=True))


def _hit(ranking: Ranking, index: int, bm25: Mapping[int, float], believed: float) -> Hit:
    first, candidate = ranking.groups.windows[index][0], ranking.candidates[index]
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
        text=ranking.groups.text(index),
        window=ranking.groups.telling(index, bm25, ranking.late, ranking.near[True], ranking.near[False]),
        score=float(ranking.scores[index]),
        relevance=believed,
        why={name: round(value, 4) for name, value in features.items() if not math.isnan(value)},
        place=first.place,
    )
