"""The language model's own HTTP endpoint, for clients that speak OpenAI's protocol through us.

Bytes go in and come out as they are; what an answer means is not looked at here. Neither the key nor a text is ever
part of an error or a log line.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from keepstone.errors import UpstreamError
from keepstone.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the upstream says, in OpenAI's protocol. `body` can be read once; `release` lets go of it at any time."""

    status: int
    headers: Mapping[str, str]  # lower case: content-type, retry-after, x-request-id, openai-… and x-ratelimit-…
    body: AsyncIterator[bytes]

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").lower().startswith("text/event-stream")

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.body])


class Upstream(Protocol):
    """`send` returns when the headers are there. It raises `UpstreamError` when there is no answer at all, with the
    code `upstream_timeout` if it took too long; a body that breaks off in the middle raises it too.
    """

    model: str | None

    async def send(self, method: str, path: str, body: bytes | None = None) -> Answer: ...
    async def release(self, answer: Answer) -> None: ...
    async def close(self) -> None: ...


def cut_off() -> UpstreamError:
    return UpstreamError(
        "The upstream broke off in the middle of its answer. Try again.", code="upstream_cut_off", retry_after=5
    )


def make_upstream(settings: Settings) -> Upstream | None:
    """The one that the settings ask for; None when they ask for none."""
    if settings.llm_provider is None:
        return None
    if settings.llm_provider == "openai":
        made = import_module("keepstone.providers.openai_upstream").OpenAIUpstream
        return made(settings.llm_base_url, settings.llm_api_key, settings.llm_model or "gpt-4o-mini")
    made = import_module("keepstone.providers.anthropic_upstream").AnthropicUpstream
    return made(settings.llm_base_url, settings.llm_api_key or "none", settings.llm_model or "claude-haiku-4-5")


def make_embeddings_upstream(settings: Settings) -> Upstream | None:
    """The endpoint that makes embeddings, where it is not this machine."""
    if settings.embeddings_provider != "openai":
        return None
    made = import_module("keepstone.providers.openai_upstream").OpenAIUpstream
    return made(
        settings.embeddings_base_url,
        settings.embeddings_api_key,
        settings.embeddings_model,
        named="KEEPSTONE_EMBEDDINGS",
    )
