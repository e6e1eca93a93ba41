"""The client at the other end of a long request: when it goes, what was done for it is stopped."""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

from fastapi import Request, Response
from starlette.types import Send

from keepstone.relay.requests import Relayed
from keepstone.relay.rounds import Rounds
from keepstone.surfaces.http.presence import StreamedWhileThere, finished

_GONE = 499  # what others log for it; nobody gets to see it


async def while_there(request: Request, work: Coroutine[Any, Any, Relayed]) -> Response:
    """What comes of the work, which is cancelled when the client goes."""
    doing = asyncio.ensure_future(work)
    if not await finished(doing, request.receive):
        return Response(status_code=_GONE)
    relayed = doing.result()
    if relayed.rounds is not None:
        return _Relaying(relayed.rounds, relayed.answer.status, _headers(relayed))
    return Response(relayed.body, relayed.answer.status, _headers(relayed))


def _headers(relayed: Relayed) -> dict[str, str]:
    """The upstream's, but for its own id for the request; and which memories were put before the model."""
    headers = {name: value for name, value in relayed.answer.headers.items() if name != "x-request-id"}
    if relayed.injected:
        headers["x-keepstone-injected"] = ",".join(relayed.injected)
    return headers


class _Relaying(StreamedWhileThere):
    """An exchange under way. It is closed even if nothing of it could be sent."""

    def __init__(self, rounds: Rounds, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(rounds.stream(), status, headers)
        self._rounds = rounds

    async def _send(self, send: Send) -> None:
        try:
            await super()._send(send)
        finally:
            await self._rounds.close()
