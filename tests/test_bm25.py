"""BM25: rare terms weigh more, repeats saturate, length is taken into account."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keepstone.engine import bm25


def test_a_rarer_term_tells_more() -> None:
    rare, common = bm25.idf([1, 90], 100)
    assert rare > common > 0


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_idf_is_never_negative(df: int, n: int) -> None:
    # Statistics may lag behind: more passages with the term than passages.
    assert bm25.idf(df, n) >= 0


def test_the_formula_is_the_known_one() -> None:
    weight = float(bm25.idf(1, 2))
    found = bm25.score([[2]], [3], [weight], average=4)
    assert np.isclose(found[0], weight * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 4)))


def test_more_of_a_term_is_better_and_ever_less_so() -> None:
    scores = bm25.score([[0], [1], [2], [3]], [5, 5, 5, 5], [1.0], average=5)
    steps = np.diff(scores)
    assert scores[0] == 0
    assert (steps > 0).all()
    assert (np.diff(steps) < 0).all()


def test_of_two_passages_with_the_term_the_shorter_is_better() -> None:
    short, long = bm25.score([[1], [1]], [5, 50], [1.0], average=20)
    assert short > long


def test_a_question_without_known_terms_scores_nothing() -> None:
    assert bm25.score(np.zeros((3, 0)), [1, 2, 3], [], average=2).tolist() == [0, 0, 0]


def test_words_that_stand_everywhere_are_left_out_only_where_the_rarer_ones_give_enough() -> None:
    assert bm25.telling({"caroline": 50_000, "lake": 30, "zürich": 5}, enough=20) == ["zürich", "lake"]
    assert bm25.telling({"caroline": 50_000, "lake": 3}, enough=20) == ["lake", "caroline"]
    assert bm25.telling({"caroline": 1_500, "lake": 300}, enough=20) == ["lake", "caroline"], "not so many"
    assert bm25.telling({}, enough=20) == []
