"""The rounds of one exchange: the model is asked, its calls of our tools are answered, and it is asked again.

Owns when the turn is closed and what the model has used. No database connection is held while the model is waited for.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from keepstone.access.meter import note_tokens, refuse_without_tokens, require_tokens
from keepstone.engine.pack import tokens
from keepstone.errors import KeepstoneError, Unavailable, UpstreamError
from keepstone.model.principal import Principal
from keepstone.observe.logs import describe
from keepstone.providers.chat_model import away
from keepstone.providers.upstream import UNREACHABLE, Upstream, UpstreamAnswer, cut_off
from keepstone.relay.calls import AnsweredCall, Call
from keepstone.relay.dialects.exchange import Exchange, Piece
from keepstone.relay.dialects.values import tokens_of
from keepstone.relay.kept_upstream import keep_response
from keepstone.relay.refusals import UpstreamRefusal, refusal_of, visible
from keepstone.relay.sse import Event, Events
from keepstone.relay.tools import TOOLS, run_tool
from keepstone.relay.turn import BrokenBy, ModelTurn, close_turn, keep_calls, keep_injected
from keepstone.services import Services
from keepstone.store.arrays import storable

log = logging.getLogger(__name__)

LeftBy = Literal["client", "stopped"]
MOST_ROUNDS = 8  # in which our tools are run; then the model has to answer with what it has
BYTES_A_TOKEN = 4  # about, of a request
LINGER = 1.0  # seconds for what comes after the end, so that the connection can be used again


@dataclass(slots=True)
class Rounds:
    """One exchange under way, from the first byte to the model until the turn is closed. `close` may be called at any
    time and more than once: it lets the upstream go, keeps the reply, marked where the model had not finished it, and
    notes what the model has read and written. Without a `turn` memory has no part in it. `left_by` is who has gone when
    it is closed in the middle although the model answers.
    """

    services: Services
    principal: Principal
    upstream: Upstream
    exchange: Exchange
    turn: ModelTurn | None = None
    left_by: LeftBy = "client"
    reply_id: str | None = None
    _answer: UpstreamAnswer | None = None
    _kept_as: str = ""
    _tools_run: list[str] = field(default_factory=list[str])
    _closing: "asyncio.Task[None] | None" = None
    _asked: bool = False
    _settled: bool = False  # the model has said all, or it is the client's turn
    _broken: bool = False  # by the model, or by what it was refused
    _handed_out: bool = False  # whole, whatever it says of itself
    _sent: int = 0  # bytes, of all rounds that the model has answered
    _noting: "asyncio.Task[None] | None" = None
    _began: float = field(default_factory=time.monotonic)
    _first_word: float | None = None
    _known: list[str] = field(default_factory=list[str])  # memories that said already what was to be saved
    _looked_up: dict[str, float] = field(default_factory=dict[str, float])

    def prepare(self, *, tools: bool) -> None:
        """What is remembered goes into the request, and our tools beside the client's."""
        if self.turn is None:
            return
        if self.turn.context and self.exchange.inject(self.turn.context):
            self.exchange.note.injected = [
                {"id": recalled.memory.id, "category": recalled.memory.category, "relevance": recalled.relevance}
                for recalled in self.turn.injected
            ]
        if tools:
            self.exchange.offer(TOOLS)

    async def ask(self) -> UpstreamAnswer:
        """Send this round's request; returns when the headers of the answer are there and what was said is kept."""
        await self._let_go()
        if self.turn is None or self._asked:
            await require_tokens(self.services, self.principal)
        else:  # it was looked up a moment ago, with the rest of the turn
            refuse_without_tokens(self.services, self.turn.tokens_left)
        self._asked = True
        payload = self.exchange.payload
        try:
            self._answer = await self._send(payload)
        except UpstreamError as fault:
            self._note_away(fault)
            raise
        if self._answer.succeeded:
            self._sent += len(payload)
        return self._answer

    def _note_away(self, fault: UpstreamError) -> None:
        """What Keepstone would ask the same provider by itself, it does without from now on."""
        if fault.code == UNREACHABLE:
            away(self.services.llm, self.upstream.settings)

    async def _send(self, payload: bytes) -> UpstreamAnswer:
        """While the model is asked, what the user said may still be on its way to the disk. If it does not get there,
        no answer is wanted.
        """
        keeping = self.turn.keeping if self.turn is not None else None
        if keeping is None or keeping.done():
            if keeping is not None:
                keeping.result()
            return await self.upstream.send("POST", self.exchange.path, payload)
        sending = asyncio.create_task(self.upstream.send("POST", self.exchange.path, payload), name="ask the upstream")
        try:
            await keeping
            return await sending
        except BaseException:
            sending.cancel()
            [answer] = await asyncio.gather(sending, return_exceptions=True)
            if isinstance(answer, UpstreamAnswer):
                await answer.close()
            raise

    async def whole(self) -> tuple[UpstreamAnswer, bytes]:
        """All rounds, where the upstream does not stream: the last one's answer, with the body for the client."""
        try:
            while True:
                answer = self._answer or await self.ask()
                body = await answer.read()
                if not answer.succeeded:
                    self._broken = True
                    return visible(answer, body, self.upstream.settings)
                self.exchange.read(body)
                await self._let_go()
                if not await self._goes_on():
                    await self._keep_id()
                    self._handed_out = True
                    return answer, self.exchange.whole()
        except KeepstoneError:
            self._broken = True
            raise
        finally:
            await self.close()

    async def stream(self) -> AsyncGenerator[bytes]:
        """All rounds as one stream, for a client; what goes wrong is told in it."""
        try:
            async with aclosing(self.pieces()) as pieces:
                async for piece in pieces:
                    yield piece.raw
        except UpstreamRefusal as fault:
            yield self.exchange.fault(fault.error)
        except KeepstoneError as fault:
            kind = "server_error" if isinstance(fault, UpstreamError | Unavailable) else "invalid_request_error"
            error = {"message": fault.message, "type": kind, "param": None, "code": fault.code}
            yield self.exchange.fault(error)

    async def pieces(self) -> AsyncGenerator[Piece]:
        """All rounds as one stream, piece by piece; what goes wrong is raised."""
        try:
            late: list[Piece] = []
            going_on = True
            while going_on:
                late.clear()
                async with aclosing(self._round(late)) as pieces:
                    async for piece in pieces:
                        if piece.text and self._first_word is None:
                            self._first_word = time.monotonic()
                        yield piece
                going_on = not self.exchange.failed and await self._goes_on()
            for raw in self.exchange.tail():
                yield Piece(raw=raw)
            for piece in [] if self.exchange.failed else late:
                yield piece
        except KeepstoneError:
            self._broken = True
            raise
        finally:
            await self.close()

    async def close(self) -> None:
        await self._let_go()
        try:
            if self._closing is not None or self._is_whole or self._is_worth_keeping:
                await self._close_turn()
        finally:
            await self._note_usage()

    @property
    def _is_whole(self) -> bool:
        exchange = self.exchange
        return self._settled or (exchange.complete and not exchange.failed and not exchange.calls)

    @property
    def _is_worth_keeping(self) -> bool:
        """Of a turn that broke off: something was said, or a tool has run. One that the upstream goes on with by itself
        has not broken off.
        """
        return bool(self.exchange.partial or self._tools_run) and (not self._handed_out or self.exchange.failed)

    @property
    def _broken_by(self) -> BrokenBy | None:
        if self._is_whole:
            return None
        return "model" if self._broken or self.exchange.failed else self.left_by

    async def _round(self, late: list[Piece]) -> AsyncGenerator[Piece]:
        """One round of a stream; `late` gets what comes after its end."""
        answer = self._answer or await self.ask()
        if not (answer.succeeded and answer.is_stream):
            raise await refusal_of(answer, self.upstream.settings)
        async with aclosing(_events(answer)) as events:
            async for event in events:
                pieces = self.exchange.feed(event)
                await self._keep_id()
                for piece in pieces:
                    yield piece
                if self.exchange.over:
                    late += [piece for event in await _rest(events) for piece in self.exchange.feed(event)]
                    break
        await self._let_go()
        if not self.exchange.complete and not self.exchange.failed:
            raise cut_off()

    async def _goes_on(self) -> bool:
        """Our tools are run, and the model is asked again, unless it is the client's turn: then what its next request
        needs is kept, and the turn is closed.
        """
        exchange = self.exchange
        answered = [await self._run(call) for call in exchange.calls]
        if answered and not exchange.client_calls:
            exchange.go_on(answered, last=exchange.rounds >= MOST_ROUNDS)
            return True
        for kept in exchange.settle(answered):
            if self.turn is not None:
                calls = [replace(call, id=storable(call.id), arguments=storable(call.arguments)) for call in kept.calls]
                await keep_calls(self.services, self.principal, self.turn, [*map(storable, kept.ids)], calls)
        if self.turn is not None and exchange.client_calls:
            client_calls = [storable(call) for call in exchange.client_calls if call]
            await keep_injected(self.services, self.principal, self.turn, client_calls)
        if exchange.complete:
            self._settled = True
            await self._close_turn()
        return False

    async def _run(self, call: Call) -> AnsweredCall:
        if self.turn is None:
            raise RuntimeError("tools are offered in a turn")
        done = await run_tool(self.services, self.principal, self.turn, call.name, storable(call.arguments))
        self._tools_run.append(call.name)
        if done.memory_id is not None:
            self.exchange.note.saved.append(done.memory_id)
        self._known += [done.known_id] if done.known_id is not None else []
        self._looked_up |= done.found
        return AnsweredCall(
            id=call.id, name=call.name, arguments=call.arguments, result=done.text, memory_id=done.memory_id
        )

    async def _keep_id(self) -> None:
        """Whose an answer is that the upstream keeps, before the client can ask for it by its id."""
        if self.exchange.kept_as != self._kept_as:
            self._kept_as = self.exchange.kept_as
            await keep_response(self.services, self.principal, self._kept_as, self.upstream.settings)

    async def _close_turn(self) -> None:
        """Once, and to the end, even if the client goes meanwhile."""
        if self.turn is None:
            return
        if self._closing is None:
            self._closing = asyncio.create_task(self._keep_reply(self.turn), name="close turn")
        await asyncio.shield(self._closing)

    async def _keep_reply(self, turn: ModelTurn) -> None:
        try:
            said = self.exchange.text if self._is_whole else self.exchange.partial
            self.reply_id = await close_turn(
                self.services, self.principal, turn, reply=storable(said),
                model=storable(self.exchange.model or "") or None, tools=self._tools_run, broken_by=self._broken_by,
                notes=self._notes(turn),
            )  # fmt: skip
        except KeepstoneError as fault:  # the client has its answer, or is about to get it
            log.warning("reply not kept", extra=describe(fault))

    def _notes(self, turn: ModelTurn) -> dict[str, Any]:
        """What memory did in this turn, how long it took and what it used, to be seen beside the answer."""
        given = {recalled.memory.id: recalled.relevance for recalled in turn.injected}
        notes: dict[str, Any] = {
            "looked_up": given | self._looked_up, "saved": list(self.exchange.note.saved), "known": self._known,
        }  # fmt: skip
        first = self._first_word or time.monotonic()
        timing = {"first_ms": _ms(first - self._began), "total_ms": _ms(time.monotonic() - self._began)}
        counted = tokens_of(self.exchange.usage)
        notes["usage"] = {"prompt_tokens": counted[0], "completion_tokens": counted[1]} if counted else None
        return {name: value for name, value in notes.items() if value} | {"timing": timing}

    async def _note_usage(self) -> None:
        """Once, and to the end, as above. An upstream that does not say it, or that was left before it could, is
        guessed.
        """
        exchange = self.exchange
        counted = tokens_of(exchange.usage)
        if self._noting is None and self._sent and (counted or not exchange.failed):
            text = exchange.text
            read, written = counted or (self._sent // BYTES_A_TOKEN, tokens(text) if text else 0)
            noting = note_tokens(
                self.services, self.principal, tokens_in=read, tokens_out=written, estimated=counted is None
            )
            self._noting = asyncio.create_task(noting, name="note tokens")
        if self._noting is not None:
            await asyncio.shield(self._noting)

    async def _let_go(self) -> None:
        if self._answer is not None:
            answer, self._answer = self._answer, None
            await answer.close()


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


async def _events(answer: UpstreamAnswer) -> AsyncGenerator[Event]:
    events = Events()
    async for piece in answer.body:
        for event in events.feed(piece):
            yield event
    last = events.finish()
    if last is not None:
        yield last


async def _rest(events: AsyncGenerator[Event]) -> Sequence[Event]:
    """What comes after the end: nothing, or next to nothing."""
    late: list[Event] = []
    with suppress(TimeoutError, UpstreamError):
        async with asyncio.timeout(LINGER):
            async for event in events:
                late.append(event)  # noqa: PERF401  what came before the time was up counts
    return late
