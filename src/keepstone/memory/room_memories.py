"""What agents remember of rooms, direct messages, profiles and projects; and landmarks.

A job reads each message for facts, decisions and action items, and gives them to every agent that was in the room when
it was said.
What was said in a direct message stays there. A decision that is firm becomes a landmark: superseded perhaps, never
lost.
"""

from collections.abc import Sequence
from typing import Any

from keepstone.access.audit import record
from keepstone.access.meter import metered
from keepstone.access.principals import worker_for
from keepstone.access.readscope import account_scope, job_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.dedup import content_hash
from keepstone.engine.index import Source, passages_of
from keepstone.engine.pack import own_words
from keepstone.engine.takeaways import Takeaway, is_landmark, revises, takeaways, takeaways_by_model
from keepstone.errors import Conflict, Invalid, Malformed, NotFound, UpstreamError
from keepstone.memory.agents import find_agent
from keepstone.memory.projects import require_project
from keepstone.memory.rooms import LARGEST, find_place
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.model.principal import Principal
from keepstone.model.room import Landmark, Room, RoomMemory, Utterance
from keepstone.services import Services
from keepstone.store import passages, rooms, spaces
from keepstone.store import room_memories as store
from keepstone.store.db import Connection, enter

EVERYBODY = "*"  # a memory of every agent's, or of no single user
_BATCH = 100


# ---------------------------------------------------------------------------------------------- by hand


async def remember_profile(
    services: Services, principal: Principal, user_id: str, *, text: str, agent: str | None, kind: str
) -> RoomMemory:
    """Something of oneself that agents may know wherever one is: one agent, or all."""
    if user_id != require_user(principal):
        raise NotFound("There is no such user.")
    return await _remember(
        services, principal, "profile", user_id, text=text, agent=agent, kind=kind, user_id=user_id,
        run_id=f"profile:{user_id}",
    )  # fmt: skip


async def remember_project(
    services: Services, principal: Principal, project_id: str, *, text: str, agent: str | None, kind: str
) -> RoomMemory:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await require_project(conn, principal, project_id)
    return await _remember(
        services, principal, "project", project_id, text=text, agent=agent, kind=kind, user_id=None,
        run_id=f"project:{project_id}",
    )  # fmt: skip


async def list_profile(services: Services, principal: Principal, user_id: str, page: PageRequest) -> Page[RoomMemory]:
    if user_id != require_user(principal):
        raise NotFound("There is no such user.")
    return await _list(services, principal, "profile", user_id, page)


async def list_project(
    services: Services, principal: Principal, project_id: str, page: PageRequest
) -> Page[RoomMemory]:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        await require_project(conn, principal, project_id)
    return await _list(services, principal, "project", project_id, page)


async def list_room(
    services: Services, principal: Principal, place: str, page: PageRequest, *, agent: str | None
) -> Page[RoomMemory]:
    """What an agent remembers of the room, or what all of them do."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        room = await find_place(conn, principal, place)
        agents = [agent] if agent else await rooms.agents(conn, room.space)
        found = [room.space] if room.agent else await rooms.parts(conn, [room.space], agents)
        await enter(conn, space_scope(principal, *found))
        memories = await store.page(conn, found, after=page.after, limit=page.limit + 1)
    return cut_page(memories, page, lambda one: (one.created_at, one.id))


async def pin(
    services: Services, principal: Principal, place: str, *, text: str, supersedes: Sequence[str] = ()
) -> Landmark:
    """A landmark by hand. What it supersedes stays readable. Pinned again, it is the one that is there."""
    text = _checked(text)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        room = await find_place(conn, principal, place, make=True)
        await rooms.hold(conn, room.space)
        for one in supersedes:
            if await store.landmark(conn, room.space, one) is None:
                raise NotFound("There is no such landmark in this room.")
        landmark = Landmark(
            id=new_id("lmk"), text=text, source_type="user", source_message_id=None, user_id=principal.user_id,
            superseded_by=None, superseded_at=None, created_at=services.clock(),
        )  # fmt: skip
        if not await store.insert_landmark(
            conn, room.space, landmark, visibility=room.visibility, digest=content_hash(text)
        ):
            digest = content_hash(text)
            return next(one for one in await store.landmarks(conn, room.space) if content_hash(one.text) == digest)
        await store.supersede(conn, room.space, supersedes, landmark.id, services.clock())
        await record(conn, principal, "landmark.create", landmark.id)
    return landmark


async def list_landmarks(
    services: Services, principal: Principal, place: str, *, superseded: bool
) -> Sequence[Landmark]:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        room = await find_place(conn, principal, place)
        return await store.landmarks(conn, room.space, superseded=superseded)


# ------------------------------------------------------------------------------------------------ by a job


async def read_room(services: Services, account: int, space: int) -> None:
    """Read what was said and not read yet. Can run twice: what is remembered already is not remembered again."""
    scope = job_scope(account, space)
    async with services.db.transaction(scope) as conn:
        await spaces.await_reading(conn, space, awaited=False)
    while True:
        async with services.db.transaction(scope) as conn:
            room = await rooms.by_space(conn, space)
            unread = await rooms.ungleaned(conn, space, limit=_BATCH) if room else []
            people = [one.name for one in await rooms.participants(conn, space)]
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
    model = metered(services, worker_for(account, message.user), room=room.id)
    if model is not None:
        try:
            return await takeaways_by_model(model, message.name, text, people)
        except UpstreamError:
            pass  # what comes after it would wait for this one message
    return takeaways(message.name, text, people)


async def _give(services: Services, account: int, room: Room, message: Utterance, kept: Sequence[Takeaway]) -> None:
    """To every agent that was in the room then; and what is firm becomes a landmark. In one transaction with the mark
    that it was read.
    """
    memories = [
        RoomMemory(
            id=new_id("mem"), type=takeaway.type, text=takeaway.text, user_id=message.user, agent_id=None,
            run_id=room.run_id, visibility=room.visibility, metadata=_metadata(takeaway), source_message_id=message.id,
            created_at=message.ts,
        )
        for takeaway in kept
    ]  # fmt: skip
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        await rooms.hold(conn, room.space)
        agents = [room.agent] if room.agent else await rooms.agents_then(conn, room.space, message.id)
        for takeaway in kept:
            if is_landmark(takeaway, message.text):
                await _set_landmark(conn, room, message, takeaway.text)
        await rooms.gleaned(conn, room.space, message.seq)
        for slug in agents if memories else []:
            part = room.space if room.agent else await rooms.part(conn, room.space, "room", slug)
            await enter(conn, job_scope(account, room.space, part))
            await _store(conn, services, account, part, [_of(one, slug) for one in memories])
            await enter(conn, job_scope(account, room.space))


async def _set_landmark(conn: Connection, room: Room, message: Utterance, text: str) -> None:
    landmark = Landmark(
        id=new_id("lmk"), text=text, source_type="message", source_message_id=message.id, user_id=message.user,
        superseded_by=None, superseded_at=None, created_at=message.ts,
    )  # fmt: skip
    before = await store.landmarks(conn, room.space)
    if not await store.insert_landmark(
        conn, room.space, landmark, visibility=room.visibility, digest=content_hash(text)
    ):
        return
    old = [one.id for one in before if one.created_at <= message.ts and revises(text, one.text)]
    await store.supersede(conn, room.space, old, landmark.id, message.ts)
    # Told late, it may have been revised already.
    newer = next((one for one in before if one.created_at > message.ts and revises(one.text, text)), None)
    if newer is not None:
        await store.supersede(conn, room.space, [landmark.id], newer.id, newer.created_at)


# ------------------------------------------------------------------------------------------------ shared


async def _remember(
    services: Services, principal: Principal, place: str, name: str, *, text: str, agent: str | None, kind: str,
    user_id: str | None, run_id: str,
) -> RoomMemory:  # fmt: skip
    memory = RoomMemory(
        id=new_id("mem"), type=kind, text=_checked(text), user_id=user_id, agent_id=agent or EVERYBODY, run_id=run_id,
        visibility="shared", metadata={}, source_message_id=None, created_at=services.clock(),
    )  # fmt: skip
    async with services.db.transaction(account_scope(principal.account)) as conn:
        if agent is not None:
            await find_agent(conn, agent)
        (space,) = await rooms.named(conn, place, [name])
        where = space if agent is None else await rooms.part(conn, space, place, agent)
        await enter(conn, space_scope(principal, where))
        if not await _store(conn, services, principal.account, where, [memory]):
            raise Conflict("This is remembered already.")
        await record(conn, principal, "memory.create", memory.id)
    return memory


async def _list(services: Services, principal: Principal, kind: str, name: str, page: PageRequest) -> Page[RoomMemory]:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        found = await rooms.with_parts(conn, await rooms.named(conn, kind, [name]))
        await enter(conn, space_scope(principal, *found))
        memories = await store.page(conn, found, after=page.after, limit=page.limit + 1)
    return cut_page(memories, page, lambda one: (one.created_at, one.id))


async def _store(
    conn: Connection, services: Services, account: int, space: int, memories: Sequence[RoomMemory]
) -> list[RoomMemory]:
    """Those that were not there, with their passages."""
    services.embedders.need()
    new = [one for one in memories if await store.insert(conn, space, one, content_hash(one.text))]
    for one in new:
        source = Source(kind="memory", id=one.id, text=one.text, at=one.created_at, dated=False)
        cut = await passages_of([source], services.embedders.active, visibility=one.visibility)
        if cut:
            await passages.insert(conn, space, cut)
    if new and await spaces.claim_reading(conn, space):
        await services.queue.add(conn, "read_space", account=account, space=space, one_by_one=f"space {space}")
    return new


def _of(memory: RoomMemory, agent: str) -> RoomMemory:
    return RoomMemory(
        id=new_id("mem"), type=memory.type, text=memory.text, user_id=memory.user_id, agent_id=agent,
        run_id=memory.run_id, visibility=memory.visibility, metadata=memory.metadata,
        source_message_id=memory.source_message_id, created_at=memory.created_at,
    )  # fmt: skip


def _metadata(takeaway: Takeaway) -> dict[str, Any]:
    given = {"assignee": takeaway.assignee, "due": takeaway.due}
    return {name: value for name, value in given.items() if value is not None}


def _checked(text: str) -> str:
    kept = own_words(text).strip()
    if not kept:
        raise Invalid("There is nothing to remember in this: give a text of its own, not only what was recalled.")
    if len(kept.encode()) > LARGEST:
        message = "has more than 256 KB: keep what matters"
        raise Malformed(f"The text {message}. Nothing was stored.", details=[{"path": "body.text", "message": message}])
    return kept
