"""A language model's endpoint for tests: scripted, on a real port, and it remembers what it was sent byte for byte.

Each request takes the next answer of the script, or what `otherwise` makes of it. How the bytes travel is part of an
answer: in which pieces, how slowly, and whether they ever end.
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`ending`: `whole` ends as it should, `cut` breaks the connection off, `hang` says nothing more."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    kind: str = "application/json"
    pieces: tuple[bytes, ...] = ()
    late: float = 0  # seconds before the first byte of the headers
    pause: float = 0  # seconds between two pieces
    after: threading.Event | None = None  # nothing is said before it is set
    ending: str = "whole"

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


Otherwise = Callable[[Received], Answer]


class ScriptedUpstream:
    """Runs in a thread of its own until `stop`."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.open = 0  # requests that are being answered
        self.abandoned = 0  # whose client went away
        self.connections = 0
        self.otherwise: Otherwise = lambda request: completion("hello")
        self._script: deque[Answer] = deque()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._started.wait()

    def script(self, *answers: Answer) -> None:
        """What comes next; what came before is forgotten."""
        self._script = deque(answers)
        self.received.clear()
        self.abandoned = 0

    @property
    def bodies(self) -> list[Any]:
        return [request.json for request in self.received]

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            task = self._loop.create_task(self._talk(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._started.set()
        await self._stopping.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request on a connection; whether another may follow."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").splitlines()
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        while headers.get("transfer-encoding") == "chunked":
            size = int(await reader.readuntil(b"\r\n"), 16)
            body += (await reader.readexactly(size + 2))[:-2]
            if not size:
                break
        request = Received(method=method, path=path, headers=headers, body=body)
        self.received.append(request)
        answer = self._script.popleft() if self._script else self.otherwise(request)
        self.open += 1
        gone = asyncio.ensure_future(reader.read(1))
        sending = asyncio.ensure_future(self._send(writer, answer))
        try:
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                self.abandoned += 1
                return False
            sending.result()
            return answer.ending == "whole" and not gone.done()
        finally:
            self.open -= 1
            for task in (gone, sending):
                task.cancel()
            await asyncio.gather(gone, sending, return_exceptions=True)

    @staticmethod
    async def _send(writer: asyncio.StreamWriter, answer: Answer) -> None:
        await asyncio.sleep(answer.late)
        while answer.after and not answer.after.is_set():
            await asyncio.sleep(0.01)
        headers = {"content-type": answer.kind, "transfer-encoding": "chunked", **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for piece in answer.pieces:
            await writer.drain()
            await asyncio.sleep(answer.pause)
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
        if answer.ending == "hang":
            await asyncio.Event().wait()
        if answer.ending == "whole":
            writer.write(b"0\r\n\r\n")
        await writer.drain()


# ------------------------------------------------------------------------------------------- what it can say


def whole(body: Any, **options: Any) -> Answer:
    return Answer(pieces=(json.dumps(body).encode(),), **options)


def error(status: int, message: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
    told = {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}
    return whole({"error": told}, status=status, headers=headers or {})


def streamed(*events: bytes, size: int | None = None, **options: Any) -> Answer:
    """One piece an event; with `size` cut anywhere, also inside a character."""
    joined = b"".join(events)
    cut = tuple(joined[place : place + size] for place in range(0, len(joined), size)) if size else events
    return Answer(kind="text/event-stream; charset=utf-8", pieces=cut, **options)


def asks(name: str, id: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool, in a chat completion."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


USAGE = {
    "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "prompt_tokens_details": {"cached_tokens": 2},
}  # fmt: skip


def completion(content: str | None = None, *calls: dict[str, Any], **options: Any) -> Answer:
    message = {"role": "assistant", "content": content, "refusal": None, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls" if calls else "stop"}
    return whole(
        {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-1", "choices": [choice],
         "usage": USAGE}, **options,
    )  # fmt: skip


def _chunk(id: str, delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    body = {"id": id, "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": choices, **more}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def chunks(
    content: str | None = None, *calls: dict[str, Any], id: str = "chatcmpl-1", usage: bool = False
) -> list[bytes]:
    """The events of a chat completion: a word at a time, and each call in three parts."""
    found = [_chunk(id, {"role": "assistant", "content": "" if content else None})]
    found += [_chunk(id, {"content": word}) for word in (content or "").replace(" ", " \0").split("\0") if word]
    for index, call in enumerate(calls):
        asked = call["function"]
        start = {**call, "index": index, "function": {"name": asked["name"], "arguments": ""}}
        found.append(_chunk(id, {"tool_calls": [start]}))
        middle = len(asked["arguments"]) // 2
        for part in (asked["arguments"][:middle], asked["arguments"][middle:]):
            found.append(_chunk(id, {"tool_calls": [{"index": index, "function": {"arguments": part}}]}))
    found.append(_chunk(id, {}, "tool_calls" if calls else "stop"))
    if usage:
        found.append(_chunk(id, None, usage=USAGE))
    return [*found, b"data: [DONE]\n\n"]


RESPONSE_USAGE = {
    "input_tokens": 7, "output_tokens": 3, "total_tokens": 10, "input_tokens_details": {"cached_tokens": 2},
    "output_tokens_details": {"reasoning_tokens": 1},
}  # fmt: skip


def says(text: str, id: str = "msg_1") -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    return {"type": "message", "id": id, "role": "assistant", "status": "completed", "content": content}


def wants(name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    """A call of a tool, in a response."""
    return {
        "type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name, "status": "completed",
        "arguments": json.dumps(arguments),
    }  # fmt: skip


def _response(items: Iterable[dict[str, Any]], id: str, status: str, **more: Any) -> dict[str, Any]:
    return {
        "id": id, "object": "response", "created_at": 1, "status": status, "model": "m-1", "output": list(items),
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "parallel_tool_calls": True,
        "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0, **more,
    }  # fmt: skip


def response(*items: dict[str, Any], id: str = "resp_1", **options: Any) -> Answer:
    return whole(_response(items, id, "completed", usage=RESPONSE_USAGE), **options)


def events(*items: dict[str, Any], id: str = "resp_1") -> list[bytes]:
    """The events of a response, each item with its parts."""
    told: list[dict[str, Any]] = [
        {"type": f"response.{name}", "response": _response((), id, "in_progress", usage=None)}
        for name in ("created", "in_progress")
    ]
    for index, item in enumerate(items):
        place = {"output_index": index, "item_id": item["id"]}
        empty = {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}
        told.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        if item["type"] == "message":
            at, part = {**place, "content_index": 0}, item["content"][0]
            told.append({"type": "response.content_part.added", **at, "part": {**part, "text": ""}})
            words = [word for word in part["text"].replace(" ", " \0").split("\0") if word]
            told += [{"type": "response.output_text.delta", **at, "delta": word, "logprobs": []} for word in words]
            told.append({"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []})
            told.append({"type": "response.content_part.done", **at, "part": part})
        else:
            told.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
            done = {"arguments": item["arguments"], "name": item["name"]}
            told.append({"type": "response.function_call_arguments.done", **place, **done})
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": "response.completed", "response": _response(items, id, "completed", usage=RESPONSE_USAGE)})
    return [
        f"event: {one['type']}\ndata: {json.dumps({**one, 'sequence_number': number}, ensure_ascii=False)}\n\n".encode()
        for number, one in enumerate(told)
    ]
