"""Conversations with questions about single turns, and what calibration makes of them: questions that have no answer
there, and notes. From the data that the encoder is trained with, of which every twentieth conversation is for this.
"""

import gzip
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.datasets import Collection, Question, Turn
from bench.laboratory import DAY
from keepstone.engine.rank import named

KEPT = 20  # of so many conversations one
LONGEST, NOTES = 300, 120  # turns and notes of each
SOURCES = {"vmb": 7, "chitchat": 6, "spc": 5, "qmsum": 3, "realmem": 2}  # conversations of each
# A small model wrote the questions. One whose turn is not among so many that an untrained encoder finds mostly asks
# for something else.
FOUND = 20
_WRITTEN = re.compile(r"Q\d: *(.+)")


@dataclass(frozen=True)
class Conversation:
    """As talk; and as notes, what a model noted of single turns in a sentence each."""

    source: str
    speakers: list[str]  # who says most, first
    talk: Collection
    notes: Collection


def conversations(folder: Path) -> list[Conversation]:
    asked: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, turn, question, place, *_ in _lines(folder / "train_mined.jsonl.gz"):
        if number % KEPT == 0 and turn < LONGEST and place < FOUND:
            asked[number].append((turn, question))
    written: dict[int, list[str]] = defaultdict(list)
    for number, _, text in _lines(folder / "questions_raw.jsonl.gz"):
        if number % KEPT == 0:
            written[number].append(text)
    left = dict(SOURCES)
    chosen: list[Conversation] = []
    for number, stored in enumerate(_lines(folder / "conversations.jsonl.gz")):
        source = stored["src"]
        if number % KEPT == 0 and left.get(source):
            left[source] -= 1
            said = stored["turns"][:LONGEST]
            chosen.append(
                Conversation(
                    source,
                    _by_share([speaker for speaker, _, _ in said]),
                    _talk(f"{source} {number}", said, asked[number]),
                    _notes(f"{source} {number} as notes", written[number][:NOTES]),
                )
            )
    return chosen


def of_another(question: Question, speakers: Sequence[str], chance: random.Random) -> str | None:
    """The same asked of the wrong person; nothing where it names nobody who talks, or several."""
    asked_of = list(named(question.text, speakers))
    others = [speaker for speaker in speakers if speaker not in asked_of]
    if len(asked_of) != 1 or not others:
        return None
    return _renamed(question.text, {asked_of[0]: chance.choice(others)})


def in_their_names(question: Question, strangers: Sequence[str], speakers: Sequence[str], chance: random.Random) -> str:
    """A question of another conversation, asked of those who talk in this one."""
    return _renamed(question.text, {stranger: chance.choice(speakers) for stranger in strangers})


def _renamed(text: str, names: dict[str, str]) -> str:
    """Whole names for whole names, first names for first names."""
    for name, other in names.items():
        first, other_first = name.split()[0], other.split()[0]
        text = text.replace(name, other)
        if first[1:].islower() and other_first[1:].islower():
            text = re.sub(rf"\b{re.escape(first)}\b", other_first, text)
    return text


def _lines(file: Path) -> Iterator[Any]:
    with gzip.open(file, "rt") as stored:
        yield from map(json.loads, stored)


def _by_share(said: Sequence[str]) -> list[str]:
    return sorted(set(said), key=lambda speaker: (-said.count(speaker), speaker))


def _talk(name: str, said: Sequence[Any], asked: Sequence[tuple[int, str]]) -> Collection:
    """With the questions about a turn that are about its speaker."""
    turns = [
        Turn(place, speaker, text, session, DAY + timedelta(days=session, seconds=place))
        for place, (speaker, text, session) in enumerate(said)
    ]
    questions = [
        Question(question, frozenset({place}), "turn")
        for place, question in asked
        if named(question, {turns[place].speaker})
    ]
    return Collection(name, turns, questions)


def _notes(name: str, written: Sequence[str]) -> Collection:
    """The sentences, and the first of the questions about each."""
    asked = {
        text.partition("\n")[0].strip(): " ".join(question.group(1).split())
        for text in written
        if (question := _WRITTEN.search(text))
    }
    return Collection(
        name,
        [Turn(number, "", fact, number) for number, fact in enumerate(asked)],
        [Question(question, frozenset({number}), "note") for number, question in enumerate(asked.values())],
    )
