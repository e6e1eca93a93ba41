"""A running Keepstone, as an import speaks to it: through the client, which waits when asked to and tries again when it
must. What stops an import says how to go on.
"""

from collections.abc import AsyncGenerator, Mapping
from typing import Any

import keepstone_client as client
from keepstone.errors import Forbidden, KeepstoneError, PaymentRequired, QuotaExceeded, Unauthenticated, Unavailable
from keepstone.importers.text import elements_of, fields
from keepstone_client.core import Request, Retries, Upload, as_is

RETRIES = Retries(most=5)
ServerRefused = client.KeepstoneError  # the server does not take this; something else it may

_SECONDS = 300.0  # that a batch may take
_GO_ON = "Run the same command again to go on."
# What no other piece would be taken after either.
_STOPS: Mapping[type[ServerRefused], type[KeepstoneError]] = {
    client.QuotaExceeded: QuotaExceeded,
    client.Unauthorized: Unauthenticated,
    client.PaymentRequired: PaymentRequired,
    client.Forbidden: Forbidden,
}


class RemoteServer:
    def __init__(self, keepstone: client.AsyncKeepstone) -> None:
        self._client = keepstone

    async def get(self, path: str, **params: Any) -> dict[str, Any]:
        return await self._call("GET", path, params=params)

    async def items(self, path: str) -> AsyncGenerator[dict[str, Any]]:
        """All of a list, page by page."""
        page: dict[str, Any] = {"has_more": True}
        while page.get("has_more"):
            page = await self.get(path, limit=200, cursor=page.get("next_cursor"))
            for item in elements_of(page.get("items")):
                yield fields(item)

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        return await self._call("POST", path, json=body, timeout=_SECONDS)

    async def patch(self, path: str, body: Any) -> dict[str, Any]:
        return await self._call("PATCH", path, json=body, timeout=_SECONDS)

    async def upload(self, path: str, name: str, text: str) -> dict[str, Any]:
        file = Upload(name=name, content=text.encode(), media_type="text/markdown")
        return await self._call("POST", path, files={"file": file}, timeout=_SECONDS)

    async def _call(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        try:
            return fields(
                await self._client.run(Request(method=method, path=path, parse=as_is, repeatable=True, **more))
            )
        except (client.ServerFault, client.ConnectionFailed, client.RateLimited) as fault:
            raise Unavailable(f"No Keepstone answers, or it can't answer now: {fault.message} {_GO_ON}") from None
        except ServerRefused as fault:
            stop = _STOPS.get(type(fault))
            if stop is None:
                raise
            raise stop(f"{fault.message} {_GO_ON}", code=fault.code, upgrade_url=fault.upgrade_url) from None
