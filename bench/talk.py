"""Messages and questions for the measurements of speed: real chat, made longer by variation from a fixed seed."""

import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from bench import datasets

SEED = 20260501
SESSION = 20  # turns
_BEGIN = datetime(2024, 1, 1, 9, tzinfo=UTC)


def turns() -> list[tuple[str, str]]:
    """Speaker and text of everything that is said in LoCoMo."""
    return [(turn.speaker, turn.text) for each in datasets.locomo() for turn in each.turns if turn.text]


def transcript(size: int, base: list[tuple[str, str]], name: str = "m") -> list[dict[str, Any]]:
    """So many messages. Where the data ends it is said again, each time with a sentence of somebody else's added."""
    chosen = random.Random(SEED)
    sentences = [sentence for _, text in base for sentence in re.split(r"(?<=[.!?])\s+", text) if len(sentence) > 20]
    found: list[dict[str, Any]] = []
    at = _BEGIN
    for number in range(size):
        speaker, text = base[number % len(base)]
        if number >= len(base):
            text = f"{text} {chosen.choice(sentences)}"
        # In a session a minute lies between turns; the next begins some hours later.
        at += timedelta(minutes=1) if number % SESSION else timedelta(hours=7)
        found.append({"speaker": speaker, "text": text, "ts": at.isoformat(), "id": f"{name}{number}"})
    return found


def questions(size: int) -> list[str]:
    asked = [question.text for each in datasets.locomo() for question in each.questions]
    random.Random(SEED).shuffle(asked)
    return [asked[number % len(asked)] for number in range(size)]


def recall_body(scope_id: str, text: str, *, speaker: str = "asker", ts: str | None = None, limit: int = 10) -> Any:
    message = {"speaker": speaker, "text": text} | ({"ts": ts} if ts else {})
    return {"scope_id": scope_id, "message": message, "limit": limit}


def scope_of(size: int) -> str:
    """The scope that holds so many passages."""
    return f"bench-{size}"
