"""Items to where they belong: conversations into a scope, notes into capsules, or both into capsules or a workspace.

All conversations with a model go into one scope for each source, because a scope is what recall looks through: so one
question reaches the whole history. Each stays together as a session of its own. What a group said goes into a scope of
its own, as it would be had they talked here. Everything has an id that follows from the source's, so what is sent twice
is there once.
"""

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from keepstone.errors import Invalid, NotFound, QuotaExceeded
from keepstone.importers.items import (
    Archived,
    ArchivedRecord,
    Conversation,
    ImportedTurn,
    Item,
    LeftOut,
    Note,
    Remark,
    SourceProject,
)
from keepstone.importers.markdown import parts_of
from keepstone.importers.report import Report
from keepstone.importers.target import Arrivals, Refused, Target
from keepstone.importers.text import digest, named, titled, wire_time
from keepstone.model.ids import is_id

Place = Literal["scope", "capsules", "workspace"]
Piece = TypeVar("Piece")
MOST_TURNS, MOST_CAPSULES = 1_000, 100
MOST_BYTES = 4 * 1024 * 1024
LARGEST_MESSAGE = 8 * 1024 * 1024
LARGEST_MEMORY = 64 * 1024  # characters: what is longer goes to a workspace as a file
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Into:
    """Where to: `name` is that of the scope, or the name or id of the workspace."""

    place: Place | None = None
    name: str = ""

    @classmethod
    def parse(cls, text: str | None, *, called: str = "into") -> "Into":
        place, _, name = (text or "").partition(":")
        match place:
            case "":
                return cls()
            case "scope" | "workspace" | "capsules":
                return cls(place=place, name=name.strip())
            case _:
                raise Invalid(f"{called} is scope, scope:NAME, capsules, workspace or workspace:NAME.")


@dataclass(slots=True)
class Batch:
    """What goes with the next call: wire forms, and which items are whole with it."""

    pieces: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    bytes: int = 0
    arrived: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, piece: dict[str, Any]) -> None:
        self.pieces.append(piece)
        self.bytes += len(json.dumps(piece, ensure_ascii=False).encode())


@dataclass(slots=True)
class Delivery:
    """One import under way. `whose` is the user of the key: what two people of an account import are two things."""

    server: Target
    journal: Arrivals
    report: Report
    source: str
    whose: str
    into: Into = field(default_factory=Into)
    project_id: str | None = None
    workspace_id: str = ""
    _turns: Batch = field(default_factory=Batch)
    _scope: str = ""
    _capsules: Batch = field(default_factory=Batch)
    _project_found: bool = False
    _projects: dict[str, str] = field(default_factory=dict[str, str])

    async def take(self, item: Item) -> None:
        self.report.count(item)
        match item:
            case Conversation() if self.into.place in {None, "scope"}:
                await self._conversation(item)
            case Conversation():
                for part in parts_of(as_note(item)):
                    await self._note(part)
            case Note():
                for part in parts_of(item):
                    await self._note(part)
            case Archived():
                await self._archived(item)
            case ArchivedRecord():
                raise Invalid("An archive of everything is uploaded whole: POST it to /v1/imports.")
            case LeftOut() | Remark():
                pass

    async def finish(self) -> None:
        await self._send_turns()
        await self._send_capsules()

    # ----------------------------------------------------------------------------------------- conversations to a scope

    async def _conversation(self, conversation: Conversation) -> None:
        key = f"talk:{conversation.id}"
        seal = digest(*(text for turn in conversation.turns for text in (turn.id, turn.text)))
        if self.journal.digest(key) == seal:
            self.report.already_there["messages"] += len(conversation.turns)
            return
        scope = self.into.name or conversation.scope or self.source
        if scope != self._scope:
            await self._send_turns()
            self._scope = scope
        for turn in conversation.turns:
            if len(turn.text.encode()) > LARGEST_MESSAGE:
                self.report.leave("message of more than 8 MB", f"{turn.id} in {conversation.title}")
                continue
            if len(self._turns.pieces) >= MOST_TURNS or self._turns.bytes >= MOST_BYTES:
                await self._send_turns()
            self._turns.add(wire_turn(turn))
        self._turns.arrived[key] = seal

    async def _send_turns(self) -> None:
        batch, self._turns = self._turns, Batch()

        async def send(turns: list[dict[str, Any]]) -> None:
            new = await self.server.ingest(self._scope, turns)
            self.report.written["messages"] += new
            self.report.already_there["messages"] += len(turns) - new

        await self._in_halves(batch.pieces, send, lambda turn: str(turn["id"]))
        await self.journal.note(batch.arrived.items())

    async def _in_halves(
        self, pieces: list[Piece], send: Callable[[list[Piece]], Awaitable[None]], name: Callable[[Piece], str]
    ) -> None:
        """What the server refuses in one is sent in two, until the one that it refuses is alone: that is left out."""
        if not pieces:
            return
        try:
            await send(pieces)
        except (QuotaExceeded, Refused) as fault:
            if len(pieces) > 1:
                half = len(pieces) // 2
                await self._in_halves(pieces[:half], send, name)
                await self._in_halves(pieces[half:], send, name)
            elif isinstance(fault, QuotaExceeded):
                raise
            else:
                self.report.leave(f"refused: {fault.message}", name(pieces[0]))

    # -------------------------------------------------------------------------------- notes to capsules, or a workspace

    async def _note(self, note: Note) -> None:
        capsule = self._capsule(note)
        seal = digest(json.dumps({name: capsule[name] for name in ("title", "content_md", "kind", "tags")}))
        key = f"note:{note.id}"
        before = self.journal.digest(key)
        if seal in {before, self._capsules.arrived.get(key)}:  # what stands in every conversation is on its way already
            self.report.already_there["notes"] += 1
        elif self.into.place == "workspace":
            await self._remember(note, key, seal)
        elif before is not None:
            await self._change(note, capsule, key, seal)
        else:
            await self._put(capsule, key, seal)

    async def _put(self, capsule: dict[str, Any], key: str, seal: str) -> None:
        await self._find_project()
        if len(self._capsules.pieces) >= MOST_CAPSULES or self._capsules.bytes >= MOST_BYTES:
            await self._send_capsules()
        self._capsules.add(capsule)
        self._capsules.arrived[key] = seal

    async def _send_capsules(self) -> None:
        batch, self._capsules = self._capsules, Batch()

        async def send(capsules: list[dict[str, Any]]) -> None:
            new = await self.server.keep_capsules(capsules, self._projects)
            self.report.written["notes"] += new
            self.report.already_there["notes"] += len(capsules) - new

        await self._in_halves(batch.pieces, send, lambda capsule: str(capsule.get("title") or capsule.get("id")))
        await self.journal.note(batch.arrived.items())

    async def _change(self, note: Note, capsule: dict[str, Any], key: str, seal: str) -> None:
        """It was brought over before and is another now: a new version, and the one before stays in the history."""
        await self._send_capsules()
        changes = {name: capsule[name] for name in ("title", "content_md", "kind", "tags", "metadata")}
        try:
            await self.server.change_capsule(capsule["id"], changes)
        except Refused as fault:
            reason = "changed there, deleted here" if fault.gone else f"refused: {fault.message}"
            self.report.leave(reason, note.title)
            return
        self.report.written["changed notes"] += 1
        await self.journal.note([(key, seal)])

    async def _remember(self, note: Note, key: str, seal: str) -> None:
        """A memory of the workspace, or a file of it if it is long. What says the same is there once."""
        await self._find_workspace()
        at, new = note.created_at or note.updated_at, True
        try:
            if len(note.content_md) <= LARGEST_MEMORY:
                new = await self.server.remember(self.workspace_id, note.content_md, note.kind, at)
            else:
                name = named(note.title.replace("/", "-").replace("\\", "-")[:200], "note") + ".md"
                await self.server.keep_file(self.workspace_id, name, note.content_md, at)
        except Refused as fault:
            self.report.leave(f"refused: {fault.message}", note.title)
            return
        (self.report.written if new else self.report.already_there)["notes"] += 1
        await self.journal.note([(key, seal)])

    async def _find_project(self) -> None:
        """What an archive was in is made anew where it is missing; what somebody asks for has to be there."""
        if self.project_id is None or self._project_found:
            return
        async for project in self.server.projects():
            if project["id"] == self.project_id:
                self._project_found = True
                return
        raise NotFound("There is no such project: make it first, or name another.")

    async def _find_workspace(self) -> None:
        """One that is asked for by its name is made when it is not there; by its id it can't be."""
        if self.workspace_id:
            return
        async for workspace in self.server.workspaces():
            names = {workspace["id"], workspace["name"]}
            if self.into.name in names if self.into.name else workspace["is_default"]:
                self.workspace_id = str(workspace["id"])
                return
        if not self.into.name or is_id("ws", self.into.name):
            raise NotFound(f"There is no workspace {self.into.name!r}: name another.")
        self.workspace_id = await self.server.make_workspace(self.into.name)

    def _capsule(self, note: Note) -> dict[str, Any]:
        made = note.created_at or note.updated_at or datetime.now(UTC)
        changed = max(made, note.updated_at or made)
        return {
            "id": capsule_id(self.whose, self.source, note.id),
            "title": note.title,
            "content_md": note.content_md,
            "kind": note.kind,
            "tags": note.tags,
            "project_id": self.project_id or self._project_of(note.project),
            "metadata": note.metadata,
            "version": 1,
            "created_at": wire_time(made),
            "updated_at": wire_time(changed),
            "accessed_at": wire_time(changed),
        }

    def _project_of(self, project: SourceProject | None) -> str | None:
        if project is None:
            return None
        project_id = derived_id("proj", self.source, project.id)
        self._projects[project_id] = project.name
        return project_id

    # ------------------------------------------------------------------------------------------- capsules of an archive

    async def _archived(self, item: Archived) -> None:
        if self.into.place not in {None, "capsules"}:
            raise Invalid("An archive of capsules goes into capsules.")
        archived = item.capsule
        if not str(archived.get("content_md") or ""):
            self.report.leave("without a text", str(archived.get("title") or archived.get("id")))
            return
        capsule: dict[str, Any] = {"kind": "note", "tags": [], "metadata": {}}
        capsule |= {name: value for name, value in archived.items() if name in _ARCHIVED and value is not None}
        former = str(archived.get("project_id") or "")
        if not self.project_id and item.project:
            former = former or _project_id(item.project)
            self._projects[former] = item.project
        capsule["project_id"] = self.project_id or former or None
        for name in ("updated_at", "accessed_at"):
            capsule.setdefault(name, capsule.get("created_at"))
        seal = digest(json.dumps(capsule, sort_keys=True))
        key = f"capsule:{archived.get('id')}"
        if self.journal.digest(key) == seal:
            self.report.already_there["notes"] += 1
            return
        await self._put(capsule, key, seal)


_ARCHIVED = {"id", "title", "content_md", "kind", "tags", "source", "metadata", "version", "created_at", "updated_at",
             "accessed_at", "history", "deleted_at", "cold_at"}  # fmt: skip


async def bring(items: Iterable[Item], delivery: Delivery | None, report: Report, tick: Callable[[], None]) -> None:
    """All of them, one after the other. Without a delivery they are only counted: a dry run."""
    for item in items:
        if delivery is None:
            report.count(item)
        else:
            await delivery.take(item)
        tick()
    if delivery is not None:
        await delivery.finish()


def wire_turn(turn: ImportedTurn) -> dict[str, Any]:
    sent: dict[str, Any] = {"id": turn.id, "speaker": turn.speaker, "text": turn.text, "metadata": turn.metadata}
    if turn.at is not None:
        sent["ts"] = wire_time(turn.at)
    if turn.reply_to is not None:
        sent["reply_to"] = turn.reply_to
    return sent


def as_note(conversation: Conversation) -> Note:
    """A conversation to be read: who said what, and when."""
    said = "\n\n".join(
        f"**{turn.speaker}**{f' ({turn.at:%Y-%m-%d %H:%M})' if turn.at else ''}:\n\n{turn.text}"
        for turn in conversation.turns
    )
    times = [turn.at for turn in conversation.turns if turn.at is not None]
    return Note(
        id=f"talk:{conversation.id}", title=titled(conversation.title, "Conversation"), content_md=said,
        kind="conversation", created_at=min(times, default=None), updated_at=max(times, default=None),
        metadata={"conversation_id": conversation.id, "messages": len(conversation.turns)},
        project=conversation.project,
    )  # fmt: skip


def capsule_id(whose: str, source: str, key: str) -> str:
    """The same for the same thing, another for everybody else's."""
    return derived_id("cap", whose, source, key)


def _project_id(name: str) -> str:
    """Of one of which only the name is known."""
    return derived_id("proj", name)


def derived_id(prefix: str, *of: str) -> str:
    """An id that follows from these."""
    number = int(digest(*of), 16)
    letters: list[str] = []
    for _ in range(24):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return f"{prefix}_{''.join(letters)}"
