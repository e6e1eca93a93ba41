"""What a workspace remembers: of one chat, or of the whole workspace."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from keepstone.memory import chat_memories, workspace_search
from keepstone.memory.chat_memories import NewMemory, Saved
from keepstone.model.chat import LARGEST, ChatMemory
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import PageOut, Paging, Shown, Time, Wire, refuse, show_page

# The routes of one chat, below its id; and those of a workspace.
of_chat = APIRouter(tags=["chat memory"])
of_workspace = APIRouter(prefix="/workspaces/{workspace_id:ws}", tags=["chat memory"])

Content = Annotated[str, Field(min_length=1, max_length=LARGEST)]
Category = Annotated[str, Field(max_length=255, description="Any label; preference, fact, instruction, decision …")]
Deleted = Annotated[bool, Query(description="What is in the trash instead.")]


class RememberIn(Wire):
    """At least one of `messageId` and `content`."""

    messageId: Annotated[str, Field(max_length=255)] | None = None  # noqa: N815
    content: Content | None = None
    category: Category | None = None
    synthesize: bool = Field(default=False, description="Keep the essence, and the text itself beside it.")


class MemoryIn(Wire):
    content: Content
    category: Category | None = None


class MemoryChange(Wire):
    content: Content


class MemoryOut(Shown):
    id: str
    content: str
    summary: str | None
    category: str | None
    source_type: str
    source_chat_id: str | None
    source_message_id: str | None
    workspace_id: str
    version: int
    created_at: Time
    updated_at: Time
    deleted_at: Time | None = None


class SavedOut(MemoryOut):
    deduplicated: bool = Field(description="It was known already: this is the memory that says so.")


class MemoryList(Shown):
    memories: list[MemoryOut]


class MemoryVersionOut(Shown):
    version: int
    change: str
    content: str
    summary: str | None
    changed_by: str | None
    changed_at: Time


class MemoryHistory(Shown):
    items: list[MemoryVersionOut]


class ExtractionOut(Shown):
    """Something that is read for memories after the fact."""

    kind: Literal["tool", "deep_think", "research", "compaction"]
    chat_id: str
    source_id: str
    state: Literal["waiting", "done"]
    attempts: int
    memory_ids: list[str]
    created_at: Time
    done_at: Time | None


class ResultOut(Shown):
    type: Literal["memory", "document", "artifact"]
    id: str
    title: str | None
    text: str
    snippet: str = Field(description="HTML: everything is escaped but the marks.")
    relevance: float
    category: str | None
    place: dict[str, int | str] | None = Field(description="In a document: page, heading, start and end.")


class ResultList(Shown):
    items: list[ResultOut]
    degraded: str | None = Field(default=None, description="`terms`: nothing could be found by meaning.")


def _saved(saved: Saved, response: Response) -> SavedOut:
    response.status_code = 200 if saved.existing else 201
    return SavedOut(**_fields(saved.memory), deduplicated=saved.existing)


def _fields(memory: ChatMemory) -> dict[str, Any]:
    return MemoryOut.model_validate(memory).model_dump()


_NEW_OR_KNOWN: dict[int | str, dict[str, Any]] = {200: {"model": SavedOut, "description": "It was known already."}}


@of_chat.post("/{chat_id:chat}/memory", status_code=201, summary="Remember a message", responses=_NEW_OR_KNOWN)
async def remember(services: Used, principal: Caller, chat_id: str, body: RememberIn, response: Response) -> SavedOut:
    saved = await chat_memories.remember(
        services, principal, chat_id, message_id=body.messageId, content=body.content, category=body.category,
        synthesize=body.synthesize,
    )  # fmt: skip
    return _saved(saved, response)


@of_chat.get("/{chat_id:chat}/memories", summary="What was remembered from a chat, the newest first")
async def list_chat_memories(services: Used, principal: Caller, chat_id: str) -> MemoryList:
    found = await chat_memories.list_of_chat(services, principal, chat_id)
    return MemoryList(memories=[MemoryOut.model_validate(one) for one in found])


@of_workspace.post("/memories", status_code=201, summary="Remember a text in a workspace", responses=_NEW_OR_KNOWN)
async def create_workspace_memory(
    services: Used, principal: Caller, workspace_id: str, body: MemoryIn, response: Response
) -> SavedOut:
    new = NewMemory(content=body.content, category=body.category)
    return _saved(await chat_memories.save(services, principal, new, workspace_id=workspace_id), response)


@of_workspace.get("/memories", summary="What a workspace remembers, the newest first")
async def list_workspace_memories(
    services: Used, principal: Caller, workspace_id: str, page: Paging, deleted: Deleted = False
) -> PageOut[MemoryOut]:
    found = await chat_memories.list_of_workspace(services, principal, workspace_id, page, deleted=deleted)
    return show_page(found, MemoryOut.model_validate)


@of_chat.get("/{chat_id:chat}/memories/{memory_id:mem}", summary="One memory")
async def get_chat_memory(services: Used, principal: Caller, chat_id: str, memory_id: str) -> MemoryOut:
    return MemoryOut.model_validate(await chat_memories.get(services, principal, chat_id, memory_id))


@of_workspace.get("/memories/{memory_id:mem}", summary="One memory")
async def get_workspace_memory(services: Used, principal: Caller, workspace_id: str, memory_id: str) -> MemoryOut:
    return MemoryOut.model_validate(await chat_memories.get(services, principal, workspace_id, memory_id))


@of_chat.patch("/{chat_id:chat}/memories/{memory_id:mem}", summary="Another text for a memory")
async def change_chat_memory(
    services: Used, principal: Caller, chat_id: str, memory_id: str, body: MemoryChange
) -> MemoryOut:
    changed = await chat_memories.update(services, principal, chat_id, memory_id, content=body.content)
    return MemoryOut.model_validate(changed)


@of_workspace.patch("/memories/{memory_id:mem}", summary="Another text for a memory")
async def change_workspace_memory(
    services: Used, principal: Caller, workspace_id: str, memory_id: str, body: MemoryChange
) -> MemoryOut:
    changed = await chat_memories.update(services, principal, workspace_id, memory_id, content=body.content)
    return MemoryOut.model_validate(changed)


@of_chat.delete("/{chat_id:chat}/memories/{memory_id:mem}", status_code=204, summary="Into the trash, for 30 days")
async def delete_chat_memory(services: Used, principal: Caller, chat_id: str, memory_id: str) -> None:
    await chat_memories.delete(services, principal, chat_id, memory_id)


@of_workspace.delete("/memories/{memory_id:mem}", status_code=204, summary="Into the trash, for 30 days")
async def delete_workspace_memory(services: Used, principal: Caller, workspace_id: str, memory_id: str) -> None:
    await chat_memories.delete(services, principal, workspace_id, memory_id)


@of_chat.post("/{chat_id:chat}/memories/{memory_id:mem}/rerun-extraction", summary="Make a memory's summary anew")
async def rerun_extraction(services: Used, principal: Caller, chat_id: str, memory_id: str) -> MemoryOut:
    return MemoryOut.model_validate(await chat_memories.rerun_extraction(services, principal, chat_id, memory_id))


@of_workspace.post("/memories/{memory_id:mem}/rerun-extraction", summary="Make a memory's summary anew")
async def rerun_workspace_extraction(services: Used, principal: Caller, workspace_id: str, memory_id: str) -> MemoryOut:
    made = await chat_memories.rerun_extraction(services, principal, workspace_id, memory_id)
    return MemoryOut.model_validate(made)


@of_workspace.post("/memories/{memory_id:mem}/restore", summary="A memory out of the trash")
async def restore_workspace_memory(services: Used, principal: Caller, workspace_id: str, memory_id: str) -> MemoryOut:
    return MemoryOut.model_validate(await chat_memories.restore(services, principal, workspace_id, memory_id))


@of_workspace.get("/memories/{memory_id:mem}/history", summary="Every version of a memory, the latest first")
async def get_memory_history(services: Used, principal: Caller, workspace_id: str, memory_id: str) -> MemoryHistory:
    found = await chat_memories.history(services, principal, workspace_id, memory_id)
    return MemoryHistory(items=[MemoryVersionOut.model_validate(one) for one in found])


@of_workspace.get("/extractions", summary="What is read for memories in the background, the newest first")
async def list_extractions(
    services: Used, principal: Caller, workspace_id: str, page: Paging
) -> PageOut[ExtractionOut]:
    found = await chat_memories.list_extractions(services, principal, workspace_id, page)
    return show_page(found, ExtractionOut.model_validate)


@of_workspace.get("/search", summary="Memories, documents and artifacts in one search")
async def search_workspace(
    services: Used,
    principal: Caller,
    workspace_id: str,
    q: Annotated[str, Query(min_length=1, max_length=8_000)],
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
    offset: Annotated[int, Query(ge=0, le=1_000)] = 0,
    type: Annotated[list[workspace_search.Type] | None, Query(max_length=3)] = None,  # noqa: A002
) -> ResultList:
    refuse("q", q)
    found = await workspace_search.find(
        services, principal, workspace_id, q, limit=limit, offset=offset, types=type or ()
    )
    return ResultList(items=[ResultOut.model_validate(one) for one in found.items], degraded=found.degraded)
