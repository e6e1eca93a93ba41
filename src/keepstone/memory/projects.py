"""Projects: what belongs together across capsules, rooms and facts. Its members see it."""

from collections.abc import Mapping

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.errors import NotFound
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.project import Project
from keepstone.services import Services
from keepstone.store import projects as store
from keepstone.store import spaces, workspaces
from keepstone.store.db import Connection


async def create(services: Services, principal: Principal, *, name: str) -> Project:
    """Its maker is its first member."""
    async with services.db.transaction(account_scope(principal)) as conn:
        return await make(conn, principal, new_id("proj"), name)


async def make(conn: Connection, principal: Principal, project_id: str, name: str) -> Project:
    user_id = require_user(principal)
    space = await spaces.ensure(conn, kind="project", name=project_id, title=name, named_by=user_id)
    await workspaces.put_member(conn, space, user_id, "owner")
    await record(conn, principal, "project.create", project_id)
    made = await store.get(conn, project_id, user_id)
    assert made is not None  # noqa: S101  just made
    return made


async def bring_over(conn: Connection, principal: Principal, named: Mapping[str, str]) -> dict[str, str]:
    """For each project of an archive, by its id there with its name, the one here that stands for it: the same if the
    caller is in it, else one of theirs that is called so, else a new one.
    """
    user_id = require_user(principal)
    found: dict[str, str] = {}
    for project_id, name in named.items():
        title = name.strip()[:255] or f"Imported {project_id[-6:]}"
        known = await store.get(conn, project_id, user_id) or await store.called(conn, title, user_id)
        found[project_id] = (known or await make(conn, principal, new_id("proj"), title)).id
    return found


async def list_projects(services: Services, principal: Principal, page: PageRequest) -> Page[Project]:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, user_id, page)


async def require_project(conn: Connection, principal: Principal, project_id: str | None) -> None:
    """Nothing to ask for none. To whoever is not in it, a project is not there."""
    if project_id is not None and await store.get(conn, project_id, require_user(principal)) is None:
        raise NotFound("There is no such project.")
