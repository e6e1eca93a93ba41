"""Projects: what belongs together across capsules, rooms and facts. Its members see it."""

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
    user_id = require_user(principal)
    project_id = new_id("proj")
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await spaces.ensure(conn, kind="project", name=project_id, title=name, named_by=user_id)
        await workspaces.put_member(conn, space, user_id, "owner")
        await record(conn, principal, "project.create", project_id)
        made = await store.get(conn, project_id, user_id)
    assert made is not None  # noqa: S101  just made
    return made


async def list_projects(services: Services, principal: Principal, page: PageRequest) -> Page[Project]:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, user_id, page)


async def require_project(conn: Connection, principal: Principal, project_id: str | None) -> None:
    """Nothing to ask for none. To whoever is not in it, a project is not there."""
    if project_id is not None and await store.get(conn, project_id, require_user(principal)) is None:
        raise NotFound("There is no such project.")
