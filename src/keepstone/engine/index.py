"""From what was said to what can be found: the passages of a message, its session, and what it says of people.

A passage is one turn; a long turn is cut into overlapping windows that the embedder reads whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from keepstone.engine.cutting import Source, cut_by_length, cut_sources
from keepstone.engine.echoes import new_words
from keepstone.engine.people.statements import Statement, statements_of_turns
from keepstone.engine.relations import judge_pairs
from keepstone.model.ids import new_id
from keepstone.model.message import Message, NewPassage
from keepstone.model.principal import ReadScope
from keepstone.providers.embedder import Embedder
from keepstone.services import Services
from keepstone.store import statements as statement_store
from keepstone.store.statements import Noted, Unread

SILENCE = timedelta(hours=1)
_UNREAD = 500
_KNOWN = 500  # statements of those whom new ones are about
_COMPARED = 8  # of the same person, with each new one
_EACH = 1_000  # characters that would take as long as what has to be done for each message besides


@dataclass(frozen=True, slots=True)
class TalkSession:
    """Where the conversation stands: when somebody last spoke, and in which session."""

    at: datetime
    name: str


class TalkPlace(NamedTuple):
    """Where a message stands in a conversation: its session, and the id of the message that it answers."""

    session: str
    answers: str | None


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
    return put_in(passages, places_of(messages, last, answered))


def places_of(
    messages: Iterable[Message], last: TalkSession | None, answered: Mapping[str, str]
) -> dict[str, TalkPlace]:
    """Of each message, by its id."""
    places: dict[str, TalkPlace] = {}
    for message in messages:
        last = session_of(message, last)
        places[message.id] = TalkPlace(last.name, answered.get(message.reply_to) if message.reply_to else None)
    return places


def put_in(passages: Iterable[NewPassage], places: Mapping[str, TalkPlace]) -> list[NewPassage]:
    """Those that have a place, in it."""
    return [
        replace(passage, session=places[passage.source_id].session, answers=places[passage.source_id].answers)
        for passage in passages
        if passage.source_id in places
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
    """Read new messages for what they say of people. Returns how many statements were kept. What comes while the last
    of them are read has a job of its own: read one by one, it would hold up whoever sends it.
    """
    kept, full = 0, True
    while full:
        async with services.db.transaction(scope) as conn:
            unread = await statement_store.unread(conn, space, limit=_UNREAD)
            full = len(unread) == _UNREAD
            if not unread:
                break
            speakers = await statement_store.speakers(conn, space)
            turns = [
                (message.speaker, await new_words(conn, space, message.text, before=message.seq)) for message in unread
            ]
        size = sum(len(text) + _EACH for _, text in turns)
        said = await services.offload.run(size, statements_of_turns, turns, speakers)
        noted = _noted(unread, said)
        async with services.db.transaction(scope) as conn:
            subjects = list({statement.subject for statement in noted})
            known = await statement_store.current(conn, space, subjects, until=None, limit=_KNOWN) if noted else []
        ended = await _ended(services, known, noted)
        fresh = [ended.get((statement.message_id, statement.part), statement) for statement in noted]
        before = [statement for statement in ended.values() if statement not in fresh]
        async with services.db.transaction(scope) as conn:
            await statement_store.insert(conn, space, fresh, read_up_to=unread[-1].seq)
            await statement_store.end(conn, before)
        kept += len(noted)
    return kept


async def _ended(
    services: Services, known: Sequence[Noted], noted: Sequence[Noted]
) -> dict[tuple[str, int], Noted]:  # fmt: skip
    """Those that another, said later of the same person and in other words, surely took the place of. Under one key the
    newest holds anyway, and under others of what there may be several, as likings, each does.
    """
    pairs: list[tuple[Noted, Noted]] = []
    for number, new in enumerate(noted):
        others = [*noted[:number][::-1], *known]
        fitting = [other for other in others if other.subject == new.subject and other.key != new.key]
        near = [other for other in fitting if other.message_id != new.message_id][:_COMPARED]
        pairs += [(other, new) if other.at <= new.at else (new, other) for other in near]
    texts = [(older.text, newer.text) for older, newer in pairs]
    judged = await judge_pairs(services, texts, awaited=False) if pairs else []
    return {
        (older.message_id, older.part): replace(older, ended_by=newer.message_id)
        for (older, newer), judgement in zip(pairs, judged, strict=True)
        if judgement.relation == "update" and judgement.sure
    }


def _noted(unread: Sequence[Unread], said: Sequence[Sequence[Statement]]) -> list[Noted]:
    return [
        Noted(
            id=new_id("stmt"), message_id=message.id, part=part, subject=statement.subject, kind=statement.kind,
            key=statement.key, text=statement.text, at=message.at, visibility=message.visibility,
        )
        for message, of_message in zip(unread, said, strict=True)
        for part, statement in enumerate(of_message)
    ]  # fmt: skip
