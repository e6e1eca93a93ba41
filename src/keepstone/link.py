"""What the processes of one server say to each other, over a pair of sockets: questions, their answers, and tidings.

Both ends are alike. What is said is pickled: nobody else holds an end. An error comes back as what it is; whoever still
waits when the other end is gone is told so.
"""

import asyncio
import pickle
import socket
import struct
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, cast

from keepstone.errors import Unavailable

_LENGTH = struct.Struct(">I")
_QUESTION, _TIDING, _ANSWER, _FAULT = range(4)

Answering = Callable[[str, Any], Awaitable[Any]]


class Link(asyncio.Protocol):
    """One end. `answering` is given each question and tiding of the other; `gone` is set when that has ended."""

    def __init__(self, answering: Answering) -> None:
        self.gone = asyncio.Event()
        self._answering = answering
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    async def open(self, end: socket.socket) -> None:
        end.setblocking(False)
        await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=end)

    async def ask(self, kind: str, value: Any = None) -> Any:
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send(_QUESTION, number, kind, value)
            return await answer
        finally:
            self._waiting.pop(number, None)

    def tell(self, kind: str, value: Any = None) -> None:
        """Without an answer; into the void if nobody is there."""
        if self._transport is not None and not self.gone.is_set():
            self._send(_TIDING, 0, kind, value)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # -- asyncio's -----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received)
            end = _LENGTH.size + length
            if len(self._received) < end:
                return
            message = pickle.loads(self._received[_LENGTH.size : end])  # noqa: S301  our own process
            del self._received[:end]
            self._take(*message)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.gone.set()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(_away())
        for task in self._tasks:
            task.cancel()

    # -- the pieces ----------------------------------------------------------------------------------------------

    def _send(self, what: int, number: int, kind: str, value: Any) -> None:
        if self._transport is None or self.gone.is_set():
            raise _away()
        data = pickle.dumps((what, number, kind, value), protocol=5)
        self._transport.write(_LENGTH.pack(len(data)) + data)

    def _take(self, what: int, number: int, kind: str, value: Any) -> None:
        if what in {_QUESTION, _TIDING}:
            task = asyncio.get_running_loop().create_task(self._answer(what, number, kind, value))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        answer = self._waiting.get(number)
        if answer is None or answer.done():  # whoever asked has gone
            return
        if what == _ANSWER:
            answer.set_result(value)
        else:
            answer.set_exception(value)

    async def _answer(self, what: int, number: int, kind: str, value: Any) -> None:
        try:
            made = _ANSWER, await self._answering(kind, value)
        except Exception as fault:
            made = _FAULT, _that_travels(fault)
        if what == _QUESTION and not self.gone.is_set():
            self._send(made[0], number, kind, made[1])


def _away() -> Unavailable:
    return Unavailable("A process of the server has ended: try again.", retry_after=1)


def _that_travels(fault: Exception) -> Exception:
    try:
        return pickle.loads(pickle.dumps(fault))  # noqa: S301  our own
    except Exception:  # whatever keeps it here
        return RuntimeError(type(fault).__name__)
