"""BM25: how well passages answer a question's terms, with the statistics of the space that is searched.

Owns the formula. It must not count: frequencies and statistics come from whoever keeps the index.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

K1 = 1.2
B = 0.75


def idf(df: npt.ArrayLike, n: float) -> Floats:
    """How much a term tells that stands in `df` of `n` passages. Never negative, also for what is in every passage."""
    count = np.asarray(df, dtype=np.float64)
    return np.log1p((np.maximum(n - count, 0.0) + 0.5) / (count + 0.5))


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
