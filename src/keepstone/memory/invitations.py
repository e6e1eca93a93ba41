"""Invitations to rooms: nobody is put into one without a say.

Whoever is named for a room is invited. Until they accept they see what they are asked to join and nothing that was
said there, and nothing of theirs is read in it. They accept in so many words, or by their own first act in the room. A
service key lets people in directly: it speaks for every one of them anyway.
"""

from dataclasses import replace

from keepstone.access.audit import record
from keepstone.access.principals import find_user
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.errors import Forbidden, NotFound
from keepstone.memory.names import namesakes, told_apart
from keepstone.model.ids import new_id
from keepstone.model.invitation import Invitation
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import participants as store
from keepstone.store import workspaces as member_store
from keepstone.store.db import Connection

PENDING = "invitation_pending"


async def list_invitations(
    services: Services, principal: Principal, page: PageRequest, *, sent: bool = False
) -> Page[Invitation]:
    """Those that the caller has yet to answer, or those that they sent and that are not answered; the newest first."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        found = await store.invitations(conn, user_id, page, sent=sent)
        people = await store.people(conn, list({name for one in found.items for name in (one.user_id, one.invited_by)}))
        names = told_apart(people, in_account=await namesakes(conn, people))
    items = [
        replace(one, user_name=names.get(one.user_id, ""), inviter_name=names.get(one.invited_by, ""))
        for one in found.items
    ]
    return Page(items=items, next_cursor=found.next_cursor)


async def decline(services: Services, principal: Principal, invitation_id: str) -> None:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        invitation = await store.invitation(conn, invitation_id)
        if invitation is None or invitation.user_id != user_id:
            raise _not_found()
        await end(conn, principal, invitation.space, invitation.room_id, user_id)


async def withdraw(services: Services, principal: Principal, invitation_id: str) -> None:
    """By whoever sent it. An owner of the room sends away whoever is invited as whoever is in it."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        invitation = await store.invitation(conn, invitation_id)
        if invitation is None or invitation.invited_by != user_id:
            raise _not_found()
        await end(conn, principal, invitation.space, invitation.room_id, invitation.user_id)


# ------------------------------------------------------------------------------------------- what rooms do with them


async def let_in(conn: Connection, principal: Principal, space: int, room_id: str, user: str) -> None:
    """Somebody of the account, by id or e-mail address: invited, or in it where the caller may speak for them. Who is
    in it or invited already stays so.
    """
    person = await find_user(conn, user)
    here = {one.user_id: one.status for one in await store.participants(conn, space)}
    if here.get(person.id) == "joined" or (person.id in here and not _speaks_for_all(principal)):
        return
    if _speaks_for_all(principal):
        await store.end_invitation(conn, space, person.id)
        await member_store.put_member(conn, space, person.id, "member")
        await record(conn, principal, "room.join", room_id, user=person.id)
    elif await store.invite(conn, new_id("inv"), space, person.id, require_user(principal)):
        await record(conn, principal, "room.invite", room_id, user=person.id)


async def find_own(conn: Connection, principal: Principal, invitation_id: str) -> Invitation:
    """To accept: the caller's own."""
    invitation = await store.invitation(conn, invitation_id)
    if invitation is None or invitation.user_id != require_user(principal):
        raise _not_found()
    return invitation


async def accept(conn: Connection, principal: Principal, invitation: Invitation) -> None:
    """From here on they are in the room. One that was withdrawn meanwhile is none."""
    principal.reach.require_write()  # composing is open to a key that may only read
    if not await store.end_invitation(conn, invitation.space, invitation.user_id):
        raise _not_found()
    await member_store.put_member(conn, invitation.space, invitation.user_id, "member")
    await record(conn, principal, "room.join", invitation.room_id, user=invitation.user_id)


def refuse(invitation: Invitation) -> Forbidden:
    return Forbidden(
        "You are invited to this room and not in it yet: accept first, with POST "
        f"/v1/invitations/{invitation.id}/accept, or say something there.",
        code=PENDING,
    )


async def end(conn: Connection, principal: Principal, space: int, room_id: str, user_id: str) -> bool:
    """Declined by whom it is for, or withdrawn."""
    ended = await store.end_invitation(conn, space, user_id)
    if ended:
        what = "room.decline" if user_id == principal.user_id else "room.withdraw"
        await record(conn, principal, what, room_id, user=user_id)
    return ended


def _speaks_for_all(principal: Principal) -> bool:
    """A key that is for some spaces alone reaches nobody's profile, whomever it names."""
    return principal.by_service_key and principal.reach.spaces is None


def _not_found() -> NotFound:
    return NotFound("There is no such invitation.")
