"""The client of the `mem0ai` package, told to report to nobody, and how it reaches an app without a network.

The package reads its environment when it is imported, and writes a file of its own then.
"""

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = str(Path(tempfile.gettempdir(), "keepstone-tests-mem0"))

from mem0 import AsyncMemoryClient, MemoryClient
from mem0.client.types import (
    AddMemoryOptions,
    DeleteAllMemoryOptions,
    GetAllMemoryOptions,
    SearchMemoryOptions,
    UpdateMemoryOptions,
)
from mem0.exceptions import MemoryError as Mem0Error

__all__ = [
    "AddMemoryOptions", "AsyncMemoryClient", "DeleteAllMemoryOptions", "GetAllMemoryOptions", "Mem0", "Mem0Error",
    "MemoryClient", "SearchMemoryOptions", "UpdateMemoryOptions", "connect",
]  # fmt: skip

URL = "http://127.0.0.1:8420"


class InProcess(httpx.BaseTransport):
    """Lets a client that blocks, in a thread of its own, call an app that lives in this loop."""

    def __init__(self, app: FastAPI, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000), raise_app_exceptions=False)
        self._loop = loop

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def answer() -> httpx.Response:
            response = await self._transport.handle_async_request(request)
            return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result()


class Mem0:
    """The package's own blocking client; each call runs in a thread."""

    def __init__(self, client: MemoryClient) -> None:
        self.client = client

    async def call(self, name: str, *args: Any, **options: Any) -> Any:
        return await asyncio.to_thread(getattr(self.client, name), *args, **options)

    async def add(self, messages: Any, **options: Any) -> list[Any]:
        return (await self.call("add", messages, **options))["results"]

    async def search(self, query: str, **options: Any) -> list[Any]:
        return (await self.call("search", query, **options))["results"]

    async def found(self, query: str, filters: Any, **options: Any) -> list[str]:
        return [one["memory"] for one in await self.search(query, filters=filters, **options)]

    async def listed(self, filters: Any, **options: Any) -> list[str]:
        return [one["memory"] for one in (await self.call("get_all", filters=filters, **options))["results"]]

    async def fault(self, name: str, *args: Any, **options: Any) -> tuple[int, str]:
        """The status of a call that is refused, and the sentence that its user sees."""
        try:
            done = await self.call(name, *args, **options)
        except Mem0Error as fault:
            return fault.debug_info["status_code"], fault.message
        raise AssertionError(f"not refused: {done}")


async def connect(app: FastAPI, key: str) -> Mem0:
    loop = asyncio.get_running_loop()
    client = await asyncio.to_thread(
        MemoryClient, api_key=key, host=URL, client=httpx.Client(transport=InProcess(app, loop))
    )
    return Mem0(client)
