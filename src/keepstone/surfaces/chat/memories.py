"""What a workspace remembers: of one chat, or of the whole workspace."""

from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import Field

from keepstone.memory import chat_memories, workspace_search
from keepstone.memory.chat_memories import NewMemory, Saved
from keepstone.memory.superseding import SupersedeWish
from keepstone.memory.workspace_search import WorkspaceResult
from keepstone.model.chat import LARGEST, ChatMemory, Distillation
from keepstone.model.memory import Version
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Routes, Superseded
from keepstone.surfaces.http.wire import (
    Added,
    MaySupersede,
    Origin,
    Shown,
    Supersede,
    Time,
    Wire,
    fields_of,
    refuse,
    refuse_future,
)

# The routes of one chat, below its id; and those of a workspace.
of_chat = Router(tags=["chat memory"])
of_workspace = Router(prefix="/workspaces/{workspace_id:ws}", tags=["chat memory"])

Content = Annotated[str, Field(min_length=1, max_length=LARGEST)]
Category = Annotated[str, Field(max_length=255, description="Any label; preference, fact, instruction, decision …")]


class RememberIn(Wire):
    """At least one of `messageId` and `content`."""

    messageId: Annotated[str, Field(max_length=255)] | None = None  # noqa: N815
    content: Content | None = None
    category: Category | None = None
    synthesize: bool = Field(default=False, description="Keep the essence, and the text itself beside it.")
    supersede: Supersede = "auto"


class MemoryIn(Wire):
    content: Content
    category: Category | None = None
    supersede: Supersede = "auto"
    created_at: Origin = None


class MemoryChange(Wire):
    content: Content


class MemoryOut(
    fields_of(
        ChatMemory,
        "id content summary category source_type source_chat_id source_message_id workspace_id version superseded_by "
        "created_at updated_at deleted_at",
    )
):
    superseded_by: str | None = Field(default=None, description="What took its place.")
    deleted_at: Time | None = None


class SavedOut(MemoryOut):
    deduplicated: bool = Field(description="It was known already: this is the memory that says so.")
    added: Added = None
    superseded: list[str] = Field(description="Older memories that no longer hold.")
    may_supersede: MaySupersede


class MemoryList(Shown):
    memories: list[MemoryOut]


class MemoryVersionOut(fields_of(Version, "version change content summary changed_by changed_at")):
    pass


class ExtractionOut(fields_of(Distillation, "kind chat_id source_id state attempts memory_ids created_at done_at")):
    """Something that is read for memories after the fact."""


class ResultOut(fields_of(WorkspaceResult, "type id title text snippet relevance category place")):
    snippet: str = Field(description="HTML: everything is escaped but the marks.")
    place: dict[str, int | str] | None = Field(
        description="In a document: page, heading, start and end. Of a message: chat_id, role and said_at."
    )


class ResultList(Shown):
    items: list[ResultOut]
    degraded: str | None = Field(default=None, description="`terms`: nothing could be found by meaning.")


def _saved(saved: Saved, response: Response) -> SavedOut:
    response.status_code = 200 if saved.existing else 201
    return SavedOut.of(
        saved.memory, deduplicated=saved.existing,
        added=saved.added or None, superseded=list(saved.superseded),
        may_supersede=list(saved.may_supersede),
    )  # fmt: skip


_NEW_OR_KNOWN: dict[int | str, dict[str, Any]] = {200: {"model": SavedOut, "description": "It was known already."}}


@of_chat.post("/{chat_id:chat}/memory", status_code=201, summary="Remember a message", responses=_NEW_OR_KNOWN)
async def remember(services: Used, principal: Caller, chat_id: str, body: RememberIn, response: Response) -> SavedOut:
    saved = await chat_memories.remember(
        services, principal, chat_id, message_id=body.messageId, content=body.content, category=body.category,
        synthesize=body.synthesize, wish=SupersedeWish.of(body.supersede),
    )  # fmt: skip
    return _saved(saved, response)


_MEMORY = "/memories/{memory_id:mem}"
_CHAT = "/{chat_id:chat}"
_memories = Routes(of_workspace, MemoryOut)
_chat_memories = Routes(of_chat, MemoryOut, listed=MemoryList)
_versions = Routes(of_workspace, MemoryVersionOut, listed="MemoryHistory")
_extractions = Routes(of_workspace, ExtractionOut)

_chat_memories.all(
    f"{_CHAT}/memories", chat_memories.list_of_chat, "list_chat_memories",
    "What was remembered from a chat, the newest first",
)  # fmt: skip


@of_workspace.post("/memories", status_code=201, summary="Remember a text in a workspace", responses=_NEW_OR_KNOWN)
async def create_workspace_memory(
    services: Used, principal: Caller, workspace_id: str, body: MemoryIn, response: Response
) -> SavedOut:
    refuse_future("body.created_at", body.created_at, services.clock())
    new = NewMemory(
        content=body.content, category=body.category, wish=SupersedeWish.of(body.supersede), at=body.created_at
    )
    return _saved(await chat_memories.save(services, principal, new, workspace_id=workspace_id), response)


_memories.page(
    "/memories", chat_memories.list_of_workspace, "list_workspace_memories",
    "What a workspace remembers, the newest first", deleted=(InTrash, False), superseded=(Superseded, False),
)  # fmt: skip
# The same below a chat and below its workspace.
for _routes, _below, _get, _change, _delete, _rerun in (
    (
        _chat_memories, f"{_CHAT}{_MEMORY}", "get_chat_memory", "change_chat_memory", "delete_chat_memory",
        "rerun_extraction",
    ),
    (
        _memories, _MEMORY, "get_workspace_memory", "change_workspace_memory", "delete_workspace_memory",
        "rerun_workspace_extraction",
    ),
):  # fmt: skip
    _routes.one("GET", _below, chat_memories.get, _get, "One memory")
    _routes.one("PATCH", _below, chat_memories.update, _change, "Another text for a memory", body=MemoryChange)
    _routes.remove(_below, chat_memories.delete, _delete, "Into the trash, for 30 days")
    _routes.one(
        "POST", f"{_below}/rerun-extraction", chat_memories.rerun_extraction, _rerun, "Make a memory's summary anew"
    )
_memories.one(
    "POST", f"{_MEMORY}/restore", chat_memories.restore, "restore_workspace_memory", "A memory out of the trash"
)
_memories.one(
    "POST", f"{_MEMORY}/revive", chat_memories.revive, "revive_workspace_memory",
    "A superseded memory holds again, beside what had taken its place",
)  # fmt: skip
_versions.all(
    f"{_MEMORY}/history", chat_memories.history, "get_memory_history", "Every version of a memory, the latest first"
)  # fmt: skip
_extractions.page(
    "/extractions", chat_memories.list_extractions, "list_extractions",
    "What is read for memories in the background, the newest first",
)  # fmt: skip


@of_workspace.get("/search", summary="Memories, documents, artifacts and messages of chats in one search")
async def search_workspace(
    services: Used,
    principal: Caller,
    workspace_id: str,
    q: Annotated[str, Query(min_length=1, max_length=8_000)],
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
    offset: Annotated[int, Query(ge=0, le=1_000)] = 0,
    type: Annotated[list[workspace_search.Type] | None, Query(max_length=4)] = None,  # noqa: A002
) -> ResultList:
    refuse("q", q)
    results = await workspace_search.find(
        services, principal, workspace_id, q, limit=limit, offset=offset, types=type or ()
    )
    return ResultList.model_validate(results)
