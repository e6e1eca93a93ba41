"""Agents of the account."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from keepstone.memory import agents
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import Name, PageOut, Paging, Shown, Time, Wire, show_page

router = APIRouter(prefix="/v1/agents", tags=["rooms"])

SLUG = r"^[a-z0-9][a-z0-9_-]{0,63}$"
Slug = Annotated[str, Field(pattern=SLUG, description="Lower-case letters, digits, - and _.")]
Window = Annotated[int, Field(ge=256, le=10_000_000, description="Tokens that it reads at once.")]
Instructions = Annotated[str, Field(max_length=100_000)]


class AgentIn(Wire):
    slug: Slug
    name: Name
    context_window: Window = 32_000
    instructions: Instructions = ""


class AgentChange(Wire):
    name: Name | None = None
    context_window: Window | None = None
    instructions: Instructions | None = None


class AgentOut(Shown):
    slug: str
    name: str
    context_window: int
    instructions: str
    created_by: str | None
    created_at: Time
    updated_at: Time


@router.post("", status_code=201, summary="Make an agent")
async def create_agent(services: Used, principal: Caller, body: AgentIn) -> AgentOut:
    made = await agents.create(
        services, principal, slug=body.slug, name=body.name, context_window=body.context_window,
        instructions=body.instructions,
    )  # fmt: skip
    return AgentOut.model_validate(made)


@router.get("", summary="The account's agents, the newest first")
async def list_agents(services: Used, principal: Caller, page: Paging) -> PageOut[AgentOut]:
    return show_page(await agents.list_agents(services, principal, page), AgentOut.model_validate)


@router.get("/{slug}", summary="One agent")
async def get_agent(services: Used, principal: Caller, slug: str) -> AgentOut:
    return AgentOut.model_validate(await agents.get(services, principal, slug.replace("\0", "")))


@router.patch("/{slug}", summary="Change an agent")
async def change_agent(services: Used, principal: Caller, slug: str, body: AgentChange) -> AgentOut:
    changes = body.model_dump(exclude_unset=True)
    return AgentOut.model_validate(await agents.update(services, principal, slug.replace("\0", ""), changes))


@router.delete("/{slug}", status_code=204, summary="Remove an agent")
async def delete_agent(services: Used, principal: Caller, slug: str) -> None:
    await agents.delete(services, principal, slug.replace("\0", ""))
