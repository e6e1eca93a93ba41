"""Projects."""

from fastapi import APIRouter

from keepstone.memory import projects
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, show_page

router = APIRouter(prefix="/v1", tags=["projects"])


class ProjectIn(Wire):
    name: Name


class ProjectOut(Shown):
    id: str
    name: str
    created_at: Time


@router.post("/projects", status_code=201, summary="Make a project; you are in it")
async def create_project(services: Used, principal: Caller, body: ProjectIn) -> ProjectOut:
    return ProjectOut.model_validate(await projects.create(services, principal, name=body.name))


@router.get("/projects", summary="The projects you are in, the newest first")
async def list_projects(services: Used, principal: Caller, page: Paging) -> PageOut[ProjectOut]:
    return show_page(await projects.list_projects(services, principal, page), ProjectOut.model_validate)
