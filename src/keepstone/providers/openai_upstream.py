"""An endpoint that speaks OpenAI's protocol, byte for byte. Nothing is tried twice: clients do that themselves.

Neither the key nor a text is ever part of an error or a log line.
"""

import logging
from collections.abc import AsyncIterator, Mapping

import httpx2

from keepstone import __version__
from keepstone.errors import UpstreamError
from keepstone.providers.upstream import Answer, cut_off

BASE = "https://api.openai.com/v1"
CONNECT = 10.0  # seconds
SILENCE = 600.0  # seconds between two bytes: a model may think that long

_FORWARDED = frozenset(
    {"content-type", "retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "openai-processing-ms",
     "openai-version", "openai-model"}
)  # fmt: skip


class OpenAIUpstream:
    """`named` is how its settings begin."""

    def __init__(
        self,
        base_url: str | None,
        api_key: str | None,
        model: str | None,
        *,
        named: str = "KEEPSTONE_LLM",
        connect: float = CONNECT,
        silence: float = SILENCE,
    ) -> None:
        self.model = model
        self._named = named
        self._base = (base_url or BASE).rstrip("/")
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # at info level it logs every address
        headers = {
            "accept-encoding": "identity",  # a compressed stream comes in larger pieces, and later
            "user-agent": f"keepstone/{__version__}",
            **({"authorization": f"Bearer {api_key}"} if api_key else {}),
        }
        self._client = httpx2.AsyncClient(
            headers=headers,
            timeout=httpx2.Timeout(silence, connect=connect, pool=None),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=50),
        )

    async def send(self, method: str, path: str, body: bytes | None = None) -> Answer:
        kind = {"content-type": "application/json"} if body is not None else {}
        try:
            request = self._client.build_request(method, self._base + path, content=body, headers=kind)
            response = await self._client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as fault:
            raise self._fault(fault) from None
        if response.is_redirect:  # a client that followed it would take its request past us
            await response.aclose()
            raise UpstreamError(
                f"The upstream's address leads to another one: its operator has to set {self._named}_BASE_URL to that.",
                code="upstream_unreachable",
            )
        return Answer(status=response.status_code, headers=_forwarded(response.headers), body=_Body(response))

    async def release(self, answer: Answer) -> None:
        if isinstance(answer.body, _Body):
            await answer.body.aclose()

    async def close(self) -> None:
        await self._client.aclose()

    def _fault(self, fault: Exception) -> UpstreamError:
        if isinstance(fault, httpx2.TimeoutException):
            return _too_late()
        return UpstreamError(
            f"The upstream could not be reached: its operator has to look at {self._named}_BASE_URL. Try again.",
            code="upstream_unreachable",
            retry_after=5,
        )


class _Body:
    """What arrives, as it arrives. It can be closed before it is begun, which a generator can't."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self._pieces = response.aiter_bytes()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._pieces)
        except httpx2.TimeoutException:
            raise _too_late() from None
        except (httpx2.HTTPError, httpx2.StreamError):
            raise cut_off() from None

    async def aclose(self) -> None:
        await self._pieces.aclose()
        await self._response.aclose()


def _too_late() -> UpstreamError:
    return UpstreamError("The upstream did not answer in time. Try again.", code="upstream_timeout", retry_after=5)


def _forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    """What a client may know: not the names of the operator's organisation and project."""
    return {
        name.lower(): value
        for name, value in headers.items()
        if name.lower() in _FORWARDED or name.lower().startswith("x-ratelimit-")
    }
