"""A running Keepstone, as an import speaks to it: waits when asked to, tries again when it must, and says
why it stops.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

from keepstone.errors import Forbidden, KeepstoneError, PaymentRequired, QuotaExceeded, Unauthenticated, Unavailable
from keepstone.importers.text import fields

_TRIES = 6
_LONGEST_PAUSE = 60.0
_GO_ON = "Run the same command again to go on."


class ServerRefused(Exception):
    """The server does not take this; something else it may."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class RemoteServer:
    def __init__(
        self, client: httpx2.AsyncClient, key: str, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._client, self._pause = client, pause
        self._headers = {"Authorization": f"Bearer {key}"}

    async def get(self, path: str, **params: Any) -> dict[str, Any]:
        return await self._call("GET", path, params=params)

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        return await self._call("POST", path, content=_json(body), headers={"Content-Type": "application/json"})

    async def patch(self, path: str, body: Any) -> dict[str, Any]:
        return await self._call("PATCH", path, content=_json(body), headers={"Content-Type": "application/json"})

    async def upload(self, path: str, name: str, text: str) -> dict[str, Any]:
        return await self._call("POST", path, files={"file": (name, text.encode(), "text/markdown")})

    async def _call(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: Any
    ) -> dict[str, Any]:
        for attempt in range(_TRIES):
            try:
                answer = await self._client.request(method, path, headers=self._headers | (headers or {}), **more)
            except httpx2.TransportError:
                await self._pause(min(0.5 * 2**attempt, 8))
                continue
            if answer.status_code < 400:
                return fields(answer.json()) if answer.content else {}
            error = fields(fields(_body(answer)).get("error"))
            code, message = (
                str(error.get("code") or ""),
                str(error.get("message") or f"It answers {answer.status_code}."),
            )
            if answer.status_code == 429 and code != "quota_exceeded":
                await self._pause(_wait(answer))
                continue
            if answer.status_code >= 500:
                await self._pause(min(0.5 * 2**attempt, 8))
                continue
            stop = _stop(answer.status_code, code)
            if stop is not None:
                raise stop(f"{message} {_GO_ON}", code=code, upgrade_url=error.get("upgrade_url"))
            raise ServerRefused(answer.status_code, code, message)
        raise Unavailable(f"No Keepstone answers at {self._client.base_url}, or it can't answer now. {_GO_ON}")


def _stop(status: int, code: str) -> type[KeepstoneError] | None:
    """What no other piece would be taken after either."""
    if code == "quota_exceeded":
        return QuotaExceeded
    return {401: Unauthenticated, 402: PaymentRequired, 403: Forbidden}.get(status)


def _wait(answer: httpx2.Response) -> float:
    try:
        return min(max(float(answer.headers.get("Retry-After", "1")), 0.1), _LONGEST_PAUSE)
    except ValueError:
        return 1.0


def _body(answer: httpx2.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return {}


def _json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
