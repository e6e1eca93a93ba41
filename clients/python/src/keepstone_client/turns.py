"""How many calls of one client are under way at once. The others wait for their turn here, for as long as it takes.

httpx would let them wait in its pool of connections, which goes through all that wait whenever one comes or goes: a
thousand calls at once then keep an event loop busy for seconds, and the last give up. So the pool is never full.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from keepstone_client.core import Request, Settings

CALLS = 32  # more than a server works on at once
# Answers that take long, of a language model or as a stream, take no call's turn.
LONG = 100
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


class Turns:
    """Of a client that waits; threads share it."""

    def __init__(self, settings: Settings, transport: httpx.BaseTransport | None) -> None:
        self.http = httpx.Client(transport=transport, **_options(settings))
        self._calls, self._long = threading.Semaphore(CALLS), threading.Semaphore(LONG)

    def of(self, request: Request[Any], *, stream: bool) -> threading.Semaphore:
        return self._long if _takes_long(request, stream) else self._calls


class AsyncTurns:
    """Of one event loop."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self._calls, self._long = asyncio.Semaphore(CALLS), asyncio.Semaphore(LONG)

    def of(self, request: Request[Any], *, stream: bool) -> asyncio.Semaphore:
        return self._long if _takes_long(request, stream) else self._calls


class Loops:
    """A connection belongs to the event loop that opened it, so each loop has its own: one client can be used in one
    `asyncio.run` after the other, and in the loops of several threads.
    """

    def __init__(self, settings: Settings, transport: httpx.AsyncBaseTransport | None) -> None:
        options = _options(settings, httpx.create_ssl_context(trust_env=not settings.is_local))
        self._open: Callable[[], httpx.AsyncClient] = lambda: httpx.AsyncClient(transport=transport, **options)
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncTurns] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._closed = False

    def here(self) -> AsyncTurns:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._closed:
                raise RuntimeError("This client is closed: make another one.")
            if loop not in self._turns:
                self._turns[loop] = AsyncTurns(self._open())
            return self._turns[loop]

    async def close(self) -> None:
        with self._lock:
            self._closed = True
            known = list(self._turns.items())
            self._turns.clear()
        for loop, turns in known:
            if loop is asyncio.get_running_loop():
                await turns.http.aclose()
            elif loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(turns.http.aclose(), loop))


def _takes_long(request: Request[Any], stream: bool) -> bool:
    return stream or request.timeout is not None


def _options(settings: Settings, verify: Any = True) -> dict[str, Any]:
    return {
        "base_url": settings.base_url, "timeout": settings.timeout, "trust_env": not settings.is_local,
        "limits": _LIMITS, "verify": verify,
    }  # fmt: skip
