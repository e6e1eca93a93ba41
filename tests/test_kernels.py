"""Of very many rows only those that can be among the best are looked at: the same are found."""

import numpy as np
import pytest

from keepstone.engine import kernels
from keepstone.resident.arrays import NO_ROWS

MANY = 3 * kernels.SAMPLED + 7


@pytest.mark.parametrize("size", [500, MANY])
@pytest.mark.parametrize("share", [1.0, 0.4, 0.001, 0.0])
def test_the_best_by_words_are_the_best_however_many_rows_there_are(size: int, share: float) -> None:
    random = np.random.default_rng(size)
    words = np.where(random.random(size) < share, random.random(size), 0.0).astype(np.float32)
    for mask in (None, random.random(size) < 0.5, random.random(size) < 0.001):
        counted = words if mask is None else np.where(mask, words, 0.0)
        best = np.sort(counted[counted > 0])[::-1][:400]
        rows = kernels.best_by_words(words, mask, 400)
        assert np.array_equal(counted[rows], best)


def test_what_stands_together_is_found_wherever_that_is() -> None:
    """A sample that meets none of it may not decide that there is nothing."""
    words = np.zeros(MANY, dtype=np.float32)
    words[70_001:70_031:2] = np.arange(1, 16)
    assert kernels.best_by_words(words, None, 10).tolist() == list(range(70_029, 70_009, -2))
    words[: 10 * kernels.SAMPLED] += 0.5  # and where all have something
    assert kernels.best_by_words(words, None, 10).tolist() == list(range(70_029, 70_009, -2))


def test_tokens_are_compared_of_all_rows_or_of_the_first_that_fit() -> None:
    sizes = np.array([16, -1, 48, 16, 32], dtype=np.int32)
    mask = np.array([True, True, True, False, True])
    assert kernels.all_that_fit(sizes, None, 112) is not None
    assert kernels.all_that_fit(sizes, None, 111) is None
    every = kernels.all_that_fit(sizes, mask, 96)
    assert every is not None
    assert every.tolist() == [0, 2, 4]
    rows = np.array([4, 3, 1, 2, 0], dtype=np.int32)
    assert kernels.that_fit(rows, sizes, None, 96).tolist() == [4, 3, 2]
    assert kernels.that_fit(rows, sizes, mask, 96).tolist() == [4, 2, 0]
    assert kernels.that_fit(NO_ROWS, sizes, mask, 96).tolist() == []
