"""Invite links: how an owner lets somebody new into the account. The page behind one is in `surfaces/web`."""

from typing import Annotated

from pydantic import Field

from keepstone.access import invite_links
from keepstone.model.credential import InviteLink
from keepstone.model.principal import Role
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import Wire, fields_of

router = Router(prefix="/v1/invite-links", tags=["account"])


class InviteLinkIn(Wire):
    email: Annotated[
        str | None, Field(min_length=3, max_length=254, description="For whom it is; null: for whoever has it.")
    ] = None
    role: Annotated[Role, Field(description="What they are in the account.")] = "member"


class InviteLinkOut(fields_of(InviteLink, "id email role created_by created_at expires_at")):
    role: Role
    email: str | None = Field(description="For whom it is; null: for whoever has it.")


class NewInviteLinkOut(InviteLinkOut):
    url: str = Field(description="The link itself. It is shown this once.")


@router.post("", status_code=201, summary="Make a link with which somebody new comes into the account, once (owners)")
async def create_invite_link(services: Used, principal: Caller, body: InviteLinkIn) -> NewInviteLinkOut:
    made, url = await invite_links.create(services, principal, email=body.email, role=body.role)
    return NewInviteLinkOut.of(made, url=url)


_links = Routes(router, InviteLinkOut, listed="InviteLinksOut")
_links.all("", invite_links.pending, "list_invite_links", "Those that were not used yet (owners)")
_links.remove("/{link_id:lnk}", invite_links.revoke, "revoke_invite_link", "Take one back")
