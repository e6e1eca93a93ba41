"""The bodies of requests: how large and how slow one may be, and how much all of them hold together.

Nothing big is read before the caller is known: until `caller` has settled who it is, a body is small. What is counted
is given back when the request is over.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepstone.errors import KeepstoneError, Malformed, TooLarge, TooSlow, Unavailable
from keepstone.nesting import MOST_VALUES, extent_of
from keepstone.settings import Settings
from keepstone.surfaces.http.errors import BodyRefused

T = TypeVar("T")

SMALL = 64 * 1024  # from somebody whom we don't know
_SLOWEST = 8 * 1024  # bytes a second, after the first seconds
_PER_VALUE = 64  # bytes that a value takes once it is read, at least
_SHORT = 128 * 1024  # read at once; what is longer would keep other requests waiting


class HeldBodies:
    """Bytes that requests hold, by account. One account gets no more than half, those without one an eighth."""

    def __init__(self, most: int, largest: int) -> None:
        self._share = max(most // 2, largest + _PER_VALUE * MOST_VALUES)  # the largest always fits, alone
        self._most = max(most, self._share)
        self._unknown_share = max(most // 8, SMALL)
        self._held: Counter[int | None] = Counter()
        self.turn = asyncio.Lock()  # of those that are read in another thread, one at a time

    def hold(self, account: int | None, size: int) -> None:
        share = self._unknown_share if account is None else self._share
        if self._held.total() + size > self._most or self._held[account] + size > share:
            raise BodyRefused(
                Unavailable(
                    "Other requests hold all the memory that there is for bodies (KEEPSTONE_MAX_BODIES_BYTES). Try "
                    "again.",
                    retry_after=1,
                )
            )
        self._held[account] += size

    def give_back(self, account: int | None, size: int) -> None:
        self._held[account] -= size
        if not self._held[account]:
            del self._held[account]


class LimitedBody:
    """Refuses a body that is too large, at once when its length is announced; one that comes too slowly; and one for
    which there is no room now.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._largest = settings.max_body_bytes
        self._patience = settings.request_seconds
        self._bodies = HeldBodies(settings.max_bodies_bytes, settings.max_body_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Incoming(scope, receive, self._bodies, self._largest, self._patience)
        scope["state"]["body"] = body
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.over()


class _Incoming:
    """One body on its way in."""

    def __init__(self, scope: Scope, receive: Receive, bodies: HeldBodies, largest: int, patience: float) -> None:
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "0")
        self._announced = int(announced) if announced.isdecimal() else 0
        self._expected = self._announced > 0 or "transfer-encoding" in headers
        self._state = scope["state"]
        self._receive = receive
        self._bodies = bodies
        self._largest = largest
        self._patience = patience
        self._seen = 0
        self._waited = 0.0
        self._held: Counter[int | None] = Counter()
        self._in_pieces = False

    def come_in_pieces(self, largest: int) -> None:
        """It goes on elsewhere piece by piece: it may be this large, and no more than one piece of it is held."""
        self._in_pieces, self._largest = True, largest

    @property
    def turn(self) -> asyncio.Lock:
        return self._bodies.turn

    async def receive(self) -> Message:
        principal = self._state.get("principal")
        if self._announced > (limit := self._largest if principal else min(SMALL, self._largest)):
            raise BodyRefused(self._too_large(limit))
        message = await (self._in_time() if self._expected else self._receive())
        if message["type"] == "http.request":
            self._expected = self._expected and message.get("more_body", False)
            size = len(message.get("body", b""))
            self._seen += size
            if self._seen > limit:
                raise BodyRefused(self._too_large(limit))
            if self._in_pieces:
                self.over()
            self.hold(size)
        return message

    def hold(self, size: int) -> None:
        principal = self._state.get("principal")
        account = principal.account if principal else None
        self._bodies.hold(account, size)
        self._held[account] += size

    def over(self) -> None:
        for account, size in self._held.items():
            self._bodies.give_back(account, size)
        self._held.clear()

    async def _in_time(self) -> Message:
        begun = time.monotonic()
        left = self._patience + self._seen / _SLOWEST - self._waited
        try:
            async with asyncio.timeout(max(0.0, min(self._patience, left))):
                return await self._receive()
        except TimeoutError:
            raise BodyRefused(
                TooSlow("The body of the request did not come in time (KEEPSTONE_REQUEST_SECONDS). Send it again.")
            ) from None
        finally:
            self._waited += time.monotonic() - begun

    def _too_large(self, limit: int) -> KeepstoneError:
        if limit == self._largest:
            setting = "KEEPSTONE_MAX_IMPORT_BYTES" if self._in_pieces else "KEEPSTONE_MAX_BODY_BYTES"
            return TooLarge(f"The request is larger than this server takes ({setting}).")
        return TooLarge(f"This address takes at most {limit // 1024} KB.")


class CheckedRequest(Request):
    """A request whose body is looked at before it is read as JSON, by whomever."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            body = await super().body()
            if self._is_json:
                await self._look_at(body)
        return await super().body()

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = await self._apart(json.loads, await self.body())
        return self._json

    async def read_as(self, model: type[BaseModel]) -> None:
        """Make of a long JSON body what the route takes, before the framework does it in the event loop."""
        body = await self.body()
        if len(body) <= _SHORT or not _is_json(self.headers.get("content-type", "")):
            return

        def read(body: bytes) -> tuple[Any, list[Any]]:
            try:
                return model.model_validate(json.loads(body)), []
            except ValidationError as fault:
                found = fault.errors(include_url=False, include_input=False)
                return None, [{**error, "loc": ("body", *error["loc"])} for error in found]

        with suppress(ValueError, RecursionError):  # the framework says what is wrong with text that is no JSON
            self._json, faults = await self._apart(read, body)
            if faults:
                raise RequestValidationError(faults)

    async def _look_at(self, body: bytes) -> None:
        extent = await self._apart(extent_of, body)
        # In another encoding a bracket is not seen for what it is.
        problem = extent.problem if json.detect_encoding(body).startswith("utf-8") else "is not JSON in UTF-8"
        if problem is not None:
            raise Malformed(f"The body {problem}.", details=[{"path": "body", "message": problem}])
        self._incoming.hold(_PER_VALUE * extent.values)

    @property
    def _is_json(self) -> bool:
        """What is no form is read as JSON here, under whatever name it comes."""
        kind = self.headers.get("content-type", "")
        return not kind.startswith(("multipart/form-data", "application/x-www-form-urlencoded"))

    @property
    def _incoming(self) -> _Incoming:
        return self.scope["state"]["body"]

    async def _apart(self, work: Callable[[bytes], T], body: bytes) -> T:
        if len(body) <= _SHORT:
            return work(body)
        async with self._incoming.turn:
            return await asyncio.to_thread(work, body)


def read_in_pieces(request: Request, largest: int) -> None:
    """From here on its body may be that large: the caller is known, and keeps no more than a piece of it in memory."""
    request.scope["state"]["body"].come_in_pieces(largest)


def _is_json(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
