"""Memories: what all kinds of them have in common, as the table has it. A kind is a subclass that gives columns the
names that its own users know, and adds no column.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

TRASH_DAYS = 30  # in which what was deleted can be brought back
LARGEST = 256 * 1024  # bytes of a memory, unless its kind says otherwise
LARGEST_METADATA = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """`place` is the name of its space, and no column. `valid_to` is until when it holds, or is kept. `run_id` names
    the conversation it was taken from. `path`, `key` and `address` are an item's; others have none. `version_bytes` are
    those of its earlier versions, `kept_bytes` all that it takes of its user's capacity.
    """

    id: str
    content: str
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime
    valid_from: datetime
    space: int = 0
    place: str = ""
    type: str = ""
    title: str = ""
    summary: str | None = None
    tags: list[str] = field(default_factory=list[str])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    visibility: str = "private"
    user_id: str | None = None
    agent: str | None = None
    run_id: str = ""
    project_id: str | None = None
    source_type: str = "user"
    source_chat_id: str | None = None
    source_message_id: str | None = None
    role: str | None = None
    actor: str | None = None
    immutable: bool = False
    path: str | None = None
    key: str | None = None
    address: bytes | None = None
    content_hash: bytes = b""
    size_bytes: int = 0
    version_bytes: int = 0
    kept_bytes: int = 0
    version: int = 1
    superseded_by: str | None = None
    valid_to: datetime | None = None
    deleted_at: datetime | None = None
    cold_at: datetime | None = None

    @property
    def live(self) -> bool:
        """Neither in the trash nor in the cold tier."""
        return self.deleted_at is None and self.cold_at is None

    @property
    def written_bytes(self) -> int:
        """What one version of it takes."""
        return bytes_of(self)


MemoryT = TypeVar("MemoryT", bound=Memory)


def restorable_since(now: datetime) -> datetime:
    """What was put away then or later can be brought back; what was before is gone, also while it is still there."""
    return now - timedelta(days=TRASH_DAYS)


def json_bytes(value: Mapping[str, Any]) -> int:
    """What it takes, written down; nothing for nothing."""
    return len(json.dumps(value, ensure_ascii=False).encode()) if value else 0


def bytes_of(written: "Memory | Version") -> int:
    """Of title, text and metadata."""
    return len(written.title.encode()) + len(written.content.encode()) + json_bytes(written.metadata)


def restorable(since: datetime | None, now: datetime) -> bool:
    return since is not None and since >= restorable_since(now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled(Generic[MemoryT]):
    """A memory that somebody asked for, and how likely it is what they meant."""

    memory: MemoryT
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a memory was after a change: created, updated, deleted, restored, and what else can happen to its kind."""

    version: int
    change: str
    title: str
    content: str
    summary: str | None = None
    type: str = ""
    project_id: str | None = None
    tags: list[str]
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: datetime

    @property
    def written_bytes(self) -> int:
        return bytes_of(self)
