"""Whom talk speaks of: what tells a question about the wrong person from one about the right one."""

import numpy as np
import pytest

from keepstone.engine.about import balance, without_names

CELLO = [
    ("Ben", "I started learning the cello, my neighbours are not amused."),
    ("Anna", "How brave of you! Do you practise every day?"),
    ("Ben", "Nearly. My teacher says my left hand is lazy."),
    ("Anna", "My train to Porto was cancelled because of the storm."),
    ("Anna", "I had to stay for a night, our hotel was full of stranded people."),
    ("Ben", "That sounds awful, did you get your money back?"),
]
ANNA, BEN = frozenset({"Anna"}), frozenset({"Ben"})
# How well each turn has what is asked for: learning the cello, a journey to Porto.
OF_CELLO = np.array([0.8, 0.5, 0.5, 0.1, 0.1, 0.1])
OF_PORTO = np.array([0.1, 0.1, 0.1, 0.8, 0.5, 0.5])


def told(turns: list[tuple[str, str]], about: frozenset[str], matched: np.ndarray) -> float:
    value = balance(turns, about, matched)
    assert value is not None
    return value


@pytest.mark.parametrize(("matched", "right", "wrong"), [(OF_CELLO, BEN, ANNA), (OF_PORTO, ANNA, BEN)])
def test_what_is_said_of_the_other_speaks_against_it(
    matched: np.ndarray, right: frozenset[str], wrong: frozenset[str]
) -> None:
    assert told(CELLO, right, matched) > 0.1
    assert told(CELLO, wrong, matched) < -0.1


def test_you_is_the_other() -> None:
    asked = [("Anna", "You play the cello so well, your left hand is quick!"), ("Ben", "Thanks.")]
    matched = np.array([0.8, 0.2])
    assert told(asked, BEN, matched) > told(asked, ANNA, matched)
    assert told([("Anna", "I play the cello, my left hand is quick!"), asked[1]], BEN, matched) < 0


def test_who_is_spoken_of_by_name_is_spoken_of_but_not_who_is_called() -> None:
    matched = np.array([0.8, 0.2])
    rest = ("Ben", "Thanks.")
    called = told([("Anna", "Hey Ben, nice weather for a journey."), rest], BEN, matched)
    for said in (
        "I hear that Ben plays the cello.",
        "Ben's cello is a family piece.",
        "My brother told me Ben practises.",
    ):
        assert told([("Anna", said), rest], BEN, matched) > called
    assert told([("Anna", "Thanks, Ben! I practise."), rest], BEN, matched) <= called


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ich lerne Cello, meine Nachbarn leiden.", "Du übst doch jeden Tag mit deinem Lehrer."),
        ("Je joue du violoncelle, mes voisins souffrent.", "Tu joues bien, ton professeur est content."),
    ],
)
def test_other_languages_have_their_own_words_for_it(first: str, second: str) -> None:
    turns, matched = [("Ben", first), ("Anna", second)], np.array([0.7, 0.7])
    assert told(turns, BEN, matched) > 0 > told(turns, ANNA, matched)


def test_it_says_nothing_where_nobody_or_everybody_is_named_or_nobody_speaks() -> None:
    assert balance(CELLO, frozenset(), OF_CELLO) is None
    assert balance(CELLO, ANNA | BEN, OF_CELLO) is None
    assert balance(CELLO, frozenset({"Carla"}), OF_CELLO) is None
    assert balance([(None, "Ben plays the cello."), (None, "Anna was in Porto.")], BEN, np.array([0.8, 0.1])) is None


def test_among_many_who_talk_the_person_is_not_outvoted() -> None:
    """Each of five others matches a little; together they are no stronger than the strongest of them."""
    others = [(name, "I was at a concert once.") for name in ("Anna", "Carl", "Dora", "Emil", "Fay")]
    matched = np.array([0.8, 0.5, 0.5, 0.5, 0.5, 0.5])
    group = told([("Ben", "I started learning the cello."), *others], BEN, matched)
    two = told([("Ben", "I started learning the cello."), ("Anna", others[0][1])], BEN, matched[:2])
    assert group > 0
    assert abs(group - two) < 0.25


def test_names_are_no_part_of_what_is_asked_for() -> None:
    question = "What does Mel's teacher say?"
    spans = [(10, 13), (16, 23), (24, 27)]
    assert [question[start:end] for start, end in spans] == ["Mel", "teacher", "say"]
    assert without_names(question, spans, [3.0, 2.0, 1.0], frozenset({"Melanie Fox"})) == [0.0, 2.0, 1.0]
    assert without_names(question, spans, [3.0, 2.0, 1.0], BEN) == [3.0, 2.0, 1.0]
