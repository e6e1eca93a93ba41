"""Workspaces: the chats in them, what is remembered of those, files and artifacts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation, paged, streamed
from keepstone_client.core import Page, Request, Supersede, Upload, at, filled, into, items_of, nothing, page_of, raw
from keepstone_client.decode import decode
from keepstone_client.streams import Streamed

Role = Literal["viewer", "member", "editor", "owner"]
Found = Literal["memory", "document", "artifact", "message"]


class Kept(Enum):
    """Stands for: leave it as it is, where None means something else."""

    KEPT = "kept"


KEPT = Kept.KEPT


@dataclass(frozen=True, kw_only=True)
class Workspace:
    id: str
    name: str
    role: str  # what you may
    is_default: bool
    memory_count: int
    created_at: datetime
    deleted_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Member:
    user_id: str
    email: str
    name: str
    role: str
    added_at: datetime


@dataclass(frozen=True, kw_only=True)
class Chat:
    id: str
    title: str
    workspace_id: str
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    kind: str = "chat"
    beside: str | None = None


@dataclass(frozen=True, kw_only=True)
class Message:
    id: str
    role: str
    content: str
    user_id: str | None
    model: str | None
    created_at: datetime
    metadata: dict[str, Any]
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Memory:
    id: str
    content: str
    summary: str | None
    category: str | None
    source_type: str
    source_chat_id: str | None
    source_message_id: str | None
    workspace_id: str
    version: int
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class SavedMemory(Memory):
    deduplicated: bool  # it was known already: this is the memory that says so
    added: dict[str, Any] | None = None  # with it: what came new and was added
    superseded: tuple[str, ...] = ()  # older memories that no longer hold
    may_supersede: tuple[str, ...] = ()  # older ones that it may take the place of, and that still hold


@dataclass(frozen=True, kw_only=True)
class MemoryVersion:
    version: int
    change: str
    content: str
    summary: str | None
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """Something that is read for memories after the fact."""

    kind: str
    chat_id: str
    source_id: str
    state: str
    attempts: int
    memory_ids: tuple[str, ...]
    created_at: datetime
    done_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class WorkspaceResult:
    type: str
    id: str
    title: str | None
    text: str
    snippet: str
    relevance: float
    category: str | None
    place: dict[str, Any] | None  # in a document: page, heading, start and end


@dataclass(frozen=True, kw_only=True)
class Document:
    id: str
    name: str
    media_type: str
    version: int
    size_bytes: int
    chunks: int
    workspace_id: str
    created_by: str | None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class UploadedDocument(Document):
    """`change`: `created`, `updated` (another version of the file of this name) or `unchanged` (these very bytes)."""

    change: str


@dataclass(frozen=True, kw_only=True)
class Artifact(Document):
    content: str


@dataclass(frozen=True, kw_only=True)
class DocumentVersion:
    version: int
    change: str
    name: str
    media_type: str
    size_bytes: int
    changed_by: str | None
    changed_at: datetime


@dataclass(frozen=True, kw_only=True)
class Chunk:
    part: int
    text: str
    place: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Chunks:
    items: tuple[Chunk, ...]
    next_part: int | None  # pass it as `beyond` to read on


# The events of an answer, in this order.


@dataclass(frozen=True, kw_only=True)
class MessageCreated:
    """What was said, as it is kept."""

    message: Message


@dataclass(frozen=True, kw_only=True)
class InjectedMemory:
    id: str
    category: str | None
    relevance: float
    content: str


@dataclass(frozen=True, kw_only=True)
class MemoriesInjected:
    """What was put before the model."""

    memories: tuple[InjectedMemory, ...]
    capsule_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MessageDelta:
    delta: str


@dataclass(frozen=True, kw_only=True)
class MessageDone:
    """The answer, as it is kept."""

    message: Message
    usage: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class MemorySaved:
    """The model kept something."""

    memory: Memory


ChatEvent = MessageCreated | MemoriesInjected | MessageDelta | MessageDone | MemorySaved

_EVENTS: dict[str, type[ChatEvent]] = {
    "message.created": MessageCreated,
    "x_memory.injected": MemoriesInjected,
    "message.delta": MessageDelta,
    "message.done": MessageDone,
    "x_memory.auto_saved": MemorySaved,
}


class Workspaces(Resource[D]):
    @operation
    def create(self, name: str) -> Request[Workspace]:
        return Request(method="POST", path="/v1/workspaces", parse=into(Workspace), json={"name": name})

    @paged
    def list(self, *, deleted: bool = False, page_size: int | None = None) -> Request[Page[Workspace]]:
        params = filled(deleted=deleted or None, limit=page_size)
        return Request(method="GET", path="/v1/workspaces", parse=page_of(Workspace), params=params)

    @operation
    def get(self, workspace_id: str) -> Request[Workspace]:
        return Request(method="GET", path=_workspace(workspace_id), parse=into(Workspace))

    @operation
    def rename(self, workspace_id: str, name: str) -> Request[Workspace]:
        return Request(method="PATCH", path=_workspace(workspace_id), parse=into(Workspace), json={"name": name})

    @operation
    def delete(self, workspace_id: str) -> Request[None]:
        """Into the trash, for 30 days, with all that is in it."""
        return Request(method="DELETE", path=_workspace(workspace_id), parse=nothing)

    @operation
    def restore(self, workspace_id: str) -> Request[Workspace]:
        return Request(method="POST", path=f"{_workspace(workspace_id)}/restore", parse=into(Workspace))

    @operation
    def members(self, workspace_id: str) -> Request[tuple[Member, ...]]:
        return Request(method="GET", path=f"{_workspace(workspace_id)}/members", parse=items_of(Member))

    @operation
    def set_member(self, workspace_id: str, user: str, *, role: Role = "member") -> Request[tuple[Member, ...]]:
        """Add somebody, by id or e-mail address, or change what they may."""
        body = {"user": user, "role": role}
        return Request(method="PUT", path=f"{_workspace(workspace_id)}/members", parse=items_of(Member), json=body)

    @operation
    def remove_member(self, workspace_id: str, user_id: str) -> Request[None]:
        return Request(method="DELETE", path=f"{_workspace(workspace_id)}/members/{at(user_id)}", parse=nothing)

    @operation
    def search(
        self,
        workspace_id: str,
        query: str,
        *,
        type: Sequence[Found] | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> Request[Page[WorkspaceResult]]:
        """Over memories, documents, artifacts and messages of chats, the best first."""
        params = filled(q=query, type=type and list(type), limit=limit, offset=offset or None)
        return Request(
            method="GET", path=f"{_workspace(workspace_id)}/search", parse=page_of(WorkspaceResult), params=params
        )

    @paged
    def extractions(self, workspace_id: str, *, page_size: int | None = None) -> Request[Page[Extraction]]:
        """What is, or was, read for memories."""
        params = filled(limit=page_size)
        return Request(
            method="GET", path=f"{_workspace(workspace_id)}/extractions", parse=page_of(Extraction), params=params
        )


class Chats(Resource[D]):
    @operation
    def create(
        self,
        *,
        title: str = "",
        workspace_id: str | None = None,
        kind: Literal["chat", "quorum"] = "chat",
        beside: str | None = None,
    ) -> Request[Chat]:
        """Without a workspace, in your default one. The second chat of a quorum is `beside` the first."""
        body = filled(title=title, workspace_id=workspace_id, kind=kind, beside=beside)
        return Request(method="POST", path="/v1/chats", parse=into(Chat), json=body)

    @paged
    def list(
        self,
        *,
        workspace_id: str | None = None,
        deleted: bool = False,
        kind: Literal["chat", "quorum"] | None = None,
        order: Literal["created", "activity"] = "created",
        q: str = "",
        page_size: int | None = None,
    ) -> Request[Page[Chat]]:
        """`q` is a part of the title; of a quorum, the second chat is listed, which names the first."""
        asked = filled(workspace_id=workspace_id, deleted=deleted or None, kind=kind, q=q or None, limit=page_size)
        return Request(method="GET", path="/v1/chats", parse=page_of(Chat), params={**asked, "order": order})

    @operation
    def get(self, chat_id: str) -> Request[Chat]:
        return Request(method="GET", path=_chat(chat_id), parse=into(Chat))

    @operation
    def update(
        self,
        chat_id: str,
        *,
        title: str | None = None,
        workspace_id: str | Kept | None = KEPT,
        branch: str | None = None,
    ) -> Request[Chat]:
        """A `workspace_id` moves the chat with its memories; None moves it to your default workspace. `branch` is a
        message: the branch on which it is, is read and gone on with."""
        body = filled(title=title, branch=branch) | (
            {} if isinstance(workspace_id, Kept) else {"workspace_id": workspace_id}
        )
        return Request(method="PATCH", path=_chat(chat_id), parse=into(Chat), json=body)

    @operation
    def delete(self, chat_id: str) -> Request[None]:
        return Request(method="DELETE", path=_chat(chat_id), parse=nothing)

    @operation
    def restore(self, chat_id: str) -> Request[Chat]:
        return Request(method="POST", path=f"{_chat(chat_id)}/restore", parse=into(Chat))

    @streamed
    def say(
        self,
        chat_id: str,
        content: str = "",
        *,
        mode: Literal["chat", "deep_think", "research"] = "chat",
        capsule_ids: Sequence[str] = (),
        without: Sequence[str] = (),
        model: str | None = None,
        instead_of: str | None = None,
    ) -> Streamed[ChatEvent, MessageDone]:
        """Say something; the answer comes as events, and nothing is sent before the first is asked for.

        `capsule_ids` go with this turn; `without` are memories that are not to be injected. `instead_of` a question of
        yours this is another wording of it; instead of an answer, without `content`, its question is asked again."""
        body = {"content": content, "mode": mode, "capsule_ids": capsule_ids, "without": without}
        body |= filled(model=model, instead_of=instead_of)
        request = Request(
            method="POST",
            path=f"{_chat(chat_id)}/messages",
            parse=nothing,
            json=body,
            headers={"Accept": "text/event-stream"},
            timeout=600,
        )
        return Streamed(request=request, read=_event, last=MessageDone)

    @paged
    def messages(self, chat_id: str, *, page_size: int | None = None) -> Request[Page[Message]]:
        params = filled(limit=page_size)
        return Request(method="GET", path=f"{_chat(chat_id)}/messages", parse=page_of(Message), params=params)

    @operation
    def remember(
        self,
        chat_id: str,
        content: str | None = None,
        *,
        message_id: str | None = None,
        category: str | None = None,
        synthesize: bool = False,
        supersede: Supersede | None = None,
    ) -> Request[SavedMemory]:
        """A text, or a message of the chat. With `synthesize` the essence of it, and the text beside it."""
        body = filled(
            content=content, messageId=message_id, category=category, synthesize=synthesize, supersede=supersede
        )
        return Request(method="POST", path=f"{_chat(chat_id)}/memory", parse=into(SavedMemory), json=body, timeout=180)

    @operation
    def memories(self, chat_id: str) -> Request[tuple[Memory, ...]]:
        return Request(method="GET", path=f"{_chat(chat_id)}/memories", parse=items_of(Memory, "memories"))

    @operation
    def memory(self, chat_id: str, memory_id: str) -> Request[Memory]:
        return Request(method="GET", path=f"{_chat(chat_id)}/memories/{at(memory_id)}", parse=into(Memory))

    @operation
    def update_memory(self, chat_id: str, memory_id: str, content: str) -> Request[Memory]:
        path = f"{_chat(chat_id)}/memories/{at(memory_id)}"
        return Request(method="PATCH", path=path, parse=into(Memory), json={"content": content})

    @operation
    def delete_memory(self, chat_id: str, memory_id: str) -> Request[None]:
        return Request(method="DELETE", path=f"{_chat(chat_id)}/memories/{at(memory_id)}", parse=nothing)

    @operation
    def rerun_extraction(self, chat_id: str, memory_id: str) -> Request[Memory]:
        path = f"{_chat(chat_id)}/memories/{at(memory_id)}/rerun-extraction"
        return Request(method="POST", path=path, parse=into(Memory), timeout=180)


class Memories(Resource[D]):
    """What is remembered of the chats of a workspace."""

    @operation
    def create(
        self,
        workspace_id: str,
        content: str,
        *,
        category: str | None = None,
        supersede: Supersede | None = None,
        created_at: datetime | None = None,
    ) -> Request[SavedMemory]:
        """`created_at` is when it was first kept, for what comes from elsewhere."""
        body = filled(content=content, category=category, supersede=supersede, created_at=created_at)
        return Request(method="POST", path=_memories(workspace_id), parse=into(SavedMemory), json=body)

    @paged
    def list(
        self, workspace_id: str, *, deleted: bool = False, superseded: bool = False, page_size: int | None = None
    ) -> Request[Page[Memory]]:
        params = filled(deleted=deleted or None, superseded=superseded or None, limit=page_size)
        return Request(method="GET", path=_memories(workspace_id), parse=page_of(Memory), params=params)

    @operation
    def get(self, workspace_id: str, memory_id: str) -> Request[Memory]:
        return Request(method="GET", path=_memory(workspace_id, memory_id), parse=into(Memory))

    @operation
    def update(self, workspace_id: str, memory_id: str, content: str) -> Request[Memory]:
        body = {"content": content}
        return Request(method="PATCH", path=_memory(workspace_id, memory_id), parse=into(Memory), json=body)

    @operation
    def delete(self, workspace_id: str, memory_id: str) -> Request[None]:
        return Request(method="DELETE", path=_memory(workspace_id, memory_id), parse=nothing)

    @operation
    def restore(self, workspace_id: str, memory_id: str) -> Request[Memory]:
        return Request(method="POST", path=f"{_memory(workspace_id, memory_id)}/restore", parse=into(Memory))

    @operation
    def revive(self, workspace_id: str, memory_id: str) -> Request[Memory]:
        """Superseded, it holds again, beside what had taken its place."""
        path = f"{_memory(workspace_id, memory_id)}/revive"
        return Request(method="POST", path=path, parse=into(Memory), repeatable=True)

    @operation
    def history(self, workspace_id: str, memory_id: str) -> Request[tuple[MemoryVersion, ...]]:
        path = f"{_memory(workspace_id, memory_id)}/history"
        return Request(method="GET", path=path, parse=items_of(MemoryVersion))

    @operation
    def rerun_extraction(self, workspace_id: str, memory_id: str) -> Request[Memory]:
        """Distil it anew from where it came from."""
        path = f"{_memory(workspace_id, memory_id)}/rerun-extraction"
        return Request(method="POST", path=path, parse=into(Memory), timeout=180)


class Files(Resource[D]):
    @operation
    def upload(
        self,
        workspace_id: str,
        name: str,
        content: bytes,
        *,
        media_type: str | None = None,
        created_at: datetime | None = None,
    ) -> Request[UploadedDocument]:
        """Text, Markdown, HTML, PDF, docx, xlsx, csv, pptx, epub or eml; the server looks at the name and the bytes.
        Under a name that is there it is another version of that file.
        """
        held = Upload(name=name, content=content, media_type=media_type)
        path, params = f"{_workspace(workspace_id)}/files", filled(created_at=created_at)
        return Request(
            method="POST", path=path, parse=into(UploadedDocument), params=params, files={"file": held}, timeout=180
        )

    @paged
    def list(
        self, workspace_id: str, *, deleted: bool = False, page_size: int | None = None
    ) -> Request[Page[Document]]:
        params = filled(deleted=deleted or None, limit=page_size)
        return Request(method="GET", path=f"{_workspace(workspace_id)}/files", parse=page_of(Document), params=params)

    @operation
    def get(self, workspace_id: str, document_id: str) -> Request[Document]:
        return Request(method="GET", path=_file(workspace_id, document_id), parse=into(Document))

    @operation
    def content(self, workspace_id: str, document_id: str, *, version: int | None = None) -> Request[bytes]:
        """The file as it was uploaded, or an earlier version of it."""
        path, params = f"{_file(workspace_id, document_id)}/content", filled(version=version)
        return Request(method="GET", path=path, parse=raw, params=params, headers={"Accept": "*/*"}, timeout=180)

    @operation
    def revert(self, workspace_id: str, document_id: str, version: int) -> Request[Document]:
        """An earlier version as the newest one."""
        path = f"{_file(workspace_id, document_id)}/revert"
        return Request(method="POST", path=path, parse=into(Document), params={"version": version}, timeout=180)

    @operation
    def chunks(
        self, workspace_id: str, document_id: str, *, beyond: int | None = None, limit: int | None = None
    ) -> Request[Chunks]:
        """Its text in parts, as they are found."""
        params = filled(beyond=beyond, limit=limit)
        path = f"{_file(workspace_id, document_id)}/chunks"
        return Request(method="GET", path=path, parse=into(Chunks), params=params)

    @operation
    def delete(self, workspace_id: str, document_id: str) -> Request[None]:
        return Request(method="DELETE", path=_file(workspace_id, document_id), parse=nothing)

    @operation
    def restore(self, workspace_id: str, document_id: str) -> Request[Document]:
        return Request(method="POST", path=f"{_file(workspace_id, document_id)}/restore", parse=into(Document))

    @operation
    def history(self, workspace_id: str, document_id: str) -> Request[tuple[DocumentVersion, ...]]:
        path = f"{_file(workspace_id, document_id)}/history"
        return Request(method="GET", path=path, parse=items_of(DocumentVersion))


class Artifacts(Resource[D]):
    """Texts that are written and rewritten; every version is kept."""

    @operation
    def create(
        self, workspace_id: str, name: str, content: str, *, media_type: str = "text/markdown"
    ) -> Request[Artifact]:
        body = {"name": name, "content": content, "media_type": media_type}
        return Request(method="POST", path=_artifacts(workspace_id), parse=into(Artifact), json=body)

    @paged
    def list(
        self, workspace_id: str, *, deleted: bool = False, page_size: int | None = None
    ) -> Request[Page[Document]]:
        """Without their texts."""
        params = filled(deleted=deleted or None, limit=page_size)
        return Request(method="GET", path=_artifacts(workspace_id), parse=page_of(Document), params=params)

    @operation
    def get(self, workspace_id: str, artifact_id: str, *, version: int | None = None) -> Request[Artifact]:
        path = _artifact(workspace_id, artifact_id)
        return Request(method="GET", path=path, parse=into(Artifact), params=filled(version=version))

    @operation
    def update(
        self,
        workspace_id: str,
        artifact_id: str,
        *,
        name: str | None = None,
        content: str | None = None,
        media_type: str | None = None,
    ) -> Request[Artifact]:
        body = filled(name=name, content=content, media_type=media_type)
        return Request(method="PATCH", path=_artifact(workspace_id, artifact_id), parse=into(Artifact), json=body)

    @operation
    def revert(self, workspace_id: str, artifact_id: str, version: int) -> Request[Artifact]:
        """Make an older version the newest."""
        path = f"{_artifact(workspace_id, artifact_id)}/revert"
        return Request(method="POST", path=path, parse=into(Artifact), params={"version": version})

    @operation
    def delete(self, workspace_id: str, artifact_id: str) -> Request[None]:
        return Request(method="DELETE", path=_artifact(workspace_id, artifact_id), parse=nothing)

    @operation
    def restore(self, workspace_id: str, artifact_id: str) -> Request[Document]:
        return Request(method="POST", path=f"{_artifact(workspace_id, artifact_id)}/restore", parse=into(Document))

    @operation
    def history(self, workspace_id: str, artifact_id: str) -> Request[tuple[DocumentVersion, ...]]:
        path = f"{_artifact(workspace_id, artifact_id)}/history"
        return Request(method="GET", path=path, parse=items_of(DocumentVersion))


def _event(name: str, data: Any) -> ChatEvent | None:
    kind = _EVENTS.get(name)
    return None if kind is None else decode(kind, data)


def _workspace(workspace_id: str) -> str:
    return f"/v1/workspaces/{at(workspace_id)}"


def _chat(chat_id: str) -> str:
    return f"/v1/chats/{at(chat_id)}"


def _memories(workspace_id: str) -> str:
    return f"{_workspace(workspace_id)}/memories"


def _memory(workspace_id: str, memory_id: str) -> str:
    return f"{_memories(workspace_id)}/{at(memory_id)}"


def _file(workspace_id: str, document_id: str) -> str:
    return f"{_workspace(workspace_id)}/files/{at(document_id)}"


def _artifacts(workspace_id: str) -> str:
    return f"{_workspace(workspace_id)}/artifacts"


def _artifact(workspace_id: str, artifact_id: str) -> str:
    return f"{_artifacts(workspace_id)}/{at(artifact_id)}"
