"""Whom an agent answers, where, and all that it may read for that: settled before anything is read.

In a room, what was said there, the participants' profiles and the project, public or shared; in a direct message, that
conversation, that user's profile and the project, private or shared. Nothing in a text can widen it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstone.access.readscope import account_scope, audience_scope, inside
from keepstone.errors import NotFound
from keepstone.memory.agents import find_agent
from keepstone.memory.projects import require_project
from keepstone.memory.room_memories import EVERYBODY
from keepstone.memory.rooms import find_dm, find_room
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.room import Agent, Room, RoomMemory
from keepstone.model.workspace import Member
from keepstone.services import Services
from keepstone.store import rooms, workspaces
from keepstone.store.db import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Whom an agent answers, where, and all that it may read for that."""

    room: Room
    agent: Agent
    user_id: str
    user_name: str
    participants: Sequence[Member]
    agents: Sequence[str]
    project_id: str | None
    scope: ReadScope
    fact_scopes: list[tuple[str, str]]
    run_ids: list[str]

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


async def room_audience(services: Services, principal: Principal, room_id: str, agent: str) -> Audience:
    """What an agent of the room may read to answer the caller there."""
    async with inside(services, principal, find_room, room_id) as (conn, room):
        agents = await rooms.agents(conn, room.space)
        if agent not in agents:
            raise NotFound("There is no such agent in this room.")
        participants = await workspaces.members(conn, room.space)
        return await _audience(
            conn, principal, room, await find_agent(conn, agent), participants, agents, room.project_id
        )


async def dm_audience(services: Services, principal: Principal, agent: str, project_id: str | None) -> Audience:
    """What an agent may read to answer the caller alone."""
    async with services.db.transaction(account_scope(principal)) as conn:
        await require_project(conn, principal, project_id)
        room = await find_dm(conn, principal, agent)
        me = await rooms.people(conn, [str(principal.user_id)])
        return await _audience(conn, principal, room, await find_agent(conn, agent), me, [agent], project_id)


async def _audience(
    conn: Connection, principal: Principal, room: Room, agent: Agent, participants: Sequence[Member],
    agents: Sequence[str], project_id: str | None,
) -> Audience:  # fmt: skip
    """The two filters, made once, from who asks and where: nothing later adds to them."""
    people = [person.user_id for person in participants]
    profiles = await rooms.named(conn, "profile", people)
    projects = await rooms.named(conn, "project", [project_id]) if project_id else []
    parts = await rooms.parts(conn, [room.space, *profiles, *projects], [agent.slug])
    account = await rooms.named(conn, "global", [principal.account_id])
    me = next((person for person in participants if person.user_id == principal.user_id), None)
    name = (me.name or me.email.split("@", maxsplit=1)[0]) if me else ""
    return Audience(
        room=room,
        agent=agent,
        user_id=str(principal.user_id),
        user_name=name,
        participants=participants,
        agents=agents,
        project_id=project_id,
        scope=audience_scope(
            principal, [room.space, *profiles, *projects, *parts, *account], private=room.agent is not None
        ),
        fact_scopes=[
            *([("room", room.id)] if room.agent is None else []),
            *([("project", project_id)] if project_id else []),
            *(("user", user_id) for user_id in people),
            ("global", principal.account_id),
        ],
        run_ids=[
            room.run_id,
            *(f"profile:{user_id}" for user_id in people),
            *([f"project:{project_id}"] if project_id else []),
        ],
    )
