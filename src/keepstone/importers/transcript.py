"""Transcripts with one JSON object a line: who spoke, what they said, and when if it is known."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any

from keepstone.importers.bundle import open_bundle
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Reading
from keepstone.importers.text import clean, cleaned, digest, elements_of, fields, moment, named

_SPEAKER = ("speaker", "role", "author", "from", "name", "user")
_TEXT = ("text", "content", "message", "value", "body")
_TIME = ("ts", "timestamp", "created_at", "create_time", "time", "date", "at")
_ID = ("id", "message_id", "uuid")
_CONVERSATION = ("conversation_id", "session_id", "thread_id", "chat_id")
_OWN = {*_SPEAKER, *_TEXT, *_TIME, *_ID, "reply_to", "metadata"}
_TOGETHER = 500  # lines that go as one
LONGEST_LINE = 16 * 1024 * 1024


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        names = bundle.named(".jsonl")
        reading.gauge.total = bundle.size(names)
        for name in names:
            with bundle.open(name) as lines:
                yield from _lines(lines, name, reading)


def _lines(lines: IO[bytes], name: str, reading: Reading) -> Iterator[Item]:
    turns: list[ImportedTurn] = []
    part = number = 0
    while line := lines.readline(LONGEST_LINE):
        number += 1
        reading.gauge.done += len(line)
        if not line.strip():
            continue
        place = f"{name}:{number}"
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            yield LeftOut(reason="line of more than 16 MB", what=place)
            while line and not line.endswith(b"\n"):
                line = lines.readline(LONGEST_LINE)
            continue
        turn = _turn(line, name, number, reading.me)
        if isinstance(turn, str):
            yield LeftOut(reason=turn, what=place)
            continue
        turns.append(turn)
        if len(turns) == _TOGETHER:
            yield Conversation(id=f"{name}:{part}", title=name, turns=turns)
            turns, part = [], part + 1
    if turns:
        yield Conversation(id=f"{name}:{part}", title=name, turns=turns)


def _turn(line: bytes, name: str, number: int, me: str | None) -> ImportedTurn | str:
    """The turn, or why there is none."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return "line that is no JSON"
    if not isinstance(said, dict):
        return "line that is no object"
    turn = fields(said)
    text = _text(_first(turn, _TEXT))
    if not text.strip():
        return "line without a text"
    speaker = named(_first(turn, _SPEAKER), "unknown")
    if me and speaker in {"user", "human"}:
        speaker = me
    own = _first(turn, _ID)
    at: datetime | None = moment(_first(turn, _TIME))
    # By its place and text: the same line again is the same message, and two who say "yes" are two.
    key = f"{name}:{own}" if own not in (None, "") else f"{name}:{number}:{digest(speaker, text)[:16]}"
    about: dict[str, Any] = {key: value for key, value in turn.items() if key not in _OWN}
    talk = _first(turn, _CONVERSATION)
    return ImportedTurn(
        id=key if len(key) <= 255 else digest(key),
        speaker=speaker,
        text=clean(text),
        at=at,
        reply_to=f"{name}:{turn['reply_to']}"[:255] if turn.get("reply_to") else None,
        metadata=cleaned(fields(turn.get("metadata")) | about) | ({"session_id": str(talk)[:200]} if talk else {}),
    )


def _first(line: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((line[name] for name in names if line.get(name) not in (None, "")), None)


def _text(value: Any) -> str:
    """A text, or the texts of blocks as language models exchange them."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _text(_first(fields(value), _TEXT))
    return "\n\n".join(text for text in (_text(element) for element in elements_of(value)) if text)
