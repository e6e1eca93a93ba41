"""Workspaces: made, named, shared, put in the trash and brought back. Everybody has a default one, for chats without a
workspace.

What is in them is its members', each as their role permits; to everybody else it is not there.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.errors import Conflict, NotFound
from keepstone.memory import members
from keepstone.memory.members import require_role
from keepstone.model.ids import new_id
from keepstone.model.memory import restorable, restorable_since
from keepstone.model.page import Page, PageRequest, Position, cut_page
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.workspace import Member, Role, Workspace
from keepstone.services import Services
from keepstone.store import spaces
from keepstone.store import workspaces as store
from keepstone.store.db import Connection, enter

DEFAULT_NAME = "Default"


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
        return await members.put_member(conn, principal, workspace, user, role)


async def remove_member(services: Services, principal: Principal, workspace_id: str, user_id: str) -> None:
    """An owner may send anybody away; everybody may leave."""
    async with inside(services, principal, workspace_id) as (conn, workspace):
        await members.remove_member(conn, principal, workspace, user_id)


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


def _position(workspace: Workspace) -> Position:
    return (workspace.created_at, workspace.id)


def _existing(workspace: Workspace | None) -> Workspace:
    if workspace is None:
        raise NotFound("There is no such workspace.")
    return workspace
