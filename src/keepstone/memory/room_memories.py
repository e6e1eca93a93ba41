"""What agents remember of rooms, direct messages, profiles and projects; and landmarks.

A job reads each message for facts, decisions and action items, and gives them to every agent that was in the room when
it was said.
What was said in a direct message stays there. A decision that is firm becomes a landmark: superseded perhaps, never
lost. What takes the place of what is judged in `superseding`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Generic, Literal

from keepstone.access.meter import try_model
from keepstone.access.principals import worker_for
from keepstone.access.readscope import account_scope, inside, job_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.dates import day as day_of
from keepstone.engine.dates import zone_named
from keepstone.engine.echoes import new_words
from keepstone.engine.extract.heard import Worth
from keepstone.engine.extract.passed_over import OWN
from keepstone.engine.language.sentences import lowered
from keepstone.engine.relations import judge_pairs
from keepstone.engine.takeaways.due import days_meant, due_day
from keepstone.engine.takeaways.messages import Takeaway, is_landmark, judged_part, takeaways, takeaways_by_model
from keepstone.engine.terms import terms
from keepstone.errors import Conflict, NotFound
from keepstone.memory import shelf
from keepstone.memory.again import add_to
from keepstone.memory.agents import find_agent
from keepstone.memory.hearing import listen
from keepstone.memory.kinds import Kind, Prepared
from keepstone.memory.projects import find_project
from keepstone.memory.rooms import find_place
from keepstone.memory.superseding import AUTO, SupersedeWish, Weighed, still_there, supersede, weigh
from keepstone.model.ids import new_id
from keepstone.model.memory import MemoryT
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.room import Landmark, Room, RoomMemory, Utterance
from keepstone.model.workspace import Role
from keepstone.services import Services
from keepstone.store import accounts, memories, room_messages, rooms, spaces, workspaces
from keepstone.store import room_memories as store
from keepstone.store.db import Connection, enter

ROOM_MEMORIES = Kind(
    shape=store.SHAPE, noun="memory", prefix="mem", missing="There is no such memory here.", text_field="text",
    indexed=lambda memory: [memory.content] if memory.superseded_by is None else [],
)  # fmt: skip
# Not searched: they stand in every prompt.
LANDMARKS = Kind(
    shape=store.LANDMARK_SHAPE, noun="landmark", prefix="lmk", missing="There is no such landmark in this room.",
    text_field="text", indexed=lambda _: (),
)  # fmt: skip
Shared = Literal["profile", "project"]
EVERYBODY = "*"  # a memory of every agent's, or of no single user
USUAL_TYPE = "fact"
_BATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptInRoom(Generic[MemoryT]):
    """`superseded` are older ones that no longer hold, `may_supersede` those that it may take the place of and that
    still hold. `existing`: it was there already, and `added` is what came new with it.
    """

    memory: MemoryT
    superseded: tuple[str, ...] = ()
    may_supersede: tuple[str, ...] = ()
    existing: bool = False
    added: dict[str, Any] = field(default_factory=dict[str, Any])


# ---------------------------------------------------------------------------------------------- by hand


async def remember(
    services: Services, principal: Principal, name: str, *, place: Shared, text: str, agent: str | None, kind: str,
    wish: SupersedeWish = AUTO,
) -> KeptInRoom[RoomMemory]:  # fmt: skip
    """Something of oneself, or of a project, that agents may know wherever one is: one agent, or all."""
    memory = ROOM_MEMORIES.new(
        services.clock(), content=ROOM_MEMORIES.check_text(text), type=kind, agent=agent or EVERYBODY,
        user_id=name if place == "profile" else None, run_id=f"{place}:{name}", visibility="shared",
    )  # fmt: skip
    prepared = await shelf.prepare(services, ROOM_MEMORIES, memory)

    async def find_space(conn: Connection) -> int:
        space = await shared_space(conn, principal, place, name, needs="member")
        if agent is not None:
            await find_agent(conn, agent)
            space = await rooms.part(conn, space, place, agent)
        await enter(conn, space_scope(principal, space))
        return space

    async with services.db.transaction(account_scope(principal)) as conn:
        others = await _near(conn, prepared.moved(space=await find_space(conn)))
    weighed = await weigh(services, memory, others, mode=wish.mode)
    async with services.db.transaction(account_scope(principal)) as conn:
        space = await find_space(conn)
        await spaces.lock(conn, [space])
        named = [await in_spaces(conn, ROOM_MEMORIES, [space], memory_id) for memory_id in wish.named]
        prepared = prepared.moved(space=space)
        kept = await _keep_unknown(conn, services, principal, prepared, weighed, others, named)
        for twin in await shelf.twins(conn, ROOM_MEMORIES, prepared.memory) if kept is None else ():
            known, added = await add_to(
                conn, services, principal, ROOM_MEMORIES, twin, memory, type_name="type", usual=USUAL_TYPE
            )
            if added:
                return KeptInRoom(memory=known, existing=True, added=added)
    if kept is None:
        raise Conflict("This is remembered already.")
    return kept


async def list_shared(
    services: Services, principal: Principal, name: str, page: PageRequest, *, place: Shared, superseded: bool = False
) -> Page[RoomMemory]:
    """What agents know of a user, or of a project."""
    async with services.db.transaction(account_scope(principal)) as conn:
        parts = await rooms.with_parts(conn, [await shared_space(conn, principal, place, name)])
        return await _page(conn, principal, parts, page, superseded=superseded)


async def list_room(
    services: Services, principal: Principal, place: str, page: PageRequest, *, agent: str | None = None,
    superseded: bool = False,
) -> Page[RoomMemory]:  # fmt: skip
    """What an agent remembers of the room, or what all of them do."""
    async with inside(services, principal, find_place, place) as (conn, room):
        return await _page(conn, principal, await _parts(conn, room, agent), page, superseded=superseded)


async def pin(
    services: Services, principal: Principal, place: str, *, text: str, wish: SupersedeWish = AUTO
) -> KeptInRoom[Landmark]:
    """A landmark by hand. What it supersedes stays readable. Pinned again, it is the one that is there."""
    text = LANDMARKS.check_text(text)
    landmark = LANDMARKS.new(services.clock(), content=text, user_id=principal.user_id)
    async with inside(services, principal, find_place, place, make=True, joins=True) as (conn, room):
        others = _about_the_same(await store.landmarks(conn, room.space), text)
    weighed = await weigh(services, landmark, others, mode=wish.mode)
    async with inside(services, principal, find_place, place, make=True) as (conn, room):
        await rooms.hold(conn, room.space)
        named = [await in_spaces(conn, LANDMARKS, [room.space], landmark_id) for landmark_id in wish.named]
        landmark = replace(landmark, space=room.space, visibility=room.visibility)
        return await _set_landmark(conn, services, principal, landmark, weighed, named)


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
            unread = await room_messages.awaiting_takeaways(conn, space, limit=_BATCH) if room else []
            await enter(conn, job_scope(account, *await rooms.with_parts(conn, [space])))
            before = await store.taken_before(conn, [message.id for message in unread]) if unread else []
            await enter(conn, scope)
            people = [person.name for person in await workspaces.members(conn, space)]
            # Of people only, an agent's words are no evidence.
            own = [
                await new_words(conn, space, message.text, before=message.seq) if message.user else ""
                for message in unread
            ]
            owner = await accounts.get(conn)
        if room is None or owner is None or not unread:
            return
        zone = zone_named(owner.timezone)
        worth = await listen(services, map(judged_part, own)) if services.llm is None else None
        for message, text in zip(unread, own, strict=True):
            kept = await _takeaways(services, account, room, message, text, people, worth) if text.strip() else []
            taken = [one for one in before if one.message_id == message.id]
            kept = await _not_decided_by_hand(services, kept, [one for one in taken if one.by_hand])
            day = date.fromisoformat(day_of(message.ts, zone))
            await _give(services, account, room, message, kept, day, taken)


async def _not_decided_by_hand(
    services: Services, kept: Sequence[Takeaway], decided: Sequence[store.TakenBefore]
) -> list[Takeaway]:  # fmt: skip
    """Of what a message says that is read once more, what nobody has seen to: what was deleted is not taken again, and
    what was corrected stays as it is, also where the message says otherwise by now.
    """
    said = [(words, one.there) for one in decided for words in one.words]
    fresh: list[Takeaway] = []
    for takeaway in kept:
        judged = await judge_pairs(services, [(words, takeaway.text) for words, _ in said]) if said else []
        relations = [(judgement.relation, there) for judgement, (_, there) in zip(judged, said, strict=True)]
        if not any(relation == "duplicate" or (relation == "update" and there) for relation, there in relations):
            fresh.append(takeaway)
    return fresh


async def _takeaways(
    services: Services, account: int, room: Room, message: Utterance, text: str, people: Sequence[str],
    worth: Worth | None,
) -> list[Takeaway]:  # fmt: skip
    """Of what people say in their own words, the `text`. `worth` is what the judge says of it, if it was asked."""
    kept = await try_model(
        services, worker_for(account, message.user), room=room.id,
        ask=lambda model: takeaways_by_model(model, message.name, text, people),
    )  # fmt: skip
    if kept is not None:
        return kept
    if worth is None:
        worth = await listen(services, [judged_part(text)])
    return await services.offload.run(len(text), takeaways, message.name, text, people, worth)


async def _give(
    services: Services, account: int, room: Room, message: Utterance, kept: Sequence[Takeaway], day: date,
    taken: Sequence[store.TakenBefore],
) -> None:  # fmt: skip
    """To every agent that was in the room then; and what is firm becomes a landmark, unless somebody has seen to one of
    this message. What was `taken` from it before is there. In one transaction with the mark that it was read.
    """
    there = {(one.kind, one.space, one.content_hash) for one in taken if one.there}
    pinnable = not any(one.by_hand and one.kind == LANDMARKS.shape.kind for one in taken)
    origin: dict[str, Any] = {
        "user_id": message.user, "source_type": "message", "source_message_id": message.id,
        "visibility": room.visibility,
    }  # fmt: skip
    made = [
        ROOM_MEMORIES.new(
            message.ts, content=takeaway.text, type=takeaway.type, run_id=room.run_id,
            metadata=told_beside(
                takeaway.text, day, speaker=message.name, assignee=takeaway.assignee, due=takeaway.due
            ), **origin,
        )
        for takeaway in kept
    ]  # fmt: skip
    prepared = [await shelf.prepare(services, ROOM_MEMORIES, memory) for memory in made]
    firm = [
        LANDMARKS.new(message.ts, content=takeaway.text, space=room.space, **origin)
        for takeaway in kept
        if pinnable and is_landmark(takeaway, message.text)
    ]
    near, landmarks = await _what_is_near(services, account, room, prepared) if prepared else ({}, [])
    of_memories = [
        await weigh(services, memory, _distinct([other for part in near.values() for other in part[number]]))
        for number, memory in enumerate(made)
    ]
    # What was decided in the same message before is among what a decision may take the place of.
    of_landmarks = [
        await weigh(services, landmark, _about_the_same([*firm[:number][::-1], *landmarks], landmark.content))
        for number, landmark in enumerate(firm)
    ]
    worker = worker_for(account, message.user)
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        await rooms.hold(conn, room.space)
        if not await room_messages.unchanged(conn, [message]):
            return  # gone, or worded otherwise meanwhile: then it is read again
        agents = [room.agent] if room.agent else await rooms.agents(conn, room.space, when_said=message.id)
        for landmark, weighed in zip(firm, of_landmarks, strict=True):
            if (LANDMARKS.shape.kind, room.space, LANDMARKS.content_hash(landmark)) not in there:
                await _set_landmark(conn, services, worker, landmark, weighed)
        await room_messages.takeaways_kept(conn, room.space, message)
        parts = {
            slug: room.space if room.agent else await rooms.part(conn, room.space, "room", slug)
            for slug in (agents if prepared else [])
        }
        await enter(conn, job_scope(account, room.space, *parts.values()))
        await spaces.lock(conn, parts.values())  # all at once: who corrects a memory holds several, too
        for slug, part in parts.items():
            for number, memory in enumerate(prepared):
                given = memory.moved(id=new_id("mem"), agent=slug, space=part)
                others = near[part][number] if part in near else []
                if (ROOM_MEMORIES.shape.kind, part, given.memory.content_hash) not in there:
                    await _keep_unknown(conn, services, worker, given, of_memories[number], others)


async def _what_is_near(
    services: Services, account: int, room: Room, prepared: Sequence[Prepared[RoomMemory]]
) -> tuple[dict[int, list[list[RoomMemory]]], list[Landmark]]:
    """What each agent's part of the room has near to each of these; and the landmarks of the room."""
    async with services.db.transaction(job_scope(account, room.space)) as conn:
        landmarks = await store.landmarks(conn, room.space)
        parts = await _parts(conn, room)
        await enter(conn, job_scope(account, room.space, *parts))
        return {part: [await _near(conn, memory.moved(space=part)) for memory in prepared] for part in parts}, landmarks


async def _set_landmark(
    conn: Connection, services: Services, principal: Principal, landmark: Landmark, weighed: Weighed[Landmark],
    named: Sequence[Landmark] = (),
) -> KeptInRoom[Landmark]:  # fmt: skip
    """The landmark that says so, with what it takes the place of. The room is held."""
    prepared = Prepared(LANDMARKS.complete(landmark), ())
    twins = await shelf.twins(conn, LANDMARKS, prepared.memory)
    known = next(iter(twins or await still_there(conn, LANDMARKS, landmark.space, weighed.known)), None)
    outdated = list(named)
    if known is None:
        await shelf.keep(conn, services, principal, LANDMARKS, prepared)
        outdated += await still_there(conn, LANDMARKS, landmark.space, weighed.outdated)
    kept = known or prepared.memory
    gone = {old.id: old for old in outdated if old.superseded_by is None and old.id != kept.id}
    for old in gone.values():
        await supersede(conn, services, principal, LANDMARKS, old, kept.id, landmark.created_at)
    if known is None and weighed.revised_by is not None:  # told late, and revised already
        for newer in await still_there(conn, LANDMARKS, landmark.space, [weighed.revised_by]):
            await supersede(conn, services, principal, LANDMARKS, kept, newer.id, newer.created_at)
    perhaps = () if known else tuple(old.id for old in weighed.perhaps if old.id not in gone)
    return KeptInRoom(memory=kept, superseded=tuple(gone), may_supersede=perhaps)


# ------------------------------------------------------------------------------------------------ shared


async def shared_space(
    conn: Connection, principal: Principal, place: Shared, name: str, *, needs: Role = "viewer"
) -> int:
    """For whom it is their own profile, or who is in the project and may do that there."""
    if place == "project":
        await find_project(conn, principal, name, needs=needs)
    elif name != require_user(principal):
        raise NotFound("There is no such user.")
    spaces = await rooms.named(conn, place, [name])
    if not spaces:  # this key does not reach it
        raise NotFound("There is no such user." if place == "profile" else "There is no such project.")
    return spaces[0]


async def _parts(conn: Connection, room: Room, agent: str | None = None) -> list[int]:
    """Where an agent, or each of them, keeps what it remembers of the room."""
    if room.agent:
        return [room.space]
    return await rooms.parts(conn, [room.space], [agent] if agent else await rooms.agents(conn, room.space))


async def _page(
    conn: Connection, principal: Principal, parts: Sequence[int], page: PageRequest, *, superseded: bool
) -> Page[RoomMemory]:
    await enter(conn, space_scope(principal, *parts))
    return await memories.page(conn, store.SHAPE, parts, page, where=memories.LIVE if superseded else memories.HOLDS)


async def in_spaces(conn: Connection, kind: Kind[MemoryT], parts: Sequence[int], memory_id: str) -> MemoryT:
    memory = await memories.get(conn, kind.shape, memory_id)
    if memory is None or memory.space not in parts:
        raise kind.not_found()
    return kind.live(memory)


async def _near(conn: Connection, new: Prepared[RoomMemory]) -> list[RoomMemory]:
    """What is remembered in the same place, of the same type, and near."""
    return [memory for memory in await shelf.alike(conn, ROOM_MEMORIES, new) if memory.type == new.memory.type]


def _distinct(others: Sequence[RoomMemory]) -> list[RoomMemory]:
    """Each text once: agents of a room remember the same."""
    return list({memory.content: memory for memory in others}.values())


def _about_the_same(landmarks: Sequence[Landmark], text: str) -> list[Landmark]:
    """Those with words in common, the most first: landmarks have no vectors."""
    own = set(terms(text))
    shared = [(len(own & set(terms(landmark.content))), landmark) for landmark in landmarks]
    return [landmark for count, landmark in sorted(shared, key=lambda pair: -pair[0]) if count]


async def _keep_unknown(
    conn: Connection, services: Services, principal: Principal, new: Prepared[RoomMemory],
    weighed: Weighed[RoomMemory], others: Sequence[RoomMemory], named: Sequence[RoomMemory] = (),
) -> KeptInRoom[RoomMemory] | None:  # fmt: skip
    """None when the same is remembered there already. `others` are what stands there of what was judged, by its text.
    The space is held.
    """
    memory = new.memory

    async def here(judged: Sequence[RoomMemory]) -> list[RoomMemory]:
        texts = {other.content for other in judged}
        return await still_there(conn, ROOM_MEMORIES, memory.space, [one for one in others if one.content in texts])

    if await shelf.twins(conn, ROOM_MEMORIES, memory) or await here(weighed.known):
        return None
    await shelf.keep(conn, services, principal, ROOM_MEMORIES, new)
    outdated = [*named, *await here(weighed.outdated)]
    gone = {old.id: old for old in outdated if old.superseded_by is None}
    for old in gone.values():
        await supersede(conn, services, principal, ROOM_MEMORIES, old, memory.id, memory.created_at)
    for newer in await here([weighed.revised_by] if weighed.revised_by else []):
        await supersede(conn, services, principal, ROOM_MEMORIES, memory, newer.id, newer.created_at)
        break
    perhaps = tuple(old.id for old in await here(weighed.perhaps) if old.id not in gone)
    return KeptInRoom(memory=memory, superseded=tuple(gone), may_supersede=perhaps)


def told_beside(
    text: str, day: date, *, speaker: str | None, assignee: str | None, due: str | None
) -> dict[str, Any]:  # fmt: skip
    """Who "I" is and which days are meant, beside the words that were said that day."""
    due_on = due_day(due, day) if due else None
    meant = {words: str(named) for words, named in days_meant(text, day).items()}
    given = {
        "assignee": assignee, "due": due, "due_on": str(due_on) if due_on else None,
        "speaker": speaker if OWN.search(lowered(text)) else None, "days": meant or None,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}
