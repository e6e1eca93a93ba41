"""The Keepstone that an import runs in, as its target: the operations themselves, for the user who uploaded it, and as
often a minute as their plan lets them write.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from keepstone.access.rates import admit
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_user
from keepstone.errors import Conflict, Invalid, NotFound, RateLimited, TooLarge
from keepstone.importers.target import Refused
from keepstone.importers.text import cleaned, digest, moment
from keepstone.memory import capsule_archive, capsules, chat_memories, documents, projects, scopes, workspaces
from keepstone.memory.archive_forms import capsule_form
from keepstone.memory.chat_memories import NewMemory
from keepstone.memory.superseding import SupersedeWish
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.model.page import PageRequest, read_cursor
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import imports as store


class OwnTarget:
    def __init__(self, services: Services, principal: Principal) -> None:
        self._services, self._principal = services, principal

    async def ingest(self, scope_id: str, turns: Sequence[dict[str, Any]]) -> int:
        await self.turn()
        now = self._services.clock()
        messages = [
            Message(
                id=new_id("msg"), client_id=turn["id"], speaker=turn["speaker"], text=turn["text"],
                at=moment(turn.get("ts")) or now, reply_to=turn.get("reply_to"), metadata=turn["metadata"],
            )
            for turn in turns
        ]  # fmt: skip
        with _refusals():
            return (await scopes.ingest(self._services, self._principal, scope_id, messages)).new

    async def keep_capsules(self, capsules: Sequence[dict[str, Any]], projects: Mapping[str, str]) -> int:
        await self.turn()
        with _refusals():
            given = [capsule_form(cleaned(capsule)) for capsule in capsules]
            live = [capsule for capsule in given if not (capsule["deleted_at"] or capsule["cold_at"])]
            away = [capsule for capsule in given if capsule["deleted_at"] or capsule["cold_at"]]
            return await capsule_archive.import_capsules(self._services, self._principal, live, away, projects)

    async def change_capsule(self, capsule_id: str, changes: Mapping[str, Any]) -> None:
        await self.turn()
        with _refusals():
            await capsules.update(self._services, self._principal, capsule_id, dict(changes))

    async def remember(self, workspace_id: str, text: str, category: str, at: datetime | None) -> bool:
        """What was kept long ago takes the place of nothing that was kept since."""
        await self.turn()
        new = NewMemory(content=text, category=category, at=at, wish=SupersedeWish(mode="off"))
        with _refusals():
            saved = await chat_memories.save(self._services, self._principal, new, workspace_id=workspace_id)
        return not saved.existing

    async def keep_file(self, workspace_id: str, name: str, text: str, at: datetime | None) -> None:
        await self.turn()
        with _refusals():
            await documents.upload(
                self._services, self._principal, workspace_id, name=name, data=text.encode(),
                media_type="text/markdown", at=at,
            )  # fmt: skip

    async def projects(self) -> AsyncGenerator[Mapping[str, Any]]:
        request: PageRequest | None = PageRequest(limit=200)
        while request is not None:
            page = await projects.list_projects(self._services, self._principal, request)
            for project in page.items:
                yield {"id": project.id, "name": project.name}
            request = _following(page.next_cursor)

    async def workspaces(self) -> AsyncGenerator[Mapping[str, Any]]:
        request: PageRequest | None = PageRequest(limit=200)
        while request is not None:
            page = await workspaces.list_workspaces(self._services, self._principal, request)
            for place in page.items:
                yield {"id": place.id, "name": place.name, "is_default": place.is_default}
            request = _following(page.next_cursor)

    async def make_workspace(self, name: str) -> str:
        await self.turn()
        return (await workspaces.create(self._services, self._principal, name=name)).id

    async def turn(self) -> None:
        """Wait until the plan permits another write."""
        while True:
            try:
                return await admit(self._services, self._principal)
            except RateLimited as fault:
                await asyncio.sleep(fault.retry_after or 1)


class Arrived:
    """What has arrived from a source in a place, in the database. By hashes: what it was, nobody reads there."""

    def __init__(self, services: Services, principal: Principal, journal: bytes, known: dict[bytes, bytes]) -> None:
        self._services, self._principal, self._journal, self._known = services, principal, journal, known

    @classmethod
    async def load(cls, services: Services, principal: Principal, *of: str) -> "Arrived":
        journal = _short(*of)
        async with services.db.transaction(account_scope(principal)) as conn:
            known = await store.arrivals(conn, require_user(principal), journal)
        return cls(services, principal, journal, known)

    def digest(self, key: str) -> str | None:
        seal = self._known.get(_short(key))
        return None if seal is None else seal.hex()

    async def note(self, arrived: Iterable[tuple[str, str]]) -> None:
        new = {_short(key): bytes.fromhex(seal) for key, seal in arrived}
        if new:
            async with self._services.db.transaction(account_scope(self._principal)) as conn:
                await store.note_arrivals(conn, require_user(self._principal), self._journal, new.items())
            self._known |= new


def _short(*of: str) -> bytes:
    return bytes.fromhex(digest(*of))[:16]


def _following(cursor: str | None) -> PageRequest | None:
    return PageRequest(limit=200, after=read_cursor(cursor)) if cursor else None


@contextmanager
def _refusals() -> Generator[None]:
    """What an operation does not take of one piece is no reason to stop."""
    try:
        yield
    except (Invalid, TooLarge, NotFound, Conflict) as fault:
        raise Refused(fault.message, gone=isinstance(fault, NotFound)) from None
