"""How people and agents are called in prompts and summaries: by their names, and where two have the same by what tells
them apart.

Who is in a room sees the others' addresses; of somebody who has left, no part of theirs is shown, only of their id.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from keepstone.model.room import Utterance
from keepstone.model.workspace import Member

_OF_ID = 8  # characters of an id, enough to tell a few people apart


def called(person: Member) -> str:
    return " ".join(person.name.split()) or _local_part(person.email)


def told_apart(people: Sequence[Member], said: Sequence[Utterance] = (), agents: Sequence[str] = ()) -> dict[str, str]:
    """What everybody is called who is here or has said one of these, by `speaker_key`."""
    names = {agent_key(slug): slug for slug in agents}
    names |= {speaker_key(message): " ".join(message.name.split()) for message in said}
    names |= {person.user_id: called(person) for person in people}
    number = Counter(name.casefold() for name in names.values())
    addresses = {person.user_id: person.email for person in people}
    shared = {key: name for key, name in names.items() if number[name.casefold()] > 1}
    marks = {key: _mark(key, shared, addresses) for key in shared}
    return {key: f"{name} ({marks[key]})" if key in marks else name for key, name in names.items()}


def speaker_key(message: Utterance) -> str:
    return message.user or agent_key(message.agent or message.name)


def agent_key(slug: str) -> str:
    return f"agent:{slug}"


def _mark(key: str, shared: Mapping[str, str], addresses: Mapping[str, str]) -> str:
    if key.startswith("agent:"):
        return "agent"
    if key not in addresses:
        return key[:_OF_ID]
    alike = [other for other, name in shared.items() if name.casefold() == shared[key].casefold()]
    local = [_local_part(addresses[other]) for other in alike if other in addresses]
    mine = _local_part(addresses[key])
    return mine if local.count(mine) == 1 else addresses[key]


def _local_part(email: str) -> str:
    return email.split("@", maxsplit=1)[0]
