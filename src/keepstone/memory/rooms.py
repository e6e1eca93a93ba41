"""Rooms and direct messages: who is in them, and what is said there.

To whoever is not in a room it is not there; whoever is invited to it (`invitations`) sees who asks them to come, and
nothing that was said. Who joins or leaves changes what is read from then on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from keepstone.access.audit import record
from keepstone.access.principals import act_for
from keepstone.access.readscope import account_scope, inside, space_scope
from keepstone.access.require import require_user
from keepstone.errors import Conflict, Forbidden, Malformed, NotFound
from keepstone.memory import invitations
from keepstone.memory.agents import find_agent, require_voice
from keepstone.memory.names import called, marked, namesakes, told_apart
from keepstone.memory.projects import find_project
from keepstone.memory.traces import require_of
from keepstone.model.ids import is_id, new_id
from keepstone.model.invitation import Participant
from keepstone.model.memory import restorable_since
from keepstone.model.message import check_said
from keepstone.model.page import Page, PageRequest, cut_page, number_in
from keepstone.model.principal import Principal
from keepstone.model.room import WORKING, Agent, Room, RoomActivity, Thread, Utterance
from keepstone.services import Services
from keepstone.store import participants as participant_store
from keepstone.store import room_messages, room_reads, spaces, users
from keepstone.store import rooms as store
from keepstone.store import workspaces as member_store
from keepstone.store.db import Connection, enter

LARGEST = 256 * 1024  # bytes of a message
# Days are reckoned around a message, in whatever time zone: it has to have some.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
_NOWHERE = 0  # a space that there is not


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """`user` or `agent` says it; without either, the caller. `client_id` is the caller's own: the same again changes
    nothing. `trace_id` is the trace of the prompt that it answers.
    """

    text: str
    user: str | None = None
    agent: str | None = None
    ts: datetime | None = None
    thread_id: str | None = None
    attachments: tuple[dict[str, Any], ...] = ()
    client_id: str | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A room with who is in it or invited. `invitation_id` is the caller's own, until they accept it; `activity` what
    is new there for them, in a list of rooms.
    """

    room: Room
    participants: Sequence[Participant]
    agents: Sequence[str]
    invitation_id: str | None = None
    activity: RoomActivity | None = None


# --------------------------------------------------------------------------------------------------- the places


async def create(
    services: Services,
    principal: Principal,
    *,
    name: str,
    project_id: str | None,
    participants: Sequence[str],
    agents: Sequence[str],
) -> Described:
    """Whoever makes it is in it, and owns it."""
    user_id = require_user(principal)
    room_id = new_id("room")
    async with services.db.transaction(account_scope(principal)) as conn:
        if project_id is not None:
            await find_project(conn, principal, project_id, needs="member")
        space = await store.create(conn, room_id, name, project_id, user_id)
        await member_store.put_member(conn, space, user_id, "owner")
        for participant in participants:
            await invitations.let_in(conn, principal, space, room_id, participant)
        for slug in dict.fromkeys(agents):
            await find_agent(conn, slug)
            await store.add_agent(conn, space, slug)
        await record(conn, principal, "room.create", room_id)
        return await described(conn, await find_room(conn, principal, room_id))


async def list_rooms(
    services: Services, principal: Principal, page: PageRequest, *, deleted: bool = False
) -> Page[Described]:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        since = restorable_since(services.clock()) if deleted else None
        rooms = await store.page(conn, user_id, page, since=since)
        shown = [await described(conn, room) for room in rooms.items]
        if not deleted:
            here = [room.space for room in rooms.items]
            await enter(conn, space_scope(principal, *here))
            active = await room_reads.activity(conn, here, user_id)
            shown = [replace(one, activity=active.get(one.room.space)) for one in shown]
        return Page(items=shown, next_cursor=rooms.next_cursor)


async def get(services: Services, principal: Principal, room_id: str) -> Described:
    """Also for whoever is invited, so that they see what they are asked to join: not when it was last spoken there."""
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        room = await store.get(conn, room_id, user_id)
        invitation = await participant_store.invitation_to(conn, room_id, user_id) if room is None else None
        if invitation is not None:
            asked = await store.by_space(conn, invitation.space)
            room = asked and replace(asked, last_at=None)
        if room is None:
            raise no_room()
        return replace(await described(conn, room), invitation_id=invitation and invitation.id)


async def change(services: Services, principal: Principal, room_id: str, changes: Mapping[str, Any]) -> Described:
    """Whoever is in it renames it; an owner of it puts it into a project they are in, or with null out of one."""
    async with inside(services, principal, find_room, room_id) as (conn, room):
        name = changes.get("name")
        if name is not None and name != room.name:
            await member_store.rename(conn, room.space, name, principal.user_id)
            await record(conn, principal, "room.rename", room_id)
        project_id = changes.get("project_id", room.project_id)
        if project_id != room.project_id:
            await require_room_owner(conn, principal, room)
            if project_id is not None:
                await find_project(conn, principal, project_id, needs="member")
            await store.move(conn, room.space, project_id)
            await record(conn, principal, "room.move", room_id, project=project_id)
        return await described(conn, await find_room(conn, principal, room_id))


async def delete(services: Services, principal: Principal, room_id: str) -> None:
    """Into the trash with all that was said, for 30 days; by an owner of the room."""
    async with inside(services, principal, find_room, room_id) as (conn, room):
        await require_room_owner(conn, principal, room)
        await spaces.put_away(conn, room.space, away=True)
        await record(conn, principal, "room.delete", room_id)


async def restore(services: Services, principal: Principal, room_id: str) -> Described:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        room = await store.get(conn, room_id, user_id, since=restorable_since(services.clock()))
        if room is None:
            raise no_room()
        await require_room_owner(conn, principal, room)
        await spaces.put_away(conn, room.space, away=False)
        await record(conn, principal, "room.restore", room_id)
        return await described(conn, await find_room(conn, principal, room_id))


# ------------------------------------------------------------------------------------------------- what is said


async def say(
    services: Services, principal: Principal, place: str, new: NewMessage, *, alone: bool = False
) -> Utterance:
    """As oneself or as an agent that is there: in a room, or with `alone` in the direct messages with that agent."""
    principal = await act_for(services, principal, new.user)
    await require_of(services, principal, new.trace_id, place)
    async with services.db.transaction(account_scope(principal)) as conn:
        if alone:
            room = await find_dm(conn, principal, place, make=True)
        else:
            room = await find_room(conn, principal, place, joins=True)
        if new.agent is not None:
            if new.agent not in ([place] if alone else await store.agents(conn, room.space)):
                raise NotFound("There is no such agent in this room.")
            if not alone:  # what one's own program answers oneself, nobody else reads
                require_voice(services, principal, await find_agent(conn, new.agent))
        before, said = await _say(conn, services, principal, room, new)
        [shown] = await _told_apart(conn, room, [said])
    if services.working is not None and before is not None:
        await services.working.append(principal.account, room.space, before, said)
    return shown


async def list_messages(
    services: Services, principal: Principal, place: str, page: PageRequest, *, thread_id: str | None = None,
    latest_first: bool = False,
) -> Page[Utterance]:  # fmt: skip
    """In the order in which they were said; of the same moment, in which they came."""
    number = number_in(page)
    after = (page.after[0], number) if page.after and number is not None else None
    async with inside(services, principal, find_place, place) as (conn, room):
        messages = await store.messages(
            conn, room.space, after=after, limit=page.limit + 1, thread_id=thread_id, latest_first=latest_first
        )
        messages = await _told_apart(conn, room, messages)
    return cut_page(messages, page, lambda message: (message.ts, str(message.seq)))


async def working(services: Services, principal: Principal, place: str) -> list[Utterance]:
    """The last 50 that were said, in order."""
    async with services.db.transaction(account_scope(principal)) as conn:
        room = await find_place(conn, principal, place)
    recent = await recent_messages(services, principal, room)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await _told_apart(conn, room, recent)


async def recent_messages(services: Services, principal: Principal, room: Room) -> list[Utterance]:
    """From Redis, if there is one and it has all; else from what is stored, and Redis has it again."""
    if services.working is not None:
        recent = await services.working.read(principal.account, room.space, room.last_seq)
        if recent is not None:
            return recent
    async with services.db.transaction(space_scope(principal, room.space)) as conn:
        # Asked for again: something may have been said meanwhile; also between these two queries.
        current = await store.by_space(conn, room.space) or room
        latest = await store.latest(conn, room.space, limit=WORKING)
    if services.working is not None:
        last = max([current.last_seq, *(message.seq for message in latest)])
        await services.working.fill(principal.account, room.space, last, latest)
    return latest


# ----------------------------------------------------------------------------------------------------- threads


async def open_thread(services: Services, principal: Principal, room_id: str, *, title: str) -> Thread:
    async with inside(services, principal, find_room, room_id, joins=True) as (conn, room):
        thread = Thread(id=new_id("thr"), title=title, message_count=0, opened_at=services.clock(), closed_at=None)
        await store.open_thread(conn, room.space, thread, principal.user_id)
        await record(conn, principal, "thread.open", thread.id)
    return thread


async def list_threads(services: Services, principal: Principal, room_id: str, page: PageRequest) -> Page[Thread]:
    async with inside(services, principal, find_room, room_id) as (conn, room):
        return await store.threads(conn, room.space, page)


async def close_thread(services: Services, principal: Principal, room_id: str, thread_id: str) -> Thread:
    """A summary of it is made. Closed again, nothing changes."""
    async with inside(services, principal, find_room, room_id) as (conn, room):
        thread = await store.thread(conn, room.space, thread_id)
        if thread is None:
            raise NotFound("There is no such thread in this room.")
        if thread.closed_at is not None:
            return thread
        now = services.clock()
        await store.close_thread(conn, thread_id, now)
        await schedule_summary(conn, services, principal, room, thread_id)
        await record(conn, principal, "thread.close", thread_id)
    return replace(thread, closed_at=now)


# ---------------------------------------------------------------------------------- what other operations share


async def find_room(conn: Connection, principal: Principal, room_id: str, *, joins: bool = False) -> Room:
    """The room, if the caller is in it. From here on the transaction reaches what is in it. With `joins` it is an act
    of theirs by which they accept an invitation.
    """
    room = await seen_room(conn, principal, room_id, joins=joins)
    await enter(conn, space_scope(principal, room.space))
    return room


async def seen_room(conn: Connection, principal: Principal, room_id: str, *, joins: bool = False) -> Room:
    """The room, if the caller is in it, for whoever goes on to settle what of it is read."""
    user_id = require_user(principal)
    room = await store.get(conn, room_id, user_id)
    if room is None:
        invitation = await participant_store.invitation_to(conn, room_id, user_id)
        if invitation is None:
            raise no_room()
        if not joins:
            raise invitations.refuse(invitation)
        await invitations.accept(conn, principal, invitation)
        room = await store.get(conn, room_id, user_id)
    if room is None:
        raise no_room()
    return room


async def find_dm(conn: Connection, principal: Principal, agent: str, *, make: bool = False) -> Room:
    """Where the caller talks with this agent alone. From here on the transaction reaches what is in it."""
    require_user(principal)
    room = await seen_dm(conn, principal, await find_agent(conn, agent), make=make)
    await enter(conn, space_scope(principal, room.space))
    return room


async def seen_dm(conn: Connection, principal: Principal, agent: Agent, *, make: bool = False) -> Room:
    """Where the caller talks with this agent alone. Until something is said there, it is nowhere, and empty."""
    user_id = require_user(principal)
    room = await store.get_dm(conn, user_id, agent.slug)
    if room is None and principal.reach.spaces is not None:
        raise NotFound("A key that is for some spaces alone reaches no direct messages.")
    if room is None and make:
        await store.ensure_dm(conn, user_id, agent.slug)
        room = await store.get_dm(conn, user_id, agent.slug)
    return room or Room(
        id=agent.slug, name="", space=_NOWHERE, project_id=None, agent=agent.slug, owner=user_id,
        created_at=agent.created_at, last_at=None, last_seq=0,
    )  # fmt: skip


async def find_place(
    conn: Connection, principal: Principal, place: str, *, make: bool = False, joins: bool = False
) -> Room:
    """A room by its id, or by the slug of an agent the direct messages with it."""
    if is_id("room", place):
        return await find_room(conn, principal, place, joins=joins)
    return await find_dm(conn, principal, place, make=make)


async def described(conn: Connection, room: Room) -> Described:
    agents = await store.agents(conn, room.space)
    people = await participant_store.participants(conn, room.space)
    names = told_apart(people, agents=agents, in_account=await namesakes(conn, people, agents=agents))
    shown = [replace(one, name=names[one.user_id] if names[one.user_id] != called(one) else one.name) for one in people]
    return Described(room=room, participants=shown, agents=agents)


async def _told_apart(conn: Connection, room: Room, said: Sequence[Utterance]) -> list[Utterance]:
    """With a mark at the names that more than one in the account has."""
    if not said:
        return []
    if room.owner is None:
        people, agents = await member_store.members(conn, room.space), await store.agents(conn, room.space)
    else:
        people, agents = await participant_store.people(conn, [room.owner]), [room.id]
    names = marked(said, told_apart(people, said, agents, await namesakes(conn, people, said, agents)))
    return [replace(message, name=names.get(message.id, message.name)) for message in said]


async def _say(
    conn: Connection, services: Services, principal: Principal, room: Room, new: NewMessage
) -> tuple[int | None, Utterance]:
    """What was said, and behind which message (its `seq`); None when it was there already."""
    check_length(new.text)
    if new.ts is not None:
        check_said(new.ts, services.clock(), "ts")
    if new.ts is not None and new.ts < EARLIEST:
        message = "is before the year 1900"
        raise Malformed(f"The time {message}. Nothing was stored.", fields={"ts": message})
    user = await users.get(conn, require_user(principal))
    if user is None:
        raise NotFound("There is no such user.")
    before = await store.hold(conn, room.space)
    if new.client_id is not None:
        existing = await store.by_client_id(conn, room.space, new.client_id)
        if existing is not None:
            return None, existing
        if await room_messages.client_id_in_trash(conn, room.space, new.client_id):
            raise Conflict("The message with this id is in the trash: restore it, or take another id.")
    said = Utterance(
        id=new_id("msg"), seq=0, user=None if new.agent else user.id, agent=new.agent,
        name=new.agent or user.name or user.email.split("@", maxsplit=1)[0], text=new.text,
        ts=new.ts or services.clock(), thread_id=new.thread_id, attachments=list(new.attachments),
        trace_id=new.trace_id,
    )  # fmt: skip
    await _in_thread(conn, services, principal, room, said)
    seq = await store.say(conn, before or room, said, new.client_id, sent_by=user.id if new.agent else None)
    await schedule_room_indexing(conn, services, principal.account, room.space)
    return (before or room).last_seq, replace(said, seq=seq)


def check_length(text: str) -> None:
    """Of a message."""
    if len(text.encode()) > LARGEST:
        message = "has more than 256 KB: upload long texts as files"
        raise Malformed(f"The text {message}. Nothing was stored.", fields={"text": message})


async def schedule_room_indexing(conn: Connection, services: Services, account: int, space: int) -> None:
    """A job takes memories from what is new and makes the vectors, unless one is on its way already."""
    if await spaces.mark_indexing_scheduled(conn, space):
        await services.queue.add(conn, "read_room", account=account, space=space, one_by_one=f"room {space}")


async def _in_thread(conn: Connection, services: Services, principal: Principal, room: Room, said: Utterance) -> None:
    """A thread begins with its first message; one that has grown long gets a summary."""
    if said.thread_id is None:
        return
    if await store.thread(conn, room.space, said.thread_id) is None:
        thread = Thread(id=said.thread_id, title="", message_count=0, opened_at=said.ts, closed_at=None)
        if not await store.open_thread(conn, room.space, thread):
            raise NotFound("There is no such thread in this room.")
    count = await store.grow_thread(conn, said.thread_id)
    thread = await store.thread(conn, room.space, said.thread_id)
    long = count > WORKING and (count - WORKING) % 25 == 1
    if long or (thread is not None and thread.closed_at is not None):
        await schedule_summary(conn, services, principal, room, said.thread_id)


async def schedule_summary(
    conn: Connection, services: Services, principal: Principal, room: Room, thread_id: str
) -> None:
    """Of a thread that was closed, has grown long, or says something else now."""
    await services.queue.add(
        conn, "sum_up_thread", account=principal.account, one_by_one=f"room {room.space}", space=room.space,
        thread_id=thread_id,
    )  # fmt: skip


async def require_room_owner(conn: Connection, principal: Principal, room: Room) -> None:
    present = {participant.user_id: participant.role for participant in await member_store.members(conn, room.space)}
    if present.get(str(principal.user_id)) != "owner":
        raise Forbidden("Only an owner of the room may do this: ask whoever made it.")


def no_room() -> NotFound:
    return NotFound("There is no such room.")
