"""One browser of all memory: every kind that the caller may read, in one list, with what the filters are worth.

What they may read is what the places say that they are in, as everywhere, less what their key is not for. Changing and
deleting is each kind's own business.
"""

from collections.abc import Sequence
from dataclasses import replace

from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import may_change
from keepstone.errors import NotFound
from keepstone.model.everything import FacetCount, MemoryFilter, ReadablePlace, ShelvedMemory, WholeMemory
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import everything as store
from keepstone.store.db import Connection, enter


async def list_memory(
    services: Services, principal: Principal, page: PageRequest, *, wanted: MemoryFilter
) -> Page[ShelvedMemory]:
    """The newest first."""
    async with services.db.transaction(account_scope(principal)) as conn:
        places = _narrowed(await enter_all(conn, principal), wanted)
        found = await store.page(conn, places, wanted, page, services.clock())
        return replace(found, items=await _described(conn, principal, found.items, places))


async def count_memory(services: Services, principal: Principal, wanted: MemoryFilter) -> Sequence[FacetCount]:
    """How many there are by kind, user, agent and source, each under the other filters."""
    async with services.db.transaction(account_scope(principal)) as conn:
        places = _narrowed(await enter_all(conn, principal), wanted)
        counts = await store.facets(conn, places, wanted, services.clock())
        users = [count.value for count in counts if count.by == "user"]
        names = await store.names(conn, principal.user_id, users)
    return [replace(count, name=names.get(count.value)) if count.by == "user" else count for count in counts]


async def get_memory(services: Services, principal: Principal, memory_id: str) -> WholeMemory:
    """The whole of it: what it was taken from, what it was before, and what took its place."""
    async with services.db.transaction(account_scope(principal)) as conn:
        places = await enter_all(conn, principal)
        found = await store.one(conn, places, memory_id, services.clock())
        if found is None:
            raise NotFound("There is no such memory.")
        [memory] = await _described(conn, principal, [found], places)
        metadata, by, immutable = await store.beside(conn, memory_id)
        others = await store.others(conn, memory, by)
        said = await store.message(conn, memory.message_id) if memory.message_id else None
        versions = await store.versions(conn, memory_id)
        names = await store.names(conn, principal.user_id, [version.changed_by for version in versions])
    return WholeMemory(
        memory=memory,
        metadata=metadata,
        changeable=not immutable and _may_change(services, principal, memory),
        said=said,
        superseded_by=next((other for other in others if other.id == by), None),
        supersedes=[other for other in others if other.id != by],
        versions=[replace(version, changed_by_name=names.get(version.changed_by or "")) for version in versions],
    )


async def enter_all(conn: Connection, principal: Principal) -> list[ReadablePlace]:
    """Every place that the caller reads and their key is for; from here on the transaction reaches what is in them."""
    surfaces, within = principal.reach.surfaces, principal.reach.spaces
    places = [
        place
        for place in await store.readable(conn, principal.user_id)
        if (surfaces is None or place.surface in surfaces) and (within is None or place.space in within)
    ]
    await enter(conn, space_scope(principal, *(place.space for place in places)))
    return places


def _narrowed(places: Sequence[ReadablePlace], wanted: MemoryFilter) -> list[ReadablePlace]:
    """Those in which there can be something that passes."""
    return [
        place
        for place in places
        if wanted.place in {None, place.id}
        and wanted.app in {None, place.for_app}
        and wanted.run in {None, place.for_run}
        and (not wanted.namespace or place.kind == "store")
    ]


async def _described(
    conn: Connection, principal: Principal, memories: Sequence[ShelvedMemory], places: Sequence[ReadablePlace]
) -> list[ShelvedMemory]:
    """With the names of where they lie and whose they are."""
    by_space = {place.space: place for place in places}
    names = await store.names(conn, principal.user_id, [memory.user for memory in memories])
    return [
        replace(memory, place=by_space[memory.space], user_name=names.get(memory.user or "")) for memory in memories
    ]


def _may_change(services: Services, principal: Principal, memory: ShelvedMemory) -> bool:
    place = memory.place
    if place is None:
        return False
    if memory.kind == "chat_memory":
        return place.allows("member" if memory.user == principal.user_id else "editor")
    if memory.kind == "node":
        return may_change(services, principal, memory.user)
    return place.kind != "project" or place.allows("member")
