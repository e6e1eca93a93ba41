"""The client at the other end of a long request: when it goes, what was done for it is stopped."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import aclosing
from typing import Any

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from keepstone.relay.requests import Relayed
from keepstone.relay.rounds import Rounds

_GONE = 499  # what others log for it; nobody gets to see it


async def while_there(request: Request, work: Coroutine[Any, Any, Relayed]) -> Response:
    """What comes of the work, which is cancelled when the client goes."""
    doing = asyncio.ensure_future(work)
    if not await _finished(doing, request.receive):
        return Response(status_code=_GONE)
    relayed = doing.result()
    if relayed.rounds is not None:
        return _Streamed(relayed.rounds, relayed.answer.status, _headers(relayed))
    return Response(relayed.body, relayed.answer.status, _headers(relayed))


def _headers(relayed: Relayed) -> dict[str, str]:
    """The upstream's, but for its own id for the request; and which memories were put before the model."""
    headers = {name: value for name, value in relayed.answer.headers.items() if name != "x-request-id"}
    if relayed.injected:
        headers["x-keepstone-injected"] = ",".join(relayed.injected)
    return headers


class _Streamed(Response):
    """Sent piece by piece, each as soon as it is there."""

    def __init__(self, rounds: Rounds, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self._rounds = rounds
        self.init_headers({"x-accel-buffering": "no", **headers})  # proxies that collect would hold pieces back

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        sending = asyncio.ensure_future(self._send(send))
        if await _finished(sending, receive):
            sending.result()

    async def _send(self, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with aclosing(self._rounds.stream()) as pieces:
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await self._rounds.close()


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
