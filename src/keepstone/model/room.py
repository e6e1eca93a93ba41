"""Rooms and direct messages: people and agents, threads, landmarks, facts, summaries."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from keepstone.model.memory import Memory

WORKING = 50  # messages that a room has at hand
PROMPTED = 40  # of them, that a prompt gets

Tier = Literal["thread", "session", "day", "week", "compaction"]
ScopeKind = Literal["user", "project", "room", "global"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    slug: str
    name: str
    context_window: int
    instructions: str
    created_by: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A room as one of its participants sees it; or, with `agent`, the place where a user talks with it alone.

    `last_seq` is the message that came last; what is at hand in another store is right if it ends with that.
    """

    id: str
    name: str
    space: int
    project_id: str | None
    agent: str | None
    owner: str | None
    created_at: datetime
    last_at: datetime | None
    last_seq: int

    @property
    def run_id(self) -> str:
        return f"dm:{self.owner}:{self.agent}" if self.agent else f"room:{self.id}"

    @property
    def visibility(self) -> Literal["public", "private"]:
        return "private" if self.agent else "public"


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """A message of a room. `user` is who said it: a user's id, or None with an `agent`. `version` counts what was done
    to it; `edited_at` is None as long as it is worded as it was said. `trace_id` is the trace of the prompt that it
    answers.
    """

    id: str
    seq: int
    user: str | None
    agent: str | None
    name: str
    text: str
    ts: datetime
    thread_id: str | None
    attachments: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    version: int = 1
    edited_at: datetime | None = None
    trace_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomActivity:
    """What was said last in a room, its beginning, and how much of what is there somebody has not read yet."""

    space: int
    message_id: str
    user: str | None
    agent: str | None
    name: str
    text: str
    ts: datetime
    unread: int
    first_unread: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrashedUtterance(Utterance):
    """One that was deleted. `revived` are memories that held again when those of this message went, `revived_from` what
    each of them had been superseded by.
    """

    deleted_at: datetime
    deleted_by: str | None
    revived: list[str]
    revived_from: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageVersion:
    """What a message was after a change: created, updated, deleted, restored."""

    version: int
    change: str
    text: str
    attachments: list[dict[str, Any]]
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Trashed:
    """Something of a room, a profile or a project that was deleted and can be restored. `user_id` is who said it."""

    kind: Literal["message", "memory", "landmark"]
    id: str
    text: str
    user_id: str | None
    agent: str | None
    created_at: datetime
    deleted_at: datetime
    deleted_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    id: str
    title: str
    message_count: int
    opened_at: datetime
    closed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What stands for a window of messages, or for the summaries of the tier below."""

    id: str
    tier: Tier
    thread_id: str | None
    content: str
    starts_at: datetime
    ends_at: datetime
    message_count: int
    source_ids: list[str]
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomMemory(Memory):
    """What one agent remembers of one place. `user_id` is who said it; None for everybody (`*`)."""

    @property
    def text(self) -> str:
        return self.content

    @property
    def agent_id(self) -> str | None:
        return self.agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark(Memory):
    """A decision that is never lost: superseded by another at most."""

    @property
    def text(self) -> str:
        return self.content

    @property
    def superseded_at(self) -> datetime | None:
        return self.valid_to


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """An exact value, as JSON text: what was put in is what comes out, digit by digit."""

    id: str
    scope_kind: ScopeKind
    scope_id: str
    key: str
    value: str
    visibility: str
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_at: datetime | None
    recorded_by: str | None
