"""What a client asks in OpenAI's chat protocol, as Anthropic's Messages API wants to be asked. Nothing is sent here.

Fields that Anthropic has no word for are left out. What can't be left out without answering another question raises
`Unanswerable`; its message names the field and quotes no text.
"""

import json
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from keepstone.providers.anthropic_schema import Inexpressible, Json, fitted

MAX_TOKENS = 4096  # Anthropic insists on a number; OpenAI's clients seldom give one

_JSON = "Answer with one JSON object and nothing else: no words around it and no code fence."
_OBJECT = TypeAdapter(Json)


class Unanswerable(Exception):
    """The client has to ask for something else."""


class _Url(BaseModel):
    url: str


class _Part(BaseModel):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: _Url | None = None


class _Function(BaseModel):
    """As a tool declares it, a call fills it in, and a choice names it."""

    name: str
    description: str | None = None
    parameters: Json | None = None
    arguments: str = ""


class _Call(BaseModel):
    id: str
    function: _Function


class _ChatMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Tool(BaseModel):
    type: Literal["function"]
    function: _Function


class _Shape(BaseModel):
    shape: Json | None = Field(None, alias="schema")


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Shape | None = None


class _StreamOptions(BaseModel):
    include_usage: bool | None = None


class _Request(BaseModel):
    model: str | None = None
    messages: list[_ChatMessage]
    tools: list[_Tool] | None = None
    tool_choice: Literal["auto", "none", "required"] | _Tool | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: Annotated[float, Field(allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    stop: str | list[str] | None = None
    user: str | None = None
    n: int | None = None
    response_format: _Format | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesRequest:
    """`sampling` belongs into the body too, for the models that still take it."""

    body: Json
    sampling: Json
    streamed: bool
    with_usage: bool


def question_of(body: bytes, model: str | None) -> MessagesRequest:
    """`model` is the one to ask when the client names none."""
    asked = _parsed(body)
    if asked.n is not None and asked.n > 1:
        raise Unanswerable("n: this provider gives one choice. Leave n out, or ask several times.")
    named = asked.model or model
    if not named:
        raise Unanswerable("model: name the model to ask.")
    made: Json = {
        "model": named,
        "max_tokens": asked.max_completion_tokens or asked.max_tokens or MAX_TOKENS,
        "messages": _turns(asked.messages),
    }
    instructions = [text for message in asked.messages if _instructs(message) for text in _texts(message)]
    if asked.response_format is not None:
        made |= _structured(asked.response_format, instructions)
    if instructions:
        made["system"] = "\n\n".join(instructions)
    if asked.tools:  # a choice among none is refused
        made["tools"] = [_tool(tool.function) for tool in asked.tools]
        made |= _choice(asked)
    stops = [asked.stop] if isinstance(asked.stop, str) else asked.stop or []
    if stops := [stop for stop in stops if stop.strip()]:  # Anthropic refuses blank ones
        made["stop_sequences"] = stops
    if asked.user:
        made["metadata"] = {"user_id": asked.user}
    if asked.stream:
        made["stream"] = True
    return MessagesRequest(
        body=made,
        sampling=_sampling(asked),
        streamed=bool(asked.stream),
        with_usage=bool(asked.stream_options and asked.stream_options.include_usage),
    )


def _parsed(body: bytes) -> _Request:
    try:
        return _Request.model_validate_json(body)
    except ValidationError as fault:
        faults = fault.errors(include_url=False, include_input=False, include_context=False)
        if faults[0]["type"] == "json_invalid":
            raise Unanswerable("The body is not JSON.") from None
        deepest = max(faults, key=lambda error: len(error["loc"]))  # of a union, the branch that went furthest
        where = ".".join(str(step) for step in deepest["loc"] if _is_field(step)) or "body"
        raise Unanswerable(f"{where}: {deepest['msg']}.") from None


def _is_field(step: int | str) -> bool:
    """Between fields and places in lists, pydantic names the branches of unions."""
    return isinstance(step, int) or (step.isidentifier() and step.islower() and step != "str")


def _sampling(asked: _Request) -> Json:
    if asked.temperature is not None:  # the models that take one of the two refuse both together
        return {"temperature": min(max(asked.temperature, 0), 1)}
    return {} if asked.top_p is None else {"top_p": asked.top_p}


def _structured(wanted: _Format, instructions: list[str]) -> Json:
    """The parameter that makes the answer follow the schema; where there is none for it, an instruction instead."""
    if wanted.type == "text":
        return {}
    schema = wanted.json_schema.shape if wanted.json_schema else None
    if wanted.type == "json_object" or not schema:
        instructions.append(_JSON)
        return {}
    try:
        return {"output_config": {"format": {"type": "json_schema", "schema": fitted(schema)}}}
    except Inexpressible:
        instructions.append(f"{_JSON} It follows this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}")
        return {}


def _tool(declared: _Function) -> Json:
    schema: Json = {"properties": {}, **(declared.parameters or {}), "type": "object"}
    made: Json = {"name": declared.name, "input_schema": schema}
    return made | ({"description": declared.description} if declared.description else {})


def _choice(asked: _Request) -> Json:
    made: Json
    match asked.tool_choice:
        case "none":
            return {"tool_choice": {"type": "none"}}
        case "required":
            made = {"type": "any"}
        case _Tool():
            made = {"type": "tool", "name": asked.tool_choice.function.name}
        case _:
            made = {"type": "auto"}
    if asked.parallel_tool_calls is False:
        made["disable_parallel_tool_use"] = True
    elif asked.tool_choice is None:
        return {}
    return {"tool_choice": made}


def _instructs(message: _ChatMessage) -> bool:
    return message.role in {"system", "developer"}


def _texts(message: _ChatMessage) -> list[str]:
    return [block["text"] for block in _content(message.content) if block["type"] == "text"]


def _turns(messages: list[_ChatMessage]) -> list[Json]:
    """Turns of the two sides that alternate. Results of tools come first in theirs: Anthropic looks for them there."""
    turns: list[Json] = []
    for message in messages:
        if _instructs(message) or not (blocks := _blocks(message)):
            continue
        role = "assistant" if message.role == "assistant" else "user"
        if not turns or turns[-1]["role"] != role:
            turns.append({"role": role, "content": []})
        turns[-1]["content"] += blocks
    return [turn | {"content": sorted(turn["content"], key=_place)} for turn in turns]


def _place(block: Json) -> bool:
    return block["type"] != "tool_result"


def _blocks(message: _ChatMessage) -> list[Json]:
    blocks = _content(message.content)
    if message.role == "tool":
        if not message.tool_call_id:
            raise Unanswerable("messages: a message of a tool needs the tool_call_id that it answers.")
        result: Json = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id)}
        return [result | ({"content": blocks} if blocks else {})]
    return blocks + [
        {"type": "tool_use", "id": _id(call.id), "name": call.function.name, "input": _input(call.function.arguments)}
        for call in message.tool_calls or []
    ]


def _content(content: str | list[_Part] | None) -> list[Json]:
    parts = [_Part(type="text", text=content)] if isinstance(content, str) else content or []
    blocks = [_block(part) for part in parts]
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]  # blank text is refused


def _block(part: _Part) -> Json:
    match part.type:
        case "text" | "refusal":
            return {"type": "text", "text": part.text or part.refusal or ""}
        case "image_url" if part.image_url:
            return {"type": "image", "source": _source(part.image_url.url)}
        case _:
            raise Unanswerable("messages: this provider takes parts of the types text and image_url, and no others.")


def _source(url: str) -> Json:
    if re.match(r"https?://", url, re.IGNORECASE):
        return {"type": "url", "url": url}
    head, _, data = url.partition(",")
    kind = re.fullmatch(r"^data:([\w.+-]+/[\w.+-]+)(?:;[^;,]+)*;base64", head, re.IGNORECASE)
    if kind is None:
        raise Unanswerable("messages: an image_url is an http(s) address or a data: URL in base64.")
    media = kind[1].lower()
    return {"type": "base64", "media_type": "image/jpeg" if media == "image/jpg" else media, "data": data}


def _id(given: str) -> str:
    """Anthropic takes these characters only, and the history may come from another provider."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", given)


def _input(arguments: str) -> Json:
    try:
        return _OBJECT.validate_json(arguments or "{}")
    except ValidationError:  # a model's own broken call must not block the conversation for good
        return {"arguments": arguments}
