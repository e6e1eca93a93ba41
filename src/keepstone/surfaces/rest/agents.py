"""Agents of the account."""

from typing import Annotated

from pydantic import Field

from keepstone.memory import agents
from keepstone.model.room import Agent
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Name, Wire, fields_of

router = Router(prefix="/v1/agents", tags=["rooms"])

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


class AgentOut(fields_of(Agent, "slug name context_window instructions created_by created_at updated_at")):
    pass


def plain(slug: str) -> str:
    """What the database can look for: no slug has a NUL character."""
    return slug.replace("\0", "")


_agents = Routes(router, AgentOut, read_id=plain)
_agents.one("POST", "", agents.create, "create_agent", "Make an agent", body=AgentIn, status=201)
_agents.page("", agents.list_agents, "list_agents", "The account's agents, the newest first")
_agents.one("GET", "/{slug}", agents.get, "get_agent", "One agent")
_agents.one("PATCH", "/{slug}", agents.update, "change_agent", "Change an agent", changes=AgentChange)
_agents.remove("/{slug}", agents.delete, "delete_agent", "Remove an agent")
