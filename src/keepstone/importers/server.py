"""A running Keepstone, as an import speaks to it: through the client, which waits when asked to and tries again when it
must. What stops an import says how to go on.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Any

import keepstone_client as client
from keepstone.errors import (
    Forbidden,
    Invalid,
    KeepstoneError,
    PaymentRequired,
    QuotaExceeded,
    Unauthenticated,
    Unavailable,
)
from keepstone.importers.target import Refused
from keepstone.importers.text import elements_of, fields, wire_time
from keepstone_client.core import Request, Retries, Upload, as_is, at

RETRIES = Retries(most=5)
ServerRefused = client.KeepstoneError

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

    async def ingest(self, scope_id: str, turns: Sequence[dict[str, Any]]) -> int:
        done = await self._send("POST", "/v1/ingest", json={"scope_id": scope_id, "transcript": turns})
        return int(done["ingested"])

    async def keep_capsules(self, capsules: Sequence[dict[str, Any]], projects: Mapping[str, str]) -> int:
        away = [capsule for capsule in capsules if capsule.get("deleted_at") or capsule.get("cold_at")]
        named = {str(capsule.get("project_id")) for capsule in capsules}
        archive = {
            "format": "keepstone-archive",
            "version": 1,
            "projects": [{"id": project, "name": name[:255]} for project, name in projects.items() if project in named],
            "capsules": [capsule for capsule in capsules if capsule not in away],
            "put_away": away,
        }
        return int((await self._send("POST", "/v1/memory/import", json=archive))["imported"])

    async def change_capsule(self, capsule_id: str, changes: Mapping[str, Any]) -> None:
        await self._send("PATCH", f"/v1/memory/capsules/{at(capsule_id)}", json=changes)

    async def remember(self, workspace_id: str, text: str, category: str, at: datetime | None) -> bool:
        body = {"content": text, "category": category} | ({"created_at": wire_time(at)} if at else {})
        saved = await self._send("POST", f"/v1/workspaces/{workspace_id}/memories", json=body)
        return not saved.get("deduplicated")

    async def keep_file(self, workspace_id: str, name: str, text: str, at: datetime | None) -> None:
        file = Upload(name=name, content=text.encode(), media_type="text/markdown")
        params = {"created_at": wire_time(at)} if at else {}
        await self._send("POST", f"/v1/workspaces/{workspace_id}/files", files={"file": file}, params=params)

    def projects(self) -> AsyncGenerator[dict[str, Any]]:
        return self.items("/v1/projects")

    def workspaces(self) -> AsyncGenerator[dict[str, Any]]:
        return self.items("/v1/workspaces")

    async def make_workspace(self, name: str) -> str:
        try:
            return str((await self._call("POST", "/v1/workspaces", json={"name": name}))["id"])
        except ServerRefused as fault:
            raise Invalid(fault.message) from None

    async def _send(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        try:
            return await self._call(method, path, timeout=_SECONDS, **more)
        except ServerRefused as fault:
            raise Refused(fault.message, gone=fault.status == 404) from None

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
