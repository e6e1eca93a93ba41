"""The life of a memory, once for all kinds: kept, changed, put in the trash and brought back; each change a version, a
line in the audit trail, and another set of passages where the text is another.

What is a kind's own in all of this is in its `Kind`. Whoever changes a memory holds its space's row, so that
nobody keeps the same at the same moment. What takes time (cutting texts, embedding) is done before, in `prepare`, while
no connection is held.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from keepstone.access.audit import record, record_each
from keepstone.access.readscope import account_scope
from keepstone.engine import dedup
from keepstone.engine.cutting import Source
from keepstone.engine.embed import FirstVector, embed_at_once, embed_first_passage, store_at_once
from keepstone.engine.index import passages_of
from keepstone.engine.judge import WORTH_JUDGING, says_the_same
from keepstone.engine.lookup import nearest
from keepstone.engine.search import Hit
from keepstone.errors import Conflict
from keepstone.memory.kinds import Kind, Prepared, Written
from keepstone.model.memory import MemoryT, Recalled, Version, restorable
from keepstone.model.message import NewPassage
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import leftovers, memories, passages, spaces
from keepstone.store.db import Connection, take_time

_NEAREST = 20
# What of one call can be found by meaning as soon as it is stored; with more its caller would wait too long.
_PASSAGES_AT_ONCE = 100
_CHARACTERS_AT_ONCE = 32_000

# Finds a memory or several, whatever their state, or says that there is none such; from then on the transaction reaches
# them.
Finder = Callable[[Connection], Awaitable[Sequence[MemoryT]]]
Edit = Callable[[MemoryT], MemoryT]


# -------------------------------------------------------------------------------- before the database is asked


async def prepare(services: Services, kind: Kind[MemoryT], memory: MemoryT, *, embed: bool = True) -> Prepared[MemoryT]:
    """Cut it into passages and embed the first, so that it can be found by meaning as soon as it is stored."""
    services.embedders.need()
    cut, heads = list[NewPassage](), list[int]()
    for text in kind.indexed(memory):
        # Not by its date: nobody who looks for a word wants all that was kept in a month of that name.
        source = Source(kind="memory", id=memory.id, text=text, at=memory.created_at, dated=False)
        made = await passages_of(services, [source], visibility=memory.visibility)
        heads.append(len(cut))
        cut += [replace(passage, part=len(cut) + part) for part, passage in enumerate(made)]
    first = await embed_first_passage(services, cut) if embed else None
    return Prepared(kind.complete(memory), cut, first, heads=heads)


async def read_at_once(
    services: Services, prepared: Sequence[Prepared[MemoryT]]
) -> list[Prepared[MemoryT]]:  # fmt: skip
    """Embed more than the first passage of each, as far as that is a moment's work: with what each text begins, then
    the rest. What is beyond that a job reads.
    """
    passages = [(place, passage) for place, one in enumerate(prepared) for passage in one.passages or ()]
    passages.sort(key=lambda pair: (pair[1].part not in prepared[pair[0]].heads, pair[1].part))
    room, reading = _CHARACTERS_AT_ONCE, list[tuple[int, NewPassage]]()
    for place, passage in passages[:_PASSAGES_AT_ONCE]:
        room -= len(passage.text)
        if room < 0 and reading:
            break
        reading.append((place, passage))
    made = await embed_at_once(services, [passage for _, passage in reading])
    read: list[dict[int, FirstVector]] = [{} for _ in prepared]
    for (place, passage), vector in zip(reading, made, strict=True):
        if vector is not None:
            read[place][passage.part] = vector
    return [replace(one, first=vectors.get(0), others=vectors) for one, vectors in zip(prepared, read, strict=True)]


async def prepare_each(services: Services, kind: Kind[MemoryT], made: Sequence[MemoryT]) -> list[Prepared[MemoryT]]:
    """The same for several, of which some may say the same: each text is cut and embedded once."""
    known: dict[Any, Prepared[MemoryT]] = {}
    prepared: list[Prepared[MemoryT]] = []
    for memory in made:
        text = (tuple(kind.indexed(memory)), memory.created_at, memory.visibility)
        if text not in known:
            known[text] = await prepare(services, kind, memory)
        cut = [replace(passage, source_id=memory.id) for passage in known[text].passages or ()]
        prepared.append(replace(known[text], memory=kind.complete(memory), passages=cut))
    return prepared


async def prepare_change(services: Services, kind: Kind[MemoryT], before: MemoryT, after: MemoryT) -> Prepared[MemoryT]:
    """The same where something of it is there already, and may still be right."""
    if (kind.indexed(after), after.created_at) == (kind.indexed(before), before.created_at):
        return Prepared(kind.complete(after), None)
    return await prepare(services, kind, after)


# ------------------------------------------------------------------- in a transaction that holds the memory's space


async def keep(
    conn: Connection, services: Services, principal: Principal, kind: Kind[MemoryT], new: Prepared[MemoryT],
    **details: str,
) -> MemoryT:  # fmt: skip
    """Store something new; refused when there is no room for it."""
    services.disk.require_room()
    kept = await kind.make_room(conn, services, principal, new.memory, new.memory.kept_bytes)
    async with conn.pipeline():
        await memories.insert(conn, kind.shape, new.memory)
        await _follow(conn, services, principal, kind, [Written("created", None, new)], **details)
    return kept


async def rewrite(
    conn: Connection, services: Services, principal: Principal, kind: Kind[MemoryT], before: MemoryT,
    after: Prepared[MemoryT], change: str = "updated", **details: str,
) -> MemoryT:  # fmt: skip
    """Another version of it; refused when there is no room for it, or when it would be the same as another."""
    grown = before.version_bytes + before.written_bytes
    memory = kind.weighed(replace(after.memory, version=before.version + 1, version_bytes=grown))
    another = (
        not before.live
        or before.superseded_by is not None
        or (memory.content_hash, memory.title) != (before.content_hash, before.title)
    )
    if kind.unique and another and memory.live and memory.superseded_by is None:
        same = await twins(conn, kind, memory)
        twin = next((other for other in same if other.title == memory.title), None)
        if twin is not None:
            raise Conflict(f"Then it would be the same as {twin.id}: change or delete that one instead.")
    growth = memory.kept_bytes - (before.kept_bytes if before.live else 0)
    if growth > 0:
        memory = await kind.make_room(conn, services, principal, memory, growth)
    await memories.update(conn, before, memory)
    written = Written(change, before, replace(after, memory=memory))
    await settle(conn, services, principal, kind, [written], **details)
    return memory


async def put_away(
    conn: Connection, principal: Principal, kind: Kind[Any], memory_ids: Sequence[str], change: str = "deleted", *,
    emptied: int | None = None, **columns: Any,
) -> None:  # fmt: skip
    """To the trash or the cold tier: no longer listed, found or counted. There may be tens of thousands. `emptied`: the
    space in which that is all there was to find; most of the work is left to a job then, which the caller adds.
    """
    if emptied is not None:
        await take_time(conn)
    for space, count, size in await memories.put_away(conn, memory_ids, change, principal.user_id, **columns):
        await memories.count_in(conn, space, memories=-count, size=-size)
    if emptied is None:
        await passages.delete(conn, "memory", memory_ids)
    else:
        await leftovers.leave(conn, emptied)
    await record_each(conn, principal, kind.action(change), memory_ids)


async def settle(
    conn: Connection, services: Services, principal: Principal, kind: Kind[MemoryT],
    written: Sequence[Written[MemoryT]], **details: str,
) -> None:  # fmt: skip
    """All that follows from rows that were written: their versions, passages and first vectors, the counters of their
    space, the audit trail, and a job for the other vectors. Each row stands in it once.
    """
    async with conn.pipeline():  # most of it needs no answer
        await _follow(conn, services, principal, kind, written, **details)


async def _follow(
    conn: Connection, services: Services, principal: Principal, kind: Kind[MemoryT],
    written: Sequence[Written[MemoryT]], **details: str,
) -> None:  # fmt: skip
    for change in dict.fromkeys(row.change for row in written):
        changed = [row.memory.id for row in written if row.change == change]
        await memories.add_version(conn, changed, change, principal.user_id)
    outdated = [row.memory.id for row in written if row.before is not None and row.after.passages is not None]
    if outdated:
        await passages.delete(conn, "memory", outdated)
    grown = list[int]()
    for space in sorted({kind.found_in(row.memory) for row in written}):
        prepared = [row.after for row in written if kind.found_in(row.memory) == space]
        if cut := [passage for memory in prepared for passage in memory.passages or []]:
            await passages.insert(conn, space, cut)
            await store_at_once(conn, services, space, [read for memory in prepared for read in memory.read()])
            grown.append(space)
    for space in sorted({row.memory.space for row in written}):
        here = [row for row in written if row.memory.space == space]
        were = sum(row.before is not None and row.before.live for row in here)
        more = sum(row.memory.live for row in here) - were
        await memories.count_in(conn, space, memories=more, size=sum(row.growth for row in here))
    for row in written:
        await record(conn, principal, kind.action(row.change), row.memory.id, **details)
    for space in grown:
        await schedule_indexing(conn, services, principal.account, space)


async def move(
    conn: Connection, services: Services, principal: Principal, kind: Kind[MemoryT], moved: Sequence[MemoryT],
    space: int,
) -> None:  # fmt: skip
    """To another space, where they are found and counted from now on. Both are held."""
    await memories.move(conn, [memory.id for memory in moved], space)
    live = [memory for memory in moved if memory.live]
    await passages.delete(conn, "memory", [memory.id for memory in live])
    prepared = [await prepare(services, kind, memory, embed=False) for memory in live]
    if cut := [passage for memory in prepared for passage in memory.passages or ()]:
        await passages.insert(conn, space, cut)
        await schedule_indexing(conn, services, principal.account, space)
    for memory in live:
        await memories.count_in(conn, memory.space, memories=-1, size=-memory.kept_bytes)
        await memories.count_in(conn, space, memories=1, size=memory.kept_bytes)


async def schedule_indexing(conn: Connection, services: Services, account: int, space: int) -> None:
    """A job notes people and makes the vectors, unless one is on its way already."""
    if await spaces.mark_indexing_scheduled(conn, space):
        await add_indexing(conn, services, account, space)


async def add_indexing(conn: Connection, services: Services, account: int, space: int) -> None:
    """The same for a space that is marked for it."""
    await services.queue.add(conn, "read_space", account=account, space=space, one_by_one=f"space {space}")


async def twins(conn: Connection, kind: Kind[MemoryT], memory: MemoryT) -> list[MemoryT]:
    """Others in its space that hold and say exactly the same, the oldest first."""
    same = await memories.by_hash(conn, kind.shape, memory.space, memory.content_hash)
    return [twin for twin in same if twin.id != memory.id]


async def alike(
    conn: Connection, kind: Kind[MemoryT], new: Prepared[MemoryT], *, above: float = WORTH_JUDGING
) -> list[MemoryT]:
    """What may be of the same: its twins, then what begins nearly like it, the nearest first."""
    same = await twins(conn, kind, new.memory)
    near = await nearest(conn, new.memory.space, new.first, above=above, limit=_NEAREST)
    close = await memories.by_ids(conn, kind.shape, list(near))
    return same + [close[name] for name in near if name in close and close[name] not in same]


def recalled(hits: Sequence[Hit], known: Mapping[str, MemoryT]) -> list[Recalled[MemoryT]]:
    """What was found, without what was deleted since."""
    return [Recalled(memory=known[hit.source_id], relevance=hit.relevance) for hit in hits if hit.source_id in known]


async def find_known(
    conn: Connection, kind: Kind[MemoryT], new: Prepared[MemoryT], fits: Callable[[MemoryT], bool] = lambda _: True
) -> MemoryT | None:
    """The memory that says this already, in the same words."""
    known = [memory for memory in await alike(conn, kind, new, above=dedup.WORTH_COMPARING) if fits(memory)]
    return next((memory for memory in known if says_the_same(memory.content, new.memory.content)), None)


# ------------------------------------------------------------------------------------------------ whole operations


async def get(services: Services, principal: Principal, kind: Kind[MemoryT], find: Finder[MemoryT]) -> MemoryT:
    async with services.db.transaction(account_scope(principal)) as conn:
        [memory] = await find(conn)
        return kind.live(memory)


async def history(services: Services, principal: Principal, find: Finder[MemoryT]) -> tuple[MemoryT, list[Version]]:
    """The memory, whatever its state, and every version of it, the latest first."""
    async with services.db.transaction(account_scope(principal)) as conn:
        [memory] = await find(conn)
        return memory, await memories.versions(conn, Version, memory.id)


async def change(
    services: Services, principal: Principal, kind: Kind[MemoryT], find: Finder[MemoryT],
    edit: Edit[MemoryT], **details: str,
) -> MemoryT:  # fmt: skip
    """What `edit` makes of it, as another version. One that is as before is no change."""
    [changed] = await change_all(services, principal, kind, find, edit, **details)
    return changed


async def change_all(
    services: Services, principal: Principal, kind: Kind[MemoryT], find: Finder[MemoryT],
    edit: Edit[MemoryT], **details: str,
) -> list[MemoryT]:  # fmt: skip
    """All of them or none."""
    while True:
        async with services.db.transaction(account_scope(principal)) as conn:
            before = [kind.live(memory) for memory in await find(conn)]
        edited = [(memory, edit(memory)) for memory in before]
        if all(old == new for old, new in edited):
            return before
        now = services.clock()
        prepared = [
            None if old == new else await prepare_change(services, kind, old, replace(new, updated_at=now))
            for old, new in edited
        ]
        async with services.db.transaction(account_scope(principal)) as conn:
            current = [kind.live(memory) for memory in await held(conn, find)]
            if [(memory.id, memory.version) for memory in current] != [(old.id, old.version) for old in before]:
                continue  # somebody was faster: what they changed stays in the history
            return [
                old if new is None else await rewrite(conn, services, principal, kind, old, new, **details)
                for old, new in zip(current, prepared, strict=True)
            ]


async def trash(services: Services, principal: Principal, kind: Kind[MemoryT], find: Finder[MemoryT]) -> None:
    """Into the trash, for 30 days: all of them or none."""
    async with services.db.transaction(account_scope(principal)) as conn:
        gone = await held(conn, find)
        if any(memory.deleted_at is not None for memory in gone):
            raise kind.not_found()
        await put_away(conn, principal, kind, [memory.id for memory in gone], deleted_at=services.clock())


async def restore(
    services: Services, principal: Principal, kind: Kind[MemoryT], find: Finder[MemoryT], *, change: str = "restored",
    away_since: Callable[[MemoryT], datetime | None] = lambda memory: memory.deleted_at,
    edit: Edit[MemoryT] = lambda memory: replace(memory, deleted_at=None),
) -> MemoryT:  # fmt: skip
    """Back out of the trash, within 30 days, if there is room for it and the same was not kept again; and whatever else
    is found with it: all of them or none.
    """

    def away(memory: MemoryT) -> MemoryT:
        if not restorable(away_since(memory), services.clock()):
            raise kind.not_found()
        return memory

    while True:
        async with services.db.transaction(account_scope(principal)) as conn:
            before = [away(memory) for memory in await find(conn)]
        prepared = await prepare_each(services, kind, [edit(memory) for memory in before])
        async with services.db.transaction(account_scope(principal)) as conn:
            current = [away(memory) for memory in await held(conn, find)]
            if [(memory.id, memory.version) for memory in current] != [(old.id, old.version) for old in before]:
                continue
            [restored, *_] = [
                await rewrite(conn, services, principal, kind, old, new, change)
                for old, new in zip(current, prepared, strict=True)
            ]
            return restored


async def held(conn: Connection, find: Finder[MemoryT]) -> Sequence[MemoryT]:
    """What it finds; and until the transaction ends, nobody else changes anything in their spaces."""
    wanted = await find(conn)
    while True:
        locked = {memory.space for memory in wanted}
        await spaces.lock(conn, locked)
        wanted = await find(conn)
        if {memory.space for memory in wanted} <= locked:  # else one was moved meanwhile
            return wanted
