"""The OpenAI-compatible proxy: how long it takes until the model's first byte is there, beside asking the model itself.

The model is a local server that answers at once, so all that is measured is on our side: the credential, the workspace,
the search for what is relevant, what the user said kept, and the request made anew.
"""

import http.client
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from bench import talk
from bench.client import WARM_UP
from bench.client import together as by_several
from bench.figures import Figure, Json, Options, percentile
from bench.floor import running

MEMORIES = 1_000
ROUNDS = 200
STREAMS = 50
PATH = "/v1/chat/completions"
DIRECT = "the model itself, first byte, p50"


def measure(options: Options) -> Json:
    with (
        model() as url,
        running(options.models, KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=f"{url}/v1") as server,
    ):
        client = server.client()
        workspace = client.get("/v1/workspaces")["items"][0]["id"]
        kept = [{"content": text, "supersede": "off"} for _, text in talk.turns()[:MEMORIES]]
        by_several(server.client, f"/v1/workspaces/{workspace}/memories", kept, 4)
        chat = client.post("/v1/chats", {})["id"]
        server.settle()
        asked = talk.questions(ROUNDS)
        ways: dict[str, dict[str, str]] = {
            "proxy, memory off": {"X-Keepstone-Memory": "off"},
            f"proxy, recall over {MEMORIES} memories and tools": {},
            "the same, and kept in a chat": {"X-Keepstone-Chat": chat},
        }
        found: list[Figure] = []
        for name, headers in ways.items():
            direct, relayed = first_bytes([(url, {}), (server.url, server.auth | headers)], asked)
            base, own = (1000 * percentile(seconds, 50) for seconds in (direct, relayed))
            added = 1000 * percentile([after - before for before, after in zip(direct, relayed, strict=True)], 50)
            wanted = "" if "off" in name else "≤ 8 ms"
            found += [
                Figure(f"{name}: first byte, p50", own, "ms", DIRECT, base),
                Figure(f"{name}: added to the first byte, p50", added, "ms", wanted=wanted),
            ]
        found.append(together(server.url, server.auth, asked[:STREAMS]))
    return {"figures": [figure.shown() for figure in found]}


def first_bytes(ways: list[tuple[str, dict[str, str]]], asked: list[str]) -> list[list[float]]:
    """Seconds from the request to the first byte of the stream by each way, one after the other for each question: the
    machine is as busy for the one as for the other. One client, a kept connection for each.
    """
    connections = [_connection(url) for url, _ in ways]
    seconds: list[list[float]] = [[] for _ in ways]
    for text in asked:
        for place, (connection, (_, headers)) in enumerate(zip(connections, ways, strict=True)):
            begun = time.perf_counter()
            response = _ask(connection, headers, text)
            response.read(1)
            seconds[place].append(time.perf_counter() - begun)
            response.read()
    for connection in connections:
        connection.close()
    return [each[WARM_UP:] for each in seconds]


def together(url: str, headers: dict[str, str], asked: list[str]) -> Figure:
    """So many streams at once; every one of them has to end as it should."""
    ended: list[bool] = []

    def work(text: str) -> None:
        connection = _connection(url)
        ended.append(_ask(connection, headers, text).read().endswith(b"data: [DONE]\n\n"))
        connection.close()

    threads = [threading.Thread(target=work, args=(text,)) for text in asked]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - begun
    if sum(ended) != len(asked):
        raise RuntimeError(f"{len(asked) - sum(ended)} of {len(asked)} streams broke off")
    return Figure(f"{len(asked)} streams at once, all whole", seconds, "s")


def _connection(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)


def _ask(connection: http.client.HTTPConnection, headers: dict[str, str], text: str) -> http.client.HTTPResponse:
    body = {"model": "local", "stream": True, "messages": [{"role": "user", "content": text}]}
    connection.request("POST", PATH, json.dumps(body), {"Content-Type": "application/json"} | headers)
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{PATH} answered {response.status}: {response.read()[:300]!r}")
    return response


class _Model(BaseHTTPRequestHandler):
    """Says ten words at once, as a stream where it is asked for one."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        if not asked.get("stream"):
            self._whole()
            return
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for word in range(10):
            self._piece({"delta": {"role": "assistant", "content": f"word {word} "}, "finish_reason": None})
        self._piece({"delta": {}, "finish_reason": "stop"})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _whole(self) -> None:
        said = {"role": "assistant", "content": "".join(f"word {word} " for word in range(10))}
        answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "local"}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        choices = [{"index": 0, "message": said, "finish_reason": "stop"}]
        body = json.dumps(answer | {"choices": choices, "usage": usage}).encode()
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _piece(self, choice: dict[str, Any]) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "local"}
        self._chunk(b"data: " + json.dumps(chunk | {"choices": [{"index": 0} | choice]}).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def model() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Model)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
