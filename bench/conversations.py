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
from keepstone.engine.terms import terms

KEPT = 20  # of so many conversations one
LONGEST = 300  # turns
SOURCES = {"vmb": 7, "chitchat": 6, "spc": 5, "qmsum": 3, "realmem": 2}  # conversations of each
# Of the words of a question, names aside, such a part stands in what it is asked about, and it has so many, at least. A
# small model wrote them, and many ask for nothing, or for something else.
SHARED, WORDS = 1 / 2, 2
_WRITTEN = re.compile(r"Q\d: *(.+)")


@dataclass(frozen=True)
class Conversation:
    """As talk; and as notes, what a model noted of single turns in a sentence each."""

    source: str
    speakers: list[str]  # who says most, first
    talk: Collection
    notes: Collection


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


def _conversation(name: str, source: str, stored: Sequence[Any], written: Sequence[tuple[int, str]]) -> Conversation:
    said = [speaker for speaker, _, _ in stored]
    turns = [
        Turn(place, speaker, text, session, DAY + timedelta(days=session, seconds=place))
        for place, (speaker, text, session) in enumerate(stored)
    ]
    names = frozenset(term for speaker in set(said) for term in terms(speaker))
    questions: list[Question] = []
    facts: dict[str, str] = {}
    for place, text in written:
        asked = [" ".join(question.split()) for question in _WRITTEN.findall(text)]
        questions += [question for about in asked if (question := _of_turn(about, turns[place], names))]
        if asked and _fits(asked[0], fact := text.partition("\n")[0].strip(), names):
            facts.setdefault(fact, asked[0])
    return Conversation(
        source,
        sorted(set(said), key=lambda speaker: (-said.count(speaker), speaker)),
        Collection(name, turns, questions),
        Collection(
            f"{name} as notes",
            [Turn(number, "", fact, number) for number, fact in enumerate(facts)],
            [Question(asked, frozenset({number}), source) for number, asked in enumerate(facts.values())],
        ),
    )


def _of_turn(asked: str, turn: Turn, names: frozenset[str]) -> Question | None:
    """A question that the turn answers: about its speaker, in its words."""
    if not named(asked, {turn.speaker}) or not _fits(asked, turn.text, names):
        return None
    return Question(asked, frozenset({turn.key}), "turn")


def _fits(question: str, text: str, names: frozenset[str]) -> bool:
    """Whether it asks for something, and that is said there."""
    wanted = set(terms(question)) - names
    return len(wanted) >= WORDS and len(wanted & set(terms(text))) >= SHARED * len(wanted)
