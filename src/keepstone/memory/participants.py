"""Who is in a room: invited, let in, sent away; people and agents."""

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope, inside
from keepstone.access.require import require_user
from keepstone.errors import Conflict, NotFound
from keepstone.memory import invitations
from keepstone.memory.agents import find_agent
from keepstone.memory.rooms import Described, described, find_room, no_room, require_room_owner
from keepstone.model.principal import Principal
from keepstone.model.room import Room
from keepstone.services import Services
from keepstone.store import participants as participant_store
from keepstone.store import rooms as store
from keepstone.store import workspaces as member_store
from keepstone.store.db import Connection


async def join(services: Services, principal: Principal, room_id: str, user: str) -> Described:
    """Invite somebody of the account. Whoever is in a room may."""
    async with inside(services, principal, find_room, room_id) as (conn, room):
        await invitations.let_in(conn, principal, room.space, room_id, user)
        return await described(conn, room)


async def accept(services: Services, principal: Principal, invitation_id: str) -> Described:
    """The caller is in the room from now on, and their profile is read there."""
    async with services.db.transaction(account_scope(principal)) as conn:
        invitation = await invitations.find_own(conn, principal, invitation_id)
        await invitations.accept(conn, principal, invitation)
        return await described(conn, await find_room(conn, principal, invitation.room_id))


async def leave(services: Services, principal: Principal, room_id: str, user_id: str) -> None:
    """Everybody may leave; an owner may send others away, also whoever is invited, whom whoever invited them may too.
    The last owner hands the room on, or deletes it.
    """
    async with inside(services, principal, _asked_to, room_id) as (conn, room):
        invited = {one.user_id: one.invited_by for one in await participant_store.participants(conn, room.space)}
        if principal.user_id not in {user_id, invited.get(user_id)}:
            await require_room_owner(conn, principal, room)
        if await invitations.end(conn, principal, room.space, room_id, user_id):
            return
        await store.hold(conn, room.space)
        present = await member_store.members(conn, room.space)
        if user_id not in {participant.user_id for participant in present}:
            raise NotFound("There is no such participant.")
        remaining = [participant for participant in present if participant.user_id != user_id]
        if not remaining:
            raise Conflict("Nobody would be left in the room: delete it instead.")
        if not any(participant.role == "owner" for participant in remaining):
            await member_store.put_member(conn, room.space, remaining[0].user_id, "owner")
        await member_store.remove_member(conn, room.space, user_id)
        await record(conn, principal, "room.leave", room_id, user=user_id)


async def add_agent(services: Services, principal: Principal, room_id: str, agent: str) -> Described:
    """It remembers what is said from now on."""
    async with inside(services, principal, find_room, room_id) as (conn, room):
        await find_agent(conn, agent)
        await store.add_agent(conn, room.space, agent)
        await record(conn, principal, "room.agent", room_id, agent=agent)
        return await described(conn, room)


async def remove_agent(services: Services, principal: Principal, room_id: str, slug: str) -> None:
    async with inside(services, principal, find_room, room_id) as (conn, room):
        if not await store.remove_agent(conn, room.space, slug):
            raise NotFound("There is no such agent in this room.")
        await record(conn, principal, "room.agent_away", room_id, agent=slug)


async def _asked_to(conn: Connection, principal: Principal, room_id: str) -> Room:
    """The room, if the caller is in it or invited, for whoever does nothing there but leave."""
    user_id = require_user(principal)
    room = await store.get(conn, room_id, user_id)
    if room is None:
        invitation = await participant_store.invitation_to(conn, room_id, user_id)
        room = await store.by_space(conn, invitation.space) if invitation else None
    if room is None:
        raise no_room()
    return room
