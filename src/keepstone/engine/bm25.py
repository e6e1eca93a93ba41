"""BM25: how well passages answer a question's terms, with the statistics of the space that is searched.

Owns the formula. It must not count: frequencies and statistics come from whoever keeps the index.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

K1 = 1.2
B = 0.75


def idf(df: npt.ArrayLike, n: float) -> Floats:
    """How much a term tells that stands in `df` of `n` passages. Never negative, also for what is in every passage."""
    count = np.asarray(df, dtype=np.float64)
    return np.log1p((np.maximum(n - count, 0.0) + 0.5) / (count + 0.5))


def telling(frequencies: Mapping[str, int], enough: int, common: int = 2_000) -> list[str]:
    """The terms that the best passages are looked for by: all but those that stand in very many, where the rarer ones
    give enough passages already. What has only common terms is not among the best, and counting it takes long.
    """
    chosen: list[str] = []
    passages = 0
    for term, frequency in sorted(frequencies.items(), key=lambda item: item[1]):
        if frequency > common and passages >= enough:
            break
        chosen.append(term)
        passages += frequency
    return chosen


def full_match(frequencies: Mapping[str, int], n: float) -> float:
    """More than any passage gets for a question with these terms: to say how much of it was met."""
    return max(1e-9, float(idf(list(frequencies.values()), n).sum()) * (K1 + 1.0))


def score(
    frequencies: npt.ArrayLike,
    lengths: npt.ArrayLike,
    weights: npt.ArrayLike,
    average: float,
    k1: float = K1,
    b: float = B,
) -> Floats:
    """The score of each passage.

    `frequencies` [passages, terms]: how often each of the question's terms stands in each passage; `lengths` [passages]
    in terms; `weights` [terms]: their idf, times how often the question repeats them; `average` length in the space.
    """
    tf = np.asarray(frequencies, dtype=np.float64)
    long = np.asarray(lengths, dtype=np.float64) / max(average, 1.0)
    norm = k1 * (1.0 - b + b * long)
    return (tf * (k1 + 1.0) / (tf + norm[:, None])) @ np.asarray(weights, dtype=np.float64)
