"""Memories for the users, agents, apps and runs that a caller names: kept, changed, put in the trash and brought back;
each change a version. Looking for them is in `entity_search`.

Each combination of those ids is a space of its own. It belongs to the user whose key it is, or with a service key that
names nobody to the account; whatever is named, nobody reaches more than what lies under their own key.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine.dedup import WORTH_COMPARING, content_hash, superfluous
from keepstone.engine.embed import FirstVector, embed_first_passage, store_first_vector
from keepstone.engine.index import Source, passages_of
from keepstone.engine.lookup import nearest
from keepstone.engine.pack import own_words
from keepstone.engine.people import statements
from keepstone.errors import Conflict, Invalid, Malformed, NotFound
from keepstone.memory.entity_reading import Found, read_messages, word_for_word
from keepstone.model.capsule import TRASH_DAYS
from keepstone.model.entity import (
    LARGEST,
    LARGEST_METADATA,
    Entity,
    EntityMemory,
    EntityType,
    EntityVersion,
    Event,
    Filter,
    Ids,
    Said,
    Wanted,
)
from keepstone.model.ids import is_id, new_id
from keepstone.model.message import NewPassage
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import entities, memories, passages, spaces
from keepstone.store import entity_memories as store
from keepstone.store.db import Connection, enter

VISIBILITY = "private"
_NEAREST = 20
_READ_AT_ONCE = 32  # found by meaning as soon as they are acknowledged; the rest a moment later
_AT_A_TIME = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemories:
    """What is to be remembered, for whom, and what holds for all of it. `infer`: read what is worth keeping out of the
    messages, instead of keeping them word for word. `at` is when it was said.
    """

    ids: Ids
    messages: Sequence[Said]
    infer: bool
    metadata: dict[str, Any]
    categories: Sequence[str] = ()
    immutable: bool = False
    expires_on: date | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What became of one thing that was said. `previous` is what an updated memory said before."""

    memory: EntityMemory
    event: Event
    previous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Of one memory; what is None stays. `expires` says that `expires_on` is given, also to take it away."""

    id: str
    text: str | None = None
    metadata: dict[str, Any] | None = None
    at: datetime | None = None
    expires: bool = False
    expires_on: date | None = None


@dataclass(frozen=True, slots=True)
class _Prepared:
    memory: EntityMemory
    cut: list[NewPassage]
    first: FirstVector | None


# ------------------------------------------------------------------------------------------------------- adding


async def add(services: Services, principal: Principal, new: NewMemories) -> list[Kept]:
    """All of it or nothing. What is known already is not kept twice, when it was read out of messages."""
    _check(new.metadata)
    if new.infer:
        found = await read_messages(services, principal, new.ids, new.messages)
    else:
        found = word_for_word(new.messages)
        if not found:
            raise _nothing()
    prepared = await _prepare(services, new, found)
    if not prepared:
        return []
    name = _space_name(new.ids)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        held = await spaces.hold(conn, kind=entities.KIND, name=name, owner=principal.user_id)
        await entities.describe(conn, held.space, new.ids)
        await enter(conn, space_scope(principal, held.space))
        kept = [
            await _keep(conn, services, principal, replace(one, memory=replace(one.memory, space=held.space)), new)
            for one in prepared
        ]
        if any(one.event != "NOOP" for one in kept):
            await _await_reading(conn, services, principal, held.space)
    return kept


async def _prepare(services: Services, new: NewMemories, found: Sequence[Found]) -> list[_Prepared]:
    now = services.clock()
    made: list[_Prepared] = []
    for number, one in enumerate(found):
        memory = EntityMemory(
            id=new_id("mem"), space=0, content=checked(one.content), metadata=new.metadata,
            categories=list(new.categories) or ([one.category] if one.category else []), user_id=new.ids.user_id,
            agent_id=new.ids.agent_id, app_id=new.ids.app_id, run_id=new.ids.run_id, role=one.role, actor_id=one.name,
            immutable=new.immutable, expires_at=_end_of(new.expires_on), version=1, created_at=new.at or now,
            updated_at=now, deleted_at=None,
        )  # fmt: skip
        cut = await _cut(services, memory)
        made.append(
            _Prepared(memory, cut, await embed_first_passage(services, cut) if number < _READ_AT_ONCE else None)
        )
    return made


async def _keep(
    conn: Connection, services: Services, principal: Principal, one: _Prepared, new: NewMemories
) -> Kept:  # fmt: skip
    old = await _known(conn, one) if new.infer else None
    if old is not None:
        after = replace(
            old, content=one.memory.content if _revises(one.memory, old) else old.content,
            metadata=old.metadata | one.memory.metadata, expires_at=one.memory.expires_at,
            categories=[*old.categories, *(each for each in new.categories if each not in old.categories)],
        )  # fmt: skip
        if after == old:
            return Kept(memory=old, event="NOOP")
        written = await _rewrite(conn, services, principal, old, after, await _cut(services, after), one.first)
        return Kept(memory=written, event="UPDATE", previous=old.content)
    space = one.memory.space
    await store.insert(conn, one.memory, content_hash(one.memory.content), principal.user_id)
    await passages.insert(conn, space, one.cut)
    await store_first_vector(conn, space, one.cut, one.first)
    await memories.add_version(conn, space, [one.memory.id], "created", principal.user_id)
    await memories.count_in(conn, space, memories=1, size=len(one.memory.content.encode()))
    await record(conn, principal, "memory.create", one.memory.id, source="entity")
    return Kept(memory=one.memory, event="ADD")


async def _known(conn: Connection, one: _Prepared) -> EntityMemory | None:
    """The memory that says this already, or that says of the same thing what no longer holds. The space is held, so
    nobody adds the same meanwhile.
    """
    new = one.memory
    same = await store.by_hash(conn, new.space, content_hash(new.content))
    near = same + [each for each in await _near(conn, one) if each not in same]
    fitting = [each for each in near if _fits(new, each)]
    known = next((each for each in fitting if superfluous(new.content, each.content)), None)
    return known or next((each for each in fitting if _revises(new, each)), None)


async def _near(conn: Connection, one: _Prepared) -> list[EntityMemory]:
    near = await nearest(conn, one.memory.space, one.first, above=WORTH_COMPARING, limit=_NEAREST)
    known = await store.by_ids(conn, list(near))
    return [known[memory_id] for memory_id in near if memory_id in known]


def _fits(new: EntityMemory, old: EntityMemory) -> bool:
    """Whether the old one may stand for the new one: what is said of something else, or may not be changed, stays."""
    unlike = any(name in old.metadata and old.metadata[name] != value for name, value in new.metadata.items())
    return old.deleted_at is None and not unlike and not old.immutable and not new.immutable


def _revises(new: EntityMemory, old: EntityMemory) -> bool:
    """Whether each says one thing of a person, of which only one can hold, and this is the newer. In doubt both stay: a
    fact that was swallowed is worse than one that stands there twice.
    """
    if new.created_at < old.created_at or content_hash(new.content) == content_hash(old.content):
        return False
    told, known = statements("-", new.content), statements("-", old.content)
    if len(told) != 1 or len(known) != 1 or told[0].key != known[0].key:
        return False
    return not superfluous(new.content, old.content)


# ---------------------------------------------------------------------------------------------- one by its id


async def get(services: Services, principal: Principal, memory_id: str) -> EntityMemory:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        found = await _find(conn, principal, [memory_id])
    return found[memory_id]


async def history(
    services: Services, principal: Principal, memory_id: str
) -> tuple[EntityMemory, Sequence[EntityVersion]]:
    """The memory with every version of it, in their order; also of what is in the trash."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        found = await _find(conn, principal, [memory_id], any_state=True)
        return found[memory_id], await store.versions(conn, memory_id)


async def update(services: Services, principal: Principal, changes: Sequence[Change]) -> list[EntityMemory]:
    """All of them or none. Metadata is replaced as a whole; what was is in the history."""
    ids = [change.id for change in changes]
    if len(set(ids)) < len(ids):
        raise Invalid("A memory is named twice: send one change of each.")
    for change in changes:
        _check(change.metadata)
    while True:
        async with services.db.transaction(account_scope(principal.account)) as conn:
            before = await _find(conn, principal, ids)
        prepared: list[_Prepared] = []
        for change in changes:
            after = _changed(before[change.id], change)
            moved = (after.content, after.created_at) != (before[change.id].content, before[change.id].created_at)
            cut = await _cut(services, after) if moved else []
            prepared.append(_Prepared(after, cut, await embed_first_passage(services, cut)))
        async with services.db.transaction(account_scope(principal.account)) as conn:
            await _find(conn, principal, ids)
            await entities.hold(conn, [one.memory.space for one in prepared])
            current = await _find(conn, principal, ids)
            if any(current[name].version != before[name].version for name in ids):
                continue  # somebody was faster: what they changed stays in the history
            return [
                await _rewrite(conn, services, principal, before[one.memory.id], one.memory, one.cut, one.first)
                for one in prepared
            ]


async def delete(services: Services, principal: Principal, ids: Sequence[str]) -> None:
    """Into the trash, for 30 days: all of them or none."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        found = await _find(conn, principal, ids)
        await entities.hold(conn, [one.space for one in found.values()])
        found = await _find(conn, principal, ids)
        await _put_away(conn, services, principal, list(found.values()))
        for memory_id in found:
            await record(conn, principal, "memory.delete", memory_id)


async def restore(services: Services, principal: Principal, memory_id: str) -> EntityMemory:
    """Back out of the trash."""
    oldest = services.clock() - timedelta(days=TRASH_DAYS)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        found = (await _find(conn, principal, [memory_id], any_state=True))[memory_id]
    if found.deleted_at is None or found.deleted_at < oldest:
        raise _not_found()
    cut = await _cut(services, found)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await _find(conn, principal, [memory_id], any_state=True)
        await entities.hold(conn, [found.space])
        current = (await _find(conn, principal, [memory_id], any_state=True))[memory_id]
        if current.deleted_at is None:
            raise _not_found()
        back = replace(current, deleted_at=None, version=current.version + 1)
        await store.update(conn, memory_id, {"deleted_at": None, "version": back.version})
        await memories.add_version(conn, back.space, [memory_id], "restored", principal.user_id)
        await passages.insert(conn, back.space, cut)
        await memories.count_in(conn, back.space, memories=1, size=len(back.content.encode()))
        await record(conn, principal, "memory.restore", memory_id)
        await _await_reading(conn, services, principal, back.space)
    return back


# --------------------------------------------------------------------------------------------- many at once


async def list_entities(services: Services, principal: Principal) -> Sequence[Entity]:
    """Everybody for whom something is remembered."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        return await entities.known(conn, principal.user_id)


async def delete_all(services: Services, principal: Principal, wanted: Filter) -> int:
    """Everything that passes, into the trash. Returns how many that were."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        places = await entities.matching(conn, principal.user_id, wanted)
        return await _empty(conn, services, principal, places, wanted)


async def delete_entity(services: Services, principal: Principal, kind: EntityType, name: str) -> int:
    """Everything that is remembered for it, into the trash. It is there as long as something of it is, in the trash
    too.
    """
    async with services.db.transaction(account_scope(principal.account)) as conn:
        places = await entities.of_entity(conn, principal.user_id, kind, name)
        if not places:
            raise NotFound("There are no memories of this entity: users() lists those that have some.")
        return await _empty(conn, services, principal, places, None)


async def _empty(
    conn: Connection, services: Services, principal: Principal, places: Sequence[int], wanted: Filter | None
) -> int:
    await entities.hold(conn, places)
    await enter(conn, space_scope(principal, *places))
    all_of_it = Wanted(expired=True) if wanted is None else Wanted(filter=wanted, expired=True)
    gone = 0
    while found := await store.page(conn, places, all_of_it, services.clock(), limit=_AT_A_TIME, offset=0):
        await _put_away(conn, services, principal, found)
        gone += len(found)
    await record(conn, principal, "memory.delete_all", None, memories=gone)
    return gone


# ------------------------------------------------------------------------------------------------------ shared


def checked(text: str) -> str:
    """What may be kept of it: what was recalled and quoted in it is nobody's own words."""
    kept = own_words(text).strip()
    if not kept:
        raise _nothing()
    if len(kept.encode()) > LARGEST:
        message = "has more than 256 KB: keep what matters"
        raise Malformed(f"The text {message}. Nothing was stored.", details=[{"path": "body.text", "message": message}])
    return kept


async def _find(
    conn: Connection, principal: Principal, ids: Sequence[str], *, any_state: bool = False
) -> dict[str, EntityMemory]:
    """All of them, or it raises. From here on the transaction reaches the spaces that they lie in."""
    places = await entities.holding(conn, principal.user_id, [one for one in ids if is_id("mem", one)])
    await enter(conn, space_scope(principal, *sorted(set(places.values()))))
    found = await store.by_ids(conn, list(places))
    if any(one not in found or not (any_state or found[one].deleted_at is None) for one in ids):
        raise _not_found()
    return found


def _changed(before: EntityMemory, change: Change) -> EntityMemory:
    if before.immutable:
        raise Conflict("This memory is immutable: delete it and add it anew.")
    return replace(
        before, content=checked(change.text) if change.text is not None else before.content,
        metadata=change.metadata if change.metadata is not None else before.metadata,
        created_at=change.at or before.created_at,
        expires_at=_end_of(change.expires_on) if change.expires else before.expires_at,
    )  # fmt: skip


async def _rewrite(
    conn: Connection, services: Services, principal: Principal, before: EntityMemory, after: EntityMemory,
    cut: list[NewPassage], first: FirstVector | None,
) -> EntityMemory:  # fmt: skip
    """Another version of it. The space is held."""
    after = replace(after, version=before.version + 1, updated_at=services.clock())
    size = len(after.content.encode())
    columns = {
        "content": after.content, "metadata": after.metadata, "tags": after.categories, "version": after.version,
        "created_at": after.created_at, "updated_at": after.updated_at, "valid_to": after.expires_at,
        "content_hash": content_hash(after.content), "size_bytes": size,
    }  # fmt: skip
    await store.update(conn, after.id, columns)
    if (after.content, after.created_at) != (before.content, before.created_at):
        await passages.delete(conn, after.space, "memory", [after.id])
        await passages.insert(conn, after.space, cut)
        await store_first_vector(conn, after.space, cut, first)
        await _await_reading(conn, services, principal, after.space)
    await memories.count_in(conn, after.space, memories=0, size=size - len(before.content.encode()))
    await memories.add_version(conn, after.space, [after.id], "updated", principal.user_id)
    await record(conn, principal, "memory.update", after.id)
    return after


async def _put_away(
    conn: Connection, services: Services, principal: Principal, found: Sequence[EntityMemory]
) -> None:  # fmt: skip
    await store.put_away(conn, [one.id for one in found], services.clock())
    for space in sorted({one.space for one in found}):
        here = [one for one in found if one.space == space]
        ids = [one.id for one in here]
        await memories.add_version(conn, space, ids, "deleted", principal.user_id)
        await passages.delete(conn, space, "memory", ids)
        size = sum(len(one.content.encode()) for one in here)
        await memories.count_in(conn, space, memories=-len(here), size=-size)


async def _await_reading(conn: Connection, services: Services, principal: Principal, space: int) -> None:
    if await spaces.claim_reading(conn, space):
        await services.queue.add(
            conn, "read_space", account=principal.account, space=space, one_by_one=f"space {space}"
        )


async def _cut(services: Services, memory: EntityMemory) -> list[NewPassage]:
    services.embedders.need()
    source = Source(kind="memory", id=memory.id, text=memory.content, at=memory.created_at, dated=False)
    return await passages_of([source], services.embedders.active, visibility=VISIBILITY)


def _space_name(ids: Ids) -> str:
    """The same for the same ids, and short enough for an index."""
    told = json.dumps([ids.user_id, ids.agent_id, ids.app_id, ids.run_id])
    return hashlib.sha256(told.encode()).hexdigest()


def _end_of(day: date | None) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC) + timedelta(days=1)


def _check(metadata: dict[str, Any] | None) -> None:
    if metadata and len(json.dumps(metadata, ensure_ascii=False).encode()) > LARGEST_METADATA:
        message = "has more than 64 KB"
        raise Malformed(f"metadata {message}.", details=[{"path": "body.metadata", "message": message}])


def _nothing() -> Invalid:
    return Invalid("There is nothing to remember in this: give a text of its own, not only what was recalled.")


def _not_found() -> NotFound:
    return NotFound("There is no such memory here.")
