"""What a search of spaces looks at whose numbers stand in memory: over all of their passages, as arrays.

By words (BM25), by meaning (first by the signs of the vectors, then exactly), and token by token (late interaction): of
a small space all passages, of a larger one those that came near by either of the former. Reads no text.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from keepstone.engine import kernels, rank
from keepstone.engine.bm25 import idf
from keepstone.engine.gather import term_weights
from keepstone.engine.gathered import (
    OF_WINDOW,
    WIDER,
    Floats,
    Gathered,
    Products,
    SearchPlace,
    Style,
    TokenMatches,
    asked_tokens,
    passing,
    token_weights,
)
from keepstone.engine.late import best_products, token_bytes, weighted
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.when import looked_into
from keepstone.providers.embedder import Embedder, Tokens
from keepstone.resident import View
from keepstone.resident.arrays import NO_ROWS, Bools, Rows
from keepstone.store import candidates as store
from keepstone.store.db import Connection
from keepstone.store.numbers import VISIBLE, WHOLE

Scores = kernels.Scores

LATE_TOKENS = 12_000  # that are compared with the question's, of a space that has more than half as many again
LATE_WORDS = 400  # rows whose tokens are, because of their words
WIDEST = 5_000  # that are looked at under a filter
_AWAY = 20_000  # rows: more of them are looked through off the event loop
_MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class SpaceLook:
    """A space in memory, and which of its rows count: all where `mask` is None. `seen` is the same without what the
    question leaves out: what stands beside a row may be among that.
    """

    view: View
    mask: Bools | None
    seen: Bools | None
    words: Scores  # BM25 of every row

    def within(self, more: Bools | None) -> Bools | None:
        if more is None or self.mask is None:
            return self.mask if more is None else more
        return self.mask & more

    def order(self) -> tuple[Rows, Rows]:
        """The rows that may be seen in the order of their time, and the place of each row in it."""
        if self.seen is None:
            return self.view.order, self.view.place
        order = self.view.order[self.seen[self.view.order]]
        place = np.full(self.view.count, -1, dtype=np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return order, place


@dataclass(frozen=True, slots=True, eq=False)
class Looker:
    """A question that is asked of spaces in memory."""

    asked: EmbeddedQuestion
    style: Style
    spaces: Sequence[SpaceLook]
    models: Mapping[str, int]  # and their sets
    weights: Sequence[float]  # of the question's tokens
    compared: dict[int, tuple[Rows, Products]] = field(default_factory=dict[int, tuple[Rows, Products]])

    def ranked(self, limit: int, more: Sequence[Bools | None] | None = None) -> list[list[int]]:
        """The best passages by words, by each model and token by token."""
        masks = [space.within(more[index] if more else None) for index, space in enumerate(self.spaces)]
        by_words = [
            kernels.best_by_words(space.words, mask, max(limit, LATE_WORDS)) if self.style.words else NO_ROWS
            for space, mask in zip(self.spaces, masks, strict=True)
        ]
        words = [(rows, space.words[rows]) for rows, space in zip(by_words, self.spaces, strict=True)]
        lists = [self._best(limit, words)]
        near: list[list[tuple[Rows, Scores]]] = []
        for name, vector_set in self.models.items():
            embedder, embedding = self.asked.embedded[name]
            foreign = self._only_foreign(embedder)
            found = [
                kernels.nearest(space.view, vector_set, embedding, _foreign(space, mask) if foreign else mask, limit)
                for space, mask in zip(self.spaces, masks, strict=True)
            ]
            near.append(found)
            lists.append(self._best(limit, found))
        known = asked_tokens(self.asked)
        if known is not None and known[0] in self.models and rank.weights_for(self.asked.question.language).maxsim:
            beside = near[list(self.models).index(known[0])]
            lists.append(self._best(limit, self._late(self.models[known[0]], known[1], masks, by_words, beside)))
        return lists

    def _only_foreign(self, embedder: Embedder) -> bool:
        """Where there is a finer model for English, the other is for what that can't read. Of talk that is what has
        other letters; notes are few, and in more than one language more often.
        """
        english = self.asked.question.language == "en"
        return english and embedder.multilingual and len(self.asked.embedded) > 1 and self.style.talk

    def _best(self, limit: int, found: Sequence[tuple[Rows, Scores]]) -> list[int]:
        passages = np.concatenate(
            [space.view.columns["passage"][rows] for space, (rows, _) in zip(self.spaces, found, strict=True)]
        )
        values = np.concatenate([values for _, values in found])
        if len(values) > limit:
            chosen = np.argpartition(-values, limit - 1)[:limit]
            passages, values = passages[chosen], values[chosen]
        return passages[np.lexsort((passages, -values))].tolist()

    def _late(
        self, vector_set: int, tokens: Tokens, masks: Sequence[Bools | None], by_words: Sequence[Rows],
        near: Sequence[tuple[Rows, Scores]],
    ) -> list[tuple[Rows, Scores]]:  # fmt: skip
        size = token_bytes(tokens.vectors.shape[1])
        found: list[tuple[Rows, Scores]] = []
        for space, mask, words, (rows, values) in zip(self.spaces, masks, by_words, near, strict=True):
            known = space.view.tokens.get(vector_set)
            if known is None:
                found.append((NO_ROWS, np.zeros(0, dtype=np.float32)))
                continue
            sizes = known.size[: space.view.count]
            most = LATE_TOKENS * size // len(self.spaces)
            chosen = kernels.all_that_fit(sizes, mask, most * 3 // 2) if len(sizes) <= LATE_TOKENS else None
            if chosen is None:
                by_meaning = rows[np.argsort(-values, kind="stable")]
                nearest = kernels.that_fit(by_meaning, sizes, mask, most * 2 // 3)
                chosen = np.union1d(nearest, kernels.that_fit(words, sizes, mask, most // 3))
            products = best_products(tokens.vectors, *known.of_rows(chosen, size))
            self.compared.setdefault(space.view.space, (chosen, products))
            found.append((chosen, weighted(products, self.weights)))
        return found

    def products(self, space: SpaceLook, rows: Rows, vector_set: int, tokens: Tokens) -> Products:
        """How well these rows match each of the question's tokens; NaN where they have none yet. What was compared
        before is not compared again.
        """
        products = np.full((len(rows), len(tokens.spans)), np.nan, dtype=np.float32)
        stored = space.view.tokens.get(vector_set)
        if stored is None:
            return products
        left = stored.size[rows] >= 0
        compared, known = self.compared.get(space.view.space, (NO_ROWS, products[:0]))
        if len(compared):
            place = np.minimum(np.searchsorted(compared, rows), len(compared) - 1)
            again = compared[place] == rows
            products[again] = known[place[again]]
            left &= ~again
        if left.any():
            size = token_bytes(tokens.vectors.shape[1])
            products[left] = best_products(tokens.vectors, *stored.of_rows(rows[left], size))
        return products


async def gather(
    conn: Connection, views: Sequence[View], place: SearchPlace, asked: EmbeddedQuestion, style: Style, *,
    count: int, enough: int,
) -> Gathered:  # fmt: skip
    """The candidates, with all that the order is made from."""
    question, size = asked.question, place.size
    only = place.passages
    if place.sources is not None:
        only = tuple(await store.of_sources(conn, place.scope.spaces, place.sources))
    away = sum(view.count for view in views) > _AWAY
    wanted = Counter(question.terms)
    frequencies = {term: known for term in wanted if (known := sum(kernels.frequency(view, term) for view in views))}
    weights = {term: float(idf(n, size.passages)) * wanted[term] for term, n in frequencies.items()}
    tokens = asked_tokens(asked)
    spans = () if tokens is None else tokens[1].spans
    looker = Looker(
        asked,
        style,
        await _work(away, _looks, views, place, asked, only, weights),
        {name: size.sets[name] for name in asked.embedded if name in size.sets},
        token_weights(question.text, spans, lambda term: frequencies.get(term, 0), size.passages),
    )

    async def candidates_of(limit: int) -> list[list[int]]:
        return await _work(away, looker.ranked, limit)

    ranked = [] if only == () else await candidates_of(count if place.passes is None else int(WIDER * count))
    by_meaning = any(ranked[1:]) or not ranked
    if place.passes is None:
        chosen = set[int]().union(*ranked)
    else:
        chosen = await passing(conn, place.passes, ranked, candidates_of, count, enough, widest=WIDEST)
    for window in looked_into(question.times):
        then = [_said_between(view, window.start.timestamp(), window.end.timestamp()) for view in views]
        said: list[list[int]] = []
        if any(mask.any() for mask in then):
            said = await _work(away, looker.ranked, OF_WINDOW, then)
        of_window = set[int]().union(*said) - chosen
        chosen |= of_window if place.passes is None else set(await place.passes(conn, sorted(of_window)))
    if not chosen and question.until is not None and not by_meaning:
        # When nothing had been said by then, nothing was missed for lack of vectors.
        until = question.until.timestamp() * _MICROSECONDS
        by_meaning = not any((view.columns["at"][view.order] <= until).any() for view in views)
    gathered = await _work(away, _columns, looker, chosen, only is None and place.passes is None)
    near = np.isfinite(gathered["pooled"]) | np.isfinite(gathered["multilingual"])
    return Gathered(
        **gathered,
        terms=term_weights(wanted, frequencies, size.passages),
        by_meaning=by_meaning or bool(near.any()),
    )


async def _work(away: bool, work: Any, *arguments: Any) -> Any:
    """What takes more than a few milliseconds keeps nobody else waiting."""
    return await asyncio.to_thread(work, *arguments) if away else work(*arguments)


def _looks(
    views: Sequence[View], place: SearchPlace, asked: EmbeddedQuestion, only: Sequence[int] | None,
    weights: Mapping[str, float],
) -> list[SpaceLook]:  # fmt: skip
    readers = sum(VISIBLE[visibility] for visibility in place.scope.visibilities)
    until = asked.question.until
    looks: list[SpaceLook] = []
    for view in views:
        seen = view.here if view.gone else None
        if view.readers & ~readers:
            seen = view.here & (view.columns["flags"] & readers != 0)
        if until is not None:
            by_then = view.columns["at"] <= until.timestamp() * _MICROSECONDS
            seen = by_then if seen is None else seen & by_then
        mask = seen
        if only is not None:
            chosen = np.zeros(view.count, dtype=np.bool_)
            chosen[view.rows_of(only)] = True
            mask = chosen if seen is None else seen & chosen
        looks.append(SpaceLook(view, mask, seen, kernels.word_scores(view, weights, place.size.average)))
    return looks


def _foreign(space: SpaceLook, mask: Bools | None) -> Bools:
    return space.view.foreign if mask is None else space.view.foreign & mask


def _said_between(view: View, start: float, end: float) -> Bools:
    at = view.columns["at"]
    return (at >= start * _MICROSECONDS) & (at < end * _MICROSECONDS)


# ------------------------------------------------------------------------------------------------- the columns


def _columns(looker: Looker, chosen: set[int], with_newer: bool) -> dict[str, Any]:
    """Of the chosen passages and, in talk, of what stands beside them, answers them or is answered by them; and of what
    takes their place, if it may be looked at.
    """
    passages = np.array(sorted(chosen), dtype=np.int64)
    rows_of: list[Rows] = []
    follows: list[Bools] = []
    revised: list[tuple[int, int]] = []
    for space in looker.spaces:
        rows = space.view.rows_of(passages)
        if looker.style.talk:
            pairs = _revisions(space.view, space.view.columns["passage"][rows])
            revised += pairs
            if with_newer and pairs:
                rows = np.union1d(rows, space.view.rows_of([newer for _, newer in pairs]))
        order, place = space.order()
        if looker.style.talk:
            rows = np.union1d(rows, _beside(space, rows, order, place))
        rows = rows[place[rows] >= 0]
        rows = rows[np.argsort(place[rows])]
        rows_of.append(rows)
        next_to = np.zeros(len(rows), dtype=np.bool_)
        if looker.style.talk and len(rows):
            next_to[1:] = np.diff(place[rows]) == 1
        follows.append(next_to)

    def column(name: str) -> npt.NDArray[Any]:
        return np.concatenate(
            [look.view.columns[name][rows] for look, rows in zip(looker.spaces, rows_of, strict=True)]
        )

    numbers, speaker = np.unique(column("speaker"), return_inverse=True)
    names = {number: name for look in looker.spaces for number, name in look.view.speakers.items()}
    near = _near(looker, rows_of)
    return {
        "passage": column("passage"),
        "source": column("source"),
        "session": column("session"),
        "answers": column("answers"),
        "speaker": speaker,
        "speakers": [names.get(int(number)) for number in numbers],
        "at": column("at") / _MICROSECONDS,
        "chars": column("chars").astype(np.float64),
        "foreign": np.concatenate([look.view.foreign[rows] for look, rows in zip(looker.spaces, rows_of, strict=True)]),
        "follows": np.concatenate(follows),
        "bm25": np.concatenate([look.words[rows] for look, rows in zip(looker.spaces, rows_of, strict=True)]).astype(
            np.float64
        ),
        "pooled": near[False],
        "multilingual": near[True],
        "tokens": _matches(looker, rows_of),
        "revised": revised,
    }


def _revisions(view: View, passages: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    older = view.revised[:, 0]
    return [(int(old), int(new)) for old, new in view.revised[np.isin(older, passages)]] if len(older) else []


def _beside(space: SpaceLook, rows: Rows, order: Rows, place: Rows) -> Rows:
    """Before and after these rows, what they answer, and what answers them."""
    view = space.view
    places = place[rows]
    places = places[places >= 0]
    beside = [order[places[places > 0] - 1], order[places[places < len(order) - 1] + 1]]
    answered = view.columns["answers"][rows]
    if answered.any():
        whole = (view.columns["flags"] & WHOLE != 0) & view.here
        of_source = np.isin(view.columns["source"], answered[answered != 0])
        beside.append(np.flatnonzero(of_source & whole).astype(np.int32))
    if len(view.answering):
        answering = view.answering[np.isin(view.columns["answers"][view.answering], view.columns["source"][rows])]
        beside.append(answering[view.columns["flags"][answering] & WHOLE != 0])
    return np.concatenate(beside).astype(np.int32)


def _near(looker: Looker, rows_of: Sequence[Rows]) -> dict[bool, Floats]:
    """How near the rows are to the question, by whether the model is multilingual; NaN where that is not known."""
    near = {known: np.full(sum(map(len, rows_of)), np.nan) for known in (False, True)}
    for name, vector_set in looker.models.items():
        embedder, embedding = looker.asked.embedded[name]
        parts: list[Floats] = []
        for space, rows in zip(looker.spaces, rows_of, strict=True):
            pooled = space.view.pooled.get(vector_set)
            if pooled is None:
                parts.append(np.full(len(rows), np.nan))
            else:
                known = pooled.scale[rows] > 0
                parts.append(np.where(known, kernels.similarity(pooled, rows, embedding), np.nan))
        similar = np.concatenate(parts)
        near[embedder.multilingual] = np.where(np.isnan(similar), near[embedder.multilingual], similar)
    return near


def _matches(looker: Looker, rows_of: Sequence[Rows]) -> TokenMatches | None:
    known = asked_tokens(looker.asked)
    if known is None or known[0] not in looker.models:
        return None
    name, tokens = known
    every = np.concatenate(
        [
            looker.products(space, rows, looker.models[name], tokens)
            for space, rows in zip(looker.spaces, rows_of, strict=True)
        ]
    )
    if not len(every) or np.isnan(every).any(axis=1).all():
        return None
    return TokenMatches(every, tokens.spans, looker.weights)
