"""What a search of the database looks at: the candidates by words and by meaning, under its filters, with all that it
knows of them. For spaces that don't stand in memory.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from keepstone.engine.bm25 import idf, telling
from keepstone.engine.calibrate import Terms
from keepstone.engine.gathered import (
    CANDIDATES,
    OF_WINDOW,
    WIDER,
    Bools,
    Floats,
    Gathered,
    Ints,
    SearchPlace,
    Style,
    TokenMatches,
    asked_tokens,
    passing,
    token_weights,
)
from keepstone.engine.late import best_products, rows_of, token_bytes
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.when import looked_into
from keepstone.providers.embedder import Embedder, Embedding
from keepstone.store import candidates as store
from keepstone.store import revisions
from keepstone.store.db import Connection

ENOUGH = 4  # times as many passages as are taken, before common words are left out of the search for them
READ_OF_WINDOW = 5_000  # of a time that the question names, so many are looked at


async def gather(
    conn: Connection, place: SearchPlace, asked: EmbeddedQuestion, style: Style, *, count: int, enough: int = CANDIDATES
) -> Gathered:
    """The candidates, with all that the order is made from."""
    question, embedded, size, spaces = asked.question, asked.embedded, place.size, place.scope.spaces
    only = None if place.passages is None else list(place.passages)
    if place.sources is not None:
        only = await store.of_sources(conn, spaces, place.sources)
    narrow = store.Narrow(until=question.until, passages=only)
    wanted = Counter(question.terms)
    frequencies = await store.document_frequencies(conn, spaces, list(wanted))
    weights = {term: float(idf(n, size.passages)) * wanted[term] for term, n in frequencies.items()}
    # Under a filter the rare words may be gone, and what is left is counted quickly.
    rare = telling(frequencies, ENOUGH * count) if narrow == store.EVERYTHING else list(weights)
    best = {term: weights[term] for term in rare} if style.words else {}
    models = {name: size.sets[name] for name in embedded if name in size.sets}
    english = question.language == "en"

    async def candidates_of(limit: int, narrow: store.Narrow = narrow) -> list[list[int]]:
        """By words and by each of the models, the best first."""
        ranked = [await store.by_terms(conn, spaces, best, average=size.average, limit=limit, narrow=narrow)]
        for name, vector_set in models.items():
            embedder, embedding = embedded[name]
            # Where there is a finer model for English, the other is for what that can't read. Of talk that is what has
            # other letters; notes are few, and in more than one language more often.
            foreign = english and embedder.multilingual and len(embedded) > 1 and style.talk
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
        chosen = await passing(conn, place.passes, ranked, candidates_of, count, enough, widest=store.WIDEST)
    for window in looked_into(question.times):
        then = await store.said_between(conn, spaces, window.start, window.end, limit=READ_OF_WINDOW, among=only)
        said = await candidates_of(OF_WINDOW, replace(narrow, passages=then)) if then else []
        of_window = set[int]().union(*said) - chosen
        chosen |= of_window if place.passes is None else set(await place.passes(conn, sorted(of_window)))
    if not chosen:
        models = {}  # there is nothing to compare
        if question.until is not None and not by_meaning:
            # When nothing had been said by then, nothing was missed for lack of vectors.
            by_meaning = not await store.any_passage(conn, spaces, question.until)
    # What holds instead of a candidate is one, too, whatever its words.
    revised = await revisions.of_older(conn, spaces, sorted(chosen)) if chosen and style.talk else []
    chosen |= {revision.newer for revision in revised} if only is None and place.passes is None else set()
    placed = await (store.with_neighbours if style.talk else store.alone)(conn, spaces, sorted(chosen))
    seen = [passage for passage in placed if question.until is None or passage.at <= question.until]
    numbers = [passage.passage for passage in seen]
    near = {
        name: await store.nearness(
            conn, spaces, vector_set, embedded[name][1].pooled, numbers, tokens=embedded[name][1].tokens is not None
        )
        for name, vector_set in models.items()
    }
    words = await store.scores(conn, spaces, weights, numbers, average=size.average)
    speakers = {row.speaker: None for row in seen}
    places = {speaker: place for place, speaker in enumerate(speakers)}
    return Gathered(
        passage=np.array(numbers, dtype=np.int64),
        source=_numbered((row.source_kind, row.source_id, row.part * (row.source_kind == "document")) for row in seen),
        session=_numbered(row.session for row in seen),
        answers=_answered(seen),
        speaker=np.array([places[row.speaker] for row in seen], dtype=np.int64),
        speakers=list(speakers),
        at=np.array([row.at.timestamp() for row in seen], dtype=np.float64),
        chars=np.array([row.chars for row in seen], dtype=np.float64),
        foreign=np.array([row.foreign_text for row in seen], dtype=np.bool_),
        follows=_followed(seen),
        bm25=np.array([words.get(number, 0.0) for number in numbers], dtype=np.float64),
        pooled=_similar(numbers, near, embedded, multilingual=False),
        multilingual=_similar(numbers, near, embedded, multilingual=True),
        tokens=_matches(asked, numbers, near, frequencies, size.passages),
        terms=term_weights(wanted, frequencies, size.passages),
        by_meaning=by_meaning or any(near.values()),
        revised=[(revision.older, revision.newer) for revision in revised],
    )


def _numbered(values: Iterable[Hashable]) -> Ints:
    """The same number for what is equal, from 1 on; 0 for None."""
    numbers: dict[Hashable, int] = {None: 0}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def _answered(rows: Sequence[store.PlacedPassage]) -> Ints:
    """As the sources are numbered; what is not among them is -1."""
    sources = _numbered((row.source_kind, row.source_id, row.part * (row.source_kind == "document")) for row in rows)
    place = {(row.source_kind, row.source_id): int(source) for row, source in zip(rows, sources, strict=True)}
    return np.array(
        [place.get((row.source_kind, row.answers), -1) if row.answers else 0 for row in rows], dtype=np.int64
    )


def _followed(rows: Sequence[store.PlacedPassage]) -> Bools:
    pairs = [before.after == row.passage or row.before == before.passage for before, row in pairwise(rows)]
    return np.array([False, *pairs][: len(rows)], dtype=np.bool_)


def _similar(
    numbers: Sequence[int], near: Mapping[str, Mapping[int, store.Near]],
    embedded: Mapping[str, tuple[Embedder, Embedding]], *, multilingual: bool,
) -> Floats:  # fmt: skip
    similar = np.full(len(numbers), np.nan)
    for name, by_passage in near.items():
        if embedded[name][0].multilingual == multilingual:
            found = [by_passage[number].similarity if number in by_passage else np.nan for number in numbers]
            similar = np.where(np.isnan(found), similar, found)
    return similar


def _matches(
    asked: EmbeddedQuestion, numbers: Sequence[int], near: Mapping[str, Mapping[int, store.Near]],
    frequencies: Mapping[str, int], total: int,
) -> TokenMatches | None:  # fmt: skip
    known = asked_tokens(asked)
    if known is None:
        return None
    name, tokens = known
    packed = {number: row.tokens for number, row in near.get(name, {}).items() if row.tokens is not None}
    if not packed:
        return None
    place = {number: index for index, number in enumerate(numbers)}
    best = np.full((len(numbers), len(tokens.spans)), np.nan, dtype=np.float32)
    best[[place[number] for number in packed]] = best_products(
        tokens.vectors, *rows_of(list(packed.values()), token_bytes(tokens.vectors.shape[1]))
    )
    weights = token_weights(asked.question.text, tokens.spans, lambda term: frequencies.get(term, 0), total)
    return TokenMatches(best, tokens.spans, weights)


def term_weights(wanted: Mapping[str, int], frequencies: Mapping[str, int], passages: int) -> Terms:
    weights = idf([frequencies.get(term, 0) for term in wanted], passages) * list(wanted.values())
    known = [term in frequencies for term in wanted]
    return Terms(total=float(weights.sum()), known=float(weights[known].sum()), passages=passages)
