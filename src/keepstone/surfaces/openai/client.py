"""The client at the other end of a long request: when it goes, what was done for it is stopped."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any

from fastapi import Request, Response
from starlette.types import Send

from keepstone.errors import UpstreamError
from keepstone.observe.logs import describe
from keepstone.relay.requests import AnswerInPieces, Relayed
from keepstone.surfaces.http.presence import StreamedWhileThere, finished

log = logging.getLogger(__name__)

GONE = 499  # what others log for it; nobody gets to see it
# What a provider says is shown under our address, but is never a page of ours.
_NO_PAGE = {"content-security-policy": "default-src 'none'; sandbox"}


# Of a client's headers those that a provider may want to know. Who the client is, and its cookies, are between it and
# us; and an `Idempotency-Key` of one user could bring the answer that another got.
_SENT = ("accept", "content-type", "openai-beta", "range")
_OF_PIECES = ("content-length", "content-encoding")


def sent_headers(request: Request, *, in_pieces: bool = False) -> dict[str, str]:
    names = (*_SENT, *_OF_PIECES) if in_pieces else _SENT
    return {name: request.headers[name] for name in names if name in request.headers}


async def while_there(request: Request, work: Coroutine[Any, Any, Relayed]) -> Response:
    """What comes of the work, which is cancelled when the client goes."""
    doing = asyncio.ensure_future(work)
    if not await finished(doing, request.receive):
        return Response(status_code=GONE)
    return shown(doing.result())


def shown(relayed: Relayed) -> Response:
    if relayed.pieces is not None:
        return _Relaying(relayed.pieces, relayed.answer.status, _headers(relayed))
    return Response(relayed.body, relayed.answer.status, _headers(relayed))


def _headers(relayed: Relayed) -> dict[str, str]:
    """The upstream's, but for its own id for the request; and which memories were put before the model."""
    headers = {name: value for name, value in relayed.answer.headers.items() if name != "x-request-id"} | _NO_PAGE
    if relayed.injected:
        headers["x-keepstone-injected"] = ",".join(relayed.injected)
    return headers


class _Relaying(StreamedWhileThere):
    """An exchange under way. It is closed even if nothing of it could be sent."""

    def __init__(self, pieces: AnswerInPieces, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(pieces.stream(), status, headers)
        self._relayed = pieces

    async def _send(self, send: Send) -> None:
        try:
            await super()._send(send)
        except UpstreamError as fault:  # a sound or a file that broke off: without its end it is seen not to be whole
            log.info("an answer of the upstream broke off", extra=describe(fault))
        finally:
            await self._relayed.close()
