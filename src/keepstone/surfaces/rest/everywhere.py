"""One search over everything that the caller may see, over REST."""

from typing import Annotated

from fastapi import Query
from pydantic import Field

from keepstone.memory import everywhere
from keepstone.model.found import FoundThing, ThingKind, WhereFound
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.wire import Shown, fields_of, refuse

router = Router(prefix="/v1", tags=["memory"])


class WayOut(
    fields_of(
        WhereFound,
        "place name workspace_id chat_id message_id room_id agent project_id graph_id scope_id entity",
    )
):
    name: str = Field(description="What people call the place.")
    message_id: str | None = Field(description="What was said there that has it.")


class ThingOut(fields_of(FoundThing, "kind id title snippet at")):
    id: str = Field(description="Of a direct message the agent's slug, of a scope its `scope_id`.")
    snippet: str | None = Field(description="HTML: the words that were asked for are marked, all else is escaped.")
    where: WayOut


class ThingsOut(Shown):
    kind: ThingKind
    items: list[ThingOut] = Field(description="The best first.")


class EverythingOut(Shown):
    groups: list[ThingsOut] = Field(description="The kind with the best result first; no kind without any.")
    degraded: str | None = Field(description="`literal`: what only means the same could not be found just now.")


@router.get("/find", summary="Find anything by its name, its words or its meaning (not billable, leaves no trace)")
async def find(
    services: Used,
    principal: Caller,
    q: Annotated[str, Query(max_length=500, description="What is looked for, or how it begins.")],
    limit: Annotated[int, Query(ge=1, le=everywhere.MOST, description="How many of each kind at most.")] = 5,
) -> EverythingOut:
    refuse("q", q)
    found = await everywhere.find_everything(services, principal, q, limit=limit)
    groups = [ThingsOut(kind=group.kind, items=[_shown(item) for item in group.items]) for group in found.groups]
    return EverythingOut(groups=groups, degraded=found.degraded)


def _shown(item: FoundThing) -> ThingOut:
    return ThingOut.of(item, where=WayOut.model_validate(item.where))
