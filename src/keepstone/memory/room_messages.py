"""Correcting what was said in rooms and direct messages: another wording, the trash and back, every version.

What was taken from a message follows it in the same transaction. When it is deleted, memories and landmarks go to the
trash with it, out of everybody's reach, and come back with it. When it is reworded they are gone for good, but for what
somebody has corrected by hand, and a job takes new ones from the new wording. What they had taken the place of holds
again. Summaries with its words are removed and made anew.
"""

from collections.abc import AsyncGenerator, Container, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keepstone.access.audit import record
from keepstone.access.readscope import inside, space_scope
from keepstone.access.require import may_change, require_user
from keepstone.errors import Conflict, Forbidden, NotFound
from keepstone.memory import shelf
from keepstone.memory.kinds import Kind, Prepared
from keepstone.memory.room_memories import LANDMARKS, ROOM_MEMORIES
from keepstone.memory.rooms import check_length, find_place, schedule_room_indexing, schedule_summary
from keepstone.memory.superseding import supersede
from keepstone.model.memory import Memory, MemoryT, restorable
from keepstone.model.principal import Principal
from keepstone.model.room import MessageVersion, Room, TrashedUtterance, Utterance
from keepstone.services import Services
from keepstone.store import agents, memories, passages, room_memories, rooms, spaces, summaries, workspaces
from keepstone.store import room_messages as store
from keepstone.store.db import Connection, enter

_KINDS: tuple[Kind[Any], ...] = (ROOM_MEMORIES, LANDMARKS)
_MODERATORS = {"owner", "admin"}  # who may delete what others said in a room


@dataclass(frozen=True, slots=True)
class _Taken:
    """Of one kind: what was taken from a message and has to go, and what that had taken the place of."""

    kind: Kind[Any]
    gone: Sequence[Memory]
    outdated: Sequence[Memory]


async def get(services: Services, principal: Principal, place: str, message_id: str) -> Utterance:
    async with inside(services, principal, find_place, place) as (conn, room):
        return await _there(conn, room, message_id)


async def history(services: Services, principal: Principal, place: str, message_id: str) -> list[MessageVersion]:
    """Every wording, the latest first. Of a message in the trash, for whoever can restore it."""
    async with inside(services, principal, find_place, place) as (conn, room):
        if await store.get(conn, room.space, message_id) is None:
            await _away(conn, services, principal, room, message_id)
        return await store.versions(conn, message_id)


async def reword(
    services: Services, principal: Principal, place: str, message_id: str, changes: dict[str, Any]
) -> Utterance:
    """By who said it, or who may speak as the agent that did. What says the same as before is no change."""
    known = {name: value for name, value in changes.items() if value is not None}
    check_length(known.get("text", ""))

    async def may(conn: Connection, room: Room) -> Utterance:
        message = await _there(conn, room, message_id)
        if not await _is_author(conn, services, principal, room, message):
            raise Forbidden("Only whoever said this may change it.")
        return message

    async with inside(services, principal, find_place, place) as (conn, room):
        message = await may(conn, room)
        if replace(message, **known) == message:
            return message
    now, wanted = services.clock(), message_id if known.get("text", message.text) != message.text else None
    async with _correcting(services, principal, place, wanted, keep_corrected=True) as (conn, room, taken, again):
        current = await may(conn, room)
        if current.version != message.version:
            raise Conflict("Somebody has changed this message meanwhile: read it again, then change it.")
        after = replace(current, **known)
        await _withdraw(conn, services, principal, taken, again, now)
        for kind in taken:
            for memory in kind.gone:
                await memories.remove(conn, memory.id)
        await store.reword(conn, room.space, after, require_user(principal), now)
        await _follow(conn, services, principal, room, after, taken)
        await schedule_room_indexing(conn, services, principal.account, room.space)
        await record(conn, principal, "message.update", message_id)
        after = await _there(conn, room, message_id)
    await _forget(services, principal, room)
    return after


async def delete(services: Services, principal: Principal, place: str, message_id: str) -> None:
    """Into the trash, for 30 days, with all that was taken from it: by who said it, or an owner of the room."""
    now = services.clock()
    async with _correcting(services, principal, place, message_id, keep_corrected=False) as (conn, room, taken, again):
        message = await _there(conn, room, message_id)
        is_author = await _is_author(conn, services, principal, room, message)
        if not is_author and not await moderates(conn, principal, room):
            raise Forbidden("Only whoever said this, or an owner of the room, may delete it.")
        revived = await _withdraw(conn, services, principal, taken, again, now)
        await store.put_away(conn, room.space, message_id, require_user(principal), now, revived)
        await _follow(conn, services, principal, room, message, taken)
        await record(conn, principal, "message.delete", message_id)
    await _forget(services, principal, room)


async def restore(services: Services, principal: Principal, place: str, message_id: str) -> Utterance:
    """Out of the trash, within 30 days, with all that went there with it: by who deleted it, or by an owner of the room
    if that was not its author.
    """
    now = services.clock()
    while True:
        async with inside(services, principal, find_place, place) as (conn, room):
            message = await _away(conn, services, principal, room, message_id)
            await _reach(conn, principal, room)
            before = await _withdrawn(conn, message)
            # What was superseded by something that is gone, and does not come back now, holds again.
            over = {
                kind.noun: {*await memories.by_ids(conn, kind.shape, _superseding(gone)), *(one.id for one in gone)}
                for kind, gone in before
            }
        back: list[tuple[Kind[Any], Memory, Prepared[Any]]] = []
        for kind, gone in before:
            brought = [brought_back(memory, over[kind.noun]) for memory in gone]
            prepared = await shelf.prepare_each(services, kind, brought)
            back += [(kind, old, new) for old, new in zip(gone, prepared, strict=True)]
        async with inside(services, principal, find_place, place) as (conn, room):
            await _hold(conn, principal, room)
            current = await _away(conn, services, principal, room, message_id)
            if current != message or await _withdrawn(conn, message) != before:
                continue
            await store.bring_back(conn, room.space, message_id, require_user(principal), now)
            for kind, old, new in back:
                if not await shelf.twins(conn, kind, new.memory):
                    await shelf.rewrite(conn, services, principal, kind, old, new, "returned")
            await _supersede_again(conn, services, principal, message)
            await _follow(conn, services, principal, room, message, [])
            await schedule_room_indexing(conn, services, principal.account, room.space)
            await record(conn, principal, "message.restore", message_id)
            restored = await _there(conn, room, message_id)
        await _forget(services, principal, room)
        return restored


# ---------------------------------------------------------------------------------------------------- who may


async def moderates(conn: Connection, principal: Principal, room: Room) -> bool:
    """Whether the caller may delete what others said: an owner of the room, and everybody in their own messages."""
    if room.agent:
        return True
    present = {member.user_id: member.role for member in await workspaces.members(conn, room.space)}
    return present.get(str(principal.user_id)) in _MODERATORS


async def _is_author(
    conn: Connection, services: Services, principal: Principal, room: Room, message: Utterance
) -> bool:  # fmt: skip
    """Who said it; of what an agent said, at whose request that was, whoever made the agent, and owners of the
    account. In direct messages the agent speaks to one user alone, who had it said.
    """
    if message.agent is None:
        return message.user == principal.user_id
    if room.agent:
        return True
    agent = await agents.get(conn, message.agent)
    made_by_them = agent is not None and may_change(services, principal, agent.created_by)
    return made_by_them or await store.sent_by(conn, message.id) == principal.user_id


async def _there(conn: Connection, room: Room, message_id: str) -> Utterance:
    message = await store.get(conn, room.space, message_id)
    if message is None:
        raise NotFound("There is no such message here.")
    return message


async def _away(
    conn: Connection, services: Services, principal: Principal, room: Room, message_id: str
) -> TrashedUtterance:  # fmt: skip
    """One in the trash, for whoever can restore it; to everybody else it is not there. What its author has deleted,
    nobody else brings back.
    """
    message = await store.trashed(conn, room.space, message_id)
    if message is not None and restorable(message.deleted_at, services.clock()):
        by_another = message.deleted_by is None or message.deleted_by != message.user
        if message.deleted_by == principal.user_id or (by_another and await moderates(conn, principal, room)):
            return message
    raise NotFound("There is no such message here.")


# ------------------------------------------------------------------------------------------------ what follows


async def _reach(conn: Connection, principal: Principal, room: Room) -> list[int]:
    """From here on the transaction reaches the room, and what every agent remembers of it."""
    places = await rooms.with_parts(conn, [room.space])
    await enter(conn, space_scope(principal, *places))
    return places


async def _hold(conn: Connection, principal: Principal, room: Room) -> None:
    """The same; and until the transaction ends, nobody else says or remembers anything there."""
    await rooms.hold(conn, room.space)
    await spaces.lock(conn, await _reach(conn, principal, room))


async def _taken(conn: Connection, message_id: str | None, *, keep_corrected: bool) -> list[_Taken]:
    found: list[_Taken] = []
    if message_id is None:
        return found
    for kind in _KINDS:
        gone: list[Memory] = await room_memories.taken_from(conn, kind.shape, message_id)
        if keep_corrected and gone:
            corrected = await room_memories.corrected(conn, [memory.id for memory in gone])
            gone = [memory for memory in gone if memory.id not in corrected]
        ids = {memory.id for memory in gone}
        outdated: list[Memory] = await room_memories.superseded_by(conn, kind.shape, list(ids)) if ids else []
        found.append(_Taken(kind, gone, [memory for memory in outdated if memory.id not in ids]))
    return found


@asynccontextmanager
async def _correcting(
    services: Services, principal: Principal, place: str, message_id: str | None, *, keep_corrected: bool
) -> AsyncGenerator[tuple[Connection, Room, Sequence[_Taken], Sequence[Sequence[Prepared[Any]]]]]:
    """One transaction that holds the room, with what was taken from a message, and what will hold again made ready for
    it before: embedding takes time. Without a message, nothing of the kind goes.
    """
    while True:
        async with inside(services, principal, find_place, place) as (conn, room):
            await _reach(conn, principal, room)
            before = await _taken(conn, message_id, keep_corrected=keep_corrected)
        again = [
            await shelf.prepare_each(
                services,
                taken.kind,
                [
                    replace(old, superseded_by=None, valid_to=None, updated_at=services.clock())
                    for old in taken.outdated
                ],
            )
            for taken in before
        ]
        async with inside(services, principal, find_place, place) as (conn, room):
            await _hold(conn, principal, room)
            if await _taken(conn, message_id, keep_corrected=keep_corrected) == before:
                yield conn, room, before, again
                return


async def _withdraw(
    conn: Connection, services: Services, principal: Principal, taken: Sequence[_Taken],
    again: Sequence[Sequence[Prepared[Any]]], at: datetime,
) -> list[tuple[str, str]]:  # fmt: skip
    """What was taken from a message goes, and what it had taken the place of holds again: the ids of those, each with
    what it had been superseded by.
    """
    revived: list[tuple[str, str]] = []
    for one, prepared in zip(taken, again, strict=True):
        if one.gone:
            ids = [memory.id for memory in one.gone]
            await shelf.put_away(conn, principal, one.kind, ids, "withdrawn", deleted_at=at)
        for old, new in zip(one.outdated, prepared, strict=True):
            if not await shelf.twins(conn, one.kind, new.memory):
                await shelf.rewrite(conn, services, principal, one.kind, old, new, "revived")
                revived.append((old.id, str(old.superseded_by)))
    return revived


async def _withdrawn(conn: Connection, message: TrashedUtterance) -> list[tuple[Kind[Any], list[Any]]]:
    """What went to the trash with this message, and not before it."""
    return [
        (kind, await room_memories.taken_from(conn, kind.shape, message.id, away_since=message.deleted_at))
        for kind in _KINDS
    ]


def _superseding(gone: Sequence[Memory]) -> list[str]:
    return [memory.superseded_by for memory in gone if memory.superseded_by is not None]


def brought_back(memory: MemoryT, over: Container[str]) -> MemoryT:
    """Out of the trash; superseded only by something that is there (`over`)."""
    if memory.superseded_by is None or memory.superseded_by in over:
        return replace(memory, deleted_at=None)
    return replace(memory, deleted_at=None, superseded_by=None, valid_to=None)


async def _supersede_again(
    conn: Connection, services: Services, principal: Principal, message: TrashedUtterance
) -> None:  # fmt: skip
    """What had held again while the message was away gives way once more, if nobody has seen to it since."""
    for kind in _KINDS:
        known = await memories.by_ids(conn, kind.shape, [*message.revived, *message.revived_from])
        for old_id, new_id in zip(message.revived, message.revived_from, strict=True):
            old, new = known.get(old_id), known.get(new_id)
            if old is not None and new is not None and old.superseded_by is None:
                await supersede(conn, services, principal, kind, old, new_id, new.created_at)


async def _follow(
    conn: Connection, services: Services, principal: Principal, room: Room, message: Utterance, taken: Sequence[_Taken]
) -> None:
    """The room says something else now: summaries, threads, and whoever said the same again."""
    dropped = await store.drop_summaries(conn, room.space, message)
    await passages.delete(conn, "summary", [summary_id for summary_id, _, _ in dropped])
    await store.follow(conn, room.space, message.ts)
    said = [memory.content for one in taken for memory in one.gone]
    if said and await store.read_again(conn, room.space, said, but=message.id):
        await schedule_room_indexing(conn, services, principal.account, room.space)
    if message.thread_id is not None:
        await store.count_thread(conn, message.thread_id)
        thread = await rooms.thread(conn, room.space, message.thread_id)
        summed = any(tier == "thread" for _, tier, _ in dropped)
        if summed or (thread is not None and (thread.closed_at or await summaries.of_thread(conn, thread.id))):
            await schedule_summary(conn, services, principal, room, message.thread_id)


async def _forget(services: Services, principal: Principal, room: Room) -> None:
    """What lies in Redis: it is no longer the latest, and need not lie there until somebody asks."""
    if services.working is not None:
        await services.working.drop(principal.account, room.space)
