"""From what was said to what can be found: the passages of a message, its session, and what it says of people.

A passage is one turn; a long turn is cut into overlapping windows that the embedder reads whole.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from keepstone.engine.language.scripts import latin
from keepstone.engine.people.statements import statements
from keepstone.engine.quotation import own_words
from keepstone.engine.terms import terms
from keepstone.engine.when import date_words
from keepstone.model.message import Message, NewPassage
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedder, Span
from keepstone.services import Services
from keepstone.store import statements as statement_store
from keepstone.store.statements import Noted, Unread

SILENCE = timedelta(hours=1)
_WINDOW, _OVERLAP = 1000, 120
_UNREAD = 500
_FEW, _SHORT = 20, 20_000  # messages and characters that are cut in a few milliseconds


@dataclass(frozen=True, slots=True)
class TalkSession:
    """Where the conversation stands: when somebody last spoke, and in which session."""

    at: datetime
    name: str


def spoken(speaker: str | None, text: str) -> str:
    """A passage as the embedder reads it: who speaks is part of what is said."""
    return f"{speaker}: {text}" if speaker else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something that can be found: what a passage is cut from. `dated`: also by the words of its date, as talk is."""

    kind: Literal["message", "memory", "summary", "document"]
    id: str
    text: str
    at: datetime
    speaker: str | None = None
    dated: bool = True


async def passages_of(sources: Sequence[Source], embedders: Sequence[Embedder], *, visibility: str) -> list[NewPassage]:
    """Their passages, which do not know their session yet. What is long is cut beside the event loop."""
    if len(sources) <= _FEW and sum(len(source.text) for source in sources) <= _SHORT:
        return _passages(sources, embedders, visibility)
    return await asyncio.to_thread(_passages, sources, embedders, visibility)


def _passages(sources: Sequence[Source], embedders: Sequence[Embedder], visibility: str) -> list[NewPassage]:
    passages: list[NewPassage] = []
    for source in sources:
        dated = terms(date_words(source.at)) if source.dated else []
        own = own_words(source.text)
        for part, (start, end) in enumerate(windows(own, embedders) if own else []):
            window = own[start:end]
            passages.append(
                NewPassage(
                    source_kind=source.kind,
                    source_id=source.id,
                    part=part,
                    speaker=source.speaker,
                    at=source.at,
                    session=None,
                    visibility=visibility,
                    text=window,
                    foreign=not latin(window),
                    frequencies=dict(Counter([*terms(spoken(source.speaker, window)), *dated])),
                )
            )
    return passages


def in_place(
    passages: Sequence[NewPassage],
    messages: Sequence[Message],
    last: TalkSession | None,
    answered: Mapping[str, str],
) -> list[NewPassage]:
    """The passages of these messages, which follow on `last`: each in its session and with what it is an answer to.

    `answered` has the id of a message by the id that replies name it by.
    """
    sessions: dict[str, str] = {}
    answers: dict[str, str | None] = {}
    for message in messages:
        last = session_of(message, last)
        sessions[message.id] = last.name
        answers[message.id] = answered.get(message.reply_to) if message.reply_to else None
    return [
        replace(passage, session=sessions[passage.source_id], answers=answers[passage.source_id])
        for passage in passages
        if passage.source_id in sessions
    ]


def session_of(message: Message, last: TalkSession | None) -> TalkSession:
    """The session that the message names, else the one under way, else, after an hour's silence, a new one."""
    named = message.metadata.get("session_id") or message.metadata.get("session")
    if isinstance(named, str | int) and named:
        return TalkSession(message.at, f"named:{named}"[:255])
    if last is not None and not last.name.startswith("named:") and abs(message.at - last.at) <= SILENCE:
        return TalkSession(max(message.at, last.at), last.name)
    return TalkSession(message.at, message.id)


def windows(text: str, embedders: Sequence[Embedder]) -> list[Span]:
    """As the first embedder reads, and by characters where there is none."""
    if embedders:
        return embedders[0].cut(text)
    if len(text) <= _WINDOW:
        return [(0, len(text))]
    return [(start, min(start + _WINDOW, len(text))) for start in range(0, len(text) - _OVERLAP, _WINDOW - _OVERLAP)]


async def note_people(services: Services, scope: ReadScope, space: int) -> int:
    """Read new messages for what they say of people. Returns how many statements were kept."""
    kept = 0
    while True:
        async with services.db.transaction(scope) as conn:
            unread = await statement_store.unread(conn, space, limit=_UNREAD)
            speakers = await statement_store.speakers(conn, space)
        if not unread:
            return kept
        noted = await asyncio.to_thread(_noted, unread, speakers)
        async with services.db.transaction(scope) as conn:
            await statement_store.insert(conn, space, noted, read_up_to=unread[-1].seq)
        kept += len(noted)


def _noted(unread: Sequence[Unread], speakers: Sequence[str]) -> list[Noted]:
    return [
        Noted(
            message_id=message.id, part=part, subject=statement.subject, kind=statement.kind, key=statement.key,
            text=statement.text, at=message.at, visibility=message.visibility,
        )
        for message in unread
        for part, statement in enumerate(statements(message.speaker, own_words(message.text), speakers))
    ]  # fmt: skip
