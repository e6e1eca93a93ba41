"""Workspaces and who is in them."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from keepstone.memory import workspaces
from keepstone.model.workspace import Role
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, show_page

router = APIRouter(tags=["workspaces"])

Deleted = Annotated[bool, Query(description="What is in the trash instead.")]


class WorkspaceIn(Wire):
    name: Name


class WorkspaceOut(Shown):
    id: str
    name: str
    role: str = Field(description="What you may: `viewer`, `member`, `editor` or `owner`.")
    is_default: bool = Field(description="Chats without a workspace are in this one.")
    memory_count: int
    created_at: Time
    deleted_at: Time | None = None


class MemberIn(Wire):
    user: Annotated[str, Field(min_length=1, max_length=255, description="An id or e-mail address of the account.")]
    role: Role = "member"


class MemberOut(Shown):
    user_id: str
    email: str
    name: str
    role: str
    added_at: Time


class MemberList(Shown):
    items: list[MemberOut]


@router.post("/workspaces", status_code=201, summary="Make a workspace; you own it")
async def create_workspace(services: Used, principal: Caller, body: WorkspaceIn) -> WorkspaceOut:
    return WorkspaceOut.model_validate(await workspaces.create(services, principal, name=body.name))


@router.get("/workspaces", summary="The workspaces you are in, the newest first")
async def list_workspaces(
    services: Used, principal: Caller, page: Paging, deleted: Deleted = False
) -> PageOut[WorkspaceOut]:
    found = await workspaces.list_workspaces(services, principal, page, deleted=deleted)
    return show_page(found, WorkspaceOut.model_validate)


@router.get("/workspaces/{workspace_id:ws}", summary="One workspace")
async def get_workspace(services: Used, principal: Caller, workspace_id: str) -> WorkspaceOut:
    return WorkspaceOut.model_validate(await workspaces.get(services, principal, workspace_id))


@router.patch("/workspaces/{workspace_id:ws}", summary="Rename a workspace")
async def rename_workspace(services: Used, principal: Caller, workspace_id: str, body: WorkspaceIn) -> WorkspaceOut:
    return WorkspaceOut.model_validate(await workspaces.rename(services, principal, workspace_id, name=body.name))


@router.delete("/workspaces/{workspace_id:ws}", status_code=204, summary="Into the trash with all in it, for 30 days")
async def delete_workspace(services: Used, principal: Caller, workspace_id: str) -> None:
    await workspaces.delete(services, principal, workspace_id)


@router.post("/workspaces/{workspace_id:ws}/restore", summary="A workspace out of the trash")
async def restore_workspace(services: Used, principal: Caller, workspace_id: str) -> WorkspaceOut:
    return WorkspaceOut.model_validate(await workspaces.restore(services, principal, workspace_id))


@router.get("/workspaces/{workspace_id:ws}/members", summary="Who is in a workspace")
async def list_members(services: Used, principal: Caller, workspace_id: str) -> MemberList:
    found = await workspaces.list_members(services, principal, workspace_id)
    return MemberList(items=[MemberOut.model_validate(one) for one in found])


@router.put("/workspaces/{workspace_id:ws}/members", summary="Let somebody in, or change what they may")
@router.post("/workspaces/{workspace_id:ws}/members", summary="Let somebody in", include_in_schema=False)
async def put_member(services: Used, principal: Caller, workspace_id: str, body: MemberIn) -> MemberList:
    found = await workspaces.put_member(services, principal, workspace_id, body.user, body.role)
    return MemberList(items=[MemberOut.model_validate(one) for one in found])


@router.delete(
    "/workspaces/{workspace_id:ws}/members/{user_id:usr}", status_code=204, summary="Send somebody away, or leave"
)
async def remove_member(services: Used, principal: Caller, workspace_id: str, user_id: str) -> None:
    await workspaces.remove_member(services, principal, workspace_id, user_id)
