"""Workspaces and who is in them."""

from typing import Annotated

from pydantic import Field

from keepstone.memory import workspaces
from keepstone.model.workspace import Member, Role, Workspace
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Routes
from keepstone.surfaces.http.wire import Name, Shown, Time, Wire, fields_of

router = Router(tags=["workspaces"])


class WorkspaceIn(Wire):
    name: Name


class WorkspaceOut(fields_of(Workspace, "id name role is_default memory_count created_at deleted_at")):
    role: str = Field(description="What you may: `viewer`, `member`, `editor` or `owner`.")
    is_default: bool = Field(description="Chats without a workspace are in this one.")
    deleted_at: Time | None = None


class MemberIn(Wire):
    user: Annotated[str, Field(min_length=1, max_length=255, description="An id or e-mail address of the account.")]
    role: Role = "member"


class MemberOut(fields_of(Member, "user_id email name role added_at")):
    role: str


class MemberList(Shown):
    items: list[MemberOut]


_workspaces = Routes(router, WorkspaceOut)
_members = Routes(router, MemberOut, listed=MemberList)

_ALL = "/workspaces"
_ONE = "/workspaces/{workspace_id:ws}"

_workspaces.one(
    "POST", _ALL, workspaces.create, "create_workspace", "Make a workspace; you own it", body=WorkspaceIn, status=201
)
_workspaces.page(
    _ALL, workspaces.list_workspaces, "list_workspaces", "The workspaces you are in, the newest first",
    deleted=(InTrash, False),
)  # fmt: skip
_workspaces.one("GET", _ONE, workspaces.get, "get_workspace", "One workspace")
_workspaces.one("PATCH", _ONE, workspaces.rename, "rename_workspace", "Rename a workspace", body=WorkspaceIn)
_workspaces.remove(_ONE, workspaces.delete, "delete_workspace", "Into the trash with all in it, for 30 days")
_workspaces.one("POST", f"{_ONE}/restore", workspaces.restore, "restore_workspace", "A workspace out of the trash")
_members.all(f"{_ONE}/members", workspaces.list_members, "list_members", "Who is in a workspace")


@router.put("/workspaces/{workspace_id:ws}/members", summary="Let somebody in, or change what they may")
@router.post("/workspaces/{workspace_id:ws}/members", summary="Let somebody in", include_in_schema=False)
async def put_member(services: Used, principal: Caller, workspace_id: str, body: MemberIn) -> MemberList:
    members = await workspaces.put_member(services, principal, workspace_id, body.user, body.role)
    return MemberList(items=[MemberOut.model_validate(member) for member in members])


_members.remove(
    f"{_ONE}/members/{{user_id:usr}}", workspaces.remove_member, "remove_member", "Send somebody away, or leave"
)
