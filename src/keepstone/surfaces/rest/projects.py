"""Projects."""

from keepstone.memory import projects
from keepstone.model.project import Project
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Name, Wire, fields_of

router = Router(prefix="/v1", tags=["projects"])


class ProjectIn(Wire):
    name: Name


class ProjectOut(fields_of(Project, "id name created_at")):
    pass


_projects = Routes(router, ProjectOut)
_projects.one(
    "POST", "/projects", projects.create, "create_project", "Make a project; you are in it", body=ProjectIn, status=201
)
_projects.page("/projects", projects.list_projects, "list_projects", "The projects you are in, the newest first")
