"""What a search looks at: the candidates by words and by meaning, under its filters, with all that the database knows
of them.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from keepstone.engine import terms
from keepstone.engine.bm25 import idf, telling
from keepstone.engine.calibrate import Terms
from keepstone.engine.language.stopwords import guess
from keepstone.engine.question import EmbeddedQuestion
from keepstone.model.principal import ReadScope
from keepstone.store import candidates as store
from keepstone.store.db import Connection

# For a filter that many things pass: which of these passages do?
Passes = Callable[[Connection, Sequence[int]], Awaitable[Collection[int]]]

CANDIDATES = 50
WIDER = 2.5  # times as many are looked at under such a filter at first
ENOUGH = 4  # times as many passages as are taken, before common words are left out of the search for them


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
NOTES = Style(talk=False)
SEVERAL_NOTES = Style(talk=False, several=True)  # any number of them may answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """All that the database knows of the candidates. `by_meaning`: there were vectors to compare the question with."""

    passages: Sequence[store.PlacedPassage]
    total: int
    frequencies: Mapping[str, int]
    terms: Terms
    bm25: Mapping[int, float]
    near: Mapping[str, Mapping[int, store.Near]]  # by model and passage
    by_meaning: bool


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
        models = {}  # there is nothing to compare
        if question.until is not None and not by_meaning:
            # When nothing had been said by then, nothing was missed for lack of vectors.
            by_meaning = not await store.any_passage(conn, spaces, question.until)
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
        terms=_weight(wanted, frequencies, size.passages),
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
