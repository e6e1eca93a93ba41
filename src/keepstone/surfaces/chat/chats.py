"""Chats and what was said in them."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from keepstone.memory import chats
from keepstone.model.chat import Chat, ChatKind, ChatMessage, ChatOrder
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.routes import InTrash, Routes
from keepstone.surfaces.http.wire import Time, Wire, fields_of

router = Router(prefix="/chats", tags=["chats"])
of_chat = Router(tags=["chats"])

Title = Annotated[str, Field(max_length=255)]
ChatId = Annotated[str, Field(pattern=r"^chat_[a-z0-9]{24}$")]
MessageId = Annotated[str, Field(pattern=r"^msg_[a-z0-9]{24}$")]
WorkspaceId = Annotated[str, Field(pattern=r"^ws_[a-z0-9]{24}$")]


class ChatIn(Wire):
    title: Title = ""
    workspace_id: WorkspaceId | None = Field(default=None, description="Without one: your default workspace.")
    kind: ChatKind = Field(default="chat", description="`quorum`: one of two chats that are asked the same.")
    beside: ChatId | None = Field(default=None, description="Of the second chat of a quorum: the first.")


class ChatChange(Wire):
    """A `workspace_id` moves the chat with its memories; null moves it to your default workspace. `branch` is a
    message: the branch on which it is, is read and gone on with.
    """

    title: Title | None = None
    workspace_id: WorkspaceId | None = None
    branch: MessageId | None = None


class ChatOut(fields_of(Chat, "id title workspace_id created_by created_at updated_at deleted_at kind beside")):
    deleted_at: Time | None = None
    kind: str = Field(default="chat", description="`chat`, or `quorum`: one of two that are asked the same.")
    beside: str | None = Field(default=None, description="Of the second chat of a quorum: the first.")


class MessageOut(fields_of(ChatMessage, "id role content user_id model created_at metadata")):
    role: str
    siblings: tuple[str, ...] = Field(
        default=(), description="What stands in its place on other branches, and itself; empty without another."
    )


async def _change(services: Services, principal: Principal, chat_id: str, changes: dict[str, Any]) -> Chat:
    return await chats.change(services, principal, chat_id, **changes)


_chats = Routes(router, ChatOut)
_messages = Routes(of_chat, MessageOut)

_CHAT = "/{chat_id:chat}"
_TITLED = Annotated[str, Query(max_length=255, description="A part of the title.")]
_WORKSPACE = (Annotated[str | None, Query(pattern=r"^ws_[a-z0-9]{24}$")], None)

_chats.one("POST", "", chats.create, "create_chat", "Begin a chat", body=ChatIn, status=201)
_chats.page(
    "", chats.list_chats, "list_chats", "Chats of your workspaces, the newest first", workspace_id=_WORKSPACE,
    deleted=(InTrash, False), kind=(ChatKind | None, None), order=(ChatOrder, "created"), q=(_TITLED, ""),
)  # fmt: skip
_chats.one("GET", _CHAT, chats.get, "get_chat", "One chat")
_chats.one("PATCH", _CHAT, _change, "change_chat", "Rename a chat, move it, or choose its branch", changes=ChatChange)
_chats.remove(_CHAT, chats.delete, "delete_chat", "Into the trash, for 30 days")
_chats.one("POST", f"{_CHAT}/restore", chats.restore, "restore_chat", "A chat out of the trash")
_messages.page(f"{_CHAT}/messages", chats.list_messages, "list_messages", "What was said in a chat, in order")
