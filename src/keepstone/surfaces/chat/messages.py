"""Saying something in a chat, answered as a stream of events.

The stream begins when the message is kept: a refusal before that is an ordinary error. Events, each with JSON:
`message.created` (what the user said, as it is kept), `x_memory.injected` (what was put before the model), any number
of `message.delta`, then `message.done` (the answer, as it is kept), any number of `x_memory.auto_saved`; or `error`,
with the `message` that is kept of an answer that broke off. When the client goes, what was said until then is kept too.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, model_validator

from keepstone.errors import KeepstoneError
from keepstone.model.chat import LARGEST, ChatMessage
from keepstone.model.principal import Principal
from keepstone.relay import conversation
from keepstone.relay.conversation import Begun, KeptAnswer
from keepstone.services import Services
from keepstone.surfaces.chat.chats import MessageId, MessageOut
from keepstone.surfaces.chat.memories import MemoryOut
from keepstone.surfaces.http.caller import Caller, Used
from keepstone.surfaces.http.presence import StreamedWhileThere
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.wire import Wire

of_chat = Router(tags=["chats"])


class SayIn(Wire):
    content: Annotated[str, Field(max_length=LARGEST)] = Field(
        default="", description="Empty only with `instead_of` an answer: then its question is asked again."
    )
    mode: conversation.Mode = "chat"
    capsule_ids: Annotated[
        list[Annotated[str, Field(pattern=r"^cap_[a-z0-9]{24}$")]], Field(max_length=conversation.MOST_CAPSULES)
    ] = Field(default=[], description="Your capsules that go with this turn.")
    without: Annotated[list[Annotated[str, Field(max_length=255)]], Field(max_length=100)] = Field(
        default=[], description="Memories that are not to be injected in this turn."
    )
    model: Annotated[str, Field(max_length=255)] | None = Field(
        default=None, description="Who answers; without one the server's own choice. `GET /v1/models` lists them."
    )
    instead_of: MessageId | None = Field(
        default=None,
        description="A question of yours that this is another wording of, or an answer that is to be given anew. What "
        "stood there stays on a branch of its own, among `siblings`.",
    )

    @model_validator(mode="after")
    def _says_something(self) -> "SayIn":
        if not self.content and self.instead_of is None:
            raise ValueError("say something: `content` is empty")
        return self


_EVENTS: dict[int | str, Any] = {
    200: {
        "description": "Server-sent events: message.created, x_memory.injected, message.delta, message.done, "
        "x_memory.auto_saved, error.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@of_chat.post(
    "/{chat_id:chat}/messages", summary="Say something; the answer is a stream", response_class=StreamingResponse,
    responses=_EVENTS,
)  # fmt: skip
async def say(services: Used, principal: Caller, chat_id: str, body: SayIn) -> Response:
    begun = await conversation.begin(
        services, principal, chat_id, content=body.content, mode=body.mode, capsule_ids=body.capsule_ids,
        without=body.without, model=body.model or None, instead_of=body.instead_of,
    )  # fmt: skip
    headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"}
    return StreamedWhileThere(_events(services, principal, begun), 200, headers)


async def _events(services: Services, principal: Principal, begun: Begun) -> AsyncGenerator[bytes]:
    yield _event("message.created", {"message": _message(begun.message)})
    if begun.turn.injected or begun.capsule_ids:
        yield _event("x_memory.injected", _injected(begun))
    try:
        async with aclosing(conversation.answer(services, principal, begun)) as events:
            async for event in events:
                if isinstance(event, str):
                    yield _event("message.delta", {"delta": event})
                elif isinstance(event, KeptAnswer):
                    yield _kept(event)
                else:
                    yield _event("x_memory.auto_saved", {"memory": _shown(MemoryOut.model_validate(event))})
    except KeepstoneError as fault:
        yield _event("error", _told(fault))


def _kept(answer: KeptAnswer) -> bytes:
    message = {"message": _message(answer.message)} if answer.message is not None else {}
    if answer.fault is not None:
        return _event("error", _told(answer.fault) | message)
    return _event("message.done", {**message, "usage": answer.usage})


def _told(fault: KeepstoneError) -> dict[str, Any]:
    return {"error": {"code": fault.code, "message": fault.message}}


def _injected(begun: Begun) -> dict[str, Any]:
    memories = [
        {
            "id": recalled.memory.id,
            "category": recalled.memory.category,
            "relevance": recalled.relevance,
            "content": recalled.memory.content,
        }
        for recalled in begun.turn.injected
    ]
    return {"memories": memories, "capsule_ids": list(begun.capsule_ids)}


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _message(message: ChatMessage) -> dict[str, Any]:
    return _shown(MessageOut.model_validate(message))


def _shown(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json")
