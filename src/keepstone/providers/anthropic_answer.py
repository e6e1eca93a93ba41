"""What Anthropic's Messages API answers, in OpenAI's chat protocol: whole, in pieces, or as an error.

Thinking is dropped, and so is every kind of block and event that is not known. Bytes that are not Anthropic's protocol
raise pydantic's `ValidationError`.
"""

import json
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

Json = dict[str, Any]

DONE = b"data: [DONE]\n\n"

_EVENTS = {
    "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
    "message_stop", "error",
}  # fmt: skip

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}

# Anthropic's type of an error: OpenAI's type and code.
_FAULTS: dict[str, tuple[str, str | None]] = {
    "invalid_request_error": ("invalid_request_error", None),
    "authentication_error": ("authentication_error", "invalid_api_key"),
    "billing_error": ("insufficient_quota", "insufficient_quota"),
    "permission_error": ("permission_error", "permission_denied"),
    "not_found_error": ("invalid_request_error", "model_not_found"),
    "request_too_large": ("invalid_request_error", "request_too_large"),
    "rate_limit_error": ("rate_limit_error", "rate_limit_exceeded"),
    "timeout_error": ("server_error", "timeout"),
    "overloaded_error": ("server_error", "overloaded"),
    "api_error": ("server_error", None),
}


class _Usage(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Block(BaseModel):
    type: str
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Json | None = None


class _Message(BaseModel):
    id: str
    model: str
    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage = Field(default_factory=_Usage)


class _Delta(BaseModel):
    type: str | None = None
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Fault(BaseModel):
    type: str
    message: str


class _Refusal(BaseModel):
    error: _Fault


class _Kind(BaseModel):
    type: str


class _Event(_Kind):
    index: int | None = None
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: _Fault | None = None


class _Model(BaseModel):
    id: str
    created_at: datetime | None = None


class _Models(BaseModel):
    data: list[_Model]


def completion(body: bytes) -> bytes:
    message = _Message.model_validate_json(body)
    text = "".join(block.text or "" for block in message.content if block.type == "text")
    calls = [
        {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": _arguments(block.input)}}
        for block in message.content
        if block.type == "tool_use"
    ]
    said: Json = {"role": "assistant", "content": text or (None if calls else ""), "refusal": None}
    choice = {
        "index": 0,
        "message": said | ({"tool_calls": calls} if calls else {}),
        "logprobs": None,
        "finish_reason": _FINISH.get(message.stop_reason or "", "stop"),
    }
    return _bytes({**_head(message, "chat.completion"), "choices": [choice], "usage": _usage(message.usage)})


def listing(body: bytes) -> bytes:
    models = [
        {
            "id": model.id,
            "object": "model",
            "created": int(model.created_at.timestamp()) if model.created_at else 0,
            "owned_by": "anthropic",
        }
        for model in _Models.model_validate_json(body).data
    ]
    return _bytes({"object": "list", "data": models})


def refusal(body: bytes) -> bytes:
    return _bytes(_refusal(_Refusal.model_validate_json(body).error))


def envelope(message: str, kind: str, code: str | None = None) -> bytes:
    """An error as OpenAI says it."""
    return _bytes(_error(message, kind, code))


@dataclass(slots=True, kw_only=True)
class Chunks:
    """A streamed answer, event by event. It has `ended` when nothing more will come of it."""

    with_usage: bool
    ended: bool = False
    _head: Json = field(init=False, default_factory=dict[str, Any])
    _finish: str = field(init=False, default="stop")
    _usage: _Usage = field(init=False, default_factory=_Usage)
    _calls: int = field(init=False, default=0)
    _call: _Block | None = field(init=False, default=None)  # the one that is being written
    _written: bool = field(init=False, default=False)  # whether anything of its arguments was

    def feed(self, data: str) -> Generator[bytes]:
        """What an event's data says to the client. Not to be fed again once it has ended."""
        if _Kind.model_validate_json(data).type not in _EVENTS:
            return  # pings, and what they think of next
        event = _Event.model_validate_json(data)
        match event.type:
            case "message_start" if event.message:
                self._head = _head(event.message, "chat.completion.chunk")
                self._count(event.message.usage)
                yield self._chunk({"role": "assistant", "content": ""})
            case "content_block_start" if event.content_block:
                yield from self._started(event.content_block)
            case "content_block_delta" if event.delta:
                yield from self._continued(event.delta)
            case "content_block_stop":
                yield from self._stopped()
            case "message_delta":
                if event.delta and event.delta.stop_reason:
                    self._finish = _FINISH.get(event.delta.stop_reason, "stop")
                self._count(event.usage)
            case "message_stop":
                self.ended = True
                yield self._chunk({}, self._finish)
                if self.with_usage:
                    yield self._event({"choices": [], "usage": _usage(self._usage)})
                yield DONE
            case "error" if event.error:
                self.ended = True
                yield _sse(_refusal(event.error))
            case _:
                pass

    def _started(self, block: _Block) -> Generator[bytes]:
        self._call = block if block.type == "tool_use" else None
        self._written = False
        if self._call:
            named = {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": ""}}
            yield self._chunk({"tool_calls": [{"index": self._calls, **named}]})
        elif block.type == "text" and block.text:
            yield self._chunk({"content": block.text})

    def _continued(self, delta: _Delta) -> Generator[bytes]:
        if delta.type == "text_delta" and delta.text:
            yield self._chunk({"content": delta.text})
        elif delta.type == "input_json_delta" and delta.partial_json and self._call:
            self._written = True
            yield self._arguments(delta.partial_json)

    def _stopped(self) -> Generator[bytes]:
        if self._call:
            if not self._written:  # a call without arguments has no delta, and an empty string is not JSON
                yield self._arguments(_arguments(self._call.input))
            self._calls += 1
            self._call = None

    def _arguments(self, piece: str) -> bytes:
        return self._chunk({"tool_calls": [{"index": self._calls, "function": {"arguments": piece}}]})

    def _count(self, usage: _Usage | None) -> None:
        """Counts are of the whole so far, and what is left out has not changed."""
        if usage:
            self._usage = self._usage.model_copy(update=usage.model_dump(exclude_none=True))

    def _chunk(self, delta: Json, finish: str | None = None) -> bytes:
        choice: Json = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._event({"choices": [choice]} | ({"usage": None} if self.with_usage else {}))

    def _event(self, more: Json) -> bytes:
        return _sse(self._head | more)


def _usage(usage: _Usage) -> Json:
    cached = usage.cache_read_input_tokens or 0
    prompt = (usage.input_tokens or 0) + (usage.cache_creation_input_tokens or 0) + cached
    written = usage.output_tokens or 0
    return {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _refusal(fault: _Fault) -> Json:
    return _error(fault.message, *_FAULTS.get(fault.type, ("server_error", fault.type)))


def _error(message: str, kind: str, code: str | None) -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _arguments(given: Json | None) -> str:
    return json.dumps(given or {}, ensure_ascii=False)


def _head(message: _Message, kind: str) -> Json:
    name = f"chatcmpl-{message.id.removeprefix('msg_')}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": message.model}


def _bytes(made: Json) -> bytes:
    return json.dumps(made).encode()


def _sse(made: Json) -> bytes:
    return b"data: " + _bytes(made) + b"\n\n"
