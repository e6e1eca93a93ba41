"""Everything that somebody has, and may see, as records: place by place, and page by page, so that it takes no more
memory however much there is. What is made of them, a zip of JSON or of Markdown, is in `archive_zip`.

No transaction is open while somebody reads slowly. Where others write too, their words come along as far as the caller
may read them, with their names and not their ids.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, LiteralString

from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import may_change, require_found, require_user
from keepstone.memory import graphs, projects, rooms, workspaces
from keepstone.model.memory import Version
from keepstone.model.page import Page, PageRequest, read_cursor
from keepstone.model.principal import Principal
from keepstone.model.room import Agent
from keepstone.services import Services
from keepstone.store import accounts, agents, archives, memories, users
from keepstone.store import rooms as room_store
from keepstone.store.db import Connection

FORMAT, FORMAT_VERSION = "keepstone-archive", 2
# What each kind of place is called in an archive, in the order in which they have to be read back: projects before what
# is in them, agents before the rooms they are in.
PARTS: Mapping[str, str] = {
    "agent": "agents", "project": "projects", "profile": "profile", "vault": "capsules", "workspace": "workspaces",
    "room": "rooms", "dm": "direct-messages", "scope": "scopes", "graph": "graphs", "store": "stores",
    "entity": "entities", "global": "account",
}  # fmt: skip
_AUTHORS = {"user_id", "created_by", "recorded_by", "changed_by"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A space with its parts, by what each is of: the library of a workspace, an agent in a room."""

    kind: str
    head: dict[str, Any]
    space: int
    parts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """`part` is where in an archive it stands, `space` where it lies here. `file`: no record, but the bytes of a
    document that was just told, by its id and version.
    """

    part: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    space: int = 0
    file: tuple[str, int] | None = None


async def head(services: Services, principal: Principal) -> dict[str, Any]:
    """Whose archive it is."""
    async with services.db.transaction(account_scope(principal)) as conn:
        user = require_found(await users.get(conn, require_user(principal)), "There is no such user.")
        account = require_found(await accounts.get(conn), "There is no such account.")
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "exported_at": services.clock(),
        "account": {"id": account.id, "name": account.name, "plan": account.plan},
        "user": {"id": user.id, "email": user.email, "name": user.name},
    }


async def records(services: Services, principal: Principal) -> AsyncGenerator[Record]:
    async with services.db.transaction(account_scope(principal)) as conn:
        names = await archives.names(conn)
    places = await _places(services, principal)
    for agent in await _agents(services, principal, places):
        shown = {name: getattr(agent, name) for name in ("slug", "name", "context_window", "instructions")}
        yield Record(part=PARTS["agent"], data={"record": "agent", **shown, "created_at": agent.created_at})
    for kind, part in PARTS.items():
        for place in places:
            if place.kind == kind:
                async for record in _of_place(services, principal, place, part, names):
                    yield record


async def _of_place(
    services: Services, principal: Principal, place: Place, part: str, names: Mapping[str, str]
) -> AsyncGenerator[Record]:
    yield Record(part=part, data={"record": "space", "kind": place.kind, **place.head})
    for of, space in {"": place.space, **place.parts}.items():
        if of:
            yield Record(part=part, data={"record": "part", "of": of})
        for table in archives.TABLES:
            async for record in _of_table(services, principal, place, space, table, part, names):
                yield record


async def _of_table(
    services: Services, principal: Principal, place: Place, space: int, table: LiteralString, part: str,
    names: Mapping[str, str],
) -> AsyncGenerator[Record]:  # fmt: skip
    after: Any = None
    while True:
        async with services.db.transaction(space_scope(principal, place.space, *place.parts.values())) as conn:
            rows, after = await archives.page(conn, table, space, after)
            shown = [await _shown(conn, principal, table, row, names) for row in rows]
        for row in shown:
            files = [version["version"] for version in row.get("history", ()) if version.get("file")]
            yield Record(part=part, data=row, space=space)
            for version in files:
                yield Record(part=part, space=space, file=(row["id"], version))
        if after is None:
            return


async def _shown(
    conn: Connection, principal: Principal, table: LiteralString, row: dict[str, Any], names: Mapping[str, str]
) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "record": table.removesuffix("ies") + "y" if table.endswith("ies") else table.removesuffix("s")
    }
    shown |= _authored(row, principal, names)
    shown.pop("seq", None)
    if table == "memories":
        versions = await memories.versions(conn, Version, row["id"])
        shown["history"] = [_authored(_fields(version), principal, names) for version in reversed(versions)]
    elif table == "documents":
        versions = await archives.document_versions(conn, row["id"])
        shown["history"] = [
            _authored(version, principal, names)
            | {"file": file_name(row["id"], version["version"]) if version["has_file"] else None}
            for version in versions
        ]
        for version in shown["history"]:
            del version["has_file"]
    return shown


def file_name(document_id: str, version: int) -> str:
    return f"files/{document_id}/{version}"


def _fields(version: Version) -> dict[str, Any]:
    named = ("version", "change", "title", "content", "summary", "tags", "metadata", "changed_by", "changed_at")
    return {name: getattr(version, name) for name in named}


def _authored(row: Mapping[str, Any], principal: Principal, names: Mapping[str, str]) -> dict[str, Any]:
    """Whether it is the caller's own, or else what its author is called; nobody's id."""
    shown = {name: value for name, value in row.items() if name not in _AUTHORS}
    for name in _AUTHORS & row.keys():
        author = row[name]
        shown["mine"] = author is not None and author == principal.user_id
        if author is not None and not shown["mine"]:
            shown["author"] = names.get(author)
    return shown


# ------------------------------------------------------------------------------------------------ which places


async def _places(services: Services, principal: Principal) -> list[Place]:
    """All that the caller reaches, as the lists of each kind have them; of those in the trash what they could bring
    back: nobody else reads what is in them.
    """
    user_id = require_user(principal)
    found: list[Place] = []
    for deleted in (False, True):
        async for space in _all(
            lambda page, d=deleted: workspaces.list_workspaces(services, principal, page, deleted=d)
        ):
            head = _dated(space) | {"id": space.id, "name": space.name, "default": space.is_default}
            if deleted and space.role != "owner":
                continue
            found.append(Place(kind="workspace", head=head, space=space.space, parts={"library": space.library}))
        async for described in _all(lambda page, d=deleted: rooms.list_rooms(services, principal, page, deleted=d)):
            owners = {person.user_id for person in described.participants if person.role == "owner"}
            if not deleted or user_id in owners:
                found.append(await _room(services, principal, described, deleted=deleted))
        async for graph in _all(lambda page, d=deleted: graphs.list_graphs(services, principal, page, deleted=d)):
            head = _dated(graph) | {"id": graph.id, "name": graph.name, "default": graph.is_default}
            if not deleted or may_change(services, principal, graph.created_by):
                found.append(Place(kind="graph", head=head, space=graph.space))
    async for project in _all(lambda page: projects.list_projects(services, principal, page)):
        async with services.db.transaction(account_scope(principal)) as conn:
            [space] = await room_store.named(conn, "project", [project.id])
            parts = await archives.parts_of(conn, space)
        head = {"id": project.id, "name": project.name, "created_at": project.created_at, "agents": list(parts)}
        found.append(Place(kind="project", head=head, space=space, parts=parts))
    async with services.db.transaction(account_scope(principal)) as conn:
        account = require_found(await accounts.get(conn), "There is no such account.")
        for own in await archives.own_spaces(conn, user_id):
            parts = await archives.parts_of(conn, own.space)
            head = {"id": own.name, "created_at": own.created_at, "agents": list(parts)}
            head |= {"entity": own.entity} if own.entity else {}
            found.append(Place(kind=own.kind, head=head, space=own.space, parts=parts))
        head = {"id": account.id, "created_at": account.created_at}
        everybodys = await room_store.named(conn, "global", [account.id])
        found += [Place(kind="global", head=head, space=space) for space in everybodys]
    return found


async def _room(services: Services, principal: Principal, described: rooms.Described, *, deleted: bool) -> Place:
    room = described.room
    async with services.db.transaction(account_scope(principal)) as conn:
        # What an agent remembers that is no longer in the room, nobody sees there.
        parts = {
            of: space for of, space in (await archives.parts_of(conn, room.space)).items() if of in described.agents
        }
        deleted_at = await archives.deleted_at(conn, room.space) if deleted else None
    head = {
        "id": room.id, "name": room.name, "created_at": room.created_at, "project_id": room.project_id,
        "agents": list(described.agents), "people": [person.name or "" for person in described.participants],
        "deleted_at": deleted_at,
    }  # fmt: skip
    return Place(kind="room", head=head, space=room.space, parts=parts)


async def _agents(services: Services, principal: Principal, places: list[Place]) -> list[Agent]:
    """Those that they made, and those that are in what they take along."""
    wanted = {slug for place in places if place.kind == "room" for slug in place.head["agents"]}
    wanted |= {place.head["id"] for place in places if place.kind == "dm"}

    async def page(request: PageRequest) -> Page[Agent]:
        async with services.db.transaction(account_scope(principal)) as conn:
            return await agents.page(conn, request)

    return [agent async for agent in _all(page) if agent.slug in wanted or agent.created_by == principal.user_id]


def _dated(place: Any) -> dict[str, Any]:
    return {"created_at": place.created_at, "deleted_at": place.deleted_at}


async def _all(page: Callable[[PageRequest], Awaitable[Page[Any]]]) -> AsyncGenerator[Any]:
    """All of a list, page by page."""
    request: PageRequest | None = PageRequest(limit=200)
    while request is not None:
        found = await page(request)
        for item in found.items:
            yield item
        request = PageRequest(limit=200, after=read_cursor(found.next_cursor)) if found.next_cursor else None
