"""Whom an agent answers, where, and all that it may read for that: settled before anything is read.

In a room, what was said there, the participants' profiles and the project, public or shared; in a direct message, that
conversation, that user's profile and the project, private or shared. The project for whoever is in it: a room may
have others. Nothing in a text can widen it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from keepstone.access.readscope import audience_scope
from keepstone.access.require import require_user
from keepstone.engine.dates import zone_named
from keepstone.errors import NotFound
from keepstone.memory.agents import find_agent
from keepstone.memory.names import Named, called, namesakes
from keepstone.memory.projects import require_project
from keepstone.memory.room_memories import EVERYBODY
from keepstone.memory.rooms import seen_dm, seen_room
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.room import Agent, Room, RoomMemory
from keepstone.model.workspace import Member
from keepstone.store import projects, rooms, workspaces
from keepstone.store.db import Connection
from keepstone.store.participants import people


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Whom an agent answers, where, and all that it may read for that."""

    room: Room
    agent: Agent
    user_id: str
    user_name: str
    participants: Sequence[Member]
    agents: Sequence[str]
    namesakes: Sequence[Named]
    project_id: str | None
    scope: ReadScope
    fact_scopes: list[tuple[str, str]]
    run_ids: list[str]
    zone: ZoneInfo

    @property
    def visibility(self) -> list[str]:
        return ["private", "shared"] if self.room.agent else ["public", "shared"]

    def lets(self, memory: RoomMemory) -> bool:
        """The filter once more, on what the database gave: where it is from, who may see it, whose memory it is."""
        own = memory.visibility != "private" or memory.user_id == self.user_id
        return (
            memory.run_id in self.run_ids
            and memory.visibility in self.visibility
            and memory.agent_id in {self.agent.slug, EVERYBODY}
            and own
        )


async def room_audience(conn: Connection, principal: Principal, room_id: str, agent: str) -> Audience:
    """What an agent of the room may read to answer the caller there."""
    room = await seen_room(conn, principal, room_id, joins=True)
    present = await rooms.agent_among(conn, room.space, agent)
    if present is None:
        raise NotFound("There is no such agent in this room.")
    participants = await workspaces.members(conn, room.space)
    project = room.project_id and await projects.get(conn, room.project_id, require_user(principal))
    project_id = project.id if project else None
    return await _audience(conn, principal, room, present.agent, participants, present.slugs, project_id)


async def dm_audience(conn: Connection, principal: Principal, agent: str, project_id: str | None) -> Audience:
    """What an agent may read to answer the caller alone."""
    await require_project(conn, principal, project_id)
    require_user(principal)
    known = await find_agent(conn, agent)
    room = await seen_dm(conn, principal, known)
    me = await people(conn, [str(principal.user_id)])
    return await _audience(conn, principal, room, known, me, [agent], project_id)


async def _audience(
    conn: Connection, principal: Principal, room: Room, agent: Agent, participants: Sequence[Member],
    agents: Sequence[str], project_id: str | None,
) -> Audience:  # fmt: skip
    """The two filters, made once, from who asks and where: nothing later adds to them."""
    user_ids = [person.user_id for person in participants]
    spaces = await rooms.read_by_agent(
        conn, room.space, agent.slug, profiles=user_ids, project=project_id, account_id=principal.account_id
    )
    me = next((person for person in participants if person.user_id == principal.user_id), None)
    return Audience(
        room=room,
        agent=agent,
        user_id=str(principal.user_id),
        user_name=called(me) if me else "",
        participants=participants,
        agents=agents,
        namesakes=await namesakes(conn, participants, agents=agents),
        project_id=project_id,
        scope=audience_scope(principal, [room.space, *spaces], private=room.agent is not None),
        fact_scopes=[
            *([("room", room.id)] if room.agent is None else []),
            *([("project", project_id)] if project_id else []),
            *(("user", user_id) for user_id in user_ids),
            ("global", principal.account_id),
        ],
        run_ids=[
            room.run_id,
            *(f"profile:{user_id}" for user_id in user_ids),
            *([f"project:{project_id}"] if project_id else []),
        ],
        zone=zone_named(principal.timezone),
    )
