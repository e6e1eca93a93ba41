"""One trash for everything: what the caller can bring back, of every kind and wherever it lay, and the way back.

Bringing back is each noun's own operation, which checks again what the list has shown.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from keepstone.access.readscope import account_scope
from keepstone.access.require import changeable
from keepstone.errors import KeepstoneError, NotFound
from keepstone.memory import (
    capsules,
    chat_memories,
    chats,
    documents,
    entity_memories,
    graphs,
    people,
    projects,
    room_messages,
    rooms,
    stores,
    workspaces,
)
from keepstone.memory.everything import enter_all
from keepstone.memory.room_corrections import MEMORIES, OF_PROFILE, OF_PROJECT, PINNED
from keepstone.model.everything import BroughtBack, Discarded, ReadablePlace, TrashKind
from keepstone.model.item import BETWEEN
from keepstone.model.memory import restorable_since
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import KeySurface, Principal
from keepstone.services import Services
from keepstone.store import everything, trash
from keepstone.store.db import Connection

# What goes to the trash whole, and which keys are for it.
_PLACES: dict[str, KeySurface] = {
    "workspace": "workspaces", "room": "rooms", "project": "projects", "graph": "graphs",
}  # fmt: skip
_MISSING = "There is no such thing in the trash: it is back already, or gone for good."


async def list_trash(
    services: Services, principal: Principal, page: PageRequest, *, kind: TrashKind | None = None,
    words: Sequence[str] = (),
) -> Page[Discarded]:  # fmt: skip
    """What went there last first."""
    now = services.clock()
    async with services.db.transaction(account_scope(principal)) as conn:
        places, reached = await _reach(conn, services, principal)
        found = await trash.page(
            conn, reached, page, since=restorable_since(now), now=now, kind=kind, words=words
        )  # fmt: skip
        return replace(found, items=await _described(conn, principal, found.items, places))


async def count_trash(
    services: Services, principal: Principal, *, words: Sequence[str] = ()
) -> Mapping[TrashKind, int]:
    """How many of each kind."""
    now = services.clock()
    async with services.db.transaction(account_scope(principal)) as conn:
        _, reached = await _reach(conn, services, principal)
        return await trash.counts(conn, reached, since=restorable_since(now), now=now, words=words)


async def restore(
    services: Services, principal: Principal, wanted: Sequence[tuple[TrashKind, str]]
) -> list[BroughtBack]:  # fmt: skip
    """One after the other: what can't be brought back says why, and stops none of the others. Refused when nothing of
    it is there.
    """
    back = [await _restore(services, principal, kind, name) for kind, name in wanted]
    if all(one.code == NotFound.code for one in back):
        raise NotFound(_MISSING)
    return back


async def _restore(services: Services, principal: Principal, kind: TrashKind, name: str) -> BroughtBack:
    now = services.clock()
    try:
        async with services.db.transaction(account_scope(principal)) as conn:
            places, reached = await _reach(conn, services, principal)
            one = PageRequest(limit=1)
            found = await trash.page(
                conn, reached, one, since=restorable_since(now), now=now, kind=kind, ids=[name]
            )  # fmt: skip
            if not found.items:
                raise NotFound(_MISSING)
            [thing] = await _described(conn, principal, found.items, places)
        await _BACK[kind](services, principal, thing, thing.place.id if thing.place else "")
    except KeepstoneError as fault:
        return BroughtBack(kind=kind, id=name, code=fault.code, message=fault.message)
    return BroughtBack(kind=kind, id=name, place=thing.place)


async def _item(services: Services, principal: Principal, thing: Discarded, place: str) -> Any:
    namespace = [label for label in (thing.path or "").split(BETWEEN) if label]
    return await stores.restore(services, principal, place, namespace=namespace, key=thing.key or "")


_Back = Callable[[Services, Principal, Discarded, str], Awaitable[Any]]
_BACK: dict[TrashKind, _Back] = {
    "capsule": lambda services, who, thing, _: capsules.restore(services, who, thing.id),
    "chat_memory": lambda services, who, thing, place: chat_memories.restore(services, who, place, thing.id),
    "room_memory": lambda services, who, thing, place: MEMORIES.restore(services, who, place, thing.id),
    "direct_memory": lambda services, who, thing, place: MEMORIES.restore(services, who, place, thing.id),
    "landmark": lambda services, who, thing, place: PINNED.restore(services, who, place, thing.id),
    "profile_memory": lambda services, who, thing, place: OF_PROFILE.restore(services, who, place, thing.id),
    "project_memory": lambda services, who, thing, place: OF_PROJECT.restore(services, who, place, thing.id),
    "node": lambda services, who, thing, place: graphs.restore_node(services, who, place, thing.id),
    "entity_memory": lambda services, who, thing, _: entity_memories.restore(services, who, thing.id),
    "item": _item,
    "message": lambda services, who, thing, place: room_messages.restore(services, who, place, thing.id),
    "statement": lambda services, who, thing, place: people.restore(services, who, place, thing.id),
    "chat": lambda services, who, thing, _: chats.restore(services, who, thing.id),
    "file": lambda services, who, thing, place: documents.restore(services, who, place, "file", thing.id),
    "artifact": lambda services, who, thing, place: documents.restore(services, who, place, "artifact", thing.id),
    "workspace": lambda services, who, thing, _: workspaces.restore(services, who, thing.id),
    "room": lambda services, who, thing, _: rooms.restore(services, who, thing.id),
    "project": lambda services, who, thing, _: projects.restore(services, who, thing.id),
    "graph": lambda services, who, thing, _: graphs.restore_graph(services, who, thing.id),
}


async def _reach(
    conn: Connection, services: Services, principal: Principal
) -> tuple[list[ReadablePlace], dict[str, Any]]:  # fmt: skip
    """The places that the caller reads, and what of the trash they may bring back."""
    places = await enter_all(conn, principal)
    maker = changeable(services, principal)
    made_by = {place.space: _made_by(principal, place, maker) for place in places}
    surfaces = principal.reach.surfaces
    kinds = [kind for kind, surface in _PLACES.items() if surfaces is None or surface in surfaces]
    return places, trash.reach(places, made_by, principal.user_id, maker, kinds)


def _made_by(principal: Principal, place: ReadablePlace, maker: str | None) -> str | None:
    """Whose of what is in it the caller may bring back: with None everybody's, else one user's, or with "" nobody's."""
    match place.kind:
        case "workspace":
            if place.allows("editor"):
                return None
            return principal.user_id if place.allows("member") else ""
        case "project":
            return None if place.allows("member") else ""
        case "graph":
            return maker
        case _:
            return None


async def _described(
    conn: Connection, principal: Principal, things: Sequence[Discarded], places: Sequence[ReadablePlace]
) -> list[Discarded]:
    """With where each lay, and who deleted it as far as that is known."""
    by_space = {place.space: place for place in places}
    deleted_by = await trash.deleters(conn, [thing.id for thing in things])
    by = {thing.id: thing.deleted_by or deleted_by.get(thing.id) for thing in things}
    names = await everything.names(conn, principal.user_id, list(by.values()))
    return [
        replace(
            thing, place=by_space.get(thing.space), deleted_by=by[thing.id],
            deleted_by_name=names.get(by[thing.id] or ""),
        )
        for thing in things
    ]  # fmt: skip
