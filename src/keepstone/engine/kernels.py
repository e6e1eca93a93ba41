"""A space's passages compared with a question, as array operations: by words, and by meaning."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from keepstone.engine.bm25 import K1, B
from keepstone.providers.embedder import Embedding
from keepstone.resident import View
from keepstone.resident.arrays import NO_ROWS, Bools, PooledVectors, Rows, signs_of
from keepstone.store.numbers import number_of

Scores = npt.NDArray[np.float32]

EXACT = 4_096  # rows: with no more of them, each is compared exactly
NEAR = 1_024  # of more, the nearest by their signs; of very many, one in so many
ONE_IN = 400
SAMPLED = 65_536  # rows: of more, so many tell where the best begin


@lru_cache(maxsize=10_000)
def number(term: str) -> int:
    return number_of(term)


def frequency(view: View, term: str) -> int:
    parts = (part.of(number(term))[0] for part in view.postings)
    return sum(int(view.here[rows].sum()) if view.gone else len(rows) for rows in parts)


def word_scores(view: View, weights: Mapping[str, float], average: float) -> Scores:
    """BM25 of every row."""
    scores = np.zeros(view.count, dtype=np.float32)
    long = K1 * B / max(average, 1.0)
    for term, weight in weights.items():
        for part in view.postings:
            rows, often = part.of(number(term))
            norm = K1 * (1.0 - B) + np.minimum(view.columns["length"][rows], 32767) * long
            scores[rows] += weight * (K1 + 1.0) * often / (often + norm)
    return scores


def best_by_words(words: Scores, mask: Bools | None, limit: int) -> Rows:
    """The rows with the best of these, the best first; none that have nothing."""
    rows = NO_ROWS
    if len(words) > SAMPLED:
        # From one row in so many it is known above what there are surely enough: few are then looked at.
        step = len(words) // SAMPLED + 1
        sample = words[::step] if mask is None else words[::step] * mask[::step]
        enough = -min(4 * limit // step + 16, len(sample))
        high = words > np.partition(sample, enough)[enough]
        rows = np.flatnonzero(high if mask is None else high & mask)
    if len(rows) < limit:
        rows = np.flatnonzero(words if mask is None else words * mask)
    if len(rows) > limit:
        rows = rows[np.argpartition(-words[rows], limit - 1)[:limit]]
    return rows[np.argsort(-words[rows], kind="stable")].astype(np.int32)


def nearest(
    view: View, vector_set: int, embedding: Embedding, mask: Bools | None, limit: int
) -> tuple[Rows, Scores]:  # fmt: skip
    """The rows nearest in meaning, and how near they are."""
    pooled = view.pooled.get(vector_set)
    if pooled is None:
        return NO_ROWS, np.zeros(0, dtype=np.float32)
    usable = pooled.scale[: view.count] > 0
    if mask is not None:
        usable &= mask
    most = max(NEAR, 2 * limit, view.count // ONE_IN)
    many = int(np.count_nonzero(usable)) > max(EXACT, most)
    near = _least(_differing(view, pooled, embedding), usable, most) if many else usable
    rows = np.flatnonzero(near).astype(np.int32)
    return rows, similarity(pooled, rows, embedding)


def _differing(view: View, pooled: PooledVectors, embedding: Embedding) -> npt.NDArray[np.uint16]:
    """In how many signs each row differs from the question."""
    asked = signs_of(embedding.pooled[None, :])[:, 0]
    differing = np.zeros(view.count, dtype=np.uint16)
    for word, sign in enumerate(asked):
        differing += np.bitwise_count(pooled.signs[word, : view.count] ^ sign)
    return differing


def _least(values: npt.NDArray[np.uint16], usable: Bools, most: int) -> Bools:
    """The usable rows with the least of these, so many or a few more; of very many rows about so many."""
    step = len(values) // SAMPLED + 1
    counted = np.cumsum(np.bincount(values[::step][usable[::step]]))
    return (values <= np.searchsorted(counted, most / step)) & usable


def similarity(pooled: PooledVectors, rows: Rows, embedding: Embedding) -> Scores:
    return (pooled.values[rows].astype(np.float32) @ embedding.pooled) * pooled.scale[rows]


def all_that_fit(sizes: npt.NDArray[np.int32], mask: Bools | None, most: int) -> Rows | None:
    """Every row that counts and has tokens, if they have no more bytes of them than that together."""
    rows = np.flatnonzero(sizes >= 0 if mask is None else (sizes >= 0) & mask).astype(np.int32)
    return rows if int(sizes[rows].sum()) <= most else None


def that_fit(rows: Rows, sizes: npt.NDArray[np.int32], mask: Bools | None, most: int) -> Rows:
    """The first of these that count and have no more bytes of tokens than that together."""
    rows = rows[sizes[rows] >= 0] if mask is None else rows[(sizes[rows] >= 0) & mask[rows]]
    return rows[np.cumsum(sizes[rows], dtype=np.int64) <= most]
