"""A load balancer as people have one: asks each server's /readyz, sends each request to one that is ready, keeps
connections to servers open, and tries nothing twice once a server may have seen it.
"""

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

_LOOK_SECONDS = 0.1
_FAILURES = 3  # in a row, until a server that was ready is not
_PATIENCE_SECONDS = 60
_CHUNK = 65536

Result = TypeVar("Result")
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True)
class Backend:
    port: int
    ready: bool = False
    out: bool = False  # taken out by an operator
    busy: int = 0
    idle: list[Stream] = field(default_factory=list[Stream])


class Balancer:
    """In a thread of its own. `url` is where clients go."""

    def __init__(self, ports: dict[str, int]) -> None:
        self._backends = {name: Backend(port) for name, port in ports.items()}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**20))
        self._looks = [self._do(self._begin(each)) for each in self._backends.values()]
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def wait_ready(self, name: str) -> None:
        self._do(self._until(lambda: self._backends[name].ready))

    def take_out(self, name: str) -> None:
        """No more requests for it; returns when those that it has are answered."""
        backend = self._backends[name]
        backend.out = True
        self._do(self._until(lambda: not backend.busy))

    def put_in(self, name: str) -> None:
        self._backends[name].out = False

    def stop(self) -> None:
        async def stop() -> None:
            self._server.close()
            for task in asyncio.all_tasks():
                if task is not asyncio.current_task():
                    task.cancel()

        self._do(stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _until(self, so: Any) -> None:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not so():
                await asyncio.sleep(_LOOK_SECONDS / 5)

    async def _begin(self, backend: Backend) -> asyncio.Task[None]:
        return asyncio.create_task(self._look(backend))

    async def _look(self, backend: Backend) -> None:
        failures = 0
        while True:
            try:
                async with asyncio.timeout(5):
                    failures = 0 if await _is_ready(backend.port) else failures + 1
            except (OSError, asyncio.IncompleteReadError, TimeoutError):
                failures += 1
            backend.ready = failures < (_FAILURES if backend.ready else 1)
            if not backend.ready or backend.out:
                for _, writer in backend.idle:
                    writer.close()
                backend.idle.clear()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, request after request."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(int(_header(head, b"content-length") or 0))
                await self._pass(head + body, writer)
        writer.close()

    async def _pass(self, request: bytes, client: asyncio.StreamWriter) -> None:
        places = [each for each in self._backends.values() if each.ready and not each.out]
        for backend in sorted(places, key=lambda each: each.busy):
            backend.busy += 1
            try:
                if stream := await _connection(backend):
                    if await _exchange(stream, request, client):
                        backend.idle.append(stream)
                    else:
                        stream[1].close()
                    return
            finally:
                backend.busy -= 1
        client.write(b"HTTP/1.1 502 No server is ready\r\ncontent-length: 0\r\n\r\n")
        await client.drain()


async def _connection(backend: Backend) -> Stream | None:
    """One that is open and of which nobody has heard that it has ended, or another."""
    while backend.idle:
        reader, writer = backend.idle.pop()
        if not reader.at_eof() and not writer.is_closing():
            return reader, writer
        writer.close()
    try:
        return await asyncio.open_connection("127.0.0.1", backend.port, limit=2**20)
    except OSError:
        return None


async def _exchange(stream: Stream, request: bytes, client: asyncio.StreamWriter) -> bool:
    """Whether the connection can be used again."""
    reader, writer = stream
    writer.write(request)
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    ends = (_header(head, b"connection") or b"").lower() == b"close"
    client.write(_without(head, b"connection"))
    length = _header(head, b"content-length")
    if length is not None:
        client.write(await reader.readexactly(int(length)))
    elif (_header(head, b"transfer-encoding") or b"").lower() == b"chunked":
        size = -1
        while size:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            client.write(line + await reader.readexactly(size + 2))
    await client.drain()
    return not ends


async def _is_ready(port: int) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return (await reader.readuntil(b"\r\n")).split()[1] == b"200"
    finally:
        writer.close()


def _header(head: bytes, name: bytes) -> bytes | None:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip()
    return None


def _without(head: bytes, name: bytes) -> bytes:
    return b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(name + b":"))
