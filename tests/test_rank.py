"""Rank: each step does one thing, can be switched off, and then changes nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates import Candidate, columns
from keepstone.engine import rank
from keepstone.engine.rank import ENGLISH, MISSING, Weights
from keepstone.engine.when import freshness

STEPS = ("maxsim", "bm25", "pooled", "multilingual", "speaker", "time", "fresh", "neighbour", "session", "length")
NOTHING = ENGLISH.without(*STEPS, "foreign")
SCORES = st.floats(-10, 10) | st.just(MISSING)
CANDIDATES = st.lists(
    st.builds(
        Candidate,
        session=st.integers(0, 3),
        position=st.integers(0, 9),
        chars=st.integers(0, 5000),
        bm25=st.floats(0, 50),
        maxsim=SCORES,
        pooled=SCORES,
        multilingual=SCORES,
        spoken=st.sampled_from([0.0, 1.0]),
        near=st.floats(0, 1),
        latin=st.booleans(),
    ),
    max_size=20,
    unique_by=lambda each: (each.session, each.position),
)


def turns(*bm25: float, session: str = "s", chars: int = 10) -> list[Candidate]:
    return [Candidate(session, position, chars, value) for position, value in enumerate(bm25)]


def test_the_formula_is_the_one_that_was_measured() -> None:
    found = [
        Candidate("a", 0, 100, bm25=3, maxsim=0.9, pooled=0.5, spoken=1, near=0.5),
        Candidate("a", 1, 800, bm25=1, maxsim=0.1, pooled=0.3),
        Candidate("b", 0, 400, bm25=2, maxsim=0.2, pooled=0.1),
    ]

    def z(*values: float) -> np.ndarray:
        return (np.array(values) - np.mean(values)) / np.std(values)

    base = z(0.9, 0.1, 0.2) + 0.2 * z(3, 1, 2) + 0.2 * z(0.5, 0.3, 0.1) + 0.5 * np.array([1, 0, 0])
    base += 0.5 * np.array([0.5, 0, 0])
    assert np.allclose(rank.base(columns(found)), base)
    neighbour = np.array([base[1], base[0], 0])
    session = np.array([base[:2].max(), base[:2].max(), base[2]])
    long = np.array([0, math.log(2), 0])
    assert np.allclose(rank.scores(columns(found)), base + 0.3 * neighbour + 0.2 * session - 0.3 * long)


@given(CANDIDATES)
def test_with_every_step_off_all_are_equal(candidates: list[Candidate]) -> None:
    assert not rank.scores(columns(candidates), NOTHING).any()


@given(CANDIDATES, st.sampled_from(STEPS))
def test_a_step_switched_off_leaves_the_others_as_they_are(candidates: list[Candidate], step: str) -> None:
    """Each feature alone adds what it adds in company: the base is a sum, and a step off is its term missing."""
    if step in {"neighbour", "session", "length"}:
        assert np.allclose(rank.base(columns(candidates), ENGLISH.without(step)), rank.base(columns(candidates)))
    else:
        alone = replace(NOTHING, **{step: getattr(ENGLISH, step)})
        rest = rank.base(columns(candidates), ENGLISH.without(step))
        assert np.allclose(rank.base(columns(candidates), alone) + rest, rank.base(columns(candidates)))


@given(CANDIDATES)
def test_scores_are_finite_whatever_is_missing(candidates: list[Candidate]) -> None:
    for weights in (rank.ENGLISH, rank.EUROPEAN, rank.OTHER):
        assert np.isfinite(rank.scores(columns(candidates), weights)).all()


@given(CANDIDATES)
def test_an_order_holds_every_candidate_once(candidates: list[Candidate]) -> None:
    assert sorted(rank.order(rank.scores(columns(candidates)))) == list(range(len(candidates)))


def test_a_feature_that_is_missing_is_neither_for_nor_against() -> None:
    known = [Candidate("s", 0, 1, maxsim=1.0), Candidate("t", 0, 1, maxsim=3.0), Candidate("u", 0, 1)]
    below, above, missing = rank.base(columns(known))
    assert below < missing == 0 < above


def test_what_does_not_differ_does_not_count() -> None:
    assert rank.z([0.1 + 0.2, 0.3]).tolist() == [0, 0]
    assert rank.z([]).tolist() == []


def test_a_turn_beside_a_good_one_is_better_than_one_apart() -> None:
    apart = [*turns(9, 1), Candidate("s", 7, 10, 1)]
    scores = rank.scores(columns(apart), ENGLISH.without("session"))
    assert scores[1] > scores[2]


def test_a_turn_in_a_good_session_is_better_than_one_in_another() -> None:
    found = [Candidate("s", 0, 10, 9), Candidate("s", 5, 10, 1), Candidate("t", 5, 10, 1)]
    scores = rank.scores(columns(found))
    assert scores[1] > scores[2]


def test_only_great_length_costs() -> None:
    found = [Candidate(number, 0, chars) for number, chars in enumerate((1, 400, 4000))]
    short, usual, long = rank.scores(columns(found))
    assert short == usual > long


def test_equals_stay_as_they_came() -> None:
    assert rank.order([1, 2, 2, 1]) == [1, 2, 0, 3]


@pytest.mark.parametrize(
    ("language", "weights"), [("en", rank.ENGLISH), ("de", rank.EUROPEAN), ("zh", rank.OTHER), ("ru", rank.OTHER)]
)
def test_a_language_has_its_weights(language: str, weights: Weights) -> None:
    assert rank.weights_for(language) == weights


def test_a_passage_that_the_english_model_cannot_read_is_judged_by_the_multilingual_one() -> None:
    found = [
        Candidate("a", 0, 10, maxsim=0.5, multilingual=0.1),
        Candidate("b", 0, 10, maxsim=0.6, multilingual=0.2),
        Candidate("c", 0, 10, maxsim=0.0, multilingual=0.9, latin=False),
    ]
    assert rank.order(rank.scores(columns(found)))[0] == 2


def test_the_same_words_are_shown_once() -> None:
    assert rank.collapse([2, 0, 1], ["Yes, I DO!", "other", "yes i do"].__getitem__) == [2, 1]


def test_texts_without_letters_differ_by_what_they_are() -> None:
    assert rank.collapse([0, 1, 2], ["👍", "👎", "👍 "].__getitem__) == [0, 1]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What did Caroline research?", {"Caroline"}),
        ("What is Caroline's identity?", {"Caroline"}),
        ("What did Mel and her kids paint?", {"Melanie"}),
        ("what did caroline say to melanie", {"Caroline", "Melanie"}),
        ("What did Professor E think?", {"Professor E"}),
        ("Did the will mention Caroline's house?", {"Caroline"}),
        ("What did Will inherit?", {"Will Smith"}),
        ("王小明喜欢什么？", {"王小明"}),
        ("Who paints?", set[str]()),
    ],
)
def test_a_person_is_named(question: str, found: set[str]) -> None:
    speakers = ["Caroline", "Melanie", "Professor E", "Professor B", "Will Smith", "王小明", "", "!"]
    assert rank.named(question, speakers) == found


def test_whoever_asks_is_meant_by_i() -> None:
    assert rank.named("What did I buy?", ["user", "assistant"], "user") == {"user"}
    assert rank.named("我买了什么？", ["user", "assistant"], "user") == {"user"}
    assert rank.named("What did you say?", ["user", "assistant"], "user") == set()
    assert rank.named("What did I buy?", ["assistant"], "user") == set()


@given(st.text(), st.lists(st.text()))
def test_no_names_break_it(question: str, speakers: list[str]) -> None:
    assert rank.named(question, speakers) <= set(speakers)


def test_what_a_turn_answers_is_as_near_to_it_as_what_stands_beside_it() -> None:
    found = [
        Candidate("a", 0, 100, maxsim=0.9),
        Candidate("a", 40, 100, maxsim=0.1, links=(0,)),
        Candidate("a", 80, 100, maxsim=0.1),
    ]
    scores = rank.scores(columns(found))
    assert scores[1] > scores[2]
    assert (
        rank.scores(columns(found), rank.ENGLISH.without("neighbour"))[1]
        == rank.scores(columns(found), rank.ENGLISH.without("neighbour"))[2]
    )


def test_where_the_present_is_asked_for_the_newer_of_two_that_are_alike_comes_first() -> None:
    at = [1_000.0, 2_000.0]
    alike = [Candidate("a", 0, 100, maxsim=0.5), Candidate("b", 0, 100, maxsim=0.5)]
    for question, first in (("Where does she work now?", 1), ("Where did she work?", 0)):
        fresh = freshness(question, at)
        found = [replace(each, fresh=float(fresh[place])) for place, each in enumerate(alike)]
        assert rank.order(rank.scores(columns(found)))[0] == first
