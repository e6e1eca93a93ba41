"""What the tests of adapters share: clients of a server in this process, one that waits and one that is awaited."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import httpx
from fastapi import FastAPI

from keepstone_client import AsyncKeepstone, Keepstone

P = ParamSpec("P")
T = TypeVar("T")
URL = "http://127.0.0.1:8420"


class Bridge(httpx.BaseTransport):
    """From a thread to the app in the event loop of the test."""

    def __init__(self, app: FastAPI) -> None:
        self._inner = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
        self._loop = asyncio.get_running_loop()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def ask() -> httpx.Response:
            answer = await self._inner.handle_async_request(request)
            return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())

        return asyncio.run_coroutine_threadsafe(ask(), self._loop).result()


def waiting(app: FastAPI, key: str) -> Keepstone:
    """To be used in a thread: `await apart(…)`."""
    return Keepstone(base_url=URL, api_key=key, transport=Bridge(app))


def awaited(app: FastAPI, key: str) -> AsyncKeepstone:
    return AsyncKeepstone(base_url=URL, api_key=key, transport=httpx.ASGITransport(app, client=("127.0.0.1", 50000)))


async def apart(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """In a thread, as code that waits is run."""
    return await asyncio.to_thread(work, *args, **kwargs)
