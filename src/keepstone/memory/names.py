"""How people and agents are called where others see them: by their names, and where two in the account have the same by
what tells them apart.

Who is in a room sees the others' addresses; of somebody who has left, no part of theirs is shown, only of their id.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from keepstone.model.room import Utterance
from keepstone.store import participants
from keepstone.store.db import Connection

_OF_ID = 8  # characters of an id, enough to tell a few people apart
_MARK = " ("  # before what tells two apart: a name that brings one along is no other name for it


class Named(Protocol):
    @property
    def user_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def email(self) -> str: ...


def called(person: Named) -> str:
    return " ".join(person.name.split()) or _local_part(person.email)


def plain(name: str) -> str:
    """What is the same for those who look the same, as `users.plain_name` has it."""
    return " ".join(name.split()).split(_MARK, maxsplit=1)[0].strip().lower()


async def namesakes(
    conn: Connection, people: Sequence[Named], said: Sequence[Utterance] = (), agents: Sequence[str] = ()
) -> Sequence[Named]:
    """Who in the account is called like one of these, themselves included."""
    names = {*map(called, people), *(message.name for message in said), *agents}
    return await participants.namesakes(conn, sorted({plain(name) for name in names}))


def told_apart(
    people: Sequence[Named], said: Sequence[Utterance] = (), agents: Sequence[str] = (),
    in_account: Sequence[Named] = (),
) -> dict[str, str]:  # fmt: skip
    """What everybody is called who is here or has said one of these, by `speaker_key`. `in_account` are others who may
    be called the same (`namesakes`).
    """
    names = {agent_key(slug): slug for slug in agents}
    names |= {speaker_key(message): " ".join(message.name.split()) for message in said}
    names |= {person.user_id: called(person) for person in people}
    known = names | {person.user_id: called(person) for person in in_account if person.user_id not in names}
    number = Counter(map(plain, known.values()))
    shared = {key: name for key, name in known.items() if number[plain(name)] > 1}
    here = {person.user_id: person.email for person in people}
    addresses = {person.user_id: person.email for person in in_account} | here
    marks = {key: _mark(key, shared, addresses) if key in here else _bare_mark(key) for key in shared if key in names}
    return {key: f"{name}{_MARK}{marks[key]})" if key in marks else name for key, name in names.items()}


def marked(said: Iterable[Utterance], names: Mapping[str, str]) -> dict[str, str]:
    """Of these messages, by their id, what their speaker is called now if that has a mark."""
    shown = {message.id: names.get(speaker_key(message), "") for message in said}
    return {message_id: name for message_id, name in shown.items() if name.endswith(")") and _MARK in name}


def speaker_key(message: Utterance) -> str:
    return message.user or agent_key(message.agent or message.name)


def agent_key(slug: str) -> str:
    return f"agent:{slug}"


def _bare_mark(key: str) -> str:
    return "agent" if key.startswith("agent:") else key[:_OF_ID]


def _mark(key: str, shared: Mapping[str, str], addresses: Mapping[str, str]) -> str:
    alike = [other for other, name in shared.items() if plain(name) == plain(shared[key])]
    local = [_local_part(addresses[other]) for other in alike if other in addresses]
    mine = _local_part(addresses[key])
    return mine if local.count(mine) == 1 else addresses[key]


def _local_part(email: str) -> str:
    return email.split("@", maxsplit=1)[0]
