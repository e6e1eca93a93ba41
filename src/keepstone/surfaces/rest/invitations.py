"""Invitations to rooms: those that wait for an answer, and the answers."""

from typing import Annotated

from fastapi import Query

from keepstone.memory import invitations, participants
from keepstone.model.invitation import Invitation
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import Routes
from keepstone.surfaces.http.wire import fields_of
from keepstone.surfaces.rest.rooms import RoomOut, shown_room

router = Router(prefix="/v1/invitations", tags=["rooms"])


class InvitationOut(fields_of(Invitation, "id room_id room_name user_id user_name invited_by inviter_name created_at")):
    pass


_ONE = "/{invitation_id:inv}"
_invitations = Routes(router, InvitationOut)
_invitations.page(
    "", invitations.list_invitations, "list_invitations",
    "Rooms you are invited to and have not answered, the newest first",
    sent=(Annotated[bool, Query(description="Those that you sent instead.")], False),
)  # fmt: skip
Routes(router, RoomOut, shown_room).one(
    "POST", f"{_ONE}/accept", participants.accept, "accept_invitation", "Accept: you are in the room"
)


@router.post("/{invitation_id:inv}/decline", status_code=204, summary="Decline: as if you had not been asked")
async def decline_invitation(services: Used, principal: Caller, invitation_id: str) -> None:
    await invitations.decline(services, principal, invitation_id)


_invitations.remove(_ONE, invitations.withdraw, "withdraw_invitation", "Withdraw one that you sent")
