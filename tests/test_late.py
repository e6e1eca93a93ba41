"""Late interaction: a bit a dimension keeps the sign, and the best token of a passage answers for it."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from keepstone.engine import late

Vectors = npt.NDArray[np.float32]
VECTORS = arrays.arrays(
    np.float32, st.tuples(st.integers(0, 6), st.integers(1, 130)), elements=st.floats(-1, 1, width=32)
)


def unit(rows: int, seed: int, dimensions: int = 128) -> Vectors:
    found = np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@given(VECTORS)
def test_packing_keeps_the_signs_in_a_bit_a_dimension(vectors: Vectors) -> None:
    packed, dimensions = late.pack(vectors), vectors.shape[1]
    assert len(packed) == (dimensions + 7) // 8 * len(vectors)
    assert (late.unpack(packed, dimensions) == (vectors > 0)).all()


@pytest.mark.parametrize("dimensions", [128, 96, 100, 7])
def test_maxsim_is_the_weighted_mean_of_the_best_products(dimensions: int) -> None:
    query, weights = np.rint(unit(3, 1, dimensions) * 127), np.array([1.0, 2.0, 5.0])
    query[:, 0] = 127  # of a question a byte a dimension is kept: this one loses nothing by that
    query /= np.float32(127)
    passages = [unit(rows, rows, dimensions) for rows in (4, 1, 9)]
    signs = [np.sign(passage) / np.float32(dimensions**0.5) for passage in passages]
    expected = [(query @ each.T).max(axis=1) @ weights / weights.sum() for each in signs]
    assert np.allclose(late.maxsim(query, weights, [late.pack(each) for each in passages]), expected, atol=1e-5)


def test_what_a_question_loses_by_a_byte_a_dimension_is_next_to_nothing() -> None:
    query, weights = unit(12, 1), np.ones(12)
    passages = [unit(rows, rows) for rows in (4, 1, 9)]
    signs = [np.sign(passage) / np.float32(128**0.5) for passage in passages]
    expected = [(query @ each.T).max(axis=1) @ weights / weights.sum() for each in signs]
    assert np.allclose(late.maxsim(query, weights, [late.pack(each) for each in passages]), expected, atol=1e-3)


def test_a_passage_of_other_dimensions_gets_nothing_and_disturbs_nobody() -> None:
    query, fitting = unit(3, 1, 96), late.pack(unit(4, 2, 96))
    scores = late.maxsim(query, np.ones(3), [late.pack(unit(4, 3, 100)), fitting]).tolist()
    assert scores == [0, *late.maxsim(query, np.ones(3), [fitting]).tolist()]


def test_a_passage_that_holds_the_question_is_the_best() -> None:
    query = unit(3, 1)
    passages = [late.pack(unit(20, seed)) for seed in range(2, 10)]
    scores = late.maxsim(query, np.ones(3), [*passages, passages[0] + late.pack(query)])
    assert scores.argmax() == len(passages)


def test_a_token_without_weight_counts_nothing() -> None:
    query, packed = unit(2, 1), [late.pack(unit(4, 2))]
    assert np.allclose(late.maxsim(query, [1.0, 0.0], packed), late.maxsim(query[:1], [1.0], packed), atol=1e-6)


def test_more_tokens_are_never_worse() -> None:
    query, passage = unit(3, 1), late.pack(unit(4, 2))
    less, more = late.maxsim(query, np.ones(3), [passage, passage + late.pack(unit(4, 3))])
    assert more >= less


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_passage_without_tokens_gets_nothing_and_disturbs_nobody(place: int) -> None:
    query, passages = unit(3, 1), [late.pack(unit(4, 2)), late.pack(unit(2, 3))]
    alone = late.maxsim(query, np.ones(3), passages).tolist()
    scores = late.maxsim(query, np.ones(3), [*passages[:place], b"", *passages[place:]]).tolist()
    assert scores.pop(place) == 0
    assert np.allclose(scores, alone)


def test_a_question_without_tokens_or_weight_prefers_nothing() -> None:
    packed = [late.pack(unit(4, 2))]
    assert late.maxsim(unit(0, 1), [], packed).tolist() == [0]
    assert late.maxsim(unit(1, 1), [0.0], packed).tolist() == [0]
    assert late.maxsim(unit(1, 1), [1.0], []).tolist() == []
