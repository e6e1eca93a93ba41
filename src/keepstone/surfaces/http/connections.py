"""Connections, below the requests: how many there may be, and how long one may wait for its client.

uvicorn gives a client as long as it likes for the headers of a request, for the rest of a body that was answered
already, and to take what it is sent. Here each has its time. Where all connections are taken, the one that has waited
longest for a client whom we don't know makes room.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

_LARGEST_HEAD = 64 * 1024
_STALLED = 3  # times as long, for a client that does not take its answer


class Connections:
    """Those that are open, the one that has waited longest first."""

    def __init__(self, most: int, seconds: float) -> None:
        self.seconds = seconds
        self.closed: Callable[[], None] = lambda: None  # called for each that has ended
        self.leaving = False
        self._most = most
        self._open: dict[BoundedProtocol, None] = {}

    def add(self, connection: "BoundedProtocol") -> bool:
        """Whether there is room for it, or was made."""
        if len(self._open) >= self._most:
            waiting = next((other for other in self._open if other.is_waiting), None)
            if waiting is None:
                return False
            self.remove(waiting)
            waiting.transport.abort()
        self._open[connection] = None
        return True

    def leave(self) -> None:
        """Whoever is answered from now on is told that the connection ends with it."""
        self.leaving = True
        for connection in self._open:
            connection.end_with_answer()

    def remove(self, connection: "BoundedProtocol") -> None:
        self._open.pop(connection, None)

    def now_waits(self, connection: "BoundedProtocol") -> None:
        if connection in self._open:
            self._open[connection] = self._open.pop(connection)


class BoundedProtocol(HttpToolsProtocol):
    def __init__(self, *args: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._connections = connections
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        self._in_head = False
        self._in_body = False

    @property
    def is_waiting(self) -> bool:
        """For a client: for its next request, or the rest of one from somebody who is not known."""
        cycle = cast("RequestResponseCycle | None", self.cycle)  # none before the first request
        if cycle is None or cycle.response_complete or self._in_head:
            return True
        return self._in_body and "principal" not in self.scope.get("state", {})

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if self._connections.add(self):
            self._give(self._connections.seconds)
        else:
            self._refuse(503, "All connections are taken (KEEPSTONE_MAX_CONNECTIONS). Try again.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.remove(self)
        self._connections.closed()
        for timer in (self._deadline, self._stalled):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > _LARGEST_HEAD:
                self._refuse(431, f"The headers of a request have at most {_LARGEST_HEAD // 1024} KB.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        self._give(self._connections.seconds)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._give(None)
        super().on_headers_complete()
        if self._connections.leaving:
            self.end_with_answer()

    def on_message_complete(self) -> None:
        self._in_body = False
        if self.cycle.response_complete:
            self._give(self.timeout_keep_alive)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._connections.now_waits(self)
        if self._in_body:  # the rest is taken and thrown away: a client that is cut off would not see the answer
            self._give(self._connections.seconds)

    def end_with_answer(self) -> None:
        """If there is one to come."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None and not cycle.response_started:
            cycle.keep_alive = False

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(_STALLED * self._connections.seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def _give(self, seconds: float | None) -> None:
        """From now on so long, or as long as it takes."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        if self._in_head:
            self._refuse(408, "The headers of the request did not come in time (KEEPSTONE_REQUEST_SECONDS).")
        else:
            self.transport.close()

    def _refuse(self, status: int, message: str) -> None:
        head = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(message)}\r\nconnection: close\r\n"
        retry = "retry-after: 1\r\n" if status == 503 else ""
        self.transport.write(STATUS_LINE[status] + f"{head}{retry}\r\n{message}".encode())
        self.transport.close()
