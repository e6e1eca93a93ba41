"""Chats and what was said in them."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from keepstone.memory import chats
from keepstone.model.chat import Chat, ChatMessage
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Routes
from keepstone.surfaces.http.wire import Time, Wire, fields_of

router = Router(prefix="/chats", tags=["chats"])
of_chat = Router(tags=["chats"])

Title = Annotated[str, Field(max_length=255)]
WorkspaceId = Annotated[str, Field(pattern=r"^ws_[a-z0-9]{24}$")]


class ChatIn(Wire):
    title: Title = ""
    workspace_id: WorkspaceId | None = Field(default=None, description="Without one: your default workspace.")


class ChatChange(Wire):
    """A `workspace_id` moves the chat with its memories; null moves it to your default workspace."""

    title: Title | None = None
    workspace_id: WorkspaceId | None = None


class ChatOut(fields_of(Chat, "id title workspace_id created_by created_at updated_at deleted_at")):
    deleted_at: Time | None = None


class MessageOut(fields_of(ChatMessage, "id role content user_id model created_at metadata")):
    role: str


async def _change(services: Services, principal: Principal, chat_id: str, changes: dict[str, Any]) -> Chat:
    return await chats.change(services, principal, chat_id, **changes)


_chats = Routes(router, ChatOut)
_messages = Routes(of_chat, MessageOut)

_CHAT = "/{chat_id:chat}"
_WORKSPACE = (Annotated[str | None, Query(pattern=r"^ws_[a-z0-9]{24}$")], None)

_chats.one("POST", "", chats.create, "create_chat", "Begin a chat", body=ChatIn, status=201)
_chats.page(
    "", chats.list_chats, "list_chats", "Chats of your workspaces, the newest first", workspace_id=_WORKSPACE,
    deleted=(InTrash, False),
)  # fmt: skip
_chats.one("GET", _CHAT, chats.get, "get_chat", "One chat")
_chats.one("PATCH", _CHAT, _change, "change_chat", "Rename a chat, or move it to another workspace", changes=ChatChange)
_chats.remove(_CHAT, chats.delete, "delete_chat", "Into the trash, for 30 days")
_chats.one("POST", f"{_CHAT}/restore", chats.restore, "restore_chat", "A chat out of the trash")
_messages.page(f"{_CHAT}/messages", chats.list_messages, "list_messages", "What was said in a chat, in order")
