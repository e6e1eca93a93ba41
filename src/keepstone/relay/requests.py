"""A client's request to a language model, relayed with memory: what is remembered is put before the model, its calls of
our tools are answered here, and what it said is kept where there is a chat.

The client sees one answer, however often the model was asked. `relay` is for clients that speak OpenAI's protocol and
get it as bytes; `converse` is for a surface of our own and gives what the model says, piece by piece.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol

from keepstone.access.emails import plain_email
from keepstone.access.principals import act_for
from keepstone.errors import Forbidden, Invalid, KeepstoneError, Unavailable
from keepstone.memory import embeddings
from keepstone.model.ids import is_id
from keepstone.model.principal import Principal
from keepstone.providers.upstream import Upstream, UpstreamAnswer
from keepstone.relay.dialects.chat import ChatExchange
from keepstone.relay.dialects.exchange import Exchange
from keepstone.relay.dialects.responses import ResponsesExchange
from keepstone.relay.dialects.values import Json, as_text, dumped, loaded, objects_in, read_object
from keepstone.relay.kept_upstream import require_own_response, require_shared
from keepstone.relay.refusals import UpstreamRefusal, visible
from keepstone.relay.rounds import Rounds
from keepstone.relay.tools import kept_calls
from keepstone.relay.turn import ModelTurn, open_turn, settle
from keepstone.services import Services
from keepstone.store.arrays import storable

Dialect = Literal["chat", "responses"]
UseOfMemory = Literal["on", "inject", "tools", "off"]

_EXCHANGES: Mapping[Dialect, type[Exchange]] = {"chat": ChatExchange, "responses": ResponsesExchange}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """What a client wants: the body as it came, what memory may do with it, and where that memory is."""

    dialect: Dialect
    raw: bytes
    memory: UseOfMemory = "on"
    workspace_id: str | None = None
    chat_id: str | None = None


class AnswerInPieces(Protocol):
    """An answer on its way to the client, piece by piece. `close` may be called at any time and more than once."""

    def stream(self) -> AsyncGenerator[bytes]: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayed:
    """What the client gets: `answer` is the upstream's, for what it says beside the body. Where there are `pieces`
    instead of a body, they have to be closed whatever becomes of the client. `injected` are ids of memories.
    """

    answer: UpstreamAnswer
    body: bytes = b""
    pieces: AnswerInPieces | None = None
    injected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """Under which id the text is kept, if there is a chat; and what the model has read and written. With a `fault` it
    broke off, and is what was said until then.
    """

    message_id: str | None
    usage: Json | None
    fault: KeepstoneError | None = None


async def relay(services: Services, principal: Principal, request: ClientRequest) -> Relayed:
    """The model's answer to a client's request, with memory as far as it was asked for."""
    body = read_object(request.raw)
    principal = await speaker(services, principal, body.get("user"))
    upstream = upstream_of(services, body.get("model"))
    model = upstream.model if upstream is not None else None
    require_model(services, body.get("model"), model)
    exchange = _EXCHANGES[request.dialect](request.raw, body, model=model)
    if exchange.continues:
        await require_own_response(services, principal, exchange.continues)
    if exchange.is_in_conversation:
        require_shared(services, principal)
    if upstream is None and exchange.asks_nothing:
        raise Invalid(f"There is nothing to answer: send `{exchange.question}`.")
    rounds = Rounds(services, principal, upstream or require_upstream(services), exchange)
    try:
        if request.memory != "off":
            rounds.turn = await _open(services, principal, request, exchange)
            ids = [name for name in exchange.ids() if name == storable(name)]
            if ids:
                exchange.splice(await kept_calls(services, principal, rounds.turn, ids))
            rounds.prepare(tools=request.memory in {"on", "tools"})
        injected = tuple(memory["id"] for memory in exchange.note.injected)
        answer = await rounds.ask()
        if answer.succeeded and answer.is_stream:
            return Relayed(answer=answer, pieces=rounds, injected=injected)
        answer, shown = await rounds.whole()
        return Relayed(answer=answer, body=shown, injected=injected)
    except BaseException as fault:
        await rounds.close()
        if rounds.turn is not None and rounds.turn.keeping is not None:
            await settle(rounds.turn.keeping, fault)
        raise


async def converse(
    services: Services, principal: Principal, turn: ModelTurn, body: Mapping[str, Any]
) -> AsyncGenerator[str | Finished]:
    """The same for a surface of our own: `body` is a request for a chat completion, without what memory adds to it,
    and `turn` is open. It is closed here. The text comes in pieces, then `Finished`. Close the generator to stop early:
    what was said until then is kept.
    """
    upstream = upstream_of(services, body.get("model")) or require_upstream(services)
    wanted = {"stream_options": {"include_usage": True}, **body, "stream": True}
    exchange = ChatExchange(dumped(wanted), wanted, model=upstream.model)
    rounds = Rounds(services, principal, upstream, exchange, turn, left_by="stopped")
    fault: KeepstoneError | None = None
    try:
        rounds.prepare(tools=True)
        try:
            answer = await rounds.ask()
            async with aclosing(rounds.pieces()) as pieces:
                async for piece in pieces:
                    if piece.text:
                        yield piece.text
            fault = UpstreamRefusal(answer.status, exchange.error) if exchange.failed else None
        except KeepstoneError as broken:
            fault = broken
        await rounds.close()
        yield Finished(message_id=rounds.reply_id, usage=exchange.usage, fault=fault)
    finally:
        await rounds.close()


async def forward(upstream: Upstream, method: str, path: str, body: bytes | None = None) -> Relayed:
    """Something that memory has no part in, as it is."""
    answer = await upstream.send(method, path, body)
    try:
        shown, visible_body = visible(answer, await answer.read(), upstream.settings)
        return Relayed(answer=shown, body=visible_body)
    finally:
        await answer.close()


async def list_models(services: Services, upstream: Upstream) -> Relayed:
    """The upstream's models, as far as clients may name them; those of further providers, and of embeddings."""
    listed = await forward(upstream, "GET", "/models")
    body = loaded(listed.body) if listed.answer.succeeded else None
    if body is None:
        return listed
    models = [
        {**model, "default": True} if model.get("id") == upstream.model else model
        for model in objects_in(body.get("data"))
        if may_name(services, as_text(model.get("id")) or "", upstream.model)
    ]
    known = {as_text(model.get("id")) for model in models}
    models += [described(name, owner) for name, owner in named_here(services).items() if name not in known]
    return replace(listed, body=dumped({**body, "data": models}))


def named_here(services: Services) -> dict[str, str]:
    """Models that clients may name whatever the upstream lists, with who has them: further providers by their names,
    and Keepstone for embeddings.
    """
    found = {name: one.name for one in reversed(services.further) for name in one.models if "*" not in name}
    return found | {name: "keepstone" for name in embeddings.models(services) if name not in found}


def described(model: str, owner: str) -> Json:
    """As OpenAI describes one."""
    return {"id": model, "object": "model", "created": 0, "owned_by": owner}


async def speaker(services: Services, principal: Principal, user: Any) -> Principal:
    """Who speaks, if the body says so in OpenAI's own field. A service key that named nobody means one of the account's
    users. To a user somebody else does not exist; what names nobody is the client's own matter.
    """
    if not isinstance(user, str) or not user:
        return principal
    if principal.user_id is None or is_id("usr", user) or plain_email(user):
        return await act_for(services, principal, user)
    return principal


async def _open(services: Services, principal: Principal, request: ClientRequest, exchange: Exchange) -> ModelTurn:
    results_of = exchange.results_of
    return await open_turn(
        services, principal, workspace_id=request.workspace_id, chat_id=request.chat_id, said=storable(exchange.said),
        inject=request.memory in {"on", "inject"}, stored=False,
        results_of=None if results_of is None else [name for name in results_of if name == storable(name)],
    )  # fmt: skip


def may_name(services: Services, model: str, own: str | None) -> bool:
    """Whether clients may ask for this model; `own` is the one of the settings, which they always may."""
    allowed = services.settings.llm_models
    further = any(one.has(model) for one in services.further)
    return not allowed or further or model == own or any(fnmatchcase(model, pattern) for pattern in allowed)


def upstream_of(services: Services, model: Any) -> Upstream | None:
    """Who has this model: a further provider that names it, unless the default one does; else the default one."""
    default = services.upstream
    if isinstance(model, str) and model and not (default is not None and has_model(services, default, model)):
        return next((one.upstream for one in services.further if one.has(model)), default)
    return default


def has_model(services: Services, default: Upstream, model: str | None) -> bool:
    """Whether the settings say that the default provider has this model."""
    return model is not None and (
        model == default.model or any(fnmatchcase(model, one) for one in services.settings.llm_models)
    )


def require_model(services: Services, model: Any, own: str | None) -> None:
    """The provider's key belongs to the operator, who says what it may be used for."""
    if isinstance(model, str) and model and not may_name(services, model, own):
        raise Forbidden(
            f"This server does not relay to the model {model[:80]}: `GET /v1/models` lists those it does.",
            code="model_not_allowed",
        )


def require_upstream(services: Services) -> Upstream:
    if services.upstream is None:
        raise Unavailable(
            "This server has no language model: its operator has to set one, with PUT /v1/settings/providers or with "
            "KEEPSTONE_LLM_PROVIDER, and KEEPSTONE_LLM_API_KEY or KEEPSTONE_LLM_BASE_URL.",
            code="no_language_model",
        )
    return services.upstream
