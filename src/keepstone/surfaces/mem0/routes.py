"""The addresses that the client of the `mem0ai` package calls, with their slashes."""

import ast
import json
from collections.abc import Mapping
from typing import Annotated, Any, cast, get_args

from fastapi import Query, Request

from keepstone.access.users import get_user
from keepstone.errors import Invalid, NotFound
from keepstone.memory import entity_memories, entity_search
from keepstone.memory.entity_memories import Change, NewMemories
from keepstone.memory.superseding import SupersedeWish
from keepstone.model.entity import (
    ID_FIELDS,
    Comparison,
    EntityFilter,
    EntityMessage,
    EntityType,
    Every,
    Filter,
    IdField,
    Ids,
)
from keepstone.model.principal import Principal
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import refuse, refuse_unstorable
from keepstone.surfaces.mem0 import wire
from keepstone.surfaces.mem0.errors import Mem0ErrorOut, Mem0Route
from keepstone.surfaces.mem0.filters import check_id, of_ids, read_filters, read_moment
from keepstone.surfaces.mem0.pages import read_part

router = Router(
    tags=["mem0"],
    route_class=Mem0Route,
    responses={
        "4XX": {"model": Mem0ErrorOut, "description": "What was wrong with the request, and what to do."},
        "5XX": {"model": Mem0ErrorOut, "description": "What is wrong here; try again."},
    },
)

# The client looks for both. An account has one project.
_PROJECT = "default"
_EXTRACT_YOURSELF = "read the messages yourself and send what is to be kept with infer=False"
_NOT_HERE: Mapping[str, str] = {
    "custom_categories": "send the categories themselves in `categories`",
    "structured_data_schema": "send what is structured in `metadata`",
    "enable_graph": "graphs are at /v1/graphs",
    **dict.fromkeys(("custom_instructions", "agent_custom_instructions", "includes", "excludes"), _EXTRACT_YOURSELF),
}
_NO_EXPORTS = "There are no exports by a schema here: get_all() gives every memory, page by page."
_NO_PROFILES = "There are no profiles here: search() finds what is known of a user."
_NO_EVENTS = "There are no events to wait for here: what add() answers is stored."
_OLD = "Only mem0's older clients call this: take mem0ai 2 for Python or 3 for npm, or send the same to /v3/memories/"
_NOTHING_KEPT = (
    "There was nothing to keep: of a conversation that is what lasts, and of a message alone whatever it says, unless "
    "it only asks or greets. With infer=False every message is kept as it is."
)
_NO_SETUP = "There are no organisations or projects to set up here: a key is an account's, see /v1/keys."
_UNSUPPORTED: Mapping[tuple[str, str], str] = {
    ("POST", "/v1/memories/"): f"{_OLD}add/.",
    ("GET", "/v1/memories/"): f"{_OLD}, with POST.",
    ("POST", "/v1/memories/search/"): f"{_OLD}search/.",
    ("POST", "/v2/memories/"): f"{_OLD}.",
    ("POST", "/v2/memories/search/"): f"{_OLD}search/.",
    ("GET", "/v1/events/"): _NO_EVENTS,
    ("GET", "/v1/event/{name}/"): _NO_EVENTS,
    ("POST", "/v1/feedback/"): "Feedback is not kept here: update the memory, or delete it.",
    ("POST", "/v1/exports/"): _NO_EXPORTS,
    ("POST", "/v1/exports/get/"): _NO_EXPORTS,
    ("POST", "/v1/summary/"): "There are no summaries here: get_all() gives every memory, page by page.",
    ("GET", "/v2/entities/user/{name}/profile/"): _NO_PROFILES,
    ("POST", "/v2/profiles/jobs/"): _NO_PROFILES,
    ("GET", "/v2/profiles/jobs/{name}/"): _NO_PROFILES,
    ("GET", "/v2/profiles/settings/"): _NO_PROFILES,
    ("POST", "/v2/profiles/settings/"): _NO_PROFILES,
    **{
        (method, f"/api/v1/{what}/{{rest:rest}}"): message
        for what, message in (("orgs", _NO_SETUP), ("webhooks", "There are no webhooks here."))
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
    },
}
UNSUPPORTED = tuple(f"{method} {path.replace(':rest', '')}" for method, path in _UNSUPPORTED)

Address = Annotated[wire.Mem0PartIn, Query()]
OneId = Annotated[str | None, Query(max_length=255)]


@router.get("/v1/ping/", summary="Whether the key is good, and whose it is")
async def mem0_ping(services: Used, principal: Caller) -> wire.Mem0PingOut:
    email = (await get_user(services, principal, principal.user_id)).email if principal.user_id else None
    return wire.Mem0PingOut(status="ok", org_id=principal.account_id, project_id=_PROJECT, user_email=email)


@router.post("/v3/memories/add/", summary="Remember something for a user, an agent, an app or a run")
async def mem0_add(services: Used, principal: Caller, body: wire.Mem0AddIn) -> wire.Mem0AddOut:
    _check_request(principal, body)
    new = NewMemories(
        ids=_ids(body.model_dump(include=set(ID_FIELDS), exclude_none=True), body.filters),
        messages=[_said(message) for message in body.messages], infer=body.infer is not False,
        metadata=body.metadata or {}, categories=list(dict.fromkeys(body.categories)), immutable=body.immutable,
        expires_on=body.expiration_date,
        at=None if body.timestamp is None else read_moment("timestamp", body.timestamp).start,
        wish=SupersedeWish.of(body.supersede),
    )  # fmt: skip
    kept = await entity_memories.add(services, principal, new)
    return wire.Mem0AddOut(results=[wire.show_kept(memory) for memory in kept], message=None if kept else _NOTHING_KEPT)


@router.post("/v3/memories/search/", summary="Find memories by what they are about")
async def mem0_search(services: Used, principal: Caller, body: wire.Mem0SearchIn) -> wire.Mem0SearchOut:
    _check_request(principal, body)
    metadata = {"metadata": body.metadata} if body.metadata else {}
    wanted = _wanted(body.filters, body.categories, metadata, expired=body.show_expired)
    matches = await entity_search.find(
        services, principal, body.query, wanted, limit=body.top_k or body.limit or entity_search.RESULTS,
        floor=body.threshold,
        asked_at=None if body.reference_date is None else read_moment("reference_date", body.reference_date).start,
    )  # fmt: skip
    shown = [wire.Mem0FoundOut.of(match.memory, score=match.relevance) for match in matches]
    return wire.Mem0SearchOut(results=[_only(memory, body.fields) for memory in shown])


@router.post("/v3/memories/", summary="The memories that pass a filter, the newest first")
async def mem0_list(
    request: Request, services: Used, principal: Caller, body: wire.Mem0ListIn, address: Address
) -> wire.Mem0PageOut:
    _check_request(principal, body)
    between = {
        operator: value for operator, value in (("gte", body.start_date), ("lte", body.end_date)) if value is not None
    }
    dates = {"created_at": between} if between else {}
    wanted = _wanted(body.filters, body.categories, dates, expired=body.show_expired)
    part = read_part(address, body)
    memories, total = await entity_search.list_memories(services, principal, wanted, limit=part.size, offset=part.start)
    shown = [_only(wire.Mem0MemoryOut.of(memory), body.fields) for memory in memories]
    return wire.Mem0PageOut(count=total, results=shown, **part.beside(request, total))


@router.delete("/v1/memories/", summary="Everything of a user, an agent, an app or a run into the trash")
async def mem0_delete_all(
    services: Used, principal: Caller, user_id: OneId = None, agent_id: OneId = None, app_id: OneId = None,
    run_id: OneId = None, filters: Annotated[str | None, Query(max_length=10_000)] = None,
) -> wire.Mem0MessageOut:  # fmt: skip
    named = {"user_id": user_id, "agent_id": agent_id, "app_id": app_id, "run_id": run_id}
    for name, value in (*named.items(), ("filters", filters)):
        refuse(name, value)
    ids = {name: check_id(name, value) for name, value in named.items() if value is not None}
    wanted = read_filters(_sent(filters), of_ids(cast("dict[IdField, str | None]", ids)))
    gone = await entity_memories.delete_all(services, principal, wanted)
    return wire.Mem0MessageOut(
        message=f"Memories deleted successfully! There were {gone}; they are in the trash for 30 days."
    )


@router.post("/v3/memories/trash/", summary="What was deleted of somebody, and can be brought back")
async def mem0_trash(services: Used, principal: Caller, body: wire.Mem0TrashIn, address: Address) -> wire.Mem0TrashOut:
    _check_request(principal, body)
    part = read_part(address, body)
    memories = await entity_search.list_trash(
        services, principal, read_filters(body.filters), limit=part.size, offset=part.start
    )
    return wire.Mem0TrashOut(results=[wire.Mem0MemoryOut.of(memory) for memory in memories])


_memories = Routes(router, wire.Mem0MemoryOut)
_MEMORY = "/v1/memories/{memory_id:mem}/"
_memories.one("GET", _MEMORY, entity_memories.get, "mem0_get", "One memory")


@router.put("/v1/memories/{memory_id:mem}/", summary="Change a memory; what it was stays in its history")
async def mem0_update(services: Used, principal: Caller, memory_id: str, body: wire.Mem0UpdateIn) -> wire.Mem0MemoryOut:
    (done,) = await entity_memories.update(services, principal, [_change(memory_id, body)])
    return wire.Mem0MemoryOut.of(done)


@router.delete("/v1/memories/{memory_id:mem}/", summary="A memory into the trash, for 30 days")
async def mem0_delete(
    services: Used, principal: Caller, memory_id: str,
    delete_linked: Annotated[bool, Query(description="Makes no difference: what it replaced is its history.")] = False,  # noqa: ARG001
) -> wire.Mem0MessageOut:  # fmt: skip
    await entity_memories.delete(services, principal, [memory_id])
    return wire.Mem0MessageOut(message="Memory deleted successfully!")


@router.get("/v1/memories/{memory_id:mem}/history/", summary="Every version of a memory, the first one first")
async def mem0_history(services: Used, principal: Caller, memory_id: str) -> list[wire.Mem0VersionOut]:
    memory, versions = await entity_memories.history(services, principal, memory_id)
    return [
        wire.show_version(memory, before, version) for before, version in zip([None, *versions], versions, strict=False)
    ]


@router.post(
    "/v1/memories/{memory_id:mem}/restore/", summary="A memory out of the trash, or back to an earlier version"
)
async def mem0_restore(
    services: Used, principal: Caller, memory_id: str, body: wire.Mem0RestoreIn | None = None
) -> wire.Mem0MemoryOut:
    version = None if body is None else body.version
    return wire.Mem0MemoryOut.of(await entity_memories.restore(services, principal, memory_id, version=version))


_memories.one(
    "POST", f"{_MEMORY}revive/", entity_memories.revive, "mem0_revive",
    "What an update took the place of holds again, beside it",
)  # fmt: skip


@router.put("/v1/batch/", summary="Change several memories, all or none")
async def mem0_batch_update(services: Used, principal: Caller, body: wire.Mem0BatchUpdateIn) -> wire.Mem0MessageOut:
    changes = [_change(change.memory_id, change) for change in body.memories]
    done = await entity_memories.update(services, principal, changes)
    return wire.Mem0MessageOut(message=f"Successfully updated {len(done)} memories")


@router.delete("/v1/batch/", summary="Several memories into the trash, all or none")
async def mem0_batch_delete(services: Used, principal: Caller, body: wire.Mem0BatchDeleteIn) -> wire.Mem0MessageOut:
    ids = list(dict.fromkeys(memory.memory_id for memory in body.memories))
    await entity_memories.delete(services, principal, ids)
    return wire.Mem0MessageOut(message=f"Successfully deleted {len(ids)} memories")


@router.get("/v1/entities/", summary="The users, agents, apps and runs for whom something is remembered")
async def mem0_entities(request: Request, services: Used, principal: Caller, address: Address) -> wire.Mem0EntitiesOut:
    """All of them, where no page is asked for: the client deletes what is listed here."""
    known = await entity_memories.list_entities(services, principal)
    part = read_part(address, size=max(len(known), 1))
    entities = [wire.Mem0EntityOut.of(entity) for entity in known[part.start : part.start + part.size]]
    return wire.Mem0EntitiesOut(
        count=len(known), total_count=len(known), results=entities, **part.beside(request, len(known))
    )


@router.delete(
    "/v1/entities/{entity_type}/{name:rest}/", include_in_schema=False, summary="As the client for npm once called it"
)
@router.delete("/v2/entities/{entity_type}/{name:rest}/", summary="Everything of one of them into the trash")
async def mem0_delete_entity(services: Used, principal: Caller, entity_type: str, name: str) -> wire.Mem0MessageOut:
    refuse("name", name)
    if entity_type not in get_args(EntityType):
        raise NotFound(f"There is no such type of entity: it is {', '.join(get_args(EntityType))}.")
    kind = cast("EntityType", entity_type)
    await entity_memories.delete_entity(services, principal, kind, check_id("name", name))
    return wire.Mem0MessageOut(message="Entity deleted successfully!")


async def _unsupported(request: Request, principal: Caller) -> None:  # noqa: ARG001
    """What the client has a method for and this server no use: said in words."""
    route = request.scope["route"]
    raise NotFound(_UNSUPPORTED[request.method, route.path], code="not_supported")


for _method, _path in _UNSUPPORTED:
    router.add_api_route(_path, _unsupported, methods=[_method], include_in_schema=False)


# ------------------------------------------------------------------------------------------------------------ parsing


def _check_request(principal: Principal, body: wire.Mem0Request) -> None:
    """What would be lost without a word is refused with one."""
    if body.org_id not in {None, principal.account_id} or body.project_id not in {None, _PROJECT}:
        raise NotFound("There is no such organisation or project: leave org_id and project_id out.")
    for name, instead in _NOT_HERE.items():
        if getattr(body, name, None):
            raise Invalid(f"{name} is not known here, nothing was done: {instead}.")


def _ids(named: Mapping[str, Any], filters: Mapping[str, Any] | None) -> Ids:
    """At the top, or in `filters`: the client allows both."""
    given = dict(named)
    for name, value in (filters or {}).items():
        if name not in ID_FIELDS:
            raise Invalid(f"filters.{name}: what is added can only be given user_id, agent_id, app_id and run_id.")
        if given.get(name, value) != value:
            raise Invalid(f"{name} is given twice, and not the same.")
        given[name] = value
    ids = {name: check_id(name, value) for name, value in given.items() if value is not None}
    if not ids:
        raise Invalid("Say whose memory it is: user_id, agent_id, app_id or run_id. Nothing was stored.")
    return Ids(**ids)


def _said(message: wire.Mem0MessageIn) -> EntityMessage:
    parts: list[Any] = message.content if isinstance(message.content, list) else [message.content]
    texts: list[str] = []
    for part in parts:
        text = part if isinstance(part, str) else part.get("text") if part.get("type", "text") == "text" else None
        if not isinstance(text, str):
            raise Invalid("A message has a part that is no text, such as an image: only texts are kept here.")
        texts.append(text)
    return EntityMessage(role=message.role, content="\n".join(texts), name=message.name)


def _change(memory_id: str, body: wire.Mem0UpdateIn) -> Change:
    if not body.model_fields_set - {"memory_id"}:
        raise Invalid("Say what is to be changed: text, metadata, timestamp or expiration_date.")
    return Change(
        id=memory_id, text=body.text, metadata=body.metadata,
        at=None if body.timestamp is None else read_moment("timestamp", body.timestamp).start,
        expires="expiration_date" in body.model_fields_set, expires_on=body.expiration_date,
    )  # fmt: skip


def _wanted(
    filters: Mapping[str, Any] | None, categories: list[str] | None, more: Mapping[str, Any], *, expired: bool | None
) -> EntityFilter:
    """A filter, and what the request says beside it."""
    named = dict(filters or {})
    given: Filter = Every((Comparison(field="categories", operator="in", value=categories),) if categories else ())
    both = {"AND": [part for part in (named, more) if part]} if more else named
    return EntityFilter(filter=read_filters(both, given), expired=bool(expired))


def _sent(filters: str | None) -> dict[str, Any] | None:
    """In the query of an address: JSON, or what Python makes of a dict, which is what the client sends."""
    if filters is None:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            plain = json.loads(json.dumps(read(filters)))
            refuse_unstorable(plain, ("filters",))
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(plain, dict):
            return cast("dict[str, Any]", plain)
    raise Invalid("filters has to be an object in JSON.")


def _only(memory: wire.Mem0MemoryOut, fields: list[str] | None) -> dict[str, Any]:
    shown = memory.model_dump(mode="json")
    return shown if fields is None else {name: value for name, value in shown.items() if name in {"id", *fields}}
