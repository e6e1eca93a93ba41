"""What relevance is fitted on: conversations from files, and what is made of their questions; and the fit itself."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.calibration import fit
from bench.conversations import FOUND, KEPT, conversations, in_their_names, of_another
from bench.datasets import Collection, Question, Turn
from bench.examples import WHOLE, halved, piece


def written(file: Path, rows: list[Any]) -> None:
    with gzip.open(file, "wt") as opened:
        opened.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    turns = [["Ben Hill", "I play the cello.", 0], ["Anna Moss", "How brave!", 0], ["Ben Hill", "Every day.", 1]]
    written(tmp_path / "conversations.jsonl.gz", [{"id": "c", "src": "vmb", "turns": turns}] * (KEPT + 1))
    asked = [
        [0, 0, "What does Ben play?", 0, [], [], 1.0],
        [0, 1, "What does Ben think?", 0, [], [], 1.0],  # another's turn
        [0, 2, "How often does Ben Hill play?", FOUND, [], [], 0.0],  # its turn is not found
        [1, 0, "What does Ben like?", 0, [], [], 1.0],  # for the encoder
    ]
    written(tmp_path / "train_mined.jsonl.gz", asked)
    raw = [[0, 0, " Ben plays the cello.\nQ1: What does Ben  play?\nQ2: Why?"], [0, 1, " Nothing is asked."]]
    written(tmp_path / "questions_raw.jsonl.gz", raw)
    return tmp_path


def test_one_conversation_in_twenty_comes_with_what_is_asked_of_the_speaker_of_a_turn(folder: Path) -> None:
    first, second = conversations(folder)
    assert first.talk.turns[0].passage == "Ben Hill: I play the cello."
    assert [(question.text, question.gold) for question in first.talk.questions] == [("What does Ben play?", {0})]
    assert first.speakers == ["Ben Hill", "Anna Moss"]
    assert [(turn.text, turn.speaker) for turn in first.notes.turns] == [("Ben plays the cello.", "")]
    assert [question.text for question in first.notes.questions] == ["What does Ben play?"]
    assert second.talk.questions == []


@pytest.mark.parametrize(
    ("asked", "of_the_other"),
    [
        ("What does Ben play?", "What does Anna play?"),
        ("What is Ben Hill's instrument?", "What is Anna Moss's instrument?"),
        ("What do Ben and Anna play?", None),
        ("Who plays the cello?", None),
    ],
)
def test_a_question_is_asked_of_the_wrong_person(asked: str, of_the_other: str | None) -> None:
    question = Question(asked, frozenset({0}), "turn")
    assert of_another(question, ["Ben Hill", "Anna Moss"], random.Random(1)) == of_the_other


def test_a_question_of_others_is_asked_of_those_who_talk_here() -> None:
    question = Question("What did Carl Berg tell Dora?", frozenset({0}), "turn")
    asked = in_their_names(question, ["Carl Berg", "Dora Lind"], ["Ben"], random.Random(1))
    assert asked == "What did Ben tell Ben?"


def test_half_of_the_paragraphs_have_half_of_the_questions() -> None:
    turns = [Turn(number, "", f"paragraph {number}", number) for number in range(5)]
    questions = [Question(f"about {number}?", frozenset({number}), "x") for number in range(5)]
    fitted, measured = (halved([Collection("c", turns, questions)], half)[0] for half in (0, 1))
    assert [turn.key for turn in fitted.turns] == [0, 2, 4]
    assert [question.text for question in measured.questions] == ["about 1?", "about 3?"]


def test_a_piece_holds_what_it_is_cut_around() -> None:
    for seed in range(20):
        numbers = piece(range(100), 12, random.Random(seed), around=seed * 5)
        assert len(numbers) == 12
        assert seed * 5 in numbers
    assert piece(range(9), WHOLE, random.Random(1)) == range(9)


def test_what_would_speak_against_what_it_stands_for_is_left_out_of_a_fit() -> None:
    chance = np.random.default_rng(1)
    rows = chance.random((400, 3))
    gold = (rows[:, 0] - rows[:, 1] + chance.normal(0, 0.1, 400) > 0).astype(float)
    fitted = fit(rows, gold, np.ones(400), ["maxsim", "covered", "place"])
    assert fitted.weights[0] > 0
    assert fitted.weights[1] == 0  # it falls where gold rises, and must not
    assert fit(rows, gold, np.ones(400), ["maxsim", "place", "size"]).weights[1] < 0
