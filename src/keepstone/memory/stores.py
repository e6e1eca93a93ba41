"""Stores: values that agents put under a namespace and a key, get back word for word, and find by meaning.

A store is its user's, or for a service key that names nobody the account's; it is made with its first item. All that is
asked at once happens in one transaction and in its order: each operation sees what those before it did, and if one
can't be done, none is.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from keepstone.access.audit import record
from keepstone.access.plans import require_room
from keepstone.access.readscope import account_scope, space_scope
from keepstone.engine import lookup, traced
from keepstone.engine.gathered import CANDIDATES, SEVERAL_NOTES, SearchPlace
from keepstone.errors import Conflict, NotFound
from keepstone.memory import shelf
from keepstone.memory.kinds import Kind, Prepared, Written
from keepstone.model.item import (
    Change,
    Delete,
    FoundItem,
    FoundItems,
    Get,
    Item,
    ItemVersion,
    ListNamespaces,
    Operation,
    Outcome,
    Put,
    Search,
    Store,
    address,
    check_index,
    check_namespace,
    check_version,
    conditions_of,
    expires,
    joined,
    texts_of,
    written,
)
from keepstone.model.memory import restorable
from keepstone.model.page import Page, PageRequest, cut_page, number_in
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import candidates, memories, passages, spaces
from keepstone.store import items as store
from keepstone.store.db import Connection, enter

KIND = "store"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Put:
    """A put with all that is made of it before the database is asked."""

    asked: Put
    prepared: Prepared[Item]
    change: Change | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    asked: Search
    conditions: list[dict[str, Any]]
    question: lookup.AskedOf[SearchPlace] | None = None
    trace: traced.TraceDraft | None = None


_Prepared = _Put | Get | Delete | _Search | ListNamespaces


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where it happens, for whom and when. What puts leave to be done is done for all together, in far less time."""

    services: Services
    principal: Principal
    conn: Connection
    space: int
    now: datetime
    few: int
    left: list[Written[Item]] = field(default_factory=list[Written[Item]])


# ------------------------------------------------------------------------------------------------------- stores


async def list_stores(services: Services, principal: Principal, page: PageRequest) -> Page[Store]:
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.stores(conn, principal.user_id, page)


async def run(
    services: Services, principal: Principal, name: str, operations: Sequence[Operation], *, few: int = lookup.FEW
) -> list[Outcome]:
    """One outcome for each: an item, what was found, or namespaces; None for what is not there."""
    prepared = await _prepare(services, principal, name, operations)
    return await _run(services, principal, name, prepared, few=few)


async def put(services: Services, principal: Principal, name: str, asked: Put) -> Item:
    [made] = await run(services, principal, name, [asked])
    assert isinstance(made, Item)  # noqa: S101  a put that can't be done raises
    return made


async def get(services: Services, principal: Principal, name: str, asked: Get) -> Item:
    [item] = await run(services, principal, name, [asked])
    if not isinstance(item, Item):
        raise ITEMS.not_found()
    return item


async def delete(services: Services, principal: Principal, name: str, asked: Delete) -> None:
    """Into the trash, for 30 days."""
    [gone] = await run(services, principal, name, [asked])
    if gone is None:
        raise ITEMS.not_found()


async def find(services: Services, principal: Principal, name: str, asked: Search) -> FoundItems:
    [outcome] = await run(services, principal, name, [asked])
    assert isinstance(outcome, FoundItems)  # noqa: S101
    return outcome


async def list_namespaces(
    services: Services, principal: Principal, name: str, asked: ListNamespaces
) -> list[list[str]]:
    [outcome] = await run(services, principal, name, [asked])
    assert isinstance(outcome, list)  # noqa: S101
    return outcome


async def list_trash(services: Services, principal: Principal, name: str, page: PageRequest) -> Page[Item]:
    """Deleted last first."""
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await _enter(conn, principal, name)
        if space is None:
            return Page(items=[], next_cursor=None)
        return await store.in_trash(conn, space, services.clock(), page)


async def history(
    services: Services, principal: Principal, name: str, namespace: Sequence[str], key: str, page: PageRequest
) -> Page[ItemVersion]:
    """Every version, the latest first; also of what is in the trash."""
    before = number_in(page)
    async with services.db.transaction(account_scope(principal)) as conn:
        item = await _kept(conn, services, principal, name, namespace, key)
        versions = await memories.versions(conn, ItemVersion, item.id, before=before, limit=page.limit + 1)
    return cut_page(versions, page, lambda version: (version.changed_at, str(version.version)))


async def restore(
    services: Services,
    principal: Principal,
    name: str,
    *,
    namespace: Sequence[str],
    key: str,
    version: int | None = None,
    if_version: int | None = None,
) -> Item:
    """What was deleted, or what an item was before: as another version, so that nothing is lost by it."""
    async with services.db.transaction(account_scope(principal)) as conn:
        item = await _kept(conn, services, principal, name, namespace, key)
        if item.deleted_at is not None and not restorable(item.deleted_at, services.clock()):
            raise ITEMS.not_found()
        if item.deleted_at is None and version is None:
            raise Conflict("This item is not in the trash: name the version to go back to.")
        wanted = version or item.version
        [old] = await memories.versions(conn, ItemVersion, item.id, before=wanted + 1, limit=1) or [None]
    if old is None or old.version != wanted:
        raise NotFound("This item has no such version: its history shows those that it has.")
    asked = Put(
        namespace=namespace, key=key, value=old.value, index=old.metadata.get("index"),
        ttl_seconds=old.metadata.get("ttl_seconds"), if_version=if_version,
    )  # fmt: skip
    made = await _prepare_put(services, asked)
    [back] = await _run(services, principal, name, [replace(made, change="restored")])
    assert isinstance(back, Item)  # noqa: S101
    return back


# ------------------------------------------------------------------------------------- before the database is asked


async def _prepare(
    services: Services, principal: Principal, name: str, operations: Sequence[Operation]
) -> list[_Prepared]:  # fmt: skip
    prepared = list[_Prepared]()
    for operation in operations:
        if isinstance(operation, Put):
            prepared.append(await _prepare_put(services, operation))
        elif isinstance(operation, Search):
            prepared.append(await _prepare_search(services, principal, name, operation))
        else:
            if not isinstance(operation, ListNamespaces):
                check_namespace(operation.namespace)
            prepared.append(operation)
    return prepared


async def _read(services: Services, prepared: Sequence[_Prepared]) -> list[_Prepared]:
    puts = iter(await shelf.read_at_once(services, [one.prepared for one in prepared if isinstance(one, _Put)]))
    return [replace(one, prepared=next(puts)) if isinstance(one, _Put) else one for one in prepared]


async def _prepare_put(services: Services, asked: Put) -> _Put:
    check_namespace(asked.namespace)
    content = written(asked.value)
    check_index(asked.value, asked.index)
    options = {"index": asked.index, "ttl_seconds": asked.ttl_seconds}
    item = ITEMS.new(
        services.clock(), path=joined(asked.namespace), key=asked.key, address=address(asked.namespace, asked.key),
        content=content, metadata={name: value for name, value in options.items() if value is not None},
    )  # fmt: skip
    return _Put(asked=asked, prepared=await shelf.prepare(services, ITEMS, item, embed=False))


async def _prepare_search(services: Services, principal: Principal, name: str, asked: Search) -> _Search:
    check_namespace(asked.prefix)
    conditions = conditions_of(asked.filter)
    if asked.query is None or not asked.query.strip():
        return _Search(asked=asked, conditions=conditions)
    trace = traced.begin(services, principal, "search", asked.query, limit=asked.limit, prefix=list(asked.prefix))
    question = lookup.question(asked.query, asked_at=services.clock(), zone=principal.timezone)
    asked_of = await lookup.ask(services, question, _survey(services, principal, name))
    trace.asked_of(asked_of.place.scope, question=asked_of.question)
    trace.step("look up")
    return _Search(asked=asked, conditions=conditions, question=asked_of, trace=trace)


async def _survey(services: Services, principal: Principal, name: str) -> SearchPlace:
    async with services.db.transaction(account_scope(principal)) as conn:
        named = await candidates.find_and_survey(conn, kind=KIND, name=name, owner=principal.user_id)
    space, size = named or (0, candidates.NOTHING)
    return SearchPlace(scope=space_scope(principal, space), size=size)


# ------------------------------------------------------------------------------------------------ in one transaction


async def _run(
    services: Services, principal: Principal, name: str, prepared: Sequence[_Prepared], *, few: int = lookup.FEW
) -> list[Outcome]:
    prepared, outcomes = await _read(services, prepared), list[Outcome]()
    async with services.db.transaction(account_scope(principal)) as conn:
        if any(isinstance(operation, _Put) for operation in prepared):
            space = await spaces.hold(conn, kind=KIND, name=name, owner=principal.user_id)
            await enter(conn, space_scope(principal, space))
        else:
            space = await _enter(conn, principal, name)
            if space is None:
                return [_nothing(operation) for operation in prepared]
            if any(isinstance(operation, Delete) for operation in prepared):
                await spaces.hold(conn, kind=KIND, name=name, owner=principal.user_id)
        # Read when nobody else writes any more, so that later versions have later times.
        place = _Place(services=services, principal=principal, conn=conn, space=space, now=services.clock(), few=few)
        for number, operation in enumerate(prepared):
            try:
                # One after the other in time too, so that what was put last is listed first.
                outcomes.append(await _do(replace(place, now=place.now + timedelta(microseconds=number)), operation))
            except Conflict as fault:
                if len(prepared) > 1:
                    fault.details = {**dict(fault.details or {}), "operation": number}
                raise
        await _settle(place)
    return outcomes


async def _do(place: _Place, operation: _Prepared) -> Outcome:
    if isinstance(operation, Delete | _Search):
        await _settle(place)
    match operation:
        case _Put():
            return await _keep(place, operation)
        case Get():
            return await _get(place, operation)
        case Delete():
            return await _delete(place, operation)
        case _Search():
            question = operation.question
            return await (_by_meaning(place, operation, question) if question else _listed(place, operation))
        case ListNamespaces():
            return await store.namespaces(place.conn, place.space, operation, place.now)


def _nothing(operation: _Prepared) -> Outcome:
    """What there is to be found in a store that nobody has made."""
    if isinstance(operation, _Search):
        if operation.trace is not None:
            operation.trace.end()
        return FoundItems(items=[])
    if isinstance(operation, Delete):
        check_version(operation.if_version, None)
    return [] if isinstance(operation, ListNamespaces) else None


async def _keep(place: _Place, made: _Put) -> Item:
    conn, now, asked, prepared = place.conn, place.now, made.asked, made.prepared
    known = await store.at_address(conn, place.space, address(asked.namespace, asked.key))
    if known is not None and known.expired(now):
        await _remove(place, known)
        known = None
    live = known if known is not None and known.live else None
    check_version(asked.if_version, live)
    if known is not None and any(known.id == row.memory.id for row in place.left):
        await _settle(place)  # each version is kept as it was
    if known is None:
        prepared = prepared.moved(space=place.space, user_id=place.principal.user_id)
    else:
        prepared = prepared.moved(
            id=known.id, space=known.space, user_id=known.user_id, version=known.version + 1,
            version_bytes=known.version_bytes + known.written_bytes,
        )  # fmt: skip
    born = known.created_at if known and (live or made.change) else now
    item = ITEMS.weighed(replace(
        prepared.memory, created_at=born, updated_at=now, valid_from=born, valid_to=expires(now, asked.ttl_seconds)
    ))  # fmt: skip
    if (growth := item.kept_bytes - (live.kept_bytes if live else 0)) > 0:  # what was put before is not counted yet
        await require_room(conn, place.services, place.principal, growth + sum(row.growth for row in place.left))
    if known is None:
        await memories.insert(conn, store.SHAPE, item)
    else:
        await memories.update(conn, known, item)
    same = live is not None and ITEMS.indexed(live) == ITEMS.indexed(item)
    after = replace(prepared, memory=item, passages=None if same else prepared.passages)
    place.left.append(Written(made.change or ("updated" if live else "created"), known, after))
    return item


async def _settle(place: _Place) -> None:
    """What follows from what was put, before anybody looks for it."""
    if place.left:
        await shelf.settle(place.conn, place.services, place.principal, ITEMS, place.left)
        place.left.clear()


async def _remove(place: _Place, item: Item) -> None:
    """What is over, before the job comes."""
    await passages.delete(place.conn, "memory", [item.id])
    await memories.remove(place.conn, item.id)
    if item.live:
        await memories.count_in(place.conn, place.space, memories=-1, size=-item.kept_bytes)
    await record(place.conn, place.principal, "item.expire", item.id)


async def _get(place: _Place, asked: Get) -> Item | None:
    item = await store.at_address(place.conn, place.space, address(asked.namespace, asked.key))
    if item is None or not item.live or item.expired(place.now):
        return None
    return (await _refreshed(place, [item]))[0] if asked.refresh_ttl else item


async def _delete(place: _Place, asked: Delete) -> Item | None:
    item = await store.at_address(place.conn, place.space, address(asked.namespace, asked.key))
    item = item if item is not None and item.live and not item.expired(place.now) else None
    check_version(asked.if_version, item)
    if item is None:
        return None
    await shelf.put_away(place.conn, place.principal, ITEMS, [item.id], deleted_at=place.now)
    return replace(item, deleted_at=place.now, version=item.version + 1)


async def _listed(place: _Place, search: _Search) -> FoundItems:
    items = await store.listed(place.conn, _filter(place, search), limit=search.asked.limit, offset=search.asked.offset)
    items = await _refreshed(place, items) if search.asked.refresh_ttl else items
    return FoundItems(items=[FoundItem(item=item, score=None) for item in items])


async def _by_meaning(place: _Place, search: _Search, question: lookup.AskedOf[SearchPlace]) -> Outcome:
    conn, asked, passing = place.conn, search.asked, _filter(place, search)
    where = await lookup.survey(conn, space_scope(place.principal, place.space))
    if where.empty:
        return _nothing(search)
    wanted = asked.offset + asked.limit
    enough = max(CANDIDATES, wanted)
    if asked.prefix or search.conditions or await store.any_expired(conn, place.space, place.now):
        where = await lookup.narrowed(
            where,
            lambda most: store.passages_of(conn, passing, most=most),
            lambda conn, passages: store.which_pass(conn, passing, passages),
            enough=enough,
            few=place.few,
        )
    matches = await lookup.find(
        conn, replace(question, place=where), limit=wanted, floor=asked.min_relevance, enough=enough,
        style=SEVERAL_NOTES,
    )  # fmt: skip
    hits = matches.hits[asked.offset :]
    items = await store.by_ids(conn, [hit.source_id for hit in hits], place.now)
    if asked.refresh_ttl:
        items = {item.id: item for item in await _refreshed(place, list(items.values()))}
    shown = [FoundItem(item=items[hit.source_id], score=hit.relevance) for hit in hits if hit.source_id in items]
    if search.trace is not None:
        search.trace.step("search")
        handed = {found.item.id: (place.principal.user_id, found.item.content) for found in shown}
        search.trace.end(lambda: traced.of_search(matches, handed))
    return FoundItems(items=shown, degraded=matches.degraded)


def _filter(place: _Place, search: _Search) -> store.ItemFilter:
    return store.ItemFilter(space=place.space, prefix=search.asked.prefix, conditions=search.conditions, now=place.now)


async def _refreshed(place: _Place, items: Sequence[Item]) -> list[Item]:
    """What was read lasts as long again."""
    lasting = [item.id for item in items if item.ttl_seconds is not None]
    if lasting:
        await memories.prolong(place.conn, lasting, place.now)
    return [replace(item, valid_to=expires(place.now, item.ttl_seconds)) for item in items]


# -------------------------------------------------------------------------------------------------------- shared


async def _enter(conn: Connection, principal: Principal, name: str) -> int | None:
    """The caller's store of this name. From here on the transaction reaches what is in it."""
    space = await spaces.find(conn, kind=KIND, name=name, owner=principal.user_id)
    if space is not None:
        await enter(conn, space_scope(principal, space))
    return space


async def _kept(
    conn: Connection, services: Services, principal: Principal, name: str, namespace: Sequence[str], key: str
) -> Item:
    """There or in the trash, but not over."""
    check_namespace(namespace)
    space = await _enter(conn, principal, name)
    item = None if space is None else await store.at_address(conn, space, address(namespace, key))
    if item is None or item.expired(services.clock()):
        raise ITEMS.not_found()
    return item


# What is put twice at two addresses is two items; what is put again at one is its next version.
ITEMS = Kind(
    shape=store.SHAPE, noun="item", prefix="item", unique=False, text_field="value",
    missing="There is no item under this namespace and key in this store.",
    verbs={"created": "put", "updated": "put"}, included=0, indexed=lambda item: texts_of(item.value, item.index),
    content_hash=lambda item: hashlib.sha256(item.content.encode()).digest(),
)  # fmt: skip
