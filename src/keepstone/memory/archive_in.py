"""An archive of everything, read back: record by record, as its reader's own, here or in another account.

What comes from somebody else gets ids that follow from theirs and from whose it is now, so that the same archive twice
is there once. What the archive's own user brings back keeps its ids where its place is still there, and what is there
already is left alone. Others' words come along under the names of who wrote them.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keepstone.access.plans import require_room
from keepstone.access.readscope import account_scope, space_scope
from keepstone.access.require import require_user
from keepstone.engine.cutting import Source
from keepstone.engine.index import passages_of
from keepstone.errors import Malformed
from keepstone.importers.report import Report
from keepstone.memory import documents, scopes, shelf
from keepstone.memory.archive_forms import (
    AgentForm,
    ChatForm,
    DocumentForm,
    EdgeForm,
    FactForm,
    MemoryForm,
    MessageForm,
    SpaceForm,
    SummaryForm,
    ThreadForm,
)
from keepstone.memory.archive_places import Here, Names, enter_part, settle
from keepstone.memory.capsules import CAPSULES
from keepstone.memory.chats import CHAT_MEMORIES
from keepstone.memory.entity_memories import ENTITY_MEMORIES
from keepstone.memory.kinds import Kind, Prepared, Written
from keepstone.memory.nodes import NODES
from keepstone.memory.projects import bring_over
from keepstone.memory.room_memories import LANDMARKS, ROOM_MEMORIES
from keepstone.memory.stores import ITEMS
from keepstone.model.item import address
from keepstone.model.memory import Version, restorable
from keepstone.model.message import Message
from keepstone.model.principal import Principal
from keepstone.model.room import Agent
from keepstone.services import Services
from keepstone.store import agents, archives, memories, messages, passages, spaces

KINDS: dict[str, Kind[Any]] = {
    kind.shape.kind: kind for kind in (CAPSULES, CHAT_MEMORIES, NODES, LANDMARKS, ROOM_MEMORIES, ENTITY_MEMORIES, ITEMS)
}
MOST_TOGETHER = 200  # records that are written in one transaction
_WHERE: dict[str, set[str]] = {
    "capsule": {"vault"}, "chat": {"workspace"}, "node": {"graph"}, "landmark": {"room", "dm"},
    "semantic": {"room", "dm", "profile", "project"}, "entity": {"entity"}, "item": {"store"},
}  # fmt: skip
OpenFile = Callable[[str], Awaitable[bytes | None]]


@dataclass(slots=True)
class ArchiveReader:
    """Takes the records in their order. `open_file` gives the bytes of a file of the archive."""

    services: Services
    principal: Principal
    report: Report
    whose: str  # the id of the archive's user
    open_file: OpenFile
    here: Here | None = None
    _waiting: list[MessageForm] = field(default_factory=list[MessageForm])
    _names: Names = field(init=False)

    def __post_init__(self) -> None:
        self._names = Names(user_id=require_user(self.principal), same=self.whose == self.principal.user_id)

    async def take(self, record: str, form: Any) -> None:
        if not isinstance(form, MessageForm):
            await self.flush()
        match form:
            case AgentForm():
                await self._agent(form)
            case SpaceForm():
                await self._space(form)
            case MessageForm():
                self._waiting.append(form)
                if len(self._waiting) >= MOST_TOGETHER:
                    await self.flush()
            case _ if self.here is None or self.here.space == 0:
                self.report.leave("in a place that is not brought over", getattr(form, "id", record))
            case MemoryForm():
                await self._memory(self.here, form)
            case DocumentForm():
                await self._document(self.here, form)
            case SummaryForm():
                await self._summary(self.here, form)
            case ThreadForm() | ChatForm() | FactForm() | EdgeForm():
                await self._row(self.here, form)
            case _:
                pass

    async def enter_part(self, of: str) -> None:
        """What follows lies in this part of the place."""
        await self.flush()
        if self.here is not None:
            async with self.services.db.transaction(account_scope(self.principal)) as conn:
                self.here = await enter_part(conn, self.here, of)

    async def flush(self) -> None:
        """What was said, which is kept together."""
        said, self._waiting = self._waiting, []
        if said and self.here is not None and self.here.space:
            if self.here.kind == "scope":
                await self._talk(self.here, said)
            elif self.here.kind in {"room", "dm", "workspace"}:
                await self._messages(self.here, said)

    # ------------------------------------------------------------------------------------------------- places

    async def _agent(self, form: AgentForm) -> None:
        made = Agent(
            slug=form.slug, name=form.name, context_window=form.context_window, instructions=form.instructions,
            created_by=self.principal.user_id, created_at=form.created_at, updated_at=form.created_at,
        )  # fmt: skip
        async with self.services.db.transaction(account_scope(self.principal)) as conn:
            known = await agents.get(conn, form.slug)
            self._count("agents", known is None and await agents.insert(conn, made))

    async def _space(self, form: SpaceForm) -> None:
        if form.deleted_at is not None and not restorable(form.deleted_at, self.services.clock()):
            self.here = None
            return
        async with self.services.db.transaction(account_scope(self.principal)) as conn:
            self.here = await settle(conn, self.principal, form, self._names)

    # ---------------------------------------------------------------------------------------------- what was said

    async def _talk(self, here: Here, said: Sequence[MessageForm]) -> None:
        new = [(here.id(form.id), form) for form in said]
        async with self.services.db.transaction(space_scope(self.principal, here.space)) as conn:
            known = await messages.ids_of(conn, here.space, [name for name, _ in new])
        fresh = [
            Message(
                id=name, client_id=form.client_id, speaker=form.speaker[:255], text=form.text, at=form.at,
                reply_to=here.reference(form.reply_to), metadata=form.metadata,
            )
            for name, form in new
            if name not in known and form.text
        ]  # fmt: skip
        done = await scopes.ingest(self.services, self.principal, here.name, fresh) if fresh else None
        written = done.new if done else 0
        self.report.written["messages"] += written
        self.report.already_there["messages"] += len(said) - written

    async def _messages(self, here: Here, said: Sequence[MessageForm]) -> None:
        async with self._inside(here) as conn:
            await spaces.lock(conn, [here.space])
            for form in said:
                values = {
                    "space": here.space, "id": here.id(form.id), "client_id": form.client_id, "speaker": form.speaker,
                    "role": form.role, "user_id": self._own(form.mine), "agent": form.agent, "text": form.text,
                    "at": form.at, "recorded_at": form.recorded_at, "thread_id": here.reference(form.thread_id),
                    "reply_to": here.reference(form.reply_to), "visibility": form.visibility,
                    "follows": here.reference(form.follows), "aside": form.aside,
                    "attachments": form.attachments, "metadata": form.metadata,
                    "sent_by": None if form.mine else self.principal.user_id,
                }  # fmt: skip
                seq = await archives.put_message(conn, values)
                if seq is not None and here.kind != "workspace":
                    await archives.have_heard(conn, here.space, seq, form.at)
                self._count("messages", seq is not None)

    # ------------------------------------------------------------------------------------------- what is remembered

    async def _memory(self, here: Here, form: MemoryForm) -> None:
        if here.kind not in _WHERE[form.kind]:
            raise Malformed(f"A {form.kind} has no place in a {here.kind}.")
        now, since = self.services.clock(), form.deleted_at or form.cold_at
        if since is not None and not restorable(since, now):
            self.report.leave("too long in the trash", form.id)
            return
        kind = KINDS[form.kind]
        if form.project_id and form.project_id not in self._names.projects:  # one that its user had left
            async with self.services.db.transaction(account_scope(self.principal)) as conn:
                named = {form.project_id: ""}
                self._names.projects = await bring_over(conn, self.principal, named, self._names.projects)
        memory = self._as_memory(here, form, kind)
        kind.check_size(memory.content)
        versions = [self._version(one) for one in form.history]
        earlier = sum(one.written_bytes for one in versions if one.version < memory.version)
        memory = replace(memory, version_bytes=earlier)
        prepared = (
            await shelf.prepare(self.services, kind, memory, embed=False)
            if memory.live
            else Prepared(kind.complete(memory), ())
        )
        async with self._inside(here) as conn:
            await spaces.lock(conn, [here.space])
            known = await memories.by_ids(conn, kind.shape, [memory.id], any_state=True)
            more = prepared.memory.kept_bytes
            if not known and memory.live and kind is ITEMS:
                await require_room(conn, self.services, self.principal, more)
            elif not known and memory.live:
                await kind.make_room(conn, self.services, self.principal, prepared.memory, more)
            new = not known and await memories.insert(conn, kind.shape, prepared.memory)
            if new:
                await memories.insert_versions(conn, prepared.memory, versions)
                written = Written("imported", None, prepared)
                await shelf.settle(conn, self.services, self.principal, kind, [written])
        self._count("capsules" if form.kind == "capsule" else "items" if form.kind == "item" else "memories", new)

    def _as_memory(self, here: Here, form: MemoryForm, kind: Kind[Any]) -> Any:
        known = form.model_dump(exclude={"kind", "mine", "author", "history"})
        metadata = form.metadata if form.mine or not form.author else form.metadata | {"author": form.author}
        namespace = [label for label in (form.path or "").split("\x1f") if label]
        item = {"address": address(namespace, form.key or "")} if form.kind == "item" else {}
        graph = {"history": here.history} if form.kind == "node" else {}
        return kind.shape.row(
            **known
            | {
                "id": here.id(form.id), "space": here.space, "place": here.name, "metadata": metadata,
                "user_id": self.principal.user_id if form.mine or form.author else None,
                "run_id": here.run_id if form.run_id else "",
                "project_id": self._names.project(form.project_id),
                "source_chat_id": here.reference(form.source_chat_id),
                "source_message_id": here.reference(form.source_message_id),
                "superseded_by": here.reference(form.superseded_by),
                "agent": form.agent if form.kind in {"semantic", "landmark"} else None,
                **({} if form.kind == "item" else {"path": None, "key": None}), **item, **graph,
            }
        )  # fmt: skip

    def _version(self, form: Any) -> Version:
        given = form.model_dump(exclude={"mine", "author"})
        return Version(**given, changed_by=self._own(form.mine))

    async def _summary(self, here: Here, form: SummaryForm) -> None:
        values: dict[str, Any] = form.model_dump() | {
            "space": here.space, "id": here.id(form.id), "thread_id": here.reference(form.thread_id),
            "source_ids": [here.reference(name) for name in form.source_ids],
        }  # fmt: skip
        cut = []
        if form.superseded_at is None and form.tier != "compaction":
            source = Source(kind="summary", id=values["id"], text=form.content, at=form.starts_at)
            cut = await passages_of(self.services, [source], visibility=form.visibility)
        async with self._inside(here) as conn:
            await spaces.lock(conn, [here.space])
            new = await archives.put(conn, "summaries", values)
            if new and cut:
                await passages.insert(conn, here.space, cut)
                await shelf.schedule_indexing(conn, self.services, self.principal.account, here.space)
        self._count("summaries", new)

    async def _row(self, here: Here, form: ThreadForm | ChatForm | FactForm | EdgeForm) -> None:
        """What is a row and nothing else."""
        values: dict[str, Any] = form.model_dump(exclude={"mine", "author"}) | {
            "space": here.space, "id": here.id(form.id)
        }  # fmt: skip
        by = self.principal.user_id
        async with self._inside(here) as conn:
            match form:
                case ThreadForm() if here.kind == "room":
                    new = await archives.put(conn, "threads", values | {"named_by": by})
                case ChatForm() if here.kind == "workspace":
                    beside = {"beside": here.reference(form.beside)}
                    new = await archives.put(conn, "chats", values | beside | {"created_by": by, "named_by": by})
                case EdgeForm() if here.kind == "graph":
                    ends = {"from_id": here.id(form.from_id), "to_id": here.id(form.to_id)}
                    there = await archives.all_there(conn, list(ends.values()))
                    new = there and await archives.put(conn, "edges", values | ends | {"created_by": by})
                case FactForm() if here.facts is not None:
                    holds = form.superseded_at is None
                    known = holds and await archives.known_fact(conn, here.space, form.key, but=values["id"])
                    scope = {"scope_kind": here.facts, "scope_id": here.name, "recorded_by": by}
                    source = {"source_id": here.reference(form.source_id)}
                    new = not known and await archives.put_fact(conn, values | scope | source)
                case _:
                    raise Malformed(f"A {type(form).__name__.removesuffix('Form').lower()} has no place here.")
        self._count(f"{type(form).__name__.removesuffix('Form').lower()}s", new)

    # ----------------------------------------------------------------------------------------------------- files

    async def _document(self, here: Here, form: DocumentForm) -> None:
        if here.kind != "workspace" or here.of != "library":
            raise Malformed("A document has no place here.")
        if form.deleted_at is not None and not restorable(form.deleted_at, self.services.clock()):
            self.report.leave("too long in the trash", form.id)
            return
        document_id, by = here.id(form.id), self.principal.user_id
        files = {one.version: await self.open_file(one.file) for one in form.history if one.file}
        last = next((files[version] for version in sorted(files, reverse=True) if version <= form.version), None)
        data = last if last is not None else form.content.encode()
        cut = []
        if form.deleted_at is None:
            cut = await documents.cut_again(self.services, document_id, form.name, form.media_type, form.content, last)
        metadata = form.metadata if form.mine or not form.author else form.metadata | {"author": form.author}
        values = form.model_dump(exclude={"mine", "author", "history"}) | {
            "space": here.space, "id": document_id, "created_by": by, "metadata": metadata, "size_bytes": len(data),
            "sha256": hashlib.sha256(data).digest(),
        }  # fmt: skip
        async with self._inside(here) as conn:
            await spaces.lock(conn, [here.space])
            new = await archives.put(conn, "documents", values)
            for one in form.history if new else ():
                version = one.model_dump(exclude={"mine", "author", "file"}) | {
                    "space": here.space, "document_id": document_id, "changed_by": self._own(one.mine),
                    "original": files.get(one.version), "visibility": form.visibility,
                }  # fmt: skip
                await archives.put(conn, "document_versions", version)
            if new and cut:
                await passages.insert(conn, here.space, cut)
                await shelf.schedule_indexing(conn, self.services, self.principal.account, here.space)
        self._count("documents", new)

    # ---------------------------------------------------------------------------------------------------- small

    def _inside(self, here: Here) -> Any:
        return self.services.db.transaction(space_scope(self.principal, here.space, *here.beside))

    def _own(self, mine: bool) -> str | None:
        return self.principal.user_id if mine else None

    def _count(self, what: str, new: bool) -> None:
        (self.report.written if new else self.report.already_there)[what] += 1
