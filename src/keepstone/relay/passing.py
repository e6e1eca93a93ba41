"""What memory has no part in, passed on to the provider as it comes: what it does and does not keep (completions,
images, audio …), and what it keeps (files, batches …).

Owns who may have what passed on, which provider it goes to, and that what a model reads and writes is counted. Behind
the provider's key all users are one: what the provider keeps, whoever may ask for it may ask for all of.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from keepstone.access.meter import note_tokens, require_tokens
from keepstone.engine.pack import tokens
from keepstone.errors import Forbidden, Invalid, UpstreamError
from keepstone.memory import embeddings
from keepstone.model.principal import Principal
from keepstone.providers.anthropic_upstream import AnthropicUpstream
from keepstone.providers.chat_model import away
from keepstone.providers.upstream import UNREACHABLE, Sent, Upstream, UpstreamAnswer
from keepstone.relay.dialects.values import Json, as_object, as_text, dumped, loaded, objects_in, tokens_of
from keepstone.relay.kept_upstream import require_own_response, require_shared
from keepstone.relay.refusals import visible
from keepstone.relay.requests import Relayed, has_model, require_model, require_upstream, speaker, upstream_of
from keepstone.relay.rounds import BYTES_A_TOKEN
from keepstone.relay.sse import Events
from keepstone.services import Services

# The families of addresses under which OpenAI keeps something. Another one is another name here; it must be none of
# ours, and none that is about the provider's own account (organisation, keys, webhooks).
Family = Literal[
    "files", "uploads", "batches", "fine_tuning", "vector_stores", "conversations", "containers", "videos", "evals",
    "realtime", "assistants", "threads", "skills", "audio",
]  # fmt: skip
_LEGACY = "/completions"  # of which a stream does not say what it took, unless it was asked to


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedRequest:
    """A client's: `path` as the provider has it, with its query; `headers` that go on."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Sent | None = None


async def pass_on(
    services: Services, principal: Principal, request: PassedRequest, fields: Json, models: Sequence[Any]
) -> Relayed:
    """What the provider does and does not keep. `fields` are those of a body in JSON, `models` all that it names."""
    _require_on(services)
    principal = await speaker(services, principal, fields.get("user"))
    if continued := as_text(fields.get("previous_response_id")):
        await require_own_response(services, principal, continued)
    named = list(dict.fromkeys(model for model in models if isinstance(model, str) and model))
    if len(named) > 1:
        raise Invalid("The request names several models: name one.", details=[{"path": "model", "message": "one"}])
    upstream = upstream_of(services, next(iter(named), None)) or require_upstream(services)
    if not named and request.path == _LEGACY and upstream.model is not None:
        named = [upstream.model]
        request = replace(request, body=dumped({**fields, "model": upstream.model}))
    for model in named:
        require_model(services, model, upstream.model)
    if not named and services.settings.llm_models:
        raise Forbidden(
            "This server relays to some models alone, so name one: `GET /v1/models` lists them.",
            code="model_not_allowed",
        )
    return await pass_to(services, principal, upstream, request)


async def pass_on_kept(services: Services, principal: Principal, request: PassedRequest) -> Relayed:
    """What the provider keeps."""
    _require_on(services)
    require_shared(services, principal)
    upstream = require_upstream(services)
    if request.method not in {"GET", "DELETE"}:
        await require_tokens(services, principal)
    return await _uncounted(services, upstream, request)


async def pass_on_response(
    services: Services, principal: Principal, request: PassedRequest, response_id: str
) -> Relayed:
    """Something about a response that the provider keeps, for whoever it was made for."""
    made = await require_own_response(services, principal, response_id)
    everybody = [services.upstream, *(one.upstream for one in services.further)]
    upstream = next((one for one in everybody if one is not None and one.settings == made.provider), None)
    return await _uncounted(services, upstream or require_upstream(services), request)


async def pass_to(services: Services, principal: Principal, upstream: Upstream, request: PassedRequest) -> Relayed:
    """To this provider, at the expense of the caller."""
    await require_tokens(services, principal)
    answer = await _sent(services, upstream, request)
    if not answer.succeeded:
        return await _whole(answer, upstream)
    tally = _Tally(services, principal, request)
    if not answer.headers.get("content-type", "").lower().startswith("application/json"):
        return Relayed(answer=answer, pieces=_Passage(upstream, answer, tally))
    try:
        relayed = await _whole(answer, upstream)
        tally.read(relayed.body)
        return relayed
    finally:
        await tally.note()


def who_embeds(services: Services, model: str | None) -> Upstream | None:
    """The endpoint that makes embeddings by this model; None where they are made here, or by nobody."""
    own, default = services.embeddings_upstream, services.upstream
    if own is not None and embeddings.stands_for(model, own.model) == own.model:
        return own
    named = upstream_of(services, model)
    if own is not None:
        return named if named is not None and (named is not default or has_model(services, named, model)) else own
    passes = _is_on(services) and not isinstance(named, AnthropicUpstream)
    here = not model or model in embeddings.models(services)
    usual = model in embeddings.USUAL and services.settings.embeddings_provider != "none"
    return named if passes and not here and not usual else None


def _is_on(services: Services) -> bool:
    return services.settings.llm_pass_through != "off"  # noqa: S105  no password


def _require_on(services: Services) -> None:
    if not _is_on(services):
        raise Forbidden(
            "This server passes on chats and responses, and nothing else (KEEPSTONE_LLM_PASS_THROUGH=off).",
            code="pass_through_off",
        )


async def _sent(services: Services, upstream: Upstream, request: PassedRequest) -> UpstreamAnswer:
    try:
        return await upstream.send(request.method, request.path, request.body, request.headers)
    except UpstreamError as fault:
        if fault.code == UNREACHABLE:  # what Keepstone would ask it by itself, it does without from now on
            away(services.llm, upstream.settings)
        raise


async def _uncounted(services: Services, upstream: Upstream, request: PassedRequest) -> Relayed:
    answer = await _sent(services, upstream, request)
    if answer.succeeded:
        return Relayed(answer=answer, pieces=_Passage(upstream, answer))
    return await _whole(answer, upstream)


async def _whole(answer: UpstreamAnswer, upstream: Upstream) -> Relayed:
    try:
        shown, body = visible(answer, await answer.read(), upstream.settings)
        return Relayed(answer=shown, body=body)
    finally:
        await answer.close()


class _Tally:
    """What a model read and wrote, as its answer tells it, whole or event by event. Of completions it is guessed where
    the answer does not tell; images and sounds that are not counted in tokens are not counted.
    """

    def __init__(self, services: Services, principal: Principal, request: PassedRequest) -> None:
        self._services, self._principal = services, principal
        self._guessed = request.path == _LEGACY
        self._sent = len(request.body) if isinstance(request.body, bytes) else 0
        self._events = Events()
        self._usage: Json | None = None
        self._said: list[str] = []
        self._noting: asyncio.Task[None] | None = None

    def feed(self, piece: bytes) -> None:
        for event in self._events.feed(piece):
            if event.data is not None and (self._guessed or '"usage"' in event.data):
                self.read(event.data)

    def read(self, body: str | bytes) -> None:
        told = loaded(body) or {}
        self._usage = as_object(told.get("usage")) or self._usage
        if self._guessed:
            self._said += [as_text(choice.get("text")) for choice in objects_in(told.get("choices"))]

    async def note(self) -> None:
        """Once, and to the end, even if the client goes meanwhile."""
        counted = tokens_of(self._usage)
        if counted is None and self._guessed:
            counted = self._sent // BYTES_A_TOKEN, tokens("".join(self._said))
        if self._noting is None and counted is not None:
            noting = note_tokens(
                self._services, self._principal, tokens_in=counted[0], tokens_out=counted[1],
                estimated=tokens_of(self._usage) is None,
            )  # fmt: skip
            self._noting = asyncio.create_task(noting, name="note tokens")
        if self._noting is not None:
            await asyncio.shield(self._noting)


class _Passage:
    """An answer that goes by, byte for byte. Of server-sent events the client is told when they break off; of anything
    else it sees that the end is missing. The upstream is not closed as long as this holds it.
    """

    def __init__(self, upstream: Upstream, answer: UpstreamAnswer, tally: _Tally | None = None) -> None:
        self._upstream = upstream
        self._answer = answer
        self._tally = tally

    async def stream(self) -> AsyncGenerator[bytes]:
        try:
            async for piece in self._answer.body:
                if self._tally is not None and self._answer.is_stream:
                    self._tally.feed(piece)
                yield piece
        except UpstreamError as fault:
            if not self._answer.is_stream:
                raise
            error = {"message": fault.message, "type": "server_error", "param": None, "code": fault.code}
            yield b"data: " + dumped({"error": error}) + b"\n\n"
        finally:
            await self.close()

    async def close(self) -> None:
        await self._answer.close()
        if self._tally is not None:
            await self._tally.note()
