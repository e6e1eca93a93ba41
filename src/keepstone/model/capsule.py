"""Capsules: decisions, thoughts and answers that a person keeps on purpose."""

from dataclasses import dataclass, field
from typing import Any

from keepstone.model.memory import Memory

OVERHEAD = 8 * 1024  # bytes that a capsule counts for beside its text
USUAL_KIND = "note"
LARGEST = 1024 * 1024
LARGEST_CONTENT = 800 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Capsule(Memory):
    """`project_name` is that of its project, as long as that is there and its owner is in it; else it is in none.
    `moved_to_cold` are those that had to make room for it when it was just written, and no column.
    """

    project_name: str | None = None
    moved_to_cold: tuple[str, ...] = ()

    @property
    def project(self) -> dict[str, str] | None:
        """The project that it is in."""
        if self.project_id is None or self.project_name is None:
            return None
        return {"id": self.project_id, "name": self.project_name}

    @property
    def in_project(self) -> str | None:
        """The id of that project."""
        return self.project_id if self.project else None

    @property
    def kind(self) -> str:
        """The capsule's own: note, decision, thought, answer, or whatever its owner calls it."""
        return self.type

    @property
    def content_md(self) -> str:
        return self.content

    @property
    def source(self) -> dict[str, str | None] | None:
        """The message that it was kept from, if that is known."""
        source = {"chat_id": self.source_chat_id, "message_id": self.source_message_id}
        return source if any(source.values()) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCapsule:
    """What somebody wants to keep. `title` may be missing: then one is made."""

    content_md: str
    title: str | None = None
    kind: str = USUAL_KIND
    tags: list[str] = field(default_factory=list[str])
    project_id: str | None = None
    chat_id: str | None = None
    message_id: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    id: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCapsule:
    """A capsule that was searched for: how likely it is meant, and where it says so, with what was asked for marked."""

    capsule: Capsule
    relevance: float
    snippet: str


def size_of(title: str, content_md: str) -> int:
    return len(title.encode()) + len(content_md.encode()) + OVERHEAD
