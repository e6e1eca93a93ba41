"""What agents remember of rooms, direct messages, profiles and projects; and landmarks.

A job reads each message for facts, decisions and action items, and gives them to every agent that was in the room when
it was said.
What was said in a direct message stays there. A decision that is firm becomes a landmark: superseded perhaps, never
lost.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from keepstone.access.meter import try_model
from keepstone.access.principals import worker_for
from keepstone.access.readscope import account_scope, inside, job_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.quotation import own_words
from keepstone.engine.takeaways.decisions import revises
from keepstone.engine.takeaways.messages import Takeaway, is_landmark, takeaways, takeaways_by_model
from keepstone.errors import Conflict, NotFound
from keepstone.memory import shelf
from keepstone.memory.agents import find_agent
from keepstone.memory.kinds import Kind, Prepared
from keepstone.memory.projects import require_project
from keepstone.memory.rooms import find_place
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.room import Landmark, Room, RoomMemory, Utterance
from keepstone.services import Services
from keepstone.store import memories, messages, rooms, spaces, workspaces
from keepstone.store import room_memories as store
from keepstone.store.db import Connection, enter

ROOM_MEMORIES = Kind(
    shape=store.SHAPE, noun="memory", prefix="mem", missing="There is no such memory here.", text_field="text"
)
# Not searched: they stand in every prompt.
LANDMARKS = Kind(
    shape=store.LANDMARK_SHAPE, noun="landmark", prefix="lmk", missing="There is no such landmark in this room.",
    text_field="text", indexed=lambda _: (),
)  # fmt: skip
Shared = Literal["profile", "project"]
EVERYBODY = "*"  # a memory of every agent's, or of no single user
_BATCH = 100


# ---------------------------------------------------------------------------------------------- by hand


async def remember(
    services: Services, principal: Principal, name: str, *, place: Shared, text: str, agent: str | None, kind: str
) -> RoomMemory:
    """Something of oneself, or of a project, that agents may know wherever one is: one agent, or all."""
    memory = ROOM_MEMORIES.new(
        services.clock(), content=ROOM_MEMORIES.check_text(text), type=kind, agent=agent or EVERYBODY,
        user_id=name if place == "profile" else None, run_id=f"{place}:{name}", visibility="shared",
    )  # fmt: skip
    prepared = await shelf.prepare(services, ROOM_MEMORIES, memory)
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await _shared_space(conn, principal, place, name)
        if agent is not None:
            await find_agent(conn, agent)
            space = await rooms.part(conn, space, place, agent)
        await enter(conn, space_scope(principal, space))
        await spaces.lock(conn, [space])
        prepared = prepared.moved(space=space)
        if not await _keep_unknown(conn, services, principal, prepared):
            raise Conflict("This is remembered already.")
    return prepared.memory


async def list_shared(
    services: Services, principal: Principal, name: str, page: PageRequest, *, place: Shared
) -> Page[RoomMemory]:
    """What agents know of a user, or of a project."""
    async with services.db.transaction(account_scope(principal)) as conn:
        parts = await rooms.with_parts(conn, [await _shared_space(conn, principal, place, name)])
        return await _page(conn, principal, parts, page)


async def list_room(
    services: Services, principal: Principal, place: str, page: PageRequest, *, agent: str | None = None
) -> Page[RoomMemory]:
    """What an agent remembers of the room, or what all of them do."""
    async with inside(services, principal, find_place, place) as (conn, room):
        agents = [agent] if agent else await rooms.agents(conn, room.space)
        parts = [room.space] if room.agent else await rooms.parts(conn, [room.space], agents)
        return await _page(conn, principal, parts, page)


async def pin(
    services: Services, principal: Principal, place: str, *, text: str, supersedes: Sequence[str] = ()
) -> Landmark:
    """A landmark by hand. What it supersedes stays readable. Pinned again, it is the one that is there."""
    text = LANDMARKS.check_text(text)
    async with inside(services, principal, find_place, place, make=True) as (conn, room):
        await rooms.hold(conn, room.space)
        every = {landmark.id: landmark for landmark in await store.landmarks(conn, room.space, superseded=True)}
        if any(landmark_id not in every for landmark_id in supersedes):
            raise LANDMARKS.not_found()
        landmark = LANDMARKS.new(
            services.clock(), content=text, space=room.space, visibility=room.visibility, user_id=principal.user_id
        )
        landmark, _ = await _set_landmark(conn, services, principal, landmark)
        older = [every[landmark_id] for landmark_id in dict.fromkeys(supersedes)]
        await _supersede(conn, services, principal, older, landmark.id, services.clock())
    return landmark


async def list_landmarks(
    services: Services, principal: Principal, place: str, *, superseded: bool
) -> Sequence[Landmark]:
    async with inside(services, principal, find_place, place) as (conn, room):
        return await store.landmarks(conn, room.space, superseded=superseded)


# ------------------------------------------------------------------------------------------------ by a job


async def read_room(services: Services, account: int, space: int) -> None:
    """Read what was said and not read yet. Can run twice: what is remembered already is not remembered again."""
    scope = job_scope(account, space)
    async with services.db.transaction(scope) as conn:
        await spaces.mark_indexing_begun(conn, space)
    while True:
        async with services.db.transaction(scope) as conn:
            room = await rooms.by_space(conn, space)
            unread = await rooms.awaiting_takeaways(conn, space, limit=_BATCH) if room else []
            people = [person.name for person in await workspaces.members(conn, space)]
        if room is None or not unread:
            return
        for message in unread:
            kept = await _takeaways(services, account, room, message, people)
            await _give(services, account, room, message, kept)


async def _takeaways(
    services: Services, account: int, room: Room, message: Utterance, people: Sequence[str]
) -> list[Takeaway]:  # fmt: skip
    """Of what people say; an agent's own words are no evidence."""
    text = own_words(message.text)
    if message.user is None or not text.strip():
        return []
    kept = await try_model(
        services, worker_for(account, message.user), room=room.id,
        ask=lambda model: takeaways_by_model(model, message.name, text, people),
    )  # fmt: skip
    if kept is not None:
        return kept
    return await services.offload.run(len(text), takeaways, message.name, text, people)


async def _give(services: Services, account: int, room: Room, message: Utterance, kept: Sequence[Takeaway]) -> None:
    """To every agent that was in the room then; and what is firm becomes a landmark. In one transaction with the mark
    that it was read.
    """
    origin: dict[str, Any] = {
        "user_id": message.user, "source_type": "message", "source_message_id": message.id,
        "visibility": room.visibility,
    }  # fmt: skip
    made = [
        ROOM_MEMORIES.new(
            message.ts, content=takeaway.text, type=takeaway.type, run_id=room.run_id, metadata=_metadata(takeaway),
            **origin,
        )
        for takeaway in kept
    ]  # fmt: skip
    prepared = [await shelf.prepare(services, ROOM_MEMORIES, memory, embed=False) for memory in made]
    worker = worker_for(account, message.user)
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        await rooms.hold(conn, room.space)
        if not await messages.still_there(conn, [message.id]):
            return
        agents = [room.agent] if room.agent else await rooms.agents(conn, room.space, when_said=message.id)
        for takeaway in kept:
            if is_landmark(takeaway, message.text):
                landmark = LANDMARKS.new(message.ts, content=takeaway.text, space=room.space, **origin)
                await _decide(conn, services, worker, landmark)
        await rooms.takeaways_kept(conn, room.space, message.seq)
        for slug in agents if prepared else []:
            part = room.space if room.agent else await rooms.part(conn, room.space, "room", slug)
            await enter(conn, job_scope(account, room.space, part))
            await spaces.lock(conn, [part])
            for memory in prepared:
                given = memory.moved(id=new_id("mem"), agent=slug, space=part)
                await _keep_unknown(conn, services, worker, given)
            await enter(conn, job_scope(account, room.space))


async def _decide(conn: Connection, services: Services, principal: Principal, landmark: Landmark) -> None:
    """A landmark that somebody's words made; it supersedes what they revise."""
    before, at = await store.landmarks(conn, landmark.space), landmark.created_at
    landmark, is_new = await _set_landmark(conn, services, principal, landmark)
    if not is_new:
        return
    older = [other for other in before if other.created_at <= at and revises(landmark.content, other.content)]
    await _supersede(conn, services, principal, older, landmark.id, at)
    # Told late, it may have been revised already.
    later = [other for other in before if other.created_at > at]
    newer = next((other for other in later if revises(other.content, landmark.content)), None)
    if newer is not None:
        await _supersede(conn, services, principal, [landmark], newer.id, newer.created_at)


async def _set_landmark(
    conn: Connection, services: Services, principal: Principal, landmark: Landmark
) -> tuple[Landmark, bool]:
    """The landmark that says so, and whether it is new. The room is held."""
    prepared = Prepared(LANDMARKS.complete(landmark), ())
    for twin in await shelf.twins(conn, LANDMARKS, prepared.memory):
        return twin, False
    return await shelf.keep(conn, services, principal, LANDMARKS, prepared), True


async def _supersede(
    conn: Connection, services: Services, principal: Principal, older: Sequence[Landmark], by: str, at: datetime
) -> None:
    """What held before stays readable."""
    for landmark in older:
        if landmark.superseded_by is None and landmark.id != by:
            over = replace(landmark, superseded_by=by, valid_to=at, updated_at=at)
            await shelf.rewrite(conn, services, principal, LANDMARKS, landmark, Prepared(over, None), "superseded")


# ------------------------------------------------------------------------------------------------ shared


async def _shared_space(conn: Connection, principal: Principal, place: Shared, name: str) -> int:
    """For whom it is their own profile, or who is in the project."""
    if place == "project":
        await require_project(conn, principal, name)
    elif name != require_user(principal):
        raise NotFound("There is no such user.")
    spaces = await rooms.named(conn, place, [name])
    if not spaces:  # this key does not reach it
        raise NotFound("There is no such user." if place == "profile" else "There is no such project.")
    return spaces[0]


async def _page(conn: Connection, principal: Principal, parts: Sequence[int], page: PageRequest) -> Page[RoomMemory]:
    await enter(conn, space_scope(principal, *parts))
    return await memories.page(conn, store.SHAPE, parts, page)


async def _keep_unknown(
    conn: Connection, services: Services, principal: Principal, memory: Prepared[RoomMemory]
) -> bool:  # fmt: skip
    """False when the same is remembered there already. The space is held."""
    if await shelf.twins(conn, ROOM_MEMORIES, memory.memory):
        return False
    await shelf.keep(conn, services, principal, ROOM_MEMORIES, memory)
    return True


def _metadata(takeaway: Takeaway) -> dict[str, Any]:
    given = {"assignee": takeaway.assignee, "due": takeaway.due}
    return {name: value for name, value in given.items() if value is not None}
