"""The client at the other end of a long request: when it goes, what was done for it is stopped."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from typing import Any

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from keepstone.relay.rounds import Reply, Stream

_GONE = 499  # what others log for it; nobody gets to see it


async def while_there(request: Request, work: Coroutine[Any, Any, Reply]) -> Response:
    """What comes of the work, which is cancelled when the client goes."""
    doing = asyncio.ensure_future(work)
    if not await _finished(doing, request.receive):
        return Response(status_code=_GONE)
    reply = doing.result()
    if reply.stream is not None:
        return _Streamed(reply.stream, reply.status, reply.headers)
    return Response(reply.body, reply.status, dict(reply.headers))


class _Streamed(Response):
    """Sent piece by piece, each as soon as it is there."""

    def __init__(self, stream: Stream, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self._stream = stream
        self.init_headers({"x-accel-buffering": "no", **headers})  # proxies that collect would hold pieces back

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        sending = asyncio.ensure_future(self._send(send))
        if await _finished(sending, receive):
            sending.result()

    async def _send(self, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with aclosing(self._stream.pieces()) as pieces:
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await self._stream.close()


async def _finished(doing: "asyncio.Future[Any]", receive: Receive) -> bool:
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
