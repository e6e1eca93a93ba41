"""Looking for what is remembered for users, agents, apps and runs: by words and meaning, or page by page; both within
a filter that names whose it is.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from keepstone.access import meter
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine.search import CANDIDATES, Question, Read, Style, read, read_for, search
from keepstone.memory.workspace_search import worth_showing
from keepstone.model.entity import EntityMemory, Filter, Wanted, only_ids
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal, ReadScope
from keepstone.services import Services
from keepstone.store import candidates, entities
from keepstone.store import entity_memories as store
from keepstone.store.db import Connection, enter

RESULTS, MOST_RESULTS = 10, 1_000
FEW = 5_000  # passages that pass a filter, up to which each of them is looked at
_LOOKED_AT = 50
_READ = 4_000
_NOTES = Style(talk=False, several=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    memory: EntityMemory
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    items: Sequence[EntityMemory]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where it is looked for, and which passages pass the filter: None when all do, or too many to name."""

    spaces: tuple[int, ...]
    scope: ReadScope
    size: candidates.Survey
    narrowed: bool
    passing: tuple[int, ...] | None


async def find(
    services: Services,
    principal: Principal,
    query: str,
    wanted: Wanted,
    *,
    limit: int = RESULTS,
    floor: float | None = None,
    asked_at: datetime | None = None,
    few: int = FEW,
) -> list[Result]:
    """The memories that the query is about, the most relevant first; with a `floor` none of less relevance. One
    query of the month's limit, unless there is nothing at all to look through.
    """
    now = services.clock()
    question = Question(text=query[:_READ], speaker=None, asked_at=asked_at or now)
    place, asked = await asyncio.gather(_survey(services, principal, wanted, few), read(services, question))
    if not place.size.passages or place.passing == ():
        return []
    asked = await read_for(services, _narrowed(asked, place, wanted, now), place.size)
    async with services.db.transaction(place.scope) as conn:
        many = limit if floor is not None else max(limit, _LOOKED_AT)
        found = await search(
            conn, place.scope, asked, place.size, limit=many, enough=max(CANDIDATES, limit), floor=floor, style=_NOTES
        )
        hits = (found.hits if floor is not None else worth_showing(found.hits))[:limit]
        memories = await store.by_ids(conn, [hit.source_id for hit in hits])
        await meter.charge(services, conn, principal, "memory_recall", new_id("qry"))
    return [
        Result(memory=memories[hit.source_id], relevance=hit.relevance)
        for hit in hits
        if hit.source_id in memories and memories[hit.source_id].deleted_at is None
    ]


async def list_memories(
    services: Services, principal: Principal, wanted: Wanted, *, limit: int, offset: int
) -> Listed:  # fmt: skip
    """The newest first, and how many there are in all."""
    now = services.clock()
    async with services.db.transaction(account_scope(principal.account)) as conn:
        places = await _enter(conn, principal, wanted.filter)
        items = await store.page(conn, places, wanted, now, limit=limit, offset=offset)
        return Listed(items=items, total=await store.count(conn, places, wanted, now))


async def list_trash(
    services: Services, principal: Principal, wanted: Filter, *, limit: int, offset: int
) -> Sequence[EntityMemory]:
    """What was deleted of somebody, and can be brought back."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        places = await _enter(conn, principal, wanted)
        return await store.in_trash(conn, places, limit=limit, offset=offset)


async def _enter(conn: Connection, principal: Principal, wanted: Filter) -> list[int]:
    """From here on the transaction reaches the spaces in which something can pass the filter."""
    places = await entities.matching(conn, principal.user_id, wanted)
    await enter(conn, space_scope(principal, *places))
    return places


async def _survey(services: Services, principal: Principal, wanted: Wanted, few: int) -> _Place:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await meter.begin(services, conn, "memory_recall")
        places = await _enter(conn, principal, wanted.filter)
        size = await candidates.survey(conn, places)
        narrowed = not only_ids(wanted.filter) or (not wanted.expired and await store.any_expire(conn, places))
        # If more pass, enough of them are among the nearest of all, as far as those are looked at.
        most = max(few, CANDIDATES * size.passages // candidates.WIDEST)
        passing = await store.passages_of(conn, places, wanted, services.clock(), most=most) if narrowed else None
    return _Place(
        spaces=tuple(places), scope=space_scope(principal, *places), size=size, narrowed=narrowed,
        passing=None if passing is None else tuple(passing),
    )  # fmt: skip


def _narrowed(asked: Read, place: _Place, wanted: Wanted, now: datetime) -> Read:
    if not place.narrowed:
        return asked
    if place.passing is not None:
        return replace(asked, question=replace(asked.question, passages=place.passing))

    async def passes(conn: Connection, passages: Sequence[int]) -> set[int]:
        return await store.which_pass(conn, place.spaces, wanted, now, passages)

    return replace(asked, question=replace(asked.question, passes=passes))
