"""Requests as bytes on sockets of their own: little work for the sender, and what no HTTP library would send."""

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from bench.hold.judge import Reply

PATIENCE = 20.0  # seconds that an attacker waits for an answer


@dataclass(frozen=True)
class Target:
    """The server, and the account that attacks it."""

    url: str
    key: str
    workspace: str
    room: str
    graph: str

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or 80


@dataclass
class Met:
    """What came back."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    replies: list[Reply] = field(default_factory=list[Reply])

    def take(self, route: str, status: int, body: bytes) -> None:
        self.statuses[status] += 1
        if status >= 500 and len(self.replies) < 200:
            self.replies.append(Reply(route, status, body[:500].decode(errors="replace")))


@dataclass(frozen=True)
class Shot:
    """A whole request."""

    route: str
    data: bytes


Attack = Callable[[Target, float, Met], None]  # until a moment of time.monotonic()


def shot(
    target: Target, method: str, path: str, body: Any = None, *, key: bool = True, kind: str = "application/json"
) -> Shot:
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", f"Host: {':'.join(map(str, target.address))}", f"Content-Length: {len(data)}"]
    lines += [f"Content-Type: {kind}"] if body is not None else []
    lines += [f"Authorization: Bearer {target.key}"] if key else []
    return Shot(f"{method} {path.partition('?')[0]}", "\r\n".join([*lines, "", ""]).encode() + data)


def read_answer(stream: socket.socket) -> tuple[int, bytes]:
    """Status and the beginning of the body. Nothing when the server hangs up."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = stream.recv(65536)
        if not piece:
            return 0, data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        piece = stream.recv(1 << 20)
        if not piece:
            break
        body += piece
    return int(head.split(b" ", 2)[1]), body


def fire(target: Target, shots: Sequence[Shot], until: float, met: Met) -> None:
    """One after the other, round after round, each on a connection of its own."""
    for each in cycle(shots):
        left = until - time.monotonic()
        if left <= 0:
            return
        once(target, each, met, min(PATIENCE, max(left, 1.0)))


def once(target: Target, each: Shot, met: Met, patience: float = PATIENCE) -> None:
    try:
        with socket.create_connection(target.address, timeout=patience) as stream:
            met.take(each.route, *send(stream, each))
    except OSError:
        met.statuses[0] += 1
        time.sleep(0.01)


def send(stream: socket.socket, each: Shot) -> tuple[int, bytes]:
    """The answer, also where it comes before all is sent: a server may refuse early and hang up."""
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.sendall(each.data)
    return read_answer(stream)


def volley(makes: Iterable[Callable[[], None]]) -> None:
    """Several at once."""
    threads = [Thread(target=make, daemon=True) for make in makes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
