"""Whether the client is still there. A request whose client has gone is cancelled, and its statement with it; what is
being streamed to it is ended, and may still put away what it has.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class CancelledWithClient:
    """As long as nothing was answered: what is being streamed ends by itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Watched(scope, receive, send)
        try:
            await self._app(scope, request.receive, request.send)
        except asyncio.CancelledError:
            if not request.gone:
                raise
            request.handler.uncancel()
            scope["state"]["client_gone"] = True
        finally:
            await request.unwatch()


class _Watched:
    """A request, its handler, and who watches the client once the body is in: until then the handler does."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  we are in one
        self.handler = task
        self.gone = False
        self._receive, self._send = receive, send
        self._answered = False
        self._bodiless = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        self._watcher = asyncio.create_task(self._watch()) if self._bodiless else None

    async def receive(self) -> Message:
        if self._bodiless:
            self._bodiless = False
            return {"type": "http.request", "body": b"", "more_body": False}
        if self._watcher is not None:
            return await asyncio.shield(self._watcher)
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._watcher = asyncio.create_task(self._watch())
        return message

    async def send(self, message: Message) -> None:
        self._answered = True
        await self._send(message)

    async def unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher

    async def _watch(self) -> Message:
        while (message := await self._receive())["type"] != "http.disconnect":
            pass
        if not self._answered:
            self.gone = True
            self.handler.cancel()
        return message


class StreamedWhileThere(Response):
    """Sent piece by piece, each as soon as it is there. When the client goes, whatever makes the pieces is cancelled
    once, and has the time to finish.
    """

    def __init__(self, pieces: AsyncGenerator[bytes], status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self._pieces = pieces
        self.init_headers({"x-accel-buffering": "no", **headers})  # proxies that collect would hold pieces back

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        sending = asyncio.ensure_future(self._send(send))
        if await finished(sending, receive):
            sending.result()

    async def _send(self, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def finished(doing: "asyncio.Future[Any]", receive: Receive) -> bool:
    """Wait for it, or for the client to go; in any case it is over when this returns."""
    watching = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({doing, watching}, return_when=asyncio.FIRST_COMPLETED)
        return doing.done()
    finally:
        doing.cancel()
        watching.cancel()
        await asyncio.gather(doing, watching, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
