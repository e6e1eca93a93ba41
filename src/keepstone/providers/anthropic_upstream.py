"""Anthropic's Messages API, for clients that speak OpenAI's chat protocol. Only the HTTP is here.

What is asked is put into Anthropic's words in `anthropic_request`, and what is answered into OpenAI's in
`anthropic_answer`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress

import httpx2
from pydantic import ValidationError

from keepstone.errors import UpstreamError
from keepstone.providers import anthropic_answer as answers
from keepstone.providers.anthropic_request import MessagesRequest, Unanswerable, question_of
from keepstone.providers.anthropic_schema import Json
from keepstone.providers.upstream import (
    TIMEOUT,
    Body,
    Sent,
    Transport,
    UpstreamAnswer,
    cut_off,
    interrupted,
    read_whole,
    where_set,
)

BASE = "https://api.anthropic.com"
VERSION = "2026-10-21"
SAMPLING_VERSION = "2023-06-01"  # the last one that knows a temperature

_JSON = {"content-type": "application/json"}
_FORWARDED = {  # Anthropic's name: OpenAI's
    "request-id": "x-request-id",
    "retry-after": "retry-after",
    "retry-after-ms": "retry-after-ms",
    "x-should-retry": "x-should-retry",
}
_OVERLOADED = 529  # Anthropic's own number
_LINGER = 1.0  # seconds for the rest of a connection whose answer is complete: it can be used again


class AnthropicUpstream:
    def __init__(
        self, base_url: str | None, api_key: str, model: str | None, *, settings: str = "KEEPSTONE_LLM",
        timeout: httpx2.Timeout = TIMEOUT,
    ) -> None:  # fmt: skip
        self.model = model
        self._key = api_key
        headers = {"x-api-key": api_key}
        self._transport = Transport(base_url or BASE, headers, settings=settings, timeout=timeout)
        self.settings = settings
        self._unsampled: set[str] = set()  # models that turned out to take no temperature

    async def send(
        self,
        method: str,
        path: str,
        body: Sent | None = None,
        headers: Mapping[str, str] | None = None,  # noqa: ARG002 - it is asked in words of its own
    ) -> UpstreamAnswer:
        match method.upper(), path.partition("?")[0]:
            case "POST", "/chat/completions" if body is None or isinstance(body, bytes):
                return await self._chat(body or b"")
            case "GET", "/models":
                return await self._models()
            case _:
                return _told(
                    404,
                    "The provider that this goes to, Anthropic, has no such endpoint: use /v1/chat/completions. What "
                    "OpenAI has besides, a provider of the kind openai answers, which the operator of this server can "
                    "set with its models in PUT /v1/settings/providers.",
                    "unknown_url",
                )

    def retire(self) -> None:
        self._transport.retire()

    async def close(self) -> None:
        await self._transport.close()

    async def _chat(self, body: bytes) -> UpstreamAnswer:
        try:
            question = question_of(body, self.model)
        except Unanswerable as fault:
            return _told(400, str(fault))
        response = await self._ask(question)
        if response.status_code != 200:
            return await self._refused(response)
        if not question.streamed:
            return self._whole(response, answers.completion, await read_whole(response))
        if not response.headers.get("content-type", "").lower().startswith("text/event-stream"):
            await response.aclose()
            raise self._stranger()
        chunks = answers.Chunks(with_usage=question.with_usage)
        headers = {**_kept(response), "content-type": "text/event-stream; charset=utf-8"}
        return UpstreamAnswer(status=200, headers=headers, body=Body(response, _translated(response, chunks)))

    async def _models(self) -> UpstreamAnswer:
        response = await self._send("GET", "/v1/models?limit=1000", VERSION)
        if response.status_code != 200:
            return await self._refused(response)
        return self._whole(response, answers.listing, await read_whole(response))

    async def _ask(self, question: MessagesRequest) -> httpx2.Response:
        """With what the client says of sampling, if the model takes it.

        Most no longer do and answer 400. Its words are not to be relied on, so any 400 is asked again without.
        """
        model: str = question.body["model"]
        if question.sampling and model not in self._unsampled:
            response = await self._send("POST", "/v1/messages", SAMPLING_VERSION, question.body | question.sampling)
            if response.status_code != 400:
                return response
            await read_whole(response)  # so that its connection can be used again
        response = await self._send("POST", "/v1/messages", VERSION, question.body)
        if question.sampling and response.status_code == 200:
            self._unsampled.add(model)
        return response

    async def _send(self, method: str, path: str, version: str, body: Json | None = None) -> httpx2.Response:
        headers = {"anthropic-version": version, "content-type": "application/json"}
        return await self._transport.send(method, path, None if body is None else json.dumps(body).encode(), headers)

    def _whole(self, response: httpx2.Response, translate: Callable[[bytes], bytes], body: bytes) -> UpstreamAnswer:
        try:
            shown = translate(body)
        except ValidationError:
            raise self._stranger() from None
        return UpstreamAnswer(status=200, headers=_kept(response), body=_once(shown))

    def _stranger(self) -> UpstreamError:
        return UpstreamError(
            "What answered does not speak Anthropic's protocol: the operator has to look at "
            f"{where_set(self.settings, 'BASE_URL')}.",
            code="upstream_unreachable",
        )

    async def _refused(self, response: httpx2.Response) -> UpstreamAnswer:
        status = response.status_code
        body = await read_whole(response)
        if status < 400:
            raise self._stranger()
        status = 503 if status == _OVERLOADED else status
        try:
            shown = answers.refusal(body)
        except ValidationError:  # of something in between
            return _told(status, f"The language model answered {status}.", headers=_kept(response))
        if len(self._key) > 8:  # a shorter one is a placeholder, and may be a word
            shown = shown.replace(self._key.encode(), b"***")
        return UpstreamAnswer(status=status, headers=_kept(response), body=_once(shown))


async def _translated(response: httpx2.Response, chunks: answers.Chunks) -> AsyncGenerator[bytes]:
    try:
        events = aiter(httpx2.EventSource(response))
        async for event in events:
            if event.data:
                for piece in chunks.feed(event.data):
                    yield piece
            if chunks.ended:
                with suppress(TimeoutError, httpx2.HTTPError):
                    async with asyncio.timeout(_LINGER):
                        async for _ in events:
                            pass
                return
    except (httpx2.HTTPError, ValidationError) as fault:
        raise interrupted(fault) from None
    finally:
        await response.aclose()
    raise cut_off()


async def _once(body: bytes) -> AsyncGenerator[bytes]:
    yield body


def _told(
    status: int, message: str, code: str | None = None, *, headers: Mapping[str, str] | None = None
) -> UpstreamAnswer:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return UpstreamAnswer(status=status, headers=headers or _JSON, body=_once(answers.envelope(message, kind, code)))


def _kept(response: httpx2.Response) -> Mapping[str, str]:
    return _JSON | {known: response.headers[name] for name, known in _FORWARDED.items() if name in response.headers}
