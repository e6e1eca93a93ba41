"""Conversations with questions about single turns, from the data that the encoder is trained with, and what is made of
them: questions that have no answer there, and notes.

Every twentieth conversation is for calibration. None of it is benchmark text.
"""

import gzip
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench.datasets import Collection, Question, Turn
from bench.laboratory import DAY
from keepstone.engine.rank import named
from keepstone.engine.terms import terms

KEPT = 20  # of so many conversations one
LONGEST = 300  # turns
SOURCES = {"vmb": 7, "chitchat": 6, "spc": 5, "qmsum": 3, "realmem": 2}  # conversations of each
SHARED = 1 / 3  # of the words of a question that its turn has, at least: of what was written by a model, much fits ill
_WRITTEN = re.compile(r"Q\d: *(.+)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True)
class Conversation:
    """`facts` are what was noted of turns, one sentence each, and what is asked about each of them."""

    source: str
    talk: Collection
    facts: Collection

    @property
    def speakers(self) -> list[str]:
        """Who says most, first."""
        said = [turn.speaker for turn in self.talk.turns]
        return sorted(set(said), key=lambda speaker: (-said.count(speaker), speaker))


def conversations(folder: Path) -> list[Conversation]:
    written: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, turn, text in _lines(folder / "questions_raw.jsonl.gz"):
        if number % KEPT == 0 and turn < LONGEST:
            written[number].append((turn, text))
    left = dict(SOURCES)
    chosen: list[Conversation] = []
    for number, stored in enumerate(_lines(folder / "conversations.jsonl.gz")):
        source = stored["src"]
        if number % KEPT == 0 and left.get(source):
            left[source] -= 1
            chosen.append(_conversation(f"{source} {number}", source, stored["turns"][:LONGEST], written[number]))
    return chosen


def _lines(file: Path) -> Iterator[Any]:
    with gzip.open(file, "rt") as stored:
        yield from map(json.loads, stored)


def _conversation(name: str, source: str, stored: Sequence[Any], written: Sequence[tuple[int, str]]) -> Conversation:
    turns = [
        Turn(place, speaker, text, session, DAY + timedelta(days=session, seconds=place))
        for place, (speaker, text, session) in enumerate(stored)
    ]
    of_turns: list[Question] = []
    facts: dict[str, list[str]] = {}
    for place, text in written:
        fact = text.partition("\n")[0].strip()
        asked = [" ".join(question.split()) for question in _WRITTEN.findall(text)]
        of_turns += [
            Question(question, frozenset({place}), source) for question in asked if _fits(question, turns[place])
        ]
        if len(asked) == 2 and _shares(asked[0], fact, SHARED):  # noqa: PLR2004
            facts.setdefault(fact, [asked[0]])
    notes = [Turn(number, "", fact, number) for number, fact in enumerate(facts)]
    of_notes = [
        Question(question, frozenset({number}), source)
        for number, asked in enumerate(facts.values())
        for question in asked
    ]
    return Conversation(source, Collection(name, turns, of_turns), Collection(f"{name} as notes", notes, of_notes))


def _fits(question: str, turn: Turn) -> bool:
    """Whether a turn answers it: it speaks of the speaker, or of nobody, in the turn's words."""
    return named(question, {turn.speaker}) == {turn.speaker} and _shares(question, turn.passage, SHARED)


def _shares(question: str, text: str, enough: float) -> bool:
    wanted = set(terms(question))
    return len(wanted & set(terms(text))) >= enough * len(wanted)
