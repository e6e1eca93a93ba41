"""Looking for what is remembered for users, agents, apps and runs: by words and meaning, or page by page; both within
a filter that names whose it is.
"""

from collections.abc import Sequence
from datetime import datetime

from keepstone.access import meter
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import lookup, traced
from keepstone.engine.gathered import CANDIDATES, SEVERAL_NOTES, SearchPlace
from keepstone.memory import shelf
from keepstone.memory.workspace_search import worth_showing
from keepstone.model.entity import EntityFilter, EntityMemory, Filter, only_ids
from keepstone.model.ids import new_id
from keepstone.model.memory import Recalled, restorable_since
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import entities
from keepstone.store import entity_memories as store
from keepstone.store.db import Connection, enter

RESULTS, MOST_RESULTS = 10, 1_000
_LOOKED_AT = 50


async def find(
    services: Services,
    principal: Principal,
    query: str,
    wanted: EntityFilter,
    *,
    limit: int = RESULTS,
    floor: float | None = None,
    asked_at: datetime | None = None,
    few: int = lookup.FEW,
) -> list[Recalled[EntityMemory]]:
    """The memories that the query is about, the most relevant first; with a `floor` none of less relevance. One
    query of the month's limit, unless there is nothing at all to look through.
    """
    now = services.clock()
    question = lookup.question(query, asked_at=asked_at or now, zone=principal.timezone)
    trace = traced.begin(services, principal, "search", query, limit=limit, min_relevance=floor)
    asked = await lookup.ask(services, question, _survey(services, principal, wanted, now, few))
    trace.asked_of(asked.place.scope, question=asked.question)
    trace.step("look up")
    if asked.place.empty:
        trace.end()
        return []
    async with services.db.transaction(asked.place.scope) as conn:
        many = limit if floor is not None else max(limit, _LOOKED_AT)
        enough = max(CANDIDATES, limit)
        matches = await lookup.find(conn, asked, limit=many, enough=enough, floor=floor, style=SEVERAL_NOTES)
        worth = matches.hits if floor is not None else worth_showing(matches.hits)
        hits = worth[:limit]
        memories = await store.by_ids(conn, [hit.source_id for hit in hits])
        await meter.charge(services, conn, principal, "memory_recall", new_id("qry"))
    recalled = shelf.recalled(hits, {name: memory for name, memory in memories.items() if memory.deleted_at is None})
    trace.step("search")
    handed = {item.memory.id: (principal.user_id, item.memory.content) for item in recalled}
    trace.end(lambda: traced.of_search(matches, handed, worth=worth))
    return recalled


async def list_memories(
    services: Services, principal: Principal, wanted: EntityFilter, *, limit: int, offset: int
) -> tuple[Sequence[EntityMemory], int]:
    """The newest first, and how many there are in all."""
    now = services.clock()
    async with services.db.transaction(account_scope(principal)) as conn:
        spaces = await _enter(conn, principal, wanted.filter)
        items = await store.page(conn, spaces, wanted, now, limit=limit, offset=offset)
        return items, await store.count(conn, spaces, wanted, now)


async def list_trash(
    services: Services, principal: Principal, wanted: Filter, *, limit: int, offset: int
) -> Sequence[EntityMemory]:
    """What was deleted of somebody, and can be brought back."""
    async with services.db.transaction(account_scope(principal)) as conn:
        spaces = await _enter(conn, principal, wanted)
        since = restorable_since(services.clock())
        return await store.in_trash(conn, spaces, since, limit=limit, offset=offset)


async def _enter(conn: Connection, principal: Principal, wanted: Filter) -> list[int]:
    """From here on the transaction reaches the spaces in which something can pass the filter."""
    spaces = await entities.matching(conn, principal.user_id, wanted)
    await enter(conn, space_scope(principal, *spaces))
    return spaces


async def _survey(
    services: Services, principal: Principal, wanted: EntityFilter, now: datetime, few: int
) -> SearchPlace:  # fmt: skip
    """The spaces in which something can pass, and what in them does."""
    async with services.db.transaction(account_scope(principal)) as conn:
        await meter.begin(services, conn, "memory_recall")
        spaces = await _enter(conn, principal, wanted.filter)
        place = await lookup.survey(conn, space_scope(principal, *spaces))
        if only_ids(wanted.filter) and (wanted.expired or not await store.any_expire(conn, spaces)):
            return place

        async def passes(conn: Connection, passages: Sequence[int]) -> set[int]:
            return await store.which_pass(conn, spaces, wanted, now, passages)

        return await lookup.narrowed(
            place, lambda most: store.passages_of(conn, spaces, wanted, now, most=most), passes, few=few
        )
