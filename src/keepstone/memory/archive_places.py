"""Where the places of an archive are here: those that are there already, and those that are made for it, as its
reader's own.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from keepstone.access.audit import record
from keepstone.access.require import require_found
from keepstone.importers.delivery import derived_id
from keepstone.memory import graphs, projects, workspaces
from keepstone.memory.archive_forms import SpaceForm
from keepstone.memory.entity_memories import space_name
from keepstone.model.entity import Ids
from keepstone.model.ids import is_any_id
from keepstone.model.principal import Principal
from keepstone.store import accounts, agents, archives, capsules, entities, spaces
from keepstone.store import graphs as graph_store
from keepstone.store import rooms as room_store
from keepstone.store import workspaces as workspace_store
from keepstone.store.db import Connection

_EVER = datetime.min.replace(tzinfo=UTC)
_WITH_AGENTS = {"room", "profile", "project"}
FACTS = {"profile": "user", "project": "project", "room": "room", "global": "global"}


@dataclass(slots=True, kw_only=True)
class Names:
    """What the things of an archive are called here. `same`: it is its own user who reads it back."""

    user_id: str
    same: bool
    projects: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, old: str, *, kept: bool) -> str:
        return old if kept else derived_id(old.partition("_")[0], self.user_id, old)

    def project(self, old: str | None) -> str | None:
        return self.projects.get(old) if old else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """A place that records are brought to. `name` is what it is called here, `kept`: it is the very one that the
    archive tells of, so ids stay. `parts` are the spaces beside it by what they are of, `of` is the one that is meant,
    of the space `whole`.
    """

    kind: str
    name: str
    space: int
    names: Names
    kept: bool
    run_id: str = ""
    history: int = 0
    parts: dict[str, int] = field(default_factory=dict[str, int])
    of: str = ""
    whole: int = 0

    @property
    def facts(self) -> str | None:
        return None if self.of else FACTS.get(self.kind)

    @property
    def beside(self) -> tuple[int, ...]:
        return (*self.parts.values(), *([self.history] if self.history else []))

    def id(self, old: str) -> str:
        return self.names.of(old, kept=self.kept)

    def reference(self, old: str | None) -> str | None:
        """Something else that is named by one of our ids, or in its caller's own words."""
        return self.id(old) if old and is_any_id(old) else old


async def settle(conn: Connection, principal: Principal, form: SpaceForm, names: Names) -> Here:
    """The place of this record, found or made."""
    by_kind = {
        "vault": _vault, "profile": _profile, "project": _project, "workspace": _workspace, "room": _room, "dm": _dm,
        "graph": _graph, "global": _global, "scope": _named, "store": _named, "entity": _entity,
    }  # fmt: skip
    here = await by_kind[form.kind](conn, principal, form, names)
    await archives.date_space(conn, here.space, form.created_at, form.deleted_at)
    return here


async def enter_part(conn: Connection, here: Here, of: str) -> Here:
    """A part of the place; what an agent remembers there is made with the first of it. Nowhere, if there is none."""
    parts = dict(here.parts)
    if of not in parts and here.kind in _WITH_AGENTS and await agents.get(conn, of) is not None:
        whole = here.whole or here.space
        parts[of] = await room_store.part(conn, whole, here.kind, of)
    return replace(here, of=of, parts=parts, whole=here.whole or here.space, space=parts.get(of, 0))


async def _vault(conn: Connection, _: Principal, form: SpaceForm, names: Names) -> Here:
    vault = require_found(await capsules.enter_vault(conn, names.user_id), "There is no such user.")
    return Here(kind=form.kind, name=names.user_id, space=vault.space, names=names, kept=names.same)


async def _profile(conn: Connection, _: Principal, form: SpaceForm, names: Names) -> Here:
    [space] = await room_store.named(conn, "profile", [names.user_id])
    parts = await archives.parts_of(conn, space)
    return Here(
        kind=form.kind, name=names.user_id, space=space, names=names, kept=names.same, parts=parts,
        run_id=f"profile:{names.user_id}",
    )  # fmt: skip


async def _project(conn: Connection, principal: Principal, form: SpaceForm, names: Names) -> Here:
    names.projects = await projects.bring_over(conn, principal, {form.id: form.name}, names.projects)
    name = names.projects[form.id]
    [space] = await room_store.named(conn, "project", [name])
    parts = await archives.parts_of(conn, space)
    return Here(
        kind=form.kind, name=name, space=space, names=names, kept=names.same and name == form.id, parts=parts,
        run_id=f"project:{name}",
    )  # fmt: skip


async def _workspace(conn: Connection, principal: Principal, form: SpaceForm, names: Names) -> Here:
    place = await workspace_store.get(conn, form.id, names.user_id) if names.same else None
    kept = place is not None
    if place is None and form.default:
        place = await workspaces.default_workspace(conn, principal)
    name = names.of(form.id, kept=False)
    place = place or await workspace_store.get(conn, name, names.user_id)
    if place is None:
        await workspace_store.create(conn, name, form.name, names.user_id)
        await record(conn, principal, "workspace.create", name)
        place = require_found(await workspace_store.get(conn, name, names.user_id), "There is no such workspace.")
    return Here(
        kind=form.kind, name=place.id, space=place.space, names=names, kept=kept, parts={"library": place.library}
    )


async def _room(conn: Connection, principal: Principal, form: SpaceForm, names: Names) -> Here:
    name, room = names.of(form.id, kept=False), None
    for wanted in ([form.id] if names.same else []) + [name]:
        for since in (None, _EVER):  # there, or in the trash
            room = room or await room_store.get(conn, wanted, names.user_id, since=since)
    if room is None:
        space = await room_store.create(conn, name, form.name, names.project(form.project_id), names.user_id)
        await workspace_store.put_member(conn, space, names.user_id, "owner")
        for slug in form.agents:
            if await agents.get(conn, slug) is not None:
                await room_store.add_agent(conn, space, slug)
        await record(conn, principal, "room.create", name)
    else:
        space, name = room.space, room.id
    parts = await archives.parts_of(conn, space)
    return Here(
        kind=form.kind, name=name, space=space, names=names, kept=name == form.id, parts=parts, run_id=f"room:{name}"
    )


async def _dm(conn: Connection, _: Principal, form: SpaceForm, names: Names) -> Here:
    await room_store.ensure_dm(conn, names.user_id, form.id)
    room = require_found(await room_store.get_dm(conn, names.user_id, form.id), "There is no such agent.")
    return Here(kind=form.kind, name=form.id, space=room.space, names=names, kept=names.same, run_id=room.run_id)


async def _graph(conn: Connection, principal: Principal, form: SpaceForm, names: Names) -> Here:
    graph, name = None, names.of(form.id, kept=False)
    if form.default:
        graph = await graphs.default_graph(conn)
    for wanted in ([form.id] if names.same else []) + [name]:
        for deleted in (False, True):
            graph = graph or await graph_store.get(conn, wanted, deleted=deleted)
    if graph is None:
        await graph_store.create(conn, name, form.name, default=False, by=names.user_id)
        await record(conn, principal, "graph.create", name)
        graph = require_found(await graph_store.get(conn, name), "There is no such graph.")
    return Here(
        kind=form.kind, name=graph.id, space=graph.space, names=names, kept=graph.id == form.id, history=graph.history
    )


async def _global(conn: Connection, _: Principal, form: SpaceForm, names: Names) -> Here:
    account = require_found(await accounts.get(conn), "There is no such account.")
    [space] = await room_store.named(conn, "global", [account.id])
    kept = names.same and account.id == form.id
    return Here(kind=form.kind, name=account.id, space=space, names=names, kept=kept)


async def _named(conn: Connection, _: Principal, form: SpaceForm, names: Names) -> Here:
    space = await spaces.ensure(conn, kind=form.kind, name=form.id, owner=names.user_id)
    return Here(kind=form.kind, name=form.id, space=space, names=names, kept=names.same)


async def _entity(conn: Connection, _: Principal, form: SpaceForm, names: Names) -> Here:
    ids = Ids(**(form.entity or {}))
    name = space_name(ids)
    space = await spaces.ensure(conn, kind="entity", name=name, owner=names.user_id)
    await entities.describe(conn, space, ids)
    return Here(kind=form.kind, name=name, space=space, names=names, kept=names.same)
