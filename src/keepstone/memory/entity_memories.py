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
from keepstone.access.plans import require_room
from keepstone.access.readscope import account_scope, space_scope
from keepstone.errors import Conflict, Invalid, NotFound
from keepstone.memory import shelf
from keepstone.memory.entity_reading import ExtractedText, read_messages, word_for_word
from keepstone.memory.kinds import Kind, Prepared, check_metadata
from keepstone.memory.shelf import Finder
from keepstone.memory.superseding import AUTO, SupersedeWish, Weighed, still_there, weigh
from keepstone.model.entity import Entity, EntityFilter, EntityMemory, EntityMessage, EntityType, Event, Filter, Ids
from keepstone.model.ids import is_id
from keepstone.model.memory import Version
from keepstone.model.message import check_said
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import entities, memories, spaces
from keepstone.store import entity_memories as store
from keepstone.store.db import Connection, enter


async def _make_room(
    conn: Connection, services: Services, principal: Principal, memory: EntityMemory, more: int
) -> EntityMemory:  # fmt: skip
    await require_room(conn, services, principal, more)
    return memory


# The same may be kept word for word as often as it is said.
ENTITY_MEMORIES = Kind(
    shape=store.SHAPE, noun="memory", prefix="mem", missing="There is no such memory here.", text_field="text",
    unique=False, included=0,
    make_room=_make_room,
)  # fmt: skip
_READ_AT_ONCE = 32  # found by meaning as soon as they are acknowledged; the rest a moment later
_AT_A_TIME = 1_000
REVISED = "revised"  # by something newer that took its place, and not by hand
_CARRIED_ON = (
    "space", "metadata", "tags", "user_id", "role", "actor", "valid_to", "for_user", "for_agent", "for_app", "for_run",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemories:
    """What is to be remembered, for whom, and what holds for all of it. `infer`: read what is worth keeping out of the
    messages, instead of keeping them word for word. `at` is when it was said.
    """

    ids: Ids
    messages: Sequence[EntityMessage]
    infer: bool
    metadata: dict[str, Any]
    categories: Sequence[str] = ()
    immutable: bool = False
    expires_on: date | None = None
    at: datetime | None = None
    wish: SupersedeWish = AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEntityMemory:
    """What became of one thing that was said. `previous` is what an updated memory said before, `may_supersede` are
    memories that it may take the place of and that still hold.
    """

    memory: EntityMemory
    event: Event
    previous: str | None = None
    may_supersede: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Of one memory; what is None stays. `expires` says that `expires_on` is given, also to take it away."""

    id: str
    text: str | None = None
    metadata: dict[str, Any] | None = None
    at: datetime | None = None
    expires: bool = False
    expires_on: date | None = None


# ------------------------------------------------------------------------------------------------------- adding


async def add(services: Services, principal: Principal, new: NewMemories) -> list[KeptEntityMemory]:
    """All of it or nothing. What is known already is not kept twice, when it was read out of messages."""
    check_metadata(new.metadata)
    if new.at is not None:
        check_said(new.at, services.clock(), "timestamp")
    if new.infer:
        texts = await read_messages(services, principal, new.ids, new.messages)
    else:
        texts = word_for_word(new.messages)
        if not texts:
            ENTITY_MEMORIES.check_text("")
    prepared = await _prepare(services, principal, new, texts)
    if not prepared:
        return []
    weighed = await _weighed(services, principal, new, prepared)
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await spaces.hold(conn, kind=entities.KIND, name=space_name(new.ids), owner=principal.user_id)
        await entities.describe(conn, space, new.ids)
        await enter(conn, space_scope(principal, space))
        named = await _named(conn, space, new.wish.named)
        return [
            await _keep(conn, services, principal, memory.moved(space=space), new, of_it, named if not number else None)
            for number, (memory, of_it) in enumerate(zip(prepared, weighed, strict=True))
        ]


async def _weighed(
    services: Services, principal: Principal, new: NewMemories, prepared: Sequence[Prepared[EntityMemory]]
) -> list[Weighed[EntityMemory]]:
    """What each is to what is there, and to those before it. What is kept word for word is compared with nothing."""
    near: list[list[EntityMemory]] = [[] for _ in prepared]
    if new.infer:
        async with services.db.transaction(account_scope(principal)) as conn:
            space = await spaces.find(conn, kind=entities.KIND, name=space_name(new.ids), owner=principal.user_id)
            if space is not None:
                await enter(conn, space_scope(principal, space))
                near = [await shelf.alike(conn, ENTITY_MEMORIES, memory.moved(space=space)) for memory in prepared]
    now = services.clock()
    weighed: list[Weighed[EntityMemory]] = []
    for number, memory in enumerate(prepared):
        before = [other.memory for other in prepared[:number]][::-1] if new.infer else []
        fitting = [old for old in (*near[number], *before) if _fits(memory.memory, old, now)]
        weighed.append(await weigh(services, memory.memory, fitting, mode=new.wish.mode))
    return weighed


async def _named(conn: Connection, space: int, ids: Sequence[str]) -> EntityMemory | None:
    """The memory that the caller wants replaced."""
    rows = await memories.by_ids(conn, store.SHAPE, ids) if ids else {}
    if any(memory_id not in rows or rows[memory_id].space != space for memory_id in ids):
        raise ENTITY_MEMORIES.not_found()
    if len(rows) > 1:
        raise Invalid("Name one memory to supersede: it is updated in place with the first thing that is kept.")
    old = next(iter(rows.values()), None)
    if old is not None and old.immutable:
        raise Conflict("This memory is immutable: delete it and add it anew.")
    return old


async def _prepare(
    services: Services, principal: Principal, new: NewMemories, texts: Sequence[ExtractedText]
) -> list[Prepared[EntityMemory]]:
    now = services.clock()
    made = [
        ENTITY_MEMORIES.new(
            new.at or now, updated_at=now, content=ENTITY_MEMORIES.check_text(text.content),
            metadata=new.metadata, tags=list(new.categories) or ([text.category] if text.category else []),
            user_id=principal.user_id, role=text.role, actor=text.name, immutable=new.immutable,
            valid_to=_end_of(new.expires_on), for_user=new.ids.user_id, for_agent=new.ids.agent_id,
            for_app=new.ids.app_id, for_run=new.ids.run_id,
        )
        for text in texts
    ]  # fmt: skip
    return [
        await shelf.prepare(services, ENTITY_MEMORIES, memory, embed=number < _READ_AT_ONCE)
        for number, memory in enumerate(made)
    ]


async def _keep(
    conn: Connection, services: Services, principal: Principal, prepared: Prepared[EntityMemory], new: NewMemories,
    weighed: Weighed[EntityMemory], named: EntityMemory | None,
) -> KeptEntityMemory:  # fmt: skip
    memory = prepared.memory
    known = None
    if new.infer:  # also what was kept meanwhile
        known = await shelf.find_known(
            conn, ENTITY_MEMORIES, prepared, lambda old: _fits(memory, old, services.clock())
        )
    known = known or next(iter(await still_there(conn, ENTITY_MEMORIES, memory.space, weighed.known)), None)
    outdated = await still_there(conn, ENTITY_MEMORIES, memory.space, weighed.outdated)
    replaced = [old for old in outdated if not _outlives(old, memory)]
    old = named or known or next(iter(replaced), None)
    if old is None:
        kept = await shelf.keep(conn, services, principal, ENTITY_MEMORIES, prepared, source="entity")
        perhaps = tuple(other.id for other in (*outdated, *weighed.perhaps))
        return KeptEntityMemory(memory=kept, event="created", may_supersede=perhaps)
    revised = old is not known
    after = replace(
        old, content=memory.content if revised else old.content, metadata=old.metadata | memory.metadata,
        valid_to=memory.valid_to if revised or not _outlives(old, memory) else old.valid_to,
        tags=[*old.tags, *(tag for tag in memory.tags if tag not in old.tags)],
    )  # fmt: skip
    if after == old:
        return KeptEntityMemory(memory=old, event="known")
    after = ENTITY_MEMORIES.complete(replace(after, updated_at=services.clock()))
    cut = [replace(passage, source_id=old.id, at=old.created_at) for passage in prepared.passages or ()]
    change = Prepared(after, cut, prepared.first) if revised else Prepared(after, None)
    written = await shelf.rewrite(
        conn, services, principal, ENTITY_MEMORIES, old, change, REVISED if revised else "updated"
    )
    return KeptEntityMemory(memory=written, event="updated", previous=old.content)


def _fits(new: EntityMemory, old: EntityMemory, now: datetime) -> bool:
    """Whether the old one may stand for the new one: what is said of something else, or may not be changed, stays, and
    what has expired stands for nothing.
    """
    unlike = any(name in old.metadata and old.metadata[name] != value for name, value in new.metadata.items())
    there = old.deleted_at is None and (old.valid_to is None or old.valid_to > now)
    return there and not unlike and not old.immutable and not new.immutable


def _outlives(old: EntityMemory, new: EntityMemory) -> bool:
    """Whether the old one is still found when the new one has expired: then nothing shorter takes its place, nor a day
    from it by being said again.
    """
    return new.valid_to is not None and (old.valid_to is None or old.valid_to > new.valid_to)


# ---------------------------------------------------------------------------------------------- one by its id


async def get(services: Services, principal: Principal, memory_id: str) -> EntityMemory:
    return await shelf.get(services, principal, ENTITY_MEMORIES, _finder(principal, [memory_id]))


async def history(services: Services, principal: Principal, memory_id: str) -> tuple[EntityMemory, Sequence[Version]]:
    """The memory with every version of it, in their order; also of what is in the trash."""
    memory, versions = await shelf.history(services, principal, _finder(principal, [memory_id]))
    return memory, versions[::-1]


async def update(services: Services, principal: Principal, changes: Sequence[Change]) -> list[EntityMemory]:
    """All of them or none. Metadata is replaced as a whole; what was is in the history."""
    named = {change.id: change for change in changes}
    if len(named) < len(changes):
        raise Invalid("A memory is named twice: send one change of each.")
    for change in changes:
        check_metadata(change.metadata)
        if change.at is not None:
            check_said(change.at, services.clock(), "timestamp")
    return await shelf.change_all(
        services, principal, ENTITY_MEMORIES, _finder(principal, list(named)),
        lambda memory: _changed(memory, named[memory.id]),
    )  # fmt: skip


async def delete(services: Services, principal: Principal, ids: Sequence[str]) -> None:
    """Into the trash, for 30 days: all of them or none."""
    await shelf.trash(services, principal, ENTITY_MEMORIES, _finder(principal, ids))


async def restore(
    services: Services, principal: Principal, memory_id: str, *, version: int | None = None
) -> EntityMemory:  # fmt: skip
    """Out of the trash; or with `version` what it said then, wherever it is. That is another version: nothing is lost
    by it.
    """
    find = _finder(principal, [memory_id])
    if version is None:
        return await shelf.restore(services, principal, ENTITY_MEMORIES, find)
    memory, versions = await shelf.history(services, principal, find)
    old = next((earlier for earlier in versions if earlier.version == version), None)
    if old is None:
        raise NotFound("This memory has no such version: its history shows those that it has.")

    def back(memory: EntityMemory) -> EntityMemory:
        text = {"content": old.content, "metadata": old.metadata, "tags": old.tags}
        if memory.immutable and memory.content != old.content:
            raise Conflict("This memory is immutable: delete it and add it anew.")
        return replace(memory, **text, deleted_at=None)

    if memory.live:
        return await shelf.change(services, principal, ENTITY_MEMORIES, find, back, change="restored")
    return await shelf.restore(services, principal, ENTITY_MEMORIES, find, edit=back)


async def revive(services: Services, principal: Principal, memory_id: str) -> EntityMemory:
    """It says again what it said before something newer took its place; that is kept as a memory of its own. Done twice
    it changes nothing.
    """
    find = _finder(principal, [memory_id])
    while True:
        memory, versions = await shelf.history(services, principal, find)
        ENTITY_MEMORIES.live(memory)
        if len(versions) < 2 or versions[0].change != REVISED:
            return memory
        now = services.clock()
        again = replace(memory, content=versions[1].content, metadata=versions[1].metadata, updated_at=now)
        newer = ENTITY_MEMORIES.new(
            now, **{name: getattr(memory, name) for name in _CARRIED_ON}, content=memory.content
        )  # fmt: skip
        prepared = [await shelf.prepare(services, ENTITY_MEMORIES, each) for each in (again, newer)]
        async with services.db.transaction(account_scope(principal)) as conn:
            [current] = await shelf.held(conn, find)
            if current.version != memory.version:
                continue
            written = await shelf.rewrite(
                conn, services, principal, ENTITY_MEMORIES, current, prepared[0], "revived"
            )  # fmt: skip
            await shelf.keep(conn, services, principal, ENTITY_MEMORIES, prepared[1], source="entity")
            return written


# --------------------------------------------------------------------------------------------- many at once


async def list_entities(services: Services, principal: Principal) -> Sequence[Entity]:
    """Everybody for whom something is remembered."""
    async with services.db.transaction(account_scope(principal)) as conn:
        return await entities.known(conn, principal.user_id)


async def delete_all(services: Services, principal: Principal, wanted: Filter) -> int:
    """Everything that passes, into the trash. Returns how many that were."""
    async with services.db.transaction(account_scope(principal)) as conn:
        places = await entities.matching(conn, principal.user_id, wanted)
        return await _empty(conn, services, principal, places, wanted)


async def delete_entity(services: Services, principal: Principal, kind: EntityType, name: str) -> int:
    """Everything that is remembered for it, into the trash. It is there as long as something of it is, in the trash
    too.
    """
    async with services.db.transaction(account_scope(principal)) as conn:
        places = await entities.of_entity(conn, principal.user_id, kind, name)
        if not places:
            raise NotFound("There are no memories of this entity.")
        return await _empty(conn, services, principal, places, None)


async def _empty(
    conn: Connection, services: Services, principal: Principal, places: Sequence[int], wanted: Filter | None
) -> int:
    await spaces.lock(conn, places)
    await enter(conn, space_scope(principal, *places))
    all_of_it = EntityFilter(expired=True) if wanted is None else EntityFilter(filter=wanted, expired=True)
    now, gone = services.clock(), 0
    while rows := await store.page(conn, places, all_of_it, now, limit=_AT_A_TIME, offset=0):
        await shelf.put_away(conn, principal, ENTITY_MEMORIES, [memory.id for memory in rows], deleted_at=now)
        gone += len(rows)
    await record(conn, principal, "memory.delete_all", None, memories=gone)
    return gone


# ------------------------------------------------------------------------------------------------------ shared


def _finder(principal: Principal, ids: Sequence[str]) -> Finder[EntityMemory]:
    """All of them, or it raises. From there on the transaction reaches the spaces that they lie in."""

    async def find(conn: Connection) -> Sequence[EntityMemory]:
        own = [memory_id for memory_id in ids if is_id("mem", memory_id)]
        places = await entities.holding(conn, principal.user_id, own)
        await enter(conn, space_scope(principal, *sorted(set(places.values()))))
        rows = await memories.by_ids(conn, store.SHAPE, list(places), any_state=True)
        if any(memory_id not in rows for memory_id in ids):
            raise ENTITY_MEMORIES.not_found()
        return [rows[memory_id] for memory_id in dict.fromkeys(ids)]

    return find


def _changed(before: EntityMemory, change: Change) -> EntityMemory:
    if before.immutable:
        raise Conflict("This memory is immutable: delete it and add it anew.")
    text = before.content if change.text is None else ENTITY_MEMORIES.check_text(change.text)
    return replace(
        before, content=text, metadata=change.metadata if change.metadata is not None else before.metadata,
        created_at=change.at or before.created_at,
        valid_to=_end_of(change.expires_on) if change.expires else before.valid_to,
    )  # fmt: skip


def space_name(ids: Ids) -> str:
    """The same for the same ids, and short enough for an index."""
    told = json.dumps([ids.user_id, ids.agent_id, ids.app_id, ids.run_id])
    return hashlib.sha256(told.encode()).hexdigest()


def _end_of(day: date | None) -> datetime | None:
    if day is None or day == date.max:  # after the last day there is, there is none to end it on
        return None if day is None else datetime.max.replace(tzinfo=UTC)
    return datetime.combine(day, time(), UTC) + timedelta(days=1)
