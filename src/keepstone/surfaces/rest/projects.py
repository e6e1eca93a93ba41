"""Projects."""

from fastapi import APIRouter

from keepstone.memory import projects
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Name, Shown, Time, Wire

router = APIRouter(prefix="/v1", tags=["projects"])


class ProjectIn(Wire):
    name: Name


class ProjectOut(Shown):
    id: str
    name: str
    created_at: Time


_projects = Routes(router, ProjectOut)
_projects.one(
    "POST", "/projects", projects.create, "create_project", "Make a project; you are in it", body=ProjectIn, status=201
)
_projects.page("/projects", projects.list_projects, "list_projects", "The projects you are in, the newest first")
