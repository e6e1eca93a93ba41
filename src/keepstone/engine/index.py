"""From what was said to what can be found: the passages of a message, its session, and what it says of people.

A passage is one turn; a long turn is cut into overlapping windows that the embedder reads whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from keepstone.engine.cutting import Source, cut_by_length, cut_sources
from keepstone.engine.people.statements import Statement, statements_of_turns
from keepstone.model.message import Message, NewPassage
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedder
from keepstone.services import Services
from keepstone.store import statements as statement_store
from keepstone.store.statements import Noted, Unread

SILENCE = timedelta(hours=1)
_UNREAD = 500
_EACH = 1_000  # characters that would take as long as what has to be done for each message besides


@dataclass(frozen=True, slots=True)
class TalkSession:
    """Where the conversation stands: when somebody last spoke, and in which session."""

    at: datetime
    name: str


async def passages_of(
    services: Services, sources: Sequence[Source], *, visibility: str, embedders: Sequence[Embedder] | None = None
) -> list[NewPassage]:
    """Their passages, as the first of the embedders reads, those in use if nothing is said. They do not know their
    session yet.
    """
    reading = services.embedders.active if embedders is None else embedders
    cutter = reading[0].cut if reading else cut_by_length
    size = sum(len(source.text) + _EACH for source in sources)
    return await services.offload.run(size, cut_sources, sources, cutter, visibility)


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


async def note_people(services: Services, scope: ReadScope, space: int) -> int:
    """Read new messages for what they say of people. Returns how many statements were kept."""
    kept = 0
    while True:
        async with services.db.transaction(scope) as conn:
            unread = await statement_store.unread(conn, space, limit=_UNREAD)
            speakers = await statement_store.speakers(conn, space)
        if not unread:
            return kept
        turns = [(message.speaker, message.text) for message in unread]
        size = sum(len(text) + _EACH for _, text in turns)
        said = await services.offload.run(size, statements_of_turns, turns, speakers)
        noted = _noted(unread, said)
        async with services.db.transaction(scope) as conn:
            await statement_store.insert(conn, space, noted, read_up_to=unread[-1].seq)
        kept += len(noted)


def _noted(unread: Sequence[Unread], said: Sequence[Sequence[Statement]]) -> list[Noted]:
    return [
        Noted(
            message_id=message.id, part=part, subject=statement.subject, kind=statement.kind, key=statement.key,
            text=statement.text, at=message.at, visibility=message.visibility,
        )
        for message, of_message in zip(unread, said, strict=True)
        for part, statement in enumerate(of_message)
    ]  # fmt: skip
