"""What a new memory does to the older ones, once for all kinds: takes their place, is known already, or stands beside
them. And the way back.

`engine/judge.py` judges, on texts, with no transaction open; so whoever keeps something reads first what it may concern
(`shelf.alike`, or a list of their own), has it weighed here, and looks in the transaction that writes whether what was
judged is still as it was (`still_there`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, Literal

from keepstone.access.readscope import account_scope
from keepstone.engine.relations import judge_pairs
from keepstone.memory import shelf
from keepstone.memory.kinds import Kind, Prepared
from keepstone.memory.shelf import Finder
from keepstone.model.memory import MemoryT
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import memories
from keepstone.store.db import Connection

Mode = Literal["auto", "suggest", "off"]
MOST_NAMED = 100
_LOOKED_AT = 8  # older memories that one new one is compared with


@dataclass(frozen=True, slots=True)
class SupersedeWish:
    """What a caller wants: what is surely outdated superseded, only named, or not looked for; and what they name
    themselves.
    """

    mode: Mode = "auto"
    named: tuple[str, ...] = ()

    @classmethod
    def of(cls, supersede: Mode | list[str], supersedes: Sequence[str] = ()) -> "SupersedeWish":
        """A list of ids means those and no others."""
        if isinstance(supersede, list):
            return cls("off", tuple(dict.fromkeys([*supersede, *supersedes])))
        return cls(supersede, tuple(dict.fromkeys(supersedes)))


AUTO = SupersedeWish()


@dataclass(frozen=True, slots=True)
class Weighed(Generic[MemoryT]):
    """Others by what the new one is to them: it says the same; it surely takes their place, or perhaps. `revised_by` is
    for what is told late: one that was said after it, and took its place.
    """

    known: tuple[MemoryT, ...] = ()
    outdated: tuple[MemoryT, ...] = ()
    perhaps: tuple[MemoryT, ...] = ()
    revised_by: MemoryT | None = None


async def weigh(
    services: Services, new: MemoryT, others: Sequence[MemoryT], *, mode: Mode = "auto"
) -> Weighed[MemoryT]:
    """What it is to each of the nearest others that hold. No transaction is open."""
    compared = [other for other in others if other.superseded_by is None][:_LOOKED_AT]
    if not compared:
        return Weighed()
    pairs = [
        (other.content, new.content) if _before(other, new) else (new.content, other.content) for other in compared
    ]
    judged = list(zip(compared, await judge_pairs(services, pairs), strict=True))
    looked_for = "update" if mode != "off" else None
    updates = [(other, judgement.sure) for other, judgement in judged if judgement.relation == looked_for]
    sure = [other for other, is_sure in updates if is_sure and mode == "auto"]
    later = [other for other in sure if not _before(other, new)]
    return Weighed(
        known=tuple(other for other, judgement in judged if judgement.relation == "duplicate" and judgement.sure),
        outdated=tuple(other for other in sure if _before(other, new)),
        perhaps=tuple(other for other, _ in updates if other not in sure),
        revised_by=min(later, key=lambda other: other.created_at, default=None),
    )


def _before(other: MemoryT, new: MemoryT) -> bool:
    return other.valid_from <= new.valid_from


async def still_there(
    conn: Connection, kind: Kind[MemoryT], space: int, judged: Sequence[MemoryT]
) -> list[MemoryT]:  # fmt: skip
    """Those that nobody has changed, moved or put away since they were judged. The space is held."""
    now = await memories.by_ids(conn, kind.shape, [memory.id for memory in judged]) if judged else {}
    current = [(now.get(memory.id), memory.version) for memory in judged]
    return [memory for memory, version in current if memory and memory.space == space and memory.version == version]


async def supersede(
    conn: Connection, services: Services, principal: Principal, kind: Kind[MemoryT], old: MemoryT, by: str,
    at: datetime,
) -> None:  # fmt: skip
    """It no longer holds, and is found no more; it stays readable. The space is held."""
    over = replace(old, superseded_by=by, valid_to=max(old.valid_from, at), updated_at=services.clock())
    await shelf.rewrite(conn, services, principal, kind, old, Prepared(over, ()), "superseded")


async def revive(
    services: Services, principal: Principal, kind: Kind[MemoryT], find: Finder[MemoryT]
) -> MemoryT:  # fmt: skip
    """It holds again, beside what had taken its place. Done twice it changes nothing."""
    while True:
        async with services.db.transaction(account_scope(principal)) as conn:
            [memory] = await find(conn)
            before = kind.live(memory)
        if before.superseded_by is None:
            return before
        again = replace(before, superseded_by=None, valid_to=None, updated_at=services.clock())
        prepared = await shelf.prepare(services, kind, again)
        async with services.db.transaction(account_scope(principal)) as conn:
            [current] = await shelf.held(conn, find)
            if current.version == before.version:
                return await shelf.rewrite(conn, services, principal, kind, current, prepared, "revived")
