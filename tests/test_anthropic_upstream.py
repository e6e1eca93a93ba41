"""OpenAI's chat protocol on Anthropic's API, against a local server that speaks the latter.

What that server says is also read by Anthropic's own SDK, and what comes out of the translation by OpenAI's: so neither
side's protocol is only what we think it is.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter

from keepstone.errors import UpstreamError
from keepstone.providers.anthropic_request import Unanswerable, question_of
from keepstone.providers.anthropic_schema import Inexpressible, fitted
from keepstone.providers.anthropic_upstream import AnthropicUpstream
from keepstone.providers.upstream import Upstream, UpstreamAnswer

Json = dict[str, Any]

TYPES = TypeAdapter(MessageCreateParamsNonStreaming)
FIELDS = MessageCreateParamsNonStreaming.__required_keys__ | MessageCreateParamsNonStreaming.__optional_keys__
KEY = "sk-ant-secret-of-the-operator"
SECRET = "my grandmother's pancakes"
HELLO: Json = {"model": "claude-small", "messages": [{"role": "user", "content": SECRET}]}
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "How it is outside",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(slots=True, kw_only=True)
class Reply:
    """`pieces` go out as they are, one at a time. Without `whole` the connection breaks off after the last."""

    pieces: Iterable[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    whole: bool = True
    hold: asyncio.Event | None = None  # awaited before the end


class Provider:
    """An HTTP server on this machine. It gives the next of `replies`, and the last one again and again."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.replies: list[Reply] = []
        self.connections = 0
        self.left = asyncio.Event()  # a client went away
        self.url = ""
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.left.set()
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {line.split(":")[0].lower(): line.split(":", 1)[1].strip() for line in head[1:] if line}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.asked.append(Asked(method=method, path=path, headers=headers, body=json.loads(body) if body else None))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        lines = [f"HTTP/1.1 {reply.status} X", "transfer-encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for piece in reply.pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        if reply.hold:
            gone = asyncio.create_task(reader.read(1))
            held = asyncio.create_task(reply.hold.wait())
            await asyncio.wait({gone, held}, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            held.cancel()
        if reply.whole:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return reply.whole and not reply.hold

    # What it says.

    def says(self, *replies: Reply) -> None:
        self.replies = list(replies)

    def says_json(self, *bodies: Json, status: int = 200, **headers: str) -> None:
        given = {"content-type": "application/json"} | {name.replace("_", "-"): v for name, v in headers.items()}
        self.says(*(Reply(pieces=[json.dumps(body).encode()], status=status, headers=given) for body in bodies))

    def says_events(self, events: Iterable[Json], *, size: int = 0, **options: Any) -> None:
        sent = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)
        pieces = [sent[at : at + size] for at in range(0, len(sent), size)] if size else [sent]
        self.says(Reply(pieces=pieces, headers={"content-type": "text/event-stream; charset=utf-8"}, **options))


class Relay(httpx2.AsyncBaseTransport):
    """What stands between a client and the upstream in Keepstone, without a network."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.raw_path.decode().removeprefix("/v1")
        answer = await self.upstream.send(request.method, path, await request.aread())
        return httpx2.Response(answer.status, headers=dict(answer.headers), stream=Pieces(answer.body))


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, body: AsyncIterator[bytes]) -> None:
        self._body = body

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body


@pytest.fixture
async def provider() -> AsyncGenerator[Provider]:
    made = Provider()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def upstream(provider: Provider) -> AsyncGenerator[AnthropicUpstream]:
    made = AnthropicUpstream(provider.url + "/", KEY, "claude-default")
    yield made
    await made.close()


@pytest.fixture
async def client(upstream: AnthropicUpstream) -> AsyncGenerator[openai.AsyncOpenAI]:
    relay = httpx2.AsyncClient(transport=Relay(upstream))
    async with openai.AsyncOpenAI(
        base_url="http://keepstone/v1", api_key="keepstone", http_client=relay, max_retries=0
    ) as made:
        yield made


@pytest.fixture
async def native(provider: Provider) -> AsyncGenerator[anthropic.AsyncAnthropic]:
    async with anthropic.AsyncAnthropic(base_url=provider.url, api_key=KEY, max_retries=0) as made:
        yield made


def message(*content: Json, **more: Any) -> Json:
    return {
        "id": "msg_01A", "type": "message", "role": "assistant", "model": "claude-small-1", "content": list(content),
        "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 100, "output_tokens": 7,
        },
    } | more  # fmt: skip


def text(words: str) -> Json:
    return {"type": "text", "text": words, "citations": None}


def streamed(*content: Json, stop: str = "end_turn") -> list[Json]:
    """The events of a message, as Anthropic sends them: each text in words, each input in pieces of JSON."""
    start = message(stop_reason=None)
    start["usage"]["output_tokens"] = 1
    events: list[Json] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(content):
        match block["type"]:
            case "text":
                first = block | {"text": ""}
                deltas = [{"type": "text_delta", "text": f"{word} "} for word in block["text"].split(" ")]
            case "tool_use":
                first = block | {"input": {}}
                written = json.dumps(block["input"]) if block["input"] else ""
                deltas = [{"type": "input_json_delta", "partial_json": ""}]
                deltas += [
                    {"type": "input_json_delta", "partial_json": written[at : at + 3]}
                    for at in range(0, len(written), 3)
                ]
            case _:
                first = block | {"thinking": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": "c2lnbmVk"},
                ]
        events.append({"type": "content_block_start", "index": index, "content_block": first})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    return [
        *events,
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    ]


THOUGHT: Json = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
CALLS: list[Json] = [
    {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Zürich"}},
    {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
]


def sent(**more: Any) -> bytes:
    return json.dumps(HELLO | more).encode()


def translated(**more: Any) -> Json:
    """What Anthropic is asked, once its SDK's types have agreed to every part of it."""
    body = question_of(sent(**more), None).body
    assert set(body) <= FIELDS
    _exhaust(TYPES.validate_python(body))
    return body


def _exhaust(value: Any) -> None:
    """Pydantic looks at what is iterable only when it is iterated."""
    if isinstance(value, dict):
        for inner in value.values():
            _exhaust(inner)
    elif not isinstance(value, str | BaseModel) and isinstance(value, Iterable):
        for inner in value:
            _exhaust(inner)


def turns(*messages: Json) -> list[Json]:
    return translated(messages=list(messages))["messages"]


async def data_of(answer: UpstreamAnswer) -> list[Any]:
    """What the events of a streamed answer hold."""
    lines = (await answer.read()).decode().removesuffix("\n\n").split("\n\n")
    assert all(line.startswith("data: ") for line in lines)
    told = [line.removeprefix("data: ") for line in lines]
    return [data if data == "[DONE]" else json.loads(data) for data in told]


# The local server speaks as Anthropic does.


async def test_anthropics_sdk_understands_the_local_server(
    provider: Provider, native: anthropic.AsyncAnthropic
) -> None:
    provider.says_json(message(THOUGHT, text("Good day."), *CALLS, stop_reason="tool_use"))
    whole = await native.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert (whole.stop_reason, whole.usage.cache_read_input_tokens) == ("tool_use", 100)

    provider.says_events(streamed(THOUGHT, text("Good day."), *CALLS, stop="tool_use"), size=7)
    async with native.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream:
        final = await stream.get_final_message()
    assert [block.type for block in final.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert [block.input for block in final.content if block.type == "tool_use"] == [{"city": "Zürich"}, {}]
    assert (final.usage.input_tokens, final.usage.output_tokens) == (10, 7)

    provider.says_json({"type": "error", "error": {"type": "overloaded_error", "message": "No"}}, status=529)
    with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
        await native.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])


async def test_it_is_asked_where_the_sdk_asks_and_in_the_same_version(
    provider: Provider, native: anthropic.AsyncAnthropic, upstream: AnthropicUpstream
) -> None:
    provider.says_json(message(text("Hi")))
    await native.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
    await upstream.send("POST", "/chat/completions", sent())
    theirs, ours = provider.asked
    assert (ours.method, ours.path) == (theirs.method, theirs.path) == ("POST", "/v1/messages")
    assert ours.headers["anthropic-version"] == theirs.headers["anthropic-version"]
    assert ours.headers["content-type"] == theirs.headers["content-type"]
    assert ours.headers["x-api-key"] == KEY


# Whole answers.


async def test_a_whole_answer_is_read_by_openais_sdk(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_json(message(THOUGHT, text("Good "), text("day.")), request_id="req_1")
    answer = await client.chat.completions.create(**HELLO)
    assert answer.id == "chatcmpl-01A"
    assert answer.object == "chat.completion"
    assert answer.model == "claude-small-1"
    assert answer.created > 1_700_000_000
    assert answer._request_id == "req_1"
    choice = answer.choices[0]
    assert (choice.index, choice.finish_reason) == (0, "stop")
    assert (choice.message.role, choice.message.content, choice.message.tool_calls) == ("assistant", "Good day.", None)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 113
    assert answer.usage.completion_tokens == 7
    assert answer.usage.total_tokens == 120
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == 100
    assert provider.asked[0].body == {
        "model": "claude-small",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": [{"type": "text", "text": SECRET}]}],
    }


async def test_calls_of_tools_are_read_by_openais_sdk(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_json(message(THOUGHT, *CALLS, stop_reason="tool_use"))
    answer = await client.chat.completions.create(**HELLO, tools=[WEATHER])
    choice = answer.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    calls = [call for call in choice.message.tool_calls or [] if call.type == "function"]
    assert [(call.id, call.function.name) for call in calls] == [("toolu_1", "weather"), ("toolu_2", "now")]
    assert [json.loads(call.function.arguments) for call in calls] == [{"city": "Zürich"}, {}]


async def test_a_conversation_with_a_tool_goes_round(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_json(message(*CALLS, stop_reason="tool_use"))
    answer = await client.chat.completions.create(**HELLO, tools=[WEATHER])
    said = answer.choices[0].message.model_dump()
    results = [
        {"role": "tool", "tool_call_id": "toolu_1", "content": "Rain"},
        {"role": "tool", "tool_call_id": "toolu_2", "content": [{"type": "text", "text": "Noon"}]},
    ]
    body = translated(messages=[*HELLO["messages"], said, *results], tools=[WEATHER])
    assert body["messages"][1:] == [
        {"role": "assistant", "content": CALLS},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "Rain"}]},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "Noon"}]},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "stop"),
        ("something_new", "stop"),
    ],
)
async def test_why_it_ended_is_said_in_openais_words(
    provider: Provider, client: openai.AsyncOpenAI, reason: str, finish: str
) -> None:
    provider.says_json(message(text("So"), stop_reason=reason))
    answer = await client.chat.completions.create(**HELLO)
    assert answer.choices[0].finish_reason == finish
    provider.says_events(streamed(text("So"), stop=reason))
    chunks = [chunk async for chunk in await client.chat.completions.create(**HELLO, stream=True)]
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None, finish]


async def test_an_answer_without_a_word_is_an_empty_one(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_json(message(stop_reason="refusal"))
    answer = await client.chat.completions.create(**HELLO)
    assert answer.choices[0].message.content == ""


class Meal(BaseModel):
    name: str
    minutes: int


async def test_structured_output_is_parsed_by_openais_sdk(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_json(message(text('{"name": "pancakes", "minutes": 20}')))
    answer = await client.chat.completions.parse(**HELLO, response_format=Meal)
    assert answer.choices[0].message.parsed == Meal(name="pancakes", minutes=20)
    form = provider.asked[0].body["output_config"]["format"]
    assert form["type"] == "json_schema"
    assert form["schema"]["additionalProperties"] is False
    assert form["schema"]["required"] == ["name", "minutes"]


# Streams.


async def test_a_stream_says_the_role_then_the_words_then_why_it_ended(
    provider: Provider, upstream: AnthropicUpstream
) -> None:
    provider.says_events(streamed(THOUGHT, text("Good day.")))
    answer = await upstream.send("POST", "/chat/completions", sent(stream=True))
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    *chunks, done = await data_of(answer)
    assert done == "[DONE]"
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"content": "Good "},
        {"content": "day. "},
        {},
    ]
    assert {(chunk["id"], chunk["object"], chunk["model"]) for chunk in chunks} == {
        ("chatcmpl-01A", "chat.completion.chunk", "claude-small-1")
    }
    assert len({chunk["created"] for chunk in chunks}) == 1
    assert all("usage" not in chunk for chunk in chunks)
    assert provider.asked[0].body["stream"] is True


async def test_usage_comes_last_when_it_is_asked_for(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_events(streamed(text("Good day.")))
    stream = await client.chat.completions.create(**HELLO, stream=True, stream_options={"include_usage": True})
    *chunks, last = [chunk async for chunk in stream]
    assert [chunk.usage for chunk in chunks] == [None] * 4
    assert last.choices == []
    assert last.usage is not None
    assert (last.usage.prompt_tokens, last.usage.completion_tokens, last.usage.total_tokens) == (113, 7, 120)
    assert "stream_options" not in provider.asked[0].body


@pytest.mark.parametrize("size", [1, 2, 5, 64, 1000])
async def test_it_does_not_matter_where_the_bytes_are_cut(
    provider: Provider, upstream: AnthropicUpstream, size: int
) -> None:
    words = "Grüße aus Zürich — 你好 🥞\u2028 mit\nZeilen"
    provider.says_events(streamed(text(words), *CALLS, stop="tool_use"), size=size)
    *chunks, done = await data_of(await upstream.send("POST", "/chat/completions", sent(stream=True)))
    assert done == "[DONE]"
    assert "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks) == words + " "


async def test_raw_letters_and_other_line_ends_are_understood(provider: Provider, upstream: AnthropicUpstream) -> None:
    """The server of somebody else may not escape what is not ASCII, and a proxy may end lines its own way."""
    events = streamed(text("Grüße\u2028🥞"))
    lines = "".join(f": hi\r\nevent: {e['type']}\r\ndata:{json.dumps(e, ensure_ascii=False)}\r\n\r\n" for e in events)
    pieces = [bytes([byte]) for byte in lines.encode()]
    provider.says(Reply(pieces=pieces, headers={"content-type": "text/event-stream"}))
    chunks = (await data_of(await upstream.send("POST", "/chat/completions", sent(stream=True))))[:-1]
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks) == "Grüße\u2028🥞 "


async def test_events_and_blocks_that_are_not_known_are_passed_over(
    provider: Provider, client: openai.AsyncOpenAI
) -> None:
    events = streamed(text("Still here"))
    events.insert(2, {"type": "weather_report", "delta": "rain", "message": 7})
    events.insert(3, {"type": "content_block_start", "index": 9, "content_block": {"type": "hologram", "size": 3}})
    events.insert(4, {"type": "content_block_delta", "index": 9, "delta": {"type": "hologram_delta", "text": "no"}})
    events.insert(5, {"type": "content_block_stop", "index": 9})
    provider.says_events(events)
    chunks = [chunk async for chunk in await client.chat.completions.create(**HELLO, stream=True)]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Still here "


async def test_streamed_calls_are_put_together_by_openais_sdk(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_events(streamed(THOUGHT, text("One moment."), *CALLS, stop="tool_use"), size=11)
    async with client.chat.completions.stream(**HELLO, tools=[WEATHER]) as stream:
        events = [event.type async for event in stream]
        final = await stream.get_final_completion()
    choice = final.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "One moment. ")
    calls = choice.message.tool_calls or []
    assert [(call.id, call.type, call.function.name) for call in calls] == [
        ("toolu_1", "function", "weather"),
        ("toolu_2", "function", "now"),
    ]
    assert [json.loads(call.function.arguments) for call in calls] == [{"city": "Zürich"}, {}]
    assert events.count("tool_calls.function.arguments.done") == 2


async def test_calls_in_a_stream_are_numbered_and_named_once(provider: Provider, upstream: AnthropicUpstream) -> None:
    provider.says_events(streamed(text("So."), *CALLS, stop="tool_use"))
    *chunks, _ = await data_of(await upstream.send("POST", "/chat/completions", sent(stream=True)))
    parts = [part for chunk in chunks for part in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert [part["index"] for part in parts if "id" in part] == [0, 1]
    assert parts[0] == {
        "index": 0, "id": "toolu_1", "type": "function", "function": {"name": "weather", "arguments": ""},
    }  # fmt: skip
    assert all(set(part) == {"index", "function"} for part in parts if "id" not in part)
    assert parts[-1] == {"index": 1, "function": {"arguments": "{}"}}


async def test_an_input_that_comes_whole_with_its_start_is_not_lost(
    provider: Provider, client: openai.AsyncOpenAI
) -> None:
    events = streamed(CALLS[0], stop="tool_use")
    events = [event for event in events if event["type"] != "content_block_delta"]
    events[2]["content_block"]["input"] = {"city": "Bern"}
    provider.says_events(events)
    chunks = [chunk async for chunk in await client.chat.completions.create(**HELLO, stream=True)]
    parts = [part for chunk in chunks for part in chunk.choices[0].delta.tool_calls or []]
    assert json.loads("".join(part.function.arguments or "" for part in parts if part.function)) == {"city": "Bern"}


async def test_structured_output_streams(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says_events(streamed(text('{"name": "pancakes", "minutes": 20}')), size=9)
    async with client.chat.completions.stream(**HELLO, response_format=Meal) as stream:
        final = await stream.get_final_completion()
    assert final.choices[0].message.parsed == Meal(name="pancakes", minutes=20)


async def test_a_piece_goes_on_as_soon_as_it_is_there(provider: Provider, upstream: AnthropicUpstream) -> None:
    hold = asyncio.Event()
    provider.says_events(streamed(text("Good day."))[:4], hold=hold, whole=False)
    answer = await upstream.send("POST", "/chat/completions", sent(stream=True))
    async with asyncio.timeout(10):
        assert b"assistant" in await anext(answer.body)
        assert b"Good" in await anext(answer.body)
    await answer.close()


async def test_one_connection_serves_one_stream_after_the_other(
    provider: Provider, upstream: AnthropicUpstream
) -> None:
    provider.says_events(streamed(text("Good day.")))
    for _ in range(3):
        await (await upstream.send("POST", "/chat/completions", sent(stream=True))).read()
    assert provider.connections == 1


@pytest.mark.parametrize("begun", [False, True])
async def test_a_released_answer_lets_go_of_its_connection(
    provider: Provider, upstream: AnthropicUpstream, begun: bool
) -> None:
    provider.says_events(streamed(text("Good day."))[:4], hold=asyncio.Event())
    answer = await upstream.send("POST", "/chat/completions", sent(stream=True))
    if begun:
        await anext(answer.body)
    await answer.close()
    async with asyncio.timeout(10):
        await provider.left.wait()
    with pytest.raises(StopAsyncIteration):
        await anext(answer.body)
    await answer.close()


async def test_a_whole_answer_can_be_released_too(provider: Provider, upstream: AnthropicUpstream) -> None:
    provider.says_json(message(text("Hi")))
    answer = await upstream.send("POST", "/chat/completions", sent())
    await answer.close()


# What is asked.


def test_instructions_become_the_system_prompt() -> None:
    body = translated(
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "developer", "content": [{"type": "text", "text": "Be kind."}, {"type": "text", "text": " "}]},
        ]
    )
    assert body["system"] == "Be brief.\n\nBe kind."
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]


def test_turns_alternate() -> None:
    made = turns(
        {"role": "user", "content": "One"},
        {"role": "user", "content": [{"type": "text", "text": "Two"}]},
        {"role": "assistant", "content": "Three"},
        {"role": "system", "content": "Aside"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "Four"}]},
        {"role": "user", "content": "Five"},
    )
    assert [(turn["role"], [block["text"] for block in turn["content"]]) for turn in made] == [
        ("user", ["One", "Two"]),
        ("assistant", ["Three", "Four"]),
        ("user", ["Five"]),
    ]


def test_blank_texts_are_dropped_and_what_stood_around_them_is_one_turn() -> None:
    made = turns(
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": ""},
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "\n "}, {"type": "text", "text": "Two"}]},
    )
    assert [[block["text"] for block in turn["content"]] for turn in made] == [["One", "Two"]]


def test_results_of_tools_come_first_in_their_turn() -> None:
    call = {"id": "call:1.a", "type": "function", "function": {"name": "now", "arguments": ""}}
    made = turns(
        {"role": "assistant", "content": "Wait.", "tool_calls": [call]},
        {"role": "user", "content": "Hurry."},
        {"role": "tool", "tool_call_id": "call:1.a", "content": ""},
    )
    assert made[0]["content"] == [
        {"type": "text", "text": "Wait."},
        {"type": "tool_use", "id": "call_1_a", "name": "now", "input": {}},
    ]
    assert made[1]["content"] == [
        {"type": "tool_result", "tool_use_id": "call_1_a"},
        {"type": "text", "text": "Hurry."},
    ]


@pytest.mark.parametrize("broken", ['{"city": "Zü', "[1]", "null"])
def test_broken_arguments_of_an_earlier_call_do_not_block_the_conversation(broken: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "now", "arguments": broken}}
    made = turns({"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]})
    assert made[1]["content"][0]["input"] == {"arguments": broken}


def test_images_are_passed_on() -> None:
    urls = ["data:image/png;base64,iVBORw0", "data:image/jpg;name=a.jpg;base64,/9j/", "https://example.org/a.webp"]
    parts = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}} for url in urls]
    assert [block["source"] for block in turns({"role": "user", "content": parts})[0]["content"]] == [
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0"},
        {"type": "base64", "media_type": "image/jpeg", "data": "/9j/"},
        {"type": "url", "url": "https://example.org/a.webp"},
    ]


def test_tools_are_declared_with_their_schema() -> None:
    bare = {"type": "function", "function": {"name": "now"}}
    assert translated(tools=[WEATHER, bare])["tools"] == [
        {
            "name": "weather",
            "description": "How it is outside",
            "input_schema": WEATHER["function"]["parameters"],
        },
        {"name": "now", "input_schema": {"type": "object", "properties": {}}},
    ]


@pytest.mark.parametrize(
    ("asked", "choice"),
    [
        ({}, None),
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "none", "parallel_tool_calls": False}, {"type": "none"}),
        ({"tool_choice": "required"}, {"type": "any"}),
        ({"tool_choice": {"type": "function", "function": {"name": "weather"}}}, {"type": "tool", "name": "weather"}),
        ({"parallel_tool_calls": False}, {"type": "auto", "disable_parallel_tool_use": True}),
        (
            {"tool_choice": "required", "parallel_tool_calls": False},
            {"type": "any", "disable_parallel_tool_use": True},
        ),
        ({"parallel_tool_calls": True}, None),
    ],
)
def test_the_choice_of_a_tool_is_passed_on(asked: Json, choice: Json | None) -> None:
    assert translated(tools=[WEATHER], **asked).get("tool_choice") == choice
    assert "tool_choice" not in translated(**asked)  # a choice among none is refused


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"max_completion_tokens": 6, "max_tokens": None}, {"max_tokens": 6}),
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"stop": ["A", "\n", "B"]}, {"stop_sequences": ["A", "B"]}),
        ({"stop": ["\n"]}, {}),
        ({"user": "u-1"}, {"metadata": {"user_id": "u-1"}}),
        ({"response_format": {"type": "text"}}, {}),
        ({"n": 1, "seed": 4, "logit_bias": {}, "frequency_penalty": 0.5, "store": True, "something_new": [1]}, {}),
        ({"stream": False, "stream_options": None, "tools": [], "stop": None, "user": None, "n": None}, {}),
    ],
)
def test_what_has_a_word_at_anthropic_is_said_and_the_rest_is_left_out(asked: Json, told: Json) -> None:
    assert translated(**asked) == translated() | told


def test_json_without_a_schema_is_an_instruction() -> None:
    body = translated(
        messages=[{"role": "system", "content": "Be brief."}, *HELLO["messages"]],
        response_format={"type": "json_object"},
    )
    assert body["system"].startswith("Be brief.\n\n")
    assert "JSON" in body["system"]
    assert "output_config" not in body


def test_a_schema_that_anthropic_cannot_say_is_an_instruction() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    body = translated(response_format={"type": "json_schema", "json_schema": {"name": "counts", "schema": schema}})
    assert json.dumps(schema) in body["system"]
    assert "output_config" not in body


def test_a_schema_is_fitted_to_what_anthropic_takes() -> None:
    assert fitted(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "minimum": {"type": ["integer", "null"], "minimum": 1, "description": "How many"},
                "day": {"type": "string", "format": "date"},
                "colour": {"type": "string", "format": "colour", "maxLength": 9},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "minItems": 1, "maxItems": 3},
                "either": {"oneOf": [{"const": 1}, {"properties": {"a": {"type": "null"}}}]},
            },
            "required": ["minimum"],
            "$defs": {"tag": {"enum": ["a", "b"]}},
        }
    ) == {
        "type": "object",
        "properties": {
            "minimum": {"type": ["integer", "null"], "description": "How many\n{minimum: 1}"},
            "day": {"type": "string", "format": "date"},
            "colour": {"type": "string", "description": "{format: colour, maxLength: 9}"},
            "tags": {
                "type": "array",
                "items": {"$ref": "#/$defs/tag"},
                "minItems": 1,
                "description": "{maxItems: 3}",
            },
            "either": {"anyOf": [{"const": 1}, {"properties": {"a": {"type": "null"}}, "additionalProperties": False}]},
        },
        "required": ["minimum"],
        "$defs": {"tag": {"enum": ["a", "b"]}},
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"type": ["null", "object"]}}},
        {"anyOf": {"type": "string"}},
        {"type": "object", "properties": [{"format": {}}]},
    ],
)
def test_a_schema_with_open_objects_cannot_be_said(schema: Json) -> None:
    with pytest.raises(Inexpressible):
        fitted(schema)


async def test_the_upstreams_model_is_asked_when_the_client_names_none(
    provider: Provider, upstream: AnthropicUpstream
) -> None:
    provider.says_json(message(text("Hi")))
    await upstream.send("POST", "/chat/completions", json.dumps({"messages": HELLO["messages"]}).encode())
    assert provider.asked[0].body["model"] == "claude-default"


# Sampling: the older models take it in the older version, the newer ones refuse it in any.


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"temperature": 0.3}, {"temperature": 0.3}),
        ({"temperature": 1.7}, {"temperature": 1}),
        ({"temperature": -1, "top_p": 0.5}, {"temperature": 0}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
    ],
)
async def test_sampling_is_passed_on_in_the_version_that_knows_it(
    provider: Provider, upstream: AnthropicUpstream, asked: Json, told: Json
) -> None:
    provider.says_json(message(text("Hi")))
    await upstream.send("POST", "/chat/completions", sent(**asked))
    (only,) = provider.asked
    assert only.headers["anthropic-version"] == "2023-06-01"
    assert {name: only.body[name] for name in ("temperature", "top_p") if name in only.body} == told


async def test_a_model_that_takes_no_temperature_is_asked_without_from_then_on(
    provider: Provider, upstream: AnthropicUpstream
) -> None:
    refused = {"type": "error", "error": {"type": "invalid_request_error", "message": "temperature is deprecated"}}
    no = Reply(pieces=[json.dumps(refused).encode()], status=400)
    yes = Reply(pieces=[json.dumps(message(text("Hi"))).encode()])
    provider.says(no, yes)
    assert (await upstream.send("POST", "/chat/completions", sent(temperature=0.3))).status == 200
    assert (await upstream.send("POST", "/chat/completions", sent(temperature=0.3))).status == 200
    assert ["temperature" in asked.body for asked in provider.asked] == [True, False, False]
    assert [asked.headers["anthropic-version"] for asked in provider.asked][1:] == ["2026-10-21", "2026-10-21"]
    assert (await upstream.send("POST", "/chat/completions", sent(temperature=0.3, model="other"))).status == 200
    assert "temperature" in provider.asked[-1].body


async def test_what_is_wrong_without_a_temperature_too_stays_wrong(
    provider: Provider, client: openai.AsyncOpenAI
) -> None:
    provider.says_json({"type": "error", "error": {"type": "invalid_request_error", "message": "No"}}, status=400)
    for _ in range(2):
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(**HELLO, temperature=0.3)
    assert ["temperature" in asked.body for asked in provider.asked] == [True, False, True, False]


# Errors.


@pytest.mark.parametrize(
    ("status", "kind", "told", "type_and_code"),
    [
        (400, "invalid_request_error", openai.BadRequestError, ("invalid_request_error", None)),
        (401, "authentication_error", openai.AuthenticationError, ("authentication_error", "invalid_api_key")),
        (402, "billing_error", openai.APIStatusError, ("insufficient_quota", "insufficient_quota")),
        (403, "permission_error", openai.PermissionDeniedError, ("permission_error", "permission_denied")),
        (404, "not_found_error", openai.NotFoundError, ("invalid_request_error", "model_not_found")),
        (413, "request_too_large", openai.APIStatusError, ("invalid_request_error", "request_too_large")),
        (429, "rate_limit_error", openai.RateLimitError, ("rate_limit_error", "rate_limit_exceeded")),
        (500, "api_error", openai.InternalServerError, ("server_error", None)),
        (504, "timeout_error", openai.InternalServerError, ("server_error", "timeout")),
        (529, "overloaded_error", openai.InternalServerError, ("server_error", "overloaded")),
        (418, "teapot_error", openai.APIStatusError, ("server_error", "teapot_error")),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_is_read_by_openais_sdk(
    provider: Provider,
    client: openai.AsyncOpenAI,
    status: int,
    kind: str,
    told: type[openai.APIStatusError],
    type_and_code: tuple[str, str | None],
    stream: bool,
) -> None:
    fault = {"type": "error", "error": {"type": kind, "message": "It was so."}, "request_id": "req_2"}
    provider.says_json(fault, status=status, request_id="req_2", retry_after="17")
    with pytest.raises(told, match="It was so") as caught:
        await client.chat.completions.create(**HELLO, stream=stream)
    assert caught.value.status_code == (503 if status == 529 else status)
    assert (caught.value.type, caught.value.code) == type_and_code
    assert caught.value.request_id == "req_2"
    assert caught.value.response.headers["retry-after"] == "17"


async def test_an_error_that_is_not_anthropics_keeps_its_status(provider: Provider, client: openai.AsyncOpenAI) -> None:
    provider.says(Reply(pieces=[f"<h1>Bad gateway {SECRET}</h1>".encode()], status=502))
    with pytest.raises(openai.InternalServerError, match="answered 502") as caught:
        await client.chat.completions.create(**HELLO)
    assert caught.value.status_code == 502
    assert SECRET not in str(caught.value)


async def test_a_provider_that_repeats_the_key_is_not_heard(provider: Provider, upstream: AnthropicUpstream) -> None:
    provider.says_json({"type": "error", "error": {"type": "api_error", "message": f"bad key {KEY}!"}}, status=401)
    told = await (await upstream.send("POST", "/chat/completions", sent())).read()
    assert json.loads(told)["error"]["message"] == "bad key ***!"


async def test_an_error_in_the_middle_of_a_stream_ends_it(
    provider: Provider, upstream: AnthropicUpstream, client: openai.AsyncOpenAI
) -> None:
    fault = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    provider.says_events([*streamed(text("Good day."))[:4], fault])
    *_, last = await data_of(await upstream.send("POST", "/chat/completions", sent(stream=True)))
    assert last == {
        "error": {"message": "Overloaded", "type": "server_error", "param": None, "code": "overloaded"},
    }
    stream = await client.chat.completions.create(**HELLO, stream=True)
    assert [(await anext(stream)).choices[0].delta.content for _ in range(2)] == ["", "Good "]
    with pytest.raises(openai.APIError, match="Overloaded"):
        await anext(stream)


@pytest.mark.parametrize("whole", [False, True])
async def test_a_stream_that_breaks_off_is_no_answer(
    provider: Provider, upstream: AnthropicUpstream, whole: bool
) -> None:
    provider.says_events(streamed(text("Good day."))[:-1], whole=whole)
    answer = await upstream.send("POST", "/chat/completions", sent(stream=True))
    heard = [await anext(answer.body) for _ in range(3)]
    assert b"day" in heard[-1]
    with pytest.raises(UpstreamError) as caught:
        await anext(answer.body)
    assert (caught.value.code, caught.value.retry_after) == ("upstream_cut_off", 5)


@pytest.mark.parametrize("data", ["{", "[]", "7", '{"type": "content_block_delta", "delta": {"text": 5}}'])
async def test_a_stream_of_something_else_is_no_answer(
    provider: Provider, upstream: AnthropicUpstream, data: str
) -> None:
    provider.says(Reply(pieces=[f"data: {data}\n\n".encode()], headers={"content-type": "text/event-stream"}))
    answer = await upstream.send("POST", "/chat/completions", sent(stream=True))
    with pytest.raises(UpstreamError):
        await answer.read()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("body", [b"<h1>Welcome</h1>", b'{"ok": true}', b""])
async def test_a_page_of_something_else_is_no_answer(
    provider: Provider, upstream: AnthropicUpstream, body: bytes, stream: bool
) -> None:
    provider.says(Reply(pieces=[body] if body else [], headers={"content-type": "text/html"}))
    with pytest.raises(UpstreamError, match=r"does not speak.*KEEPSTONE_LLM_BASE_URL"):
        await upstream.send("POST", "/chat/completions", sent(stream=stream))


async def test_a_redirect_is_no_answer(provider: Provider, upstream: AnthropicUpstream) -> None:
    provider.says(Reply(pieces=[], status=302, headers={"location": "/login"}))
    with pytest.raises(UpstreamError, match="leads to another one"):
        await upstream.send("POST", "/chat/completions", sent())


@pytest.mark.parametrize("path", ["/chat/completions", "/models"])
async def test_a_whole_answer_that_breaks_off_is_no_answer(
    provider: Provider, upstream: AnthropicUpstream, path: str
) -> None:
    provider.says(Reply(pieces=[b'{"id": "msg_1"'], whole=False))
    with pytest.raises(UpstreamError) as caught:
        await upstream.send("GET" if path == "/models" else "POST", path, sent())
    assert (caught.value.code, caught.value.retry_after) == ("upstream_cut_off", 5)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "not an address", "http://[bad"])
async def test_no_answer_at_all_can_be_tried_again(address: str) -> None:
    upstream = AnthropicUpstream(address, KEY, None)
    with pytest.raises(UpstreamError, match="could not be reached") as caught:
        await upstream.send("POST", "/chat/completions", sent())
    assert (caught.value.code, caught.value.retry_after) == ("upstream_unreachable", 5)
    assert caught.value.__cause__ is None
    assert KEY not in caught.value.message
    await upstream.close()


async def test_a_provider_that_says_nothing_is_not_waited_for_forever(provider: Provider) -> None:
    upstream = AnthropicUpstream(provider.url, KEY, None, timeout=httpx2.Timeout(0.5, connect=10))
    provider.says_events(streamed(text("Good day."))[:4], hold=asyncio.Event())
    answer = await upstream.send("POST", "/chat/completions", sent(stream=True))
    with pytest.raises(UpstreamError) as caught:
        await answer.read()
    assert caught.value.code == "upstream_timeout"
    provider.says(Reply(pieces=[b"{"], hold=asyncio.Event()))
    with pytest.raises(UpstreamError) as caught:
        await upstream.send("POST", "/chat/completions", sent())
    assert caught.value.code == "upstream_timeout"
    await upstream.close()


async def test_a_provider_that_does_not_hang_up_does_not_keep_the_client_waiting(
    provider: Provider, upstream: AnthropicUpstream
) -> None:
    provider.says_events(streamed(text("Good day.")), hold=asyncio.Event())
    answer = await upstream.send("POST", "/chat/completions", sent(stream=True))
    async with asyncio.timeout(10):
        assert (await answer.read()).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "body"),
        (b'{"model": "m"}', "messages"),
        (sent(n=2), "one choice"),
        (sent(messages=[{"role": "poet", "content": SECRET}]), "messages.0.role"),
        (sent(messages=[{"role": "user", "content": {"text": SECRET}}]), "messages.0.content"),
        (
            sent(messages=[{"role": "user", "content": [{"text": SECRET}]}]),
            "messages.0.content.0.type: Field required.",
        ),
        (sent(messages=[{"role": "tool", "content": SECRET}]), "tool_call_id"),
        (sent(messages=[{"role": "user", "content": [{"type": "input_audio", "data": SECRET}]}]), "text and image_url"),
        (
            sent(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": SECRET}}]}]),
            "image_url",
        ),
        (sent(tools=[{"type": "custom", "custom": {"name": SECRET}}]), "tools.0.type"),
        (sent(tool_choice="always"), "tool_choice: Input"),
        (sent(top_p=4), "top_p"),
        (sent(temperature=float("nan")), "temperature"),
    ],
)
async def test_what_cannot_be_asked_is_told_with_the_field_and_without_the_text(
    provider: Provider, upstream: AnthropicUpstream, body: bytes, words: str
) -> None:
    answer = await upstream.send("POST", "/chat/completions", body)
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/json"
    told = json.loads(await answer.read())["error"]
    assert told["type"] == "invalid_request_error"
    assert words in told["message"]
    assert SECRET not in told["message"]
    assert provider.asked == []


def test_without_any_model_nothing_can_be_asked() -> None:
    with pytest.raises(Unanswerable, match="model"):
        question_of(sent(model=None), None)


# Other paths.


async def test_models_are_listed_as_openai_lists_them(provider: Provider, client: openai.AsyncOpenAI) -> None:
    known = {"type": "model", "id": "claude-small-1", "created_at": "2026-02-04T00:00:00Z", "display_name": "Small"}
    provider.says_json({"data": [known, {"type": "model", "id": "mine"}], "has_more": False, "last_id": "mine"})
    listed = [model async for model in client.models.list()]
    assert [(model.id, model.object, model.created) for model in listed] == [
        ("claude-small-1", "model", 1770163200),
        ("mine", "model", 0),
    ]
    assert (provider.asked[0].method, provider.asked[0].path) == ("GET", "/v1/models?limit=1000")
    provider.says_json({"type": "error", "error": {"type": "authentication_error", "message": "No"}}, status=401)
    with pytest.raises(openai.AuthenticationError):
        await client.models.list()


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.responses.create(model="m", input="x"),
        lambda client: client.embeddings.create(model="m", input="x"),
    ],
)
async def test_an_endpoint_that_anthropic_has_not_is_not_found(
    provider: Provider, client: openai.AsyncOpenAI, call: Callable[[openai.AsyncOpenAI], Any]
) -> None:
    with pytest.raises(openai.NotFoundError, match=r"no such endpoint.*/v1/chat/completions"):
        await call(client)
    assert provider.asked == []


async def test_nothing_of_it_is_logged(
    provider: Provider, upstream: AnthropicUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.says_events(streamed(text("Good day.")))
    await (await upstream.send("POST", "/chat/completions", sent(stream=True))).read()
    provider.says_json({"type": "error", "error": {"type": "api_error", "message": SECRET}}, status=500)
    await upstream.send("POST", "/chat/completions", sent())
    assert not [record for record in caplog.records for word in (KEY, SECRET, "Good") if word in record.getMessage()]
