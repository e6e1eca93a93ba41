"""A provider's HTTP endpoint: what it is to the rest of Keepstone, and the one HTTP client that all of them stand on.

An upstream speaks OpenAI's protocol, whoever the provider is: bytes go in and come out, what they mean is not looked
at here. Neither the key nor a text is ever part of an error or a log line.
"""

import asyncio
import logging
import weakref
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Protocol, Self, runtime_checkable

import httpx2

from keepstone import __version__
from keepstone.errors import UpstreamError

UNREACHABLE = "upstream_unreachable"
TIMEOUT = httpx2.Timeout(600, connect=10, pool=None)  # seconds between two bytes: a model may think that long

Sent = bytes | AsyncIterable[bytes]  # a body: whole, or in pieces as they come


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamAnswer:
    """What the upstream says, in OpenAI's protocol. `body` can be read once; `close` lets go of it at any time."""

    status: int
    headers: Mapping[str, str]  # lower case: content-…, retry-after, x-request-id, openai-… and x-ratelimit-…
    body: AsyncIterator[bytes]

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.body])

    async def close(self) -> None:
        if isinstance(self.body, Body):
            await self.body.aclose()


class Upstream(Protocol):
    """`send` returns when the headers are there. It raises `UpstreamError` when there is no answer at all, with the
    code `upstream_timeout` if it took too long; a body that breaks off in the middle raises it too. `headers` go beside
    the provider's own. `settings` is where it was set, as `where_set` has it.
    """

    model: str | None
    settings: str

    async def send(
        self, method: str, path: str, body: Sent | None = None, headers: Mapping[str, str] | None = None
    ) -> UpstreamAnswer: ...
    async def close(self) -> None: ...


@runtime_checkable
class Retiring(Protocol):
    """Something that is closed by itself when nobody uses it any more."""

    def retire(self) -> None: ...


def where_set(settings: str, what: str) -> str:
    """Where the operator finds the address or the key of a provider: `settings` is how the names of its environment
    variables begin, or else the name that it has in the settings of the server.
    """
    return f"{settings}_{what}" if settings.startswith("KEEPSTONE_") else f"the provider {settings} in the settings"


class Transport:
    """HTTP to one provider. `settings` is where it was set, as `where_set` has it."""

    def __init__(self, base_url: str, headers: Mapping[str, str], *, settings: str, timeout: httpx2.Timeout) -> None:
        self._settings = settings
        self._base = base_url.rstrip("/")
        logging.getLogger("httpx2").setLevel(logging.WARNING)  # at info level it logs every address
        self._client = httpx2.AsyncClient(
            headers={
                "accept-encoding": "identity",  # a compressed stream comes in larger pieces, and later
                "user-agent": f"keepstone/{__version__}",
                **headers,
            },
            timeout=timeout,
            # Its cookies are nobody's: they would go from one user's request to the next one's.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=50),
        )

    async def send(
        self, method: str, path: str, body: Sent | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        kind = {"content-type": "application/json"} if body is not None else {}
        try:
            request = self._client.build_request(
                method, self._base + path, content=body, headers={**kind, **(headers or {})}
            )
            response = await self._client.send(request, stream=True)
        except httpx2.TimeoutException:
            raise _too_late() from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise UpstreamError(
                "The upstream could not be reached: its operator has to look at "
                f"{where_set(self._settings, 'BASE_URL')}. Try again.",
                code=UNREACHABLE,
                retry_after=5,
            ) from None
        if response.is_redirect:  # a client that followed it would take its request past us
            await response.aclose()
            raise UpstreamError(
                "The upstream's address leads to another one: its operator has to look at "
                f"{where_set(self._settings, 'BASE_URL')} and give that.",
                code=UNREACHABLE,
            )
        return response

    def retire(self) -> None:
        """Close it when nobody uses it any more: what is under way ends as it began."""
        weakref.finalize(self, _close_soon, asyncio.get_running_loop(), self._client)

    async def close(self) -> None:
        await self._client.aclose()


def _close_soon(loop: asyncio.AbstractEventLoop, client: httpx2.AsyncClient) -> None:
    if not loop.is_closed():
        asyncio.run_coroutine_threadsafe(client.aclose(), loop)


class Body:
    """What arrives, as `pieces` give it. It can be closed before it is begun, which a generator can't."""

    def __init__(self, response: httpx2.Response, pieces: AsyncGenerator[bytes] | None = None) -> None:
        self._response = response
        self._pieces = pieces or response.aiter_bytes()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._pieces)
        except (httpx2.HTTPError, httpx2.StreamError) as fault:
            raise interrupted(fault) from None

    async def aclose(self) -> None:
        await self._pieces.aclose()
        await self._response.aclose()


async def read_whole(response: httpx2.Response) -> bytes:
    try:
        return await response.aread()
    except httpx2.HTTPError as fault:
        raise interrupted(fault) from None
    finally:
        await response.aclose()


def interrupted(fault: Exception) -> UpstreamError:
    return _too_late() if isinstance(fault, httpx2.TimeoutException) else cut_off()


def cut_off() -> UpstreamError:
    return UpstreamError(
        "The upstream broke off in the middle of its answer. Try again.", code="upstream_cut_off", retry_after=5
    )


def _too_late() -> UpstreamError:
    return UpstreamError("The upstream did not answer in time. Try again.", code="upstream_timeout", retry_after=5)
