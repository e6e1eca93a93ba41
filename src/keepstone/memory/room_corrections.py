"""Correcting by hand what agents remember of rooms, direct messages, profiles and projects, and landmarks: read one,
change, delete, restore, revive, history; and the trash of each place.

What is remembered of one sentence exists once for each agent of the room. Whoever corrects it corrects it for all of
them: it is the sentence that was wrong, and not the agent. What was taken from a message that is in the trash itself
can't be read or restored before that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Generic

from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.dates import day as day_of
from keepstone.engine.dates import zone_named
from keepstone.engine.takeaways.due import due_of
from keepstone.memory import shelf, superseding
from keepstone.memory.kinds import Kind, check_metadata
from keepstone.memory.room_memories import LANDMARKS, ROOM_MEMORIES, Shared, shared_space, told_beside
from keepstone.memory.room_messages import brought_back, moderates
from keepstone.memory.rooms import find_place
from keepstone.memory.shelf import Finder
from keepstone.model.memory import TRASH_DAYS, Memory, MemoryT, Version
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.model.room import Room, Trashed
from keepstone.model.workspace import Role
from keepstone.services import Services
from keepstone.store import memories, messages, room_memories, room_messages, rooms
from keepstone.store.db import Connection, enter

_SENTENCE = 2_000  # characters; of a longer text nobody says whose task it is, and until when
_BESIDE = ("assignee", "due", "due_on", "speaker", "days")  # what is told beside the words of a message


@dataclass(frozen=True, slots=True)
class Remembered(Generic[MemoryT]):
    """One kind of memory, of rooms and direct messages, or of profiles or projects. Whoever is there may correct it."""

    kind: Kind[MemoryT]
    shared: Shared | None = None

    async def get(self, services: Services, principal: Principal, place: str, memory_id: str) -> MemoryT:
        find = self._finder(principal, place, memory_id, alone=True, needs="viewer")
        return await shelf.get(services, principal, self.kind, find)

    async def change(
        self, services: Services, principal: Principal, place: str, memory_id: str, changes: dict[str, Any]
    ) -> MemoryT:
        """Another text, for every agent that remembers this. What it said is in its history."""
        known = {name: value for name, value in changes.items() if value is not None}
        if "text" in known:
            known["content"] = self.kind.check_text(known.pop("text"))
        check_metadata(known.get("metadata"))

        def edit(memory: MemoryT) -> MemoryT:
            told = (
                {} if "metadata" in known or "content" not in known else _told_of(memory, known["content"], principal)
            )
            return replace(memory, **told | known)

        find = self._finder(principal, place, memory_id)
        return (await shelf.change_all(services, principal, self.kind, find, edit))[0]

    async def delete(self, services: Services, principal: Principal, place: str, memory_id: str) -> None:
        """Into the trash, for 30 days, for every agent. It is not taken from the same message again."""
        await shelf.trash(services, principal, self.kind, self._finder(principal, place, memory_id))

    async def restore(self, services: Services, principal: Principal, place: str, memory_id: str) -> MemoryT:
        """For every agent from which it was taken; 409 when the same is remembered again."""
        over: set[str] = set()  # what has taken the place of something, and is there
        find = self._finder(principal, place, memory_id)

        async def found(conn: Connection) -> Sequence[MemoryT]:
            away = await find(conn)
            over.update(await memories.by_ids(conn, self.kind.shape, [memory.superseded_by or "" for memory in away]))
            return away

        return await shelf.restore(
            services, principal, self.kind, found, edit=lambda memory: brought_back(memory, over)
        )  # fmt: skip

    async def revive(self, services: Services, principal: Principal, place: str, memory_id: str) -> MemoryT:
        """What was superseded holds again, beside what had taken its place."""
        find = self._finder(principal, place, memory_id, alone=True)
        return await superseding.revive(services, principal, self.kind, find)

    async def history(
        self, services: Services, principal: Principal, place: str, memory_id: str
    ) -> Sequence[Version]:  # fmt: skip
        """Every version, the latest first; also of what is in the trash."""
        find = self._finder(principal, place, memory_id, alone=True, needs="viewer")
        _, versions = await shelf.history(services, principal, find)
        return versions

    async def trash(
        self, services: Services, principal: Principal, place: str, page: PageRequest
    ) -> Page[Trashed]:  # fmt: skip
        """What was deleted there and the caller can restore, what was deleted last first."""
        async with services.db.transaction(account_scope(principal)) as conn:
            places, room = await self._reach(conn, principal, place)
            moderator = room is not None and await moderates(conn, principal, room)
            since = services.clock() - timedelta(days=TRASH_DAYS)
            user = require_user(principal)
            return await room_messages.trash(conn, places, page, user=user, moderates=moderator, since=since)

    async def _reach(
        self, conn: Connection, principal: Principal, place: str, needs: Role = "member"
    ) -> tuple[list[int], Room | None]:
        """The spaces of it, which the transaction reaches from here on; and the room, if it is one. In a project the
        caller has to be what this `needs`.
        """
        room = await find_place(conn, principal, place) if self.shared is None else None
        space = (
            room.space if room else await shared_space(conn, principal, self.shared or "profile", place, needs=needs)
        )
        places = await rooms.with_parts(conn, [space])
        await enter(conn, space_scope(principal, *places))
        return places, room

    def _finder(
        self, principal: Principal, place: str, memory_id: str, *, alone: bool = False, needs: Role = "member"
    ) -> Finder[MemoryT]:  # fmt: skip
        """The memory, and unless it is looked for `alone` what other agents remember of the same sentence."""

        async def find(conn: Connection) -> Sequence[MemoryT]:
            places, _ = await self._reach(conn, principal, place, needs)
            memory = await memories.get(conn, self.kind.shape, memory_id)
            if memory is None or memory.space not in places:
                raise self.kind.not_found()
            source = memory.source_message_id
            if memory.deleted_at is not None and source and not await messages.still_there(conn, [source]):
                raise self.kind.not_found()
            if alone or source is None:
                return [memory]
            return await room_memories.copies(conn, self.kind.shape, memory, places)

        return find


MEMORIES = Remembered(ROOM_MEMORIES)
PINNED = Remembered(LANDMARKS)
OF_PROFILE, OF_PROJECT = Remembered(ROOM_MEMORIES, "profile"), Remembered(ROOM_MEMORIES, "project")


def _told_of(memory: Memory, text: str, principal: Principal) -> dict[str, Any]:
    """What stands beside the words that a message was taken from, for other words: whose task it is if they still name
    them, and the days that these words mean.
    """
    before = memory.metadata
    if memory.source_message_id is None or not before.keys() & set(_BESIDE):
        return {}
    rest = {name: value for name, value in before.items() if name not in _BESIDE}
    if len(text) > _SENTENCE:
        return {"metadata": rest}
    day = date.fromisoformat(day_of(memory.created_at, zone_named(principal.timezone)))
    told = told_beside(
        text, day, speaker=before.get("speaker"), assignee=before.get("assignee"),
        due=due_of(text) if "due" in before else None,
    )  # fmt: skip
    assignee = told.get("assignee")
    if assignee is not None and assignee not in text and assignee != told.get("speaker"):
        del told["assignee"]
    return {"metadata": rest | told}
