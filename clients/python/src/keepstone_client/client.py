"""The two clients: `Keepstone` waits, `AsyncKeepstone` is awaited.

What they can do is in the resources, once for both.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, closing, contextmanager
from copy import copy
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from keepstone_client.binding import Async, Sync
from keepstone_client.core import Answer, Attempts, Request, Retries, Settings, as_is, broken_off, settle
from keepstone_client.resources import Resources
from keepstone_client.streams import EventReader, Streamed
from keepstone_client.turns import Loops, Turns

T = TypeVar("T")
E = TypeVar("E")

# The server has not seen the request when one of these is raised.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Keepstone(Sync, Resources[Sync]):
    """A Keepstone server, for one key. Keep it: it holds connections open. `with` closes them.

    Without `base_url` and `api_key` the environment's KEEPSTONE_URL and KEEPSTONE_API_KEY are taken; without
    KEEPSTONE_URL, the server of this machine. `on_behalf_of` is a user, by id or e-mail address, for whom a service key
    speaks.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        on_behalf_of: str | None = None,
        timeout: float = 60.0,
        retries: int | Retries = 2,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._settings = settle(base_url, api_key, on_behalf_of, timeout, retries)
        self._turns = Turns(self._settings, transport)
        self._offer(self)

    def acting_for(self, user: str) -> Self:
        """The same client on behalf of this user; both use the same connections."""
        other = copy(self)
        other._settings = replace(self._settings, on_behalf_of=user)
        other._offer(other)
        return other

    def request(self, method: str, path: str, *, params: Mapping[str, Any] | None = None, json: Any = None) -> Any:
        """Any call at all: the JSON of its answer, None if there is none."""
        return self.run(Request(method=method.upper(), path=path, parse=as_is, params=params or {}, json=json))

    def run(self, request: Request[T]) -> T:
        with self._exchange(request, stream=False) as (response, attempts):
            answer = _answer(response)
        attempts.check(answer)
        return request.parse(answer)

    def events(self, streamed: Streamed[E, Any]) -> Generator[E]:
        with self._exchange(streamed.request, stream=True) as (response, attempts):
            if not response.is_success:
                attempts.check(_answer(response))
            reader = EventReader(streamed)
            try:
                for piece in response.iter_bytes():
                    yield from reader.feed(piece)
            except httpx.RequestError as fault:
                raise broken_off(f"The answer broke off ({_name(fault)}).") from fault
            reader.end()

    def pieces(self, request: Request[None]) -> Generator[bytes]:
        with self._exchange(request, stream=True) as (response, attempts):
            if not response.is_success:
                attempts.check(_answer(response))
            try:
                yield from response.iter_bytes()
            except httpx.RequestError as fault:
                raise broken_off(f"The answer broke off ({_name(fault)}).") from fault

    def close(self) -> None:
        self._turns.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _exchange(self, request: Request[Any], *, stream: bool) -> Generator[tuple[httpx.Response, Attempts]]:
        """Send it, as often as it takes and may be. Of a success that streams, the body has not been read."""
        attempts, http = Attempts(request, self._settings.retries), self._turns.http
        while True:
            with self._turns.of(request, stream=stream):
                try:
                    response = http.send(http.build_request(**_arguments(request, self._settings)), stream=True)
                    if not (stream and response.is_success):
                        with closing(response):
                            response.read()
                except httpx.RequestError as fault:
                    wait = attempts.after_fault(sent=not isinstance(fault, _UNSENT))
                    if wait is None:
                        raise _unanswered(self._settings, fault) from fault
                else:
                    wait = None if response.is_success else attempts.after_answer(_answer(response))
                    if wait is None:
                        with closing(response):
                            yield response, attempts
                        return
            time.sleep(wait)


class AsyncKeepstone(Async, Resources[Async]):
    """As `Keepstone`, for `await`: each method is a coroutine function, lists take `async for`."""

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        on_behalf_of: str | None = None,
        timeout: float = 60.0,
        retries: int | Retries = 2,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._settings = settle(base_url, api_key, on_behalf_of, timeout, retries)
        self._loops = Loops(self._settings, transport)
        self._offer(self)

    def acting_for(self, user: str) -> Self:
        other = copy(self)
        other._settings = replace(self._settings, on_behalf_of=user)
        other._offer(other)
        return other

    async def request(
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, json: Any = None
    ) -> Any:
        return await self.run(Request(method=method.upper(), path=path, parse=as_is, params=params or {}, json=json))

    async def run(self, request: Request[T]) -> T:
        async with self._exchange(request, stream=False) as (response, attempts):
            answer = _answer(response)
        attempts.check(answer)
        return request.parse(answer)

    async def events(self, streamed: Streamed[E, Any]) -> AsyncGenerator[E]:
        async with self._exchange(streamed.request, stream=True) as (response, attempts):
            if not response.is_success:
                attempts.check(_answer(response))
            reader = EventReader(streamed)
            try:
                async for piece in response.aiter_bytes():
                    for event in reader.feed(piece):
                        yield event
            except httpx.RequestError as fault:
                raise broken_off(f"The answer broke off ({_name(fault)}).") from fault
            reader.end()

    async def pieces(self, request: Request[None]) -> AsyncGenerator[bytes]:
        async with self._exchange(request, stream=True) as (response, attempts):
            if not response.is_success:
                attempts.check(_answer(response))
            try:
                async for piece in response.aiter_bytes():
                    yield piece
            except httpx.RequestError as fault:
                raise broken_off(f"The answer broke off ({_name(fault)}).") from fault

    async def close(self) -> None:
        await self._loops.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def _exchange(
        self, request: Request[Any], *, stream: bool
    ) -> AsyncGenerator[tuple[httpx.Response, Attempts]]:  # fmt: skip
        attempts, turns = Attempts(request, self._settings.retries), self._loops.here()
        http = turns.http
        while True:
            async with turns.of(request, stream=stream):
                try:
                    response = await http.send(
                        http.build_request(**_arguments(request, self._settings)), stream=True
                    )  # fmt: skip
                    if not (stream and response.is_success):
                        async with aclosing(response):
                            await response.aread()
                except httpx.RequestError as fault:
                    wait = attempts.after_fault(sent=not isinstance(fault, _UNSENT))
                    if wait is None:
                        raise _unanswered(self._settings, fault) from fault
                else:
                    wait = None if response.is_success else attempts.after_answer(_answer(response))
                    if wait is None:
                        async with aclosing(response):
                            yield response, attempts
                        return
            await asyncio.sleep(wait)


def _arguments(request: Request[Any], settings: Settings) -> dict[str, Any]:
    files = {
        name: (one.name, one.content, *([one.media_type] if one.media_type else []))
        for name, one in request.files.items()
    }
    return {
        "method": request.method,
        "url": request.path,
        "params": request.query or None,
        "content": request.body,
        "files": files or None,
        "headers": settings.headers(request),
        "timeout": request.timeout or settings.timeout,
    }


def _answer(response: httpx.Response) -> Answer:
    return Answer(
        response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content
    )


def _unanswered(settings: Settings, fault: httpx.RequestError) -> Exception:
    return broken_off(f"No answer from {settings.base_url} ({_name(fault)}).")


def _name(fault: httpx.RequestError) -> str:
    return type(fault).__name__
