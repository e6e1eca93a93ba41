"""Chats, what was said in them, and the memories of their workspaces."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from keepstone.model.memory import Memory

LARGEST = 256 * 1024  # bytes of a message

Speaker = Literal["user", "assistant"]
ChatKind = Literal["chat", "quorum"]
ChatOrder = Literal["created", "activity"]
SourceType = Literal["model", "user", "auto_deep_think", "auto_research", "auto_compaction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    id: str
    title: str
    workspace_id: str
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    kind: ChatKind = "chat"
    beside: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """`follows` is the message before it on its branch, or the chat, of the first; None where that is not known. What
    stands `aside` is on a branch that was left. `siblings` are what stands in the same place on other branches and
    itself, in the order in which they were said, where there is more than one.
    """

    id: str
    seq: int
    role: Speaker
    content: str
    user_id: str | None
    model: str | None
    created_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    follows: str | None = None
    aside: bool = False
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMemory(Memory):
    """What a workspace remembers."""

    @property
    def category(self) -> str | None:
        return self.type or None

    @property
    def workspace_id(self) -> str:
        return self.place

    @property
    def worded_by(self) -> str | None:
        """Whose own words it is: who saved it, unless a model did, or they kept or changed what another had said."""
        return self.metadata.get("worded_by", self.user_id if self.source_type == "user" else None)

    @property
    def verbatim(self) -> str:
        """What it was made from, where that is not its content."""
        return self.metadata.get("verbatim") or self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Distillation:
    """Something that is read for memories after the fact: what, whether that is done, and what came of it."""

    distillation: int
    kind: Literal["tool", "deep_think", "research", "compaction"]
    chat_id: str
    source_id: str
    user_id: str | None
    state: Literal["waiting", "done"]
    attempts: int
    memory_ids: list[str]
    created_at: datetime
    done_at: datetime | None
