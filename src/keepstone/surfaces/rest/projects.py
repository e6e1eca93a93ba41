"""Projects and who is in them."""

from typing import Annotated

from pydantic import Field

from keepstone.memory import projects
from keepstone.model.project import Project
from keepstone.model.workspace import Member, Role
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Routes
from keepstone.surfaces.http.wire import Name, Shown, Time, Wire, fields_of

router = Router(prefix="/v1", tags=["projects"])


class ProjectIn(Wire):
    name: Name


class ProjectOut(fields_of(Project, "id name role created_at deleted_at")):
    role: str = Field(description="What you may: `viewer`, `member`, `editor` or `owner`.")
    deleted_at: Time | None = None


class ProjectMemberIn(Wire):
    user: Annotated[str, Field(min_length=1, max_length=255, description="An id or e-mail address of the account.")]
    role: Role = "member"


class ProjectMemberOut(fields_of(Member, "user_id email name role added_at")):
    role: str


class ProjectMembers(Shown):
    items: list[ProjectMemberOut]


_projects = Routes(router, ProjectOut)
_members = Routes(router, ProjectMemberOut, listed=ProjectMembers)

_ALL = "/projects"
_ONE = "/projects/{project_id:proj}"

_projects.one("POST", _ALL, projects.create, "create_project", "Make a project; you own it", body=ProjectIn, status=201)
_projects.page(
    _ALL, projects.list_projects, "list_projects", "The projects you are in, the newest first",
    deleted=(InTrash, False),
)  # fmt: skip
_projects.one("GET", _ONE, projects.get, "get_project", "One project")
_projects.one("PATCH", _ONE, projects.rename, "rename_project", "Rename a project", body=ProjectIn)
_projects.remove(_ONE, projects.delete, "delete_project", "Into the trash, for 30 days; what was in it stays")
_projects.one("POST", f"{_ONE}/restore", projects.restore, "restore_project", "A project out of the trash")
_members.all(f"{_ONE}/members", projects.list_members, "list_project_members", "Who is in a project")


@router.put("/projects/{project_id:proj}/members", summary="Let somebody in, or change what they may")
@router.post("/projects/{project_id:proj}/members", summary="Let somebody in", include_in_schema=False)
async def put_project_member(
    services: Used, principal: Caller, project_id: str, body: ProjectMemberIn
) -> ProjectMembers:
    members = await projects.put_member(services, principal, project_id, body.user, body.role)
    return ProjectMembers(items=[ProjectMemberOut.model_validate(member) for member in members])


_members.remove(
    f"{_ONE}/members/{{user_id:usr}}", projects.remove_member, "remove_project_member", "Send somebody away, or leave"
)
