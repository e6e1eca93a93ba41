"""Capsules: decisions, thoughts and answers that a person keeps on purpose."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

KIND = "capsule"  # among memories
OVERHEAD = 8 * 1024  # bytes that a capsule counts for beside its text
LARGEST = 1024 * 1024
LARGEST_CONTENT = 800 * 1024
TRASH_DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule:
    """`kind` is the capsule's own: note, decision, thought, answer, or whatever its owner calls it."""

    id: str
    title: str
    content_md: str
    kind: str
    tags: list[str]
    project_id: str | None
    chat_id: str | None
    message_id: str | None
    metadata: dict[str, Any]
    size_bytes: int
    version: int
    created_at: datetime
    updated_at: datetime
    accessed_at: datetime
    deleted_at: datetime | None
    cold_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCapsule:
    """What somebody wants to keep. `title` may be missing: then one is made."""

    content_md: str
    title: str | None = None
    kind: str = "note"
    tags: list[str] = field(default_factory=list[str])
    project_id: str | None = None
    chat_id: str | None = None
    message_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    version: int
    change: str
    title: str
    content_md: str
    tags: list[str]
    metadata: dict[str, Any]
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    id: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A capsule that was searched for: how likely it is meant, and where it says so, with what was asked for marked."""

    capsule: Capsule
    relevance: float
    snippet: str


def size_of(title: str, content_md: str) -> int:
    return len(title.encode()) + len(content_md.encode()) + OVERHEAD
