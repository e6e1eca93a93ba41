"""An endpoint that speaks OpenAI's protocol, byte for byte. Nothing is tried twice: clients do that themselves."""

from collections.abc import Mapping

import httpx2

from keepstone.providers.upstream import TIMEOUT, Body, Sent, Transport, UpstreamAnswer

_FORWARDED = frozenset(
    {"content-type", "content-disposition", "content-range", "accept-ranges", "retry-after", "retry-after-ms",
     "x-should-retry", "x-request-id", "openai-processing-ms", "openai-version", "openai-model"}
)  # fmt: skip


class OpenAIUpstream:
    """`settings` is where it was set, as `where_set` has it."""

    BASE = "https://api.openai.com/v1"

    def __init__(
        self, base_url: str | None, api_key: str | None, model: str | None, *, settings: str = "KEEPSTONE_LLM",
        timeout: httpx2.Timeout = TIMEOUT,
    ) -> None:  # fmt: skip
        self.model = model
        self.settings = settings
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._transport = Transport(base_url or self.BASE, headers, settings=settings, timeout=timeout)

    async def send(
        self, method: str, path: str, body: Sent | None = None, headers: Mapping[str, str] | None = None
    ) -> UpstreamAnswer:
        response = await self._transport.send(method, path, body, headers)
        return UpstreamAnswer(status=response.status_code, headers=_forwarded(response.headers), body=Body(response))

    def retire(self) -> None:
        self._transport.retire()

    async def close(self) -> None:
        await self._transport.close()


def _forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    """What a client may know: not the names of the operator's organisation and project."""
    return {
        name.lower(): value
        for name, value in headers.items()
        if name.lower() in _FORWARDED or name.lower().startswith("x-ratelimit-")
    }
