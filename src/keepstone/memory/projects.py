"""Projects: what belongs together across capsules, rooms and facts. Its members see it, each as their role permits.

In the trash for 30 days, it takes along what agents know of it and its facts. Rooms and capsules that were in it stay
where they are, in no project; they are in it again when it comes back.
"""

from collections.abc import Mapping, Sequence

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope, inside
from keepstone.access.require import require_user
from keepstone.errors import NotFound
from keepstone.importers.delivery import derived_id
from keepstone.memory import members
from keepstone.memory.members import require_role
from keepstone.model.ids import new_id
from keepstone.model.memory import restorable
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.project import Project
from keepstone.model.workspace import Member, Role
from keepstone.services import Services
from keepstone.store import projects as store
from keepstone.store import spaces, workspaces
from keepstone.store.db import Connection


async def create(services: Services, principal: Principal, *, name: str) -> Project:
    """Its maker owns it."""
    async with services.db.transaction(account_scope(principal)) as conn:
        return await make(conn, principal, new_id("proj"), name)


async def make(conn: Connection, principal: Principal, project_id: str, name: str) -> Project:
    user_id = require_user(principal)
    space = await spaces.ensure(conn, kind="project", name=project_id, title=name, named_by=user_id)
    await workspaces.put_member(conn, space, user_id, "owner")
    await record(conn, principal, "project.create", project_id)
    return await find_project(conn, principal, project_id)


async def bring_over(
    conn: Connection, principal: Principal, named: Mapping[str, str], before: Mapping[str, str] | None = None
) -> dict[str, str]:
    """For each project of an archive, by its id there with its name, the one here that stands for it: the same if the
    caller is in it, the one that was made for it before, else one of theirs that is called so, else a new one. Two of
    one name stay two: `before` has those that were brought over already.
    """
    user_id = require_user(principal)
    found = dict(before or {})
    for project_id, name in named.items():
        title, own = name.strip()[:255] or f"Imported {project_id[-6:]}", derived_id("proj", user_id, project_id)
        known = await store.get(conn, project_id, user_id) or await store.get(conn, own, user_id)
        called = known or await store.called(conn, title, user_id)
        here = called if called is not None and called.id not in found.values() else None
        found[project_id] = (here or await make(conn, principal, own, title)).id
    return found


async def list_projects(
    services: Services, principal: Principal, page: PageRequest, *, deleted: bool = False
) -> Page[Project]:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, user_id, page, deleted=deleted)


async def get(services: Services, principal: Principal, project_id: str) -> Project:
    async with inside(services, principal, find_project, project_id) as (_, project):
        return project


async def rename(services: Services, principal: Principal, project_id: str, *, name: str) -> Project:
    async with inside(services, principal, find_project, project_id, needs="owner") as (conn, project):
        await workspaces.rename(conn, project.space, name, principal.user_id)
        await record(conn, principal, "project.rename", project_id)
        return await find_project(conn, principal, project_id)


async def delete(services: Services, principal: Principal, project_id: str) -> None:
    """Into the trash, for 30 days."""
    async with inside(services, principal, find_project, project_id, needs="owner") as (conn, project):
        await spaces.put_away(conn, project.space, away=True)
        await record(conn, principal, "project.delete", project_id)


async def restore(services: Services, principal: Principal, project_id: str) -> Project:
    """Back out of the trash, with what was in it."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        project = await store.get(conn, project_id, user_id, deleted=True)
        if project is None or not restorable(project.deleted_at, services.clock()):
            raise NotFound("There is no such project in the trash.")
        require_role(project, "owner")
        await spaces.put_away(conn, project.space, away=False)
        await record(conn, principal, "project.restore", project_id)
        return await find_project(conn, principal, project_id)


async def list_members(services: Services, principal: Principal, project_id: str) -> Sequence[Member]:
    async with inside(services, principal, find_project, project_id) as (conn, project):
        return await workspaces.members(conn, project.space)


async def put_member(
    services: Services, principal: Principal, project_id: str, user: str, role: Role
) -> Sequence[Member]:
    """Let somebody of the account in, or change what they may. Nothing of theirs is read there for that."""
    async with inside(services, principal, find_project, project_id, needs="owner") as (conn, project):
        return await members.put_member(conn, principal, project, user, role)


async def remove_member(services: Services, principal: Principal, project_id: str, user_id: str) -> None:
    """An owner may send anybody away; everybody may leave."""
    async with inside(services, principal, find_project, project_id) as (conn, project):
        await members.remove_member(conn, principal, project, user_id)


async def find_project(conn: Connection, principal: Principal, project_id: str, *, needs: Role = "viewer") -> Project:
    """The project, if the caller is in it and may do that. To whoever is not in it, it is not there."""
    project = await store.get(conn, project_id, require_user(principal))
    if project is None:
        raise NotFound("There is no such project.")
    require_role(project, needs)
    return project


async def require_project(conn: Connection, principal: Principal, project_id: str | None) -> Project | None:
    """Nothing to ask for none."""
    return None if project_id is None else await find_project(conn, principal, project_id)
