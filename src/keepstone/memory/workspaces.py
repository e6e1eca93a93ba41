"""Workspaces: made, named, shared, put in the trash and brought back. Everybody has a default one, for chats without a
workspace.

What is in them is its members', each as their role permits; to everybody else it is not there.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from keepstone.access.audit import record
from keepstone.access.principals import find_user
from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.errors import Conflict, Forbidden, NotFound
from keepstone.model.ids import new_id
from keepstone.model.memory import restorable, restorable_since
from keepstone.model.page import Page, PageRequest, Position, cut_page
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.workspace import RANK, Member, Role, Workspace
from keepstone.services import Services
from keepstone.store import spaces
from keepstone.store import workspaces as store
from keepstone.store.db import Connection, enter

DEFAULT_NAME = "Default"
_MAY: dict[Role, str] = {
    "viewer": "read",
    "member": "add to it, and change what is yours",
    "editor": "change what others added",
    "owner": "change the workspace itself and who is in it",
}


async def create(services: Services, principal: Principal, *, name: str) -> Workspace:
    """Its maker owns it."""
    user_id = require_user(principal)
    workspace_id = new_id("ws")
    async with services.db.transaction(account_scope(principal)) as conn:
        await store.create(conn, workspace_id, name, user_id)
        await record(conn, principal, "workspace.create", workspace_id)
        return _existing(await store.get(conn, workspace_id, user_id))


async def list_workspaces(
    services: Services, principal: Principal, page: PageRequest, *, deleted: bool = False
) -> Page[Workspace]:
    """The caller's, the newest first; among them the default one, made when it was not there. Or those in the trash
    that can be brought back.
    """
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        if principal.reach.spaces is None:
            await default_workspace(conn, principal)
        if deleted:
            workspaces = await store.in_trash(conn, user_id, restorable_since(services.clock()))
        else:
            workspaces = await store.of_user(conn, user_id)
    workspaces = sorted(workspaces, key=_position, reverse=True)
    rest = [workspace for workspace in workspaces if page.after is None or _position(workspace) < page.after]
    return cut_page(rest[: page.limit + 1], page, _position)


async def get(services: Services, principal: Principal, workspace_id: str) -> Workspace:
    async with inside(services, principal, workspace_id) as (_, workspace):
        return workspace


async def rename(services: Services, principal: Principal, workspace_id: str, *, name: str) -> Workspace:
    async with inside(services, principal, workspace_id, needs="owner") as (conn, workspace):
        await store.rename(conn, workspace.space, name, principal.user_id)
        await record(conn, principal, "workspace.rename", workspace_id)
        return await find(conn, principal, workspace_id)


async def delete(services: Services, principal: Principal, workspace_id: str) -> None:
    """Into the trash with all that is in it, for 30 days."""
    async with inside(services, principal, workspace_id, needs="owner") as (conn, workspace):
        if workspace.is_default:
            raise Conflict("This is the default workspace, where chats without one are kept: delete what is in it.")
        await spaces.put_away(conn, workspace.space, away=True)
        await record(conn, principal, "workspace.delete", workspace_id)


async def restore(services: Services, principal: Principal, workspace_id: str) -> Workspace:
    """Back out of the trash."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        workspace = await store.get(conn, workspace_id, user_id)
        if workspace is None or not restorable(workspace.deleted_at, services.clock()):
            raise NotFound("There is no such workspace in the trash.")
        require_role(workspace, "owner")
        await spaces.put_away(conn, workspace.space, away=False)
        await record(conn, principal, "workspace.restore", workspace_id)
        return await find(conn, principal, workspace_id)


async def list_members(services: Services, principal: Principal, workspace_id: str) -> Sequence[Member]:
    async with inside(services, principal, workspace_id) as (conn, workspace):
        return await store.members(conn, workspace.space)


async def put_member(
    services: Services, principal: Principal, workspace_id: str, user: str, role: Role
) -> Sequence[Member]:
    """Let somebody of the account in, or change what they may. `user` is an id or an e-mail address."""
    async with inside(services, principal, workspace_id, needs="owner") as (conn, workspace):
        if workspace.is_default:
            raise Conflict("Your default workspace is yours alone: make another one to share, and move chats there.")
        await spaces.lock(conn, [workspace.space])
        person = await find_user(conn, user)
        await _keep_an_owner(conn, workspace, person.id, role)
        await store.put_member(conn, workspace.space, person.id, role)
        await record(conn, principal, "workspace.member", workspace_id, user=person.id, role=role)
        return await store.members(conn, workspace.space)


async def remove_member(services: Services, principal: Principal, workspace_id: str, user_id: str) -> None:
    """An owner may send anybody away; everybody may leave."""
    async with inside(services, principal, workspace_id) as (conn, workspace):
        if user_id != principal.user_id:
            require_role(workspace, "owner")
        await spaces.lock(conn, [workspace.space])
        if user_id not in {member.user_id for member in await store.members(conn, workspace.space)}:
            raise NotFound("There is no such member.")
        await _keep_an_owner(conn, workspace, user_id, None)
        await store.remove_member(conn, workspace.space, user_id)
        await record(conn, principal, "workspace.leave", workspace_id, user=user_id)


# --------------------------------------------------------------------- what the operations on what is in them share


@asynccontextmanager
async def inside(
    services: Services, principal: Principal, workspace_id: str | None, *, needs: Role = "viewer"
) -> AsyncGenerator[tuple[Connection, Workspace]]:
    """A transaction in the workspace, if the caller is in it and may do that."""
    async with services.db.transaction(account_scope(principal)) as conn:
        yield conn, await find(conn, principal, workspace_id, needs=needs)


async def find(
    conn: Connection, principal: Principal, workspace_id: str | None, *, needs: Role = "viewer"
) -> Workspace:
    """The workspace, if the caller is in it and may do that; without a name their default one. From here on the
    transaction reaches what is in it.
    """
    if workspace_id is None:
        workspace = await default_workspace(conn, principal)
    else:
        stored = await store.get(conn, workspace_id, require_user(principal))
        workspace = _existing(None if stored is None or stored.deleted_at is not None else stored)
    require_role(workspace, needs)
    await enter(conn, scope_of(principal, workspace))
    return workspace


async def all_of(conn: Connection, principal: Principal) -> dict[str, Workspace]:
    """Every workspace that the caller is in, by its id. From here on the transaction reaches what is in any of them."""
    workspaces = await store.of_user(conn, require_user(principal))
    every = (space for each in workspaces for space in (each.space, each.library, each.talk))
    await enter(conn, space_scope(principal, *every))
    return {workspace.id: workspace for workspace in workspaces}


async def default_workspace(conn: Connection, principal: Principal) -> Workspace:
    user_id = require_user(principal)
    workspace = await store.default_of(conn, user_id)
    if workspace is None:
        await store.ensure_default(conn, new_id("ws"), DEFAULT_NAME, user_id)
        workspace = await store.default_of(conn, user_id)
    return _existing(workspace)


def scope_of(principal: Principal, workspace: Workspace) -> ReadScope:
    return space_scope(principal, workspace.space, workspace.library, workspace.talk)


def require_role(workspace: Workspace, needs: Role) -> None:
    if RANK[workspace.role] < RANK[needs]:
        raise Forbidden(f"Here you are a {workspace.role}: ask an owner of the workspace to let you {_MAY[needs]}.")


def may_change(principal: Principal, workspace: Workspace, made_by: str | None) -> bool:
    """A member may change what they added themselves, an editor everything."""
    return RANK[workspace.role] >= RANK["member" if made_by == principal.user_id else "editor"]


def changeable(principal: Principal, workspace: Workspace) -> str | None:
    """Whose of what is in it the caller may change: with None everybody's, else one user's, or with "" nobody's."""
    if may_change(principal, workspace, None):
        return None
    return principal.user_id if may_change(principal, workspace, principal.user_id) else ""


def require_change(principal: Principal, workspace: Workspace, made_by: str | None) -> None:
    """Whoever may not is told what they would have to be."""
    require_role(workspace, "member" if made_by == principal.user_id else "editor")


async def _keep_an_owner(conn: Connection, workspace: Workspace, user_id: str, role: Role | None) -> None:
    """The workspace is held, so the last two owners can't step down at the same moment."""
    if role == "owner":
        return
    members = await store.members(conn, workspace.space)
    if not any(member.role == "owner" for member in members if member.user_id != user_id):
        raise Conflict("This is the workspace's only owner: make somebody else an owner first, or delete it.")


def _position(workspace: Workspace) -> Position:
    return (workspace.created_at, workspace.id)


def _existing(workspace: Workspace | None) -> Workspace:
    if workspace is None:
        raise NotFound("There is no such workspace.")
    return workspace
