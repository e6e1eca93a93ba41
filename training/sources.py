"""What the encoder learns from: conversations, and questions that a language model wrote about single turns.

Owns the format of the files and what can be said of a question by reading it. Needs no PyTorch.
"""

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepstone.engine.language.stopwords import is_stop
from keepstone.engine.rank import named

_QUESTION = re.compile(r"Q\d\s*:\s*(.{0,400}?\?)", re.DOTALL)
_WORD = re.compile(r"[^\W_]+")
LONGEST = 40  # words: beyond that it is no question any more


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: str
    text: str
    session: int


@dataclass(frozen=True, slots=True)
class Conversation:
    source: str
    turns: list[Turn]

    @property
    def speakers(self) -> frozenset[str]:
        return frozenset(turn.speaker for turn in self.turns)


@dataclass(frozen=True, slots=True)
class Question:
    """`turn` is the number of the turn that answers it, in the conversation of that number."""

    conversation: int
    turn: int
    text: str


def conversations(folder: Path) -> list[Conversation]:
    return [
        Conversation(line["src"], [Turn(speaker, text, session) for speaker, text, session in line["turns"]])
        for line in _lines(folder / "conversations.jsonl.gz")
    ]


def questions(folder: Path, talk: Sequence[Conversation]) -> list[Question]:
    """Those that are worth mining, each once."""
    chosen: dict[tuple[int, int, str], Question] = {}
    for conversation, turn, written in _lines(folder / "questions_raw.jsonl.gz"):
        speakers = talk[conversation].speakers
        speaker = talk[conversation].turns[turn].speaker
        for text in parse(written):
            if asks_of(text, speaker, speakers):
                chosen.setdefault((conversation, turn, text.casefold()), Question(conversation, turn, text))
    return list(chosen.values())


def parse(written: str) -> list[str]:
    """The questions in what the language model wrote: a fact, then `Q1: …` and `Q2: …`."""
    return [" ".join(found.split()) for found in _QUESTION.findall(written)]


def asks_of(question: str, speaker: str, speakers: frozenset[str]) -> bool:
    """Whether it may be a question that this speaker's turn answers: it asks for something, and of nobody else."""
    about = named(question, speakers)
    if about and speaker not in about:
        return False
    names = {word.casefold() for name in speakers for word in _WORD.findall(name)}
    said = _WORD.findall(question)
    telling = [word for word in said if not is_stop(word) and word.casefold() not in names]
    return 3 <= len(said) <= LONGEST and bool(telling)


def _lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
