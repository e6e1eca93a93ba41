"""A client's request to a language model, relayed with memory: what is remembered is put before the model, its calls of
our tools are answered here, and what it said is kept where there is a chat.

The client sees one answer, however often the model was asked. `relay` is for clients that speak OpenAI's protocol and
get it as bytes; `converse` is for a surface of our own and gives what happens, piece by piece. No database connection
is held while the model is waited for.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from keepstone.access.emails import plain_email
from keepstone.access.meter import note_tokens
from keepstone.access.principals import act_for
from keepstone.engine.pack import tokens
from keepstone.errors import Invalid, KeepstoneError, Unavailable, UpstreamError
from keepstone.model.ids import is_id
from keepstone.model.principal import Principal
from keepstone.observe.logs import describe
from keepstone.providers.upstream import Answer, Upstream, cut_off
from keepstone.relay.dialects.chat import Chat
from keepstone.relay.dialects.exchange import Call, Exchange, Json, Piece, Ran, an_object, dumped, loaded, read_object
from keepstone.relay.dialects.responses import Responses
from keepstone.relay.sse import Event, Events
from keepstone.relay.tools import TOOLS, kept_calls, run_tool
from keepstone.relay.turn import Injected, OwnCall, Turn, close_turn, keep_calls, open_turn
from keepstone.services import Services

log = logging.getLogger(__name__)

MOST_ROUNDS = 8  # in which our tools are run; then the model has to answer with what it has
BYTES_A_TOKEN = 4  # about, of a request
LINGER = 1.0  # seconds for what comes after the end, so that the connection can be used again

Dialect = Literal["chat", "responses"]
Memory = Literal["on", "inject", "tools", "off"]

_KEY_REFUSED = "The upstream refused the key of this server: its operator has to look at {}_API_KEY."
_KEY_STATUS = frozenset({401, 403})
_EXCHANGES: Mapping[Dialect, type[Exchange]] = {"chat": Chat, "responses": Responses}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client wants: the body as it came, what memory may do with it, and where that memory is."""

    dialect: Dialect
    raw: bytes
    memory: Memory = "on"
    workspace_id: str | None = None
    chat_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the client gets: a body, or a stream, which has to be closed whatever becomes of the client."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    stream: "Stream | None" = None


# ------------------------------------------------------------------------------------- what `converse` tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What was put before the model; first of all, if there was something."""

    injected: tuple[Injected, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    delta: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """One of our tools, with what it gave the model; `memory_id` is what it saved."""

    name: str
    arguments: str
    result: str
    memory_id: str | None
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The last event: the whole text, and under which id it is kept, if there is a chat. `client_calls` is True if the
    model called a tool that the body brought itself.
    """

    text: str
    message_id: str | None
    model: str | None
    usage: Json | None
    saved: tuple[str, ...]
    client_calls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The last event, if there is no whole answer. Nothing of it is kept."""

    code: str
    message: str
    status: int | None = None  # the upstream's, if it answered


Told = Remembered | Text | ToolCalled | Finished | Failed


# ------------------------------------------------------------------------------------------------ operations


async def relay(services: Services, principal: Principal, asked: Asked) -> Reply:
    """The model's answer to a client's request, with memory as far as it was asked for."""
    body = read_object(asked.raw)
    principal = await speaker(services, principal, body.get("user"))
    model = services.upstream.model if services.upstream is not None else None
    exchange = _EXCHANGES[asked.dialect](asked.raw, body, model=model)
    if services.upstream is None and exchange.asks_nothing:
        raise Invalid("There is nothing to answer: send `messages`, or `input` to /v1/responses.")
    upstream = _upstream(services)
    stream = Stream(services, principal, upstream, exchange)
    try:
        if asked.memory != "off":
            await stream.open(asked)
        answer = await stream.ask()
        if _succeeded(answer) and _is_stream(answer):
            return Reply(status=answer.status, headers=stream.headers, stream=stream)
        return await stream.whole()
    except BaseException:
        await stream.close()
        raise


async def converse(
    services: Services, principal: Principal, turn: Turn, body: Mapping[str, Any], *, tools: bool = True
) -> AsyncGenerator[Told]:
    """The same for a surface of our own: `body` is a request for a chat completion, without what memory adds to it,
    and `turn` is open. It is closed here. The last event is `Finished` or `Failed`; close the generator to stop early.
    """
    try:
        upstream = _upstream(services)
    except Unavailable as fault:
        yield Failed(code=fault.code, message=fault.message)
        return
    wanted = {"stream_options": {"include_usage": True}, **body, "stream": True}
    exchange = Chat(dumped(wanted), wanted, model=upstream.model)
    stream = Stream(services, principal, upstream, exchange, turn)
    try:
        stream.prepare(tools=tools)
        if exchange.note.injected:
            yield Remembered(injected=turn.injected)
        try:
            answer = await stream.ask()
            if not (_succeeded(answer) and _is_stream(answer)):
                raise await _refused(answer)
        except KeepstoneError as fault:
            yield _failed(fault)
            return
        async with aclosing(stream.items()) as items:
            async for item in items:
                told = _decoded(item)
                if told is not None:
                    yield told
                if isinstance(told, Failed):
                    return
        if exchange.failed:
            yield _failed(_Refusal(answer.status, exchange.error))
            return
        yield Finished(
            text=exchange.text,
            message_id=stream.reply_id,
            model=exchange.model,
            usage=exchange.usage,
            saved=tuple(exchange.note.saved),
            client_calls=bool(exchange.client_calls),
        )
    finally:
        await stream.close()


async def forward(upstream: Upstream, method: str, path: str, body: bytes | None = None, *, named: str) -> Reply:
    """Something that memory has no part in, as it is. `named` is how the settings of this upstream begin."""
    answer = await upstream.send(method, path, body)
    try:
        body = _told(answer.status, await answer.read(), named)
        return Reply(status=answer.status, headers=_headers(answer), body=body)
    finally:
        await upstream.release(answer)


async def speaker(services: Services, principal: Principal, user: Any) -> Principal:
    """Who speaks, if the body says so in OpenAI's own field. A service key that named nobody means one of the account's
    users. To a user somebody else does not exist; what names nobody is the client's own matter.
    """
    if not isinstance(user, str) or not user:
        return principal
    if principal.user_id is None or is_id("usr", user) or plain_email(user):
        return await act_for(services, principal, user)
    return principal


# --------------------------------------------------------------------------------------------------- the loop


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ran:
    """A tool of ours was run: nothing that a client gets to see."""

    ran: Ran
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Broken:
    """The end of a stream that went wrong."""

    raw: bytes
    fault: KeepstoneError


class _Refusal(UpstreamError):
    """The upstream's own words, with its status."""

    def __init__(self, status: int, error: Json) -> None:
        super().__init__(str(error.get("message") or f"The upstream answered {status}."))
        self.status = status
        self.error = error


@dataclass(slots=True)
class Stream:
    """One exchange under way, from the first byte to the model until the turn is closed. `close` may be called at any
    time and more than once: it lets the upstream go, keeps the reply if the model had finished it, and notes what the
    model has read and written.
    """

    _services: Services
    _principal: Principal
    _upstream: Upstream
    _exchange: Exchange
    _turn: Turn | None = None
    reply_id: str | None = None
    _answer: Answer | None = None
    _headers: dict[str, str] = field(default_factory=dict[str, str])
    _ran: list[str] = field(default_factory=list[str])
    _closing: "asyncio.Task[None] | None" = None
    _sent: int = 0  # bytes, of all rounds that the model has answered
    _noting: "asyncio.Task[None] | None" = None

    @property
    def headers(self) -> Mapping[str, str]:
        injected = ",".join(one["id"] for one in self._exchange.note.injected)
        return {**self._headers, **({"x-keepstone-injected": injected} if injected else {})}

    async def open(self, asked: Asked) -> None:
        said = "" if self._exchange.continues else self._exchange.said
        self._turn = await open_turn(
            self._services, self._principal, workspace_id=asked.workspace_id, chat_id=asked.chat_id,
            said=_storable(said), inject=asked.memory in {"on", "inject"},
        )  # fmt: skip
        ids = [one for one in self._exchange.ids() if one == _storable(one)]
        if ids:
            kept = await kept_calls(self._services, self._principal, self._turn, ids)
            self._exchange.splice({name: [_ran(call) for call in calls] for name, calls in kept.items()})
        self.prepare(tools=asked.memory in {"on", "tools"})

    def prepare(self, *, tools: bool) -> None:
        """What is remembered goes into the request, and our tools beside the client's."""
        turn, exchange = self._turn, self._exchange
        if turn is not None and turn.context and exchange.inject(turn.context):
            exchange.note.injected = [
                {"id": one.id, "category": one.category, "relevance": one.relevance} for one in turn.injected
            ]
        if turn is not None and tools:
            exchange.offer(TOOLS)

    async def ask(self) -> Answer:
        await self._let_go()
        payload = self._exchange.payload
        self._answer = await self._upstream.send("POST", self._exchange.path, payload)
        self._headers = self._headers or _headers(self._answer)
        if _succeeded(self._answer):
            self._sent += len(payload)
        return self._answer

    async def whole(self) -> Reply:
        """All rounds, where the upstream does not stream."""
        exchange = self._exchange
        try:
            while True:
                answer = self._answer or await self.ask()
                body = await answer.read()
                self._headers = _headers(answer)
                if not _succeeded(answer):
                    return Reply(status=answer.status, headers=self.headers, body=_told(answer.status, body))
                exchange.read(body)
                await self._let_go()
                ran = [(await self._run(call)).ran for call in exchange.calls]
                if not self._goes_on(ran):
                    await self._settle(ran)
                    return Reply(status=answer.status, headers=self.headers, body=exchange.whole())
        finally:
            await self.close()

    async def pieces(self) -> AsyncGenerator[bytes]:
        """All rounds as one stream, for a client."""
        async with aclosing(self.items()) as items:
            async for item in items:
                if not isinstance(item, _Ran):
                    yield item.raw

    async def items(self) -> "AsyncGenerator[Piece | _Ran | _Broken]":
        try:
            async with aclosing(self._rounds()) as items:
                async for item in items:
                    yield item
        except _Refusal as fault:
            yield _Broken(raw=self._exchange.fault(fault.error), fault=fault)
        except KeepstoneError as fault:
            kind = "server_error" if isinstance(fault, UpstreamError | Unavailable) else "invalid_request_error"
            error = {"message": fault.message, "type": kind, "param": None, "code": fault.code}
            yield _Broken(raw=self._exchange.fault(error), fault=fault)
        finally:
            await self.close()

    async def close(self) -> None:
        await self._let_go()
        exchange = self._exchange
        try:
            if self._closing is not None or (exchange.complete and not exchange.failed and not exchange.calls):
                await self._close_turn()
        finally:
            await self._note_usage()

    async def _rounds(self) -> "AsyncGenerator[Piece | _Ran]":
        exchange = self._exchange
        while True:
            answer = self._answer or await self.ask()
            if not (_succeeded(answer) and _is_stream(answer)):
                raise await _refused(answer)
            after: list[Piece] = []
            async with aclosing(_events(answer)) as events:
                async for event in events:
                    for piece in exchange.feed(event):
                        yield piece
                    if exchange.over:
                        after = [piece for late in await _rest(events) for piece in exchange.feed(late)]
                        break
            await self._let_go()
            if exchange.failed:
                for raw in exchange.tail():
                    yield Piece(raw=raw)
                return
            if not exchange.complete:
                raise cut_off()
            ran: list[Ran] = []
            for call in exchange.calls:
                done = await self._run(call)
                ran.append(done.ran)
                yield done
            if not self._goes_on(ran):
                await self._settle(ran)
                for raw in exchange.tail():
                    yield Piece(raw=raw)
                for piece in after:
                    yield piece
                return

    async def _run(self, call: Call) -> _Ran:
        if self._turn is None:
            raise RuntimeError("tools are offered in a turn")
        done = await run_tool(self._services, self._principal, self._turn, call.name, _storable(call.arguments))
        self._ran.append(call.name)
        if done.memory_id is not None:
            self._exchange.note.saved.append(done.memory_id)
        ran = Ran(
            id=call.id, name=call.name, arguments=call.arguments, result=done.text, memory_id=done.memory_id
        )  # fmt: skip
        return _Ran(ran=ran, failed=done.failed)

    def _goes_on(self, ran: list[Ran]) -> bool:
        """The model is asked again, unless it is the client's turn."""
        if not ran or self._exchange.client_calls:
            return False
        self._exchange.go_on(ran, last=self._exchange.rounds >= MOST_ROUNDS)
        return True

    async def _settle(self, ran: list[Ran]) -> None:
        """The model has answered: what the next request needs is kept, and the turn is closed."""
        for kept in self._exchange.settle(ran):
            if self._turn is not None:
                ids = [_storable(one) for one in kept.ids]
                own = [_own(call) for call in kept.calls]
                await keep_calls(self._services, self._principal, self._turn, ids, own)
        if self._exchange.complete:
            await self._close_turn()

    async def _close_turn(self) -> None:
        """Once, and to the end, even if the client goes meanwhile."""
        if self._turn is None:
            return
        if self._closing is None:
            self._closing = asyncio.create_task(self._keep_reply(self._turn), name="close turn")
        await asyncio.shield(self._closing)

    async def _keep_reply(self, turn: Turn) -> None:
        try:
            self.reply_id = await close_turn(
                self._services, self._principal, turn, reply=_storable(self._exchange.text),
                model=_storable(self._exchange.model or "") or None, tools=self._ran,
            )  # fmt: skip
        except KeepstoneError as fault:  # the client has its answer, or is about to get it
            log.warning("reply not kept", extra=describe(fault))

    async def _note_usage(self) -> None:
        """Once, and to the end, as above. An upstream that does not say it, or that was left before it could, is
        guessed.
        """
        exchange = self._exchange
        spent = _spent(exchange.usage)
        if self._noting is None and self._sent and (spent or not exchange.failed):
            told = spent or (self._sent // BYTES_A_TOKEN, tokens(exchange.text) if exchange.text else 0)
            noting = note_tokens(
                self._services, self._principal, tokens_in=told[0], tokens_out=told[1], estimated=spent is None
            )
            self._noting = asyncio.create_task(noting, name="note tokens")
        if self._noting is not None:
            await asyncio.shield(self._noting)

    async def _let_go(self) -> None:
        if self._answer is not None:
            answer, self._answer = self._answer, None
            await self._upstream.release(answer)


async def _events(answer: Answer) -> AsyncGenerator[Event]:
    events = Events()
    async for piece in answer.body:
        for event in events.feed(piece):
            yield event
    last = events.finish()
    if last is not None:
        yield last


async def _rest(events: AsyncGenerator[Event]) -> list[Event]:
    """What comes after the end: nothing, or next to nothing."""
    found: list[Event] = []
    with suppress(TimeoutError, UpstreamError):
        async with asyncio.timeout(LINGER):
            async for event in events:
                found.append(event)  # noqa: PERF401  what came before the time was up counts
    return found


# ---------------------------------------------------------------------------------------- what an upstream says


def _upstream(services: Services) -> Upstream:
    if services.upstream is None:
        raise Unavailable(
            "This server has no language model: its operator has to set KEEPSTONE_LLM_PROVIDER, and "
            "KEEPSTONE_LLM_API_KEY or KEEPSTONE_LLM_BASE_URL.",
            code="no_language_model",
        )
    return services.upstream


def _succeeded(answer: Answer) -> bool:
    return 200 <= answer.status < 300


def _is_stream(answer: Answer) -> bool:
    return answer.headers.get("content-type", "").lower().startswith("text/event-stream")


def _headers(answer: Answer) -> dict[str, str]:
    """Its own id for the request is not ours, and where its words are replaced, so is their kind."""
    ours = {"content-type": "application/json"} if answer.status in _KEY_STATUS else {}
    return {name: value for name, value in answer.headers.items() if name != "x-request-id"} | ours


def _told(status: int, body: bytes, named: str = "KEEPSTONE_LLM") -> bytes:
    """An answer as it came; but a refused key is the operator's, and the message may quote it."""
    if status not in _KEY_STATUS:
        return body
    error = an_object((loaded(body) or {}).get("error"))
    told = {
        "message": _KEY_REFUSED.format(named),
        "type": error.get("type") or "invalid_request_error",
        "param": None,
        "code": error.get("code"),
    }
    return dumped({"error": told})


async def _refused(answer: Answer) -> KeepstoneError:
    """An answer that can't be part of a stream."""
    if _succeeded(answer):
        return UpstreamError("The upstream was asked for a stream and answered without one.", code="upstream_no_stream")
    body = _told(answer.status, await answer.read())
    error = an_object((loaded(body) or {}).get("error"))
    told = {name: error.get(name) for name in ("message", "type", "param", "code")}
    told["message"] = told["message"] or f"The upstream answered {answer.status}."
    return _Refusal(answer.status, told)


# ------------------------------------------------------------------------------------------------- small things


def _decoded(item: Piece | _Ran | _Broken) -> Told | None:
    if isinstance(item, _Broken):
        return _failed(item.fault)
    if isinstance(item, _Ran):
        ran = item.ran
        return ToolCalled(
            name=ran.name, arguments=ran.arguments, result=ran.result, memory_id=ran.memory_id, failed=item.failed
        )
    return Text(delta=item.text) if item.text else None


def _failed(fault: KeepstoneError) -> Failed:
    if isinstance(fault, _Refusal):
        return Failed(code=str(fault.error.get("code") or fault.code), message=fault.message, status=fault.status)
    return Failed(code=fault.code, message=fault.message)


def _spent(usage: Json | None) -> tuple[int, int] | None:
    """Read and written, by whichever names the protocol has for them."""
    if usage is None:
        return None
    counts = [
        next((usage[name] for name in names if isinstance(usage.get(name), int)), None)
        for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]
    return None if counts == [None, None] else (counts[0] or 0, counts[1] or 0)


def _ran(call: OwnCall) -> Ran:
    return Ran(id=call.id, name=call.name, arguments=call.arguments, result=call.result, memory_id=call.memory_id)


def _own(ran: Ran) -> OwnCall:
    return OwnCall(
        id=_storable(ran.id), name=ran.name, arguments=_storable(ran.arguments), result=ran.result,
        memory_id=ran.memory_id,
    )  # fmt: skip


def _storable(text: str) -> str:
    """Without what the database can't hold; the model gets it as it is."""
    return text.replace("\0", "").encode(errors="replace").decode()
