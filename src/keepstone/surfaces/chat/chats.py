"""Chats and what was said in them."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from keepstone.memory import chats
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.wire import PageOut, Paging, Shown, Time, Wire, show_page

router = APIRouter(prefix="/chats", tags=["chats"])
of_chat = APIRouter(tags=["chats"])

Title = Annotated[str, Field(max_length=255)]
WorkspaceId = Annotated[str, Field(pattern=r"^ws_[a-z0-9]{24}$")]


class ChatIn(Wire):
    title: Title = ""
    workspace_id: WorkspaceId | None = Field(default=None, description="Without one: your default workspace.")


class ChatChange(Wire):
    """A `workspace_id` moves the chat with its memories; null moves it to your default workspace."""

    title: Title | None = None
    workspace_id: WorkspaceId | None = None


class ChatOut(Shown):
    id: str
    title: str
    workspace_id: str
    created_by: str | None
    created_at: Time
    updated_at: Time
    deleted_at: Time | None = None


class MessageOut(Shown):
    id: str
    role: str
    content: str
    user_id: str | None
    model: str | None
    created_at: Time
    metadata: dict[str, object]


@router.post("", status_code=201, summary="Begin a chat")
async def create_chat(services: Used, principal: Caller, body: ChatIn) -> ChatOut:
    made = await chats.create(services, principal, title=body.title, workspace_id=body.workspace_id)
    return ChatOut.model_validate(made)


@router.get("", summary="Chats of your workspaces, the newest first")
async def list_chats(
    services: Used,
    principal: Caller,
    page: Paging,
    workspace_id: Annotated[str | None, Query(pattern=r"^ws_[a-z0-9]{24}$")] = None,
    deleted: Annotated[bool, Query(description="What is in the trash instead.")] = False,
) -> PageOut[ChatOut]:
    found = await chats.list_chats(services, principal, page, workspace_id=workspace_id, deleted=deleted)
    return show_page(found, ChatOut.model_validate)


@router.get("/{chat_id:chat}", summary="One chat")
async def get_chat(services: Used, principal: Caller, chat_id: str) -> ChatOut:
    return ChatOut.model_validate(await chats.get(services, principal, chat_id))


@router.patch("/{chat_id:chat}", summary="Rename a chat, or move it to another workspace")
async def change_chat(services: Used, principal: Caller, chat_id: str, body: ChatChange) -> ChatOut:
    changed = await chats.change(
        services, principal, chat_id, title=body.title,
        **({"workspace_id": body.workspace_id} if "workspace_id" in body.model_fields_set else {}),
    )  # fmt: skip
    return ChatOut.model_validate(changed)


@router.delete("/{chat_id:chat}", status_code=204, summary="Into the trash, for 30 days")
async def delete_chat(services: Used, principal: Caller, chat_id: str) -> None:
    await chats.delete(services, principal, chat_id)


@router.post("/{chat_id:chat}/restore", summary="A chat out of the trash")
async def restore_chat(services: Used, principal: Caller, chat_id: str) -> ChatOut:
    return ChatOut.model_validate(await chats.restore(services, principal, chat_id))


@of_chat.get("/{chat_id:chat}/messages", summary="What was said in a chat, in order")
async def list_messages(services: Used, principal: Caller, chat_id: str, page: Paging) -> PageOut[MessageOut]:
    return show_page(await chats.list_messages(services, principal, chat_id, page), MessageOut.model_validate)
