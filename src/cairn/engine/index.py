"""From what was said to what can be found: the passages of a message, its session, and later its vectors.

A passage is one turn; a long turn is cut into overlapping windows that the embedder reads whole.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from cairn.engine.late import pack
from cairn.engine.pack import own_words
from cairn.engine.people import statements
from cairn.engine.terms import latin, terms
from cairn.engine.time import date_words
from cairn.footprint import give_back
from cairn.model.message import Message, NewPassage
from cairn.model.principal import ReadScope
from cairn.providers.embedder import Embedder, Span
from cairn.services import Services
from cairn.store import passages as store
from cairn.store import statements as statement_store
from cairn.store import vectors as vector_store
from cairn.store.statements import Noted, Unread

SILENCE = timedelta(hours=1)
_WINDOW, _OVERLAP = 1000, 120
_BATCH = 256
_UNREAD = 500
_FEW, _SHORT = 20, 20_000  # messages and characters that are cut in a few milliseconds
LARGE = 20_000  # passages: from here on, reading a space through takes longer than an index would


@dataclass(frozen=True, slots=True)
class Session:
    """Where the conversation stands: when somebody last spoke, and in which session."""

    at: datetime
    name: str


def spoken(speaker: str | None, text: str) -> str:
    """A passage as the embedder reads it: who speaks is part of what is said."""
    return f"{speaker}: {text}" if speaker else text


async def passages_of(
    messages: Sequence[Message], embedders: Sequence[Embedder], *, visibility: str
) -> list[NewPassage]:
    """The passages of messages, which do not know their session yet. A long transcript is cut beside the event loop."""
    if len(messages) <= _FEW and sum(len(message.text) for message in messages) <= _SHORT:
        return _passages(messages, embedders, visibility)
    return await asyncio.to_thread(_passages, messages, embedders, visibility)


def _passages(messages: Sequence[Message], embedders: Sequence[Embedder], visibility: str) -> list[NewPassage]:
    found: list[NewPassage] = []
    for message in messages:
        dated = terms(date_words(message.at))
        own = own_words(message.text)
        for part, (start, end) in enumerate(windows(own, embedders) if own else []):
            window = own[start:end]
            found.append(
                NewPassage(
                    source_kind="message",
                    source_id=message.id,
                    part=part,
                    speaker=message.speaker,
                    at=message.at,
                    session=None,
                    visibility=visibility,
                    text=window,
                    foreign=not latin(window),
                    frequencies=dict(Counter([*terms(spoken(message.speaker, window)), *dated])),
                )
            )
    return found


def in_place(
    passages: Sequence[NewPassage],
    messages: Sequence[Message],
    last: Session | None,
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


def session_of(message: Message, last: Session | None) -> Session:
    """The session that the message names, else the one under way, else, after an hour's silence, a new one."""
    named = message.metadata.get("session_id") or message.metadata.get("session")
    if isinstance(named, str | int) and named:
        return Session(message.at, f"named:{named}"[:255])
    if last is not None and not last.name.startswith("named:") and abs(message.at - last.at) <= SILENCE:
        return Session(max(message.at, last.at), last.name)
    return Session(message.at, message.id)


def windows(text: str, embedders: Sequence[Embedder]) -> list[Span]:
    """As the first embedder reads, and by characters where there is none."""
    if embedders:
        return embedders[0].cut(text)
    if len(text) <= _WINDOW:
        return [(0, len(text))]
    return [(start, min(start + _WINDOW, len(text))) for start in range(0, len(text) - _OVERLAP, _WINDOW - _OVERLAP)]


async def embed_space(services: Services, scope: ReadScope, space: int) -> int:
    """Give every passage of the space that still lacks them its vectors. Returns how many got theirs."""
    services.embedders.need()
    done = 0
    while services.embedders.active:
        async with services.db.transaction(scope) as conn:
            waiting = await store.pending(conn, space, limit=_BATCH)
        if not waiting:
            break
        await _embed_all(services, scope, space, waiting)
        async with services.db.transaction(scope) as conn:
            await store.mark_embedded(conn, space, [item.passage for item in waiting])
        done += len(waiting)
    if done:
        give_back()
    return done


async def fill_space(services: Services, scope: ReadScope, space: int) -> int:
    """Give every passage the vectors of the embedders in use, whatever others it has. Returns how many were made."""
    made, last = 0, 0
    while True:
        async with services.db.transaction(scope) as conn:
            batch = await store.after(conn, space, last, limit=_BATCH)
        if not batch:
            return made
        made += await _embed_all(services, scope, space, batch)
        last = batch[-1].passage


async def index_space(services: Services, scope: ReadScope, space: int) -> None:
    """Give a space that has grown large an index of meanings for each of its sets of vectors."""
    async with services.db.transaction(scope) as conn:
        missing = await vector_store.without_index(conn, space, at_least=LARGE)
    for one in missing:
        async with services.db.as_owner() as owner:
            await vector_store.build_index(owner, space, one)


async def lacks_index(services: Services, scope: ReadScope, space: int) -> bool:
    """Whether there is something to do for `index_space`."""
    async with services.db.transaction(scope) as conn:
        return bool(await vector_store.without_index(conn, space, at_least=LARGE))


async def has_passages(services: Services) -> bool:
    """Whether there is anything to find on this server."""
    async with services.db.unscoped() as conn:
        return await store.any_at_all(conn)


async def await_vectors(services: Services) -> int:
    """Let everything wait that an embedder in use has not seen: stored before it was there, or under another one."""
    async with services.db.unscoped() as conn:
        return sum([await store.await_vectors_of(conn, embedder.name) for embedder in services.embedders.active])


async def _embed_all(services: Services, scope: ReadScope, space: int, waiting: Sequence[store.Pending]) -> int:
    """The vectors of every embedder in use. In two halves, so that one is stored while the other is computed."""
    middle = (len(waiting) + 1) // 2
    halves = [half for half in (waiting[:middle], waiting[middle:]) if half]
    work = [_embed(services, scope, space, embedder, half) for half in halves for embedder in services.embedders.active]
    done = await asyncio.gather(*work, return_exceptions=True)  # none is left to itself when another fails
    for result in done:
        if isinstance(result, BaseException):
            raise result
    return sum(result for result in done if isinstance(result, int))


async def _embed(
    services: Services, scope: ReadScope, space: int, embedder: Embedder, waiting: Sequence[store.Pending]
) -> int:
    """One model's vectors for those of the passages that have none of it. No connection is held while it works."""
    async with services.db.transaction(scope) as conn:
        number = (await vector_store.serving_sets(conn)).get(embedder.name)
        ids = [item.passage for item in waiting]
        missing = set(ids) if number is None else await vector_store.without_vectors(conn, space, number, ids)
    wanted = [item for item in waiting if item.passage in missing]
    if not wanted:
        return 0
    made = await embedder.embed([spoken(item.speaker, item.text) for item in wanted])
    vectors = {item.passage: one.pooled for item, one in zip(wanted, made, strict=True)}
    tokens = {
        item.passage: pack(one.tokens.vectors) for item, one in zip(wanted, made, strict=True) if one.tokens is not None
    }
    async with services.db.transaction(scope) as conn:
        number = await vector_store.vector_set(conn, embedder.name, len(made[0].pooled))
        await vector_store.store_vectors(conn, space, number, vectors, tokens)
    return len(wanted)


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
            message_id=message.id,
            part=part,
            subject=statement.subject,
            kind=statement.kind,
            key=statement.key,
            text=statement.text,
            at=message.at,
            visibility=message.visibility,
        )
        for message in unread
        for part, statement in enumerate(statements(message.speaker, own_words(message.text), speakers))
    ]
