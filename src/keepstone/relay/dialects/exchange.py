"""What OpenAI's two protocols share when some of a model's calls are answered here instead of by the client.

An exchange is one request of a client. It takes one round with the model, or several: as long as the model calls tools
of ours, they are run and it is asked again. The client sees one answer, without those calls. Nothing here waits for
anything: bytes come in, bytes go out.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from keepstone.relay.calls import AnsweredCall, Call, CallsToKeep, Tool
from keepstone.relay.dialects.values import Json, as_list, as_object, as_text, dumped, loaded, sum_of
from keepstone.relay.dialects.written_calls import may_be_calls, written_calls
from keepstone.relay.sse import Event

BETWEEN = "\n\n"  # what was said in one round and in the next
_DONE = "[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What the client gets now; `text` is what of it the model said."""

    raw: bytes
    text: str = ""


@dataclass(slots=True, kw_only=True)
class MemoryNote:
    """What the client is told of memory, as `x_memory`; nothing if nothing happened."""

    injected: Sequence[Json] = ()
    saved: list[str] = field(default_factory=list[str])

    def shown(self) -> Json | None:
        if not self.injected and not self.saved:
            return None
        return {"injected": list(self.injected), "saved": list(self.saved)}


class Exchange(ABC):
    """`names` are our tools that the model was offered. In the `last` round they are not run any more."""

    path: ClassVar[str]
    question: ClassVar[str]  # the field that holds what is asked

    def __init__(self, raw: bytes, body: Json, *, model: str | None = None) -> None:
        self.note = MemoryNote()
        self.body = body
        self.names: frozenset[str] = frozenset()
        self.rounds = 1
        self.last = False
        self.model: str | None = None  # that answered
        self.failed = False  # the upstream has said so itself
        self.error: Json = {}  # in its words
        self._raw: bytes | None = raw
        self._client_tools: Any = None
        self._first: Json = {}  # id and time of the first round, which the whole stream has
        self._used_before: Json | None = None
        if model and not body.get("model"):
            self._edit(model=model)
        self._begin()

    def _begin(self) -> None:
        """A round begins."""
        self.over = False  # nothing more that matters comes in this round
        self.complete = False  # the model has finished this round
        self._answer: Json = {}
        self._answer_raw = b""
        self._used: Json | None = None

    @property
    def payload(self) -> bytes:
        """What the upstream is sent: what the client sent, unless something had to change."""
        return dumped(self.body) if self._raw is None else self._raw

    # --------------------------------------------------------------------------------------------- the request

    @property
    @abstractmethod
    def asks_nothing(self) -> bool:
        """No model could answer it."""

    @property
    @abstractmethod
    def said(self) -> str:
        """The text of the user's last message."""

    @property
    @abstractmethod
    def results_of(self) -> list[str] | None:
        """The calls of which the request brings results, behind the user's last message: then the turn goes on, and the
        user has said nothing new. None where it brings none.
        """

    @property
    def continues(self) -> str:
        """The id of an answer that the upstream has kept and goes on from, if there is one."""
        return ""

    @property
    def is_in_conversation(self) -> bool:
        """The upstream keeps what is said, in a conversation that it was told of."""
        return False

    @property
    def kept_as(self) -> str:
        """The id under which the upstream keeps this answer, and the client knows it, as soon as it is told."""
        return ""

    @abstractmethod
    def ids(self) -> list[str]:
        """Under what calls of ours may have been kept."""

    @abstractmethod
    def splice(self, kept: Mapping[str, Sequence[AnsweredCall]]) -> None:
        """Put calls of ours back where the model made them."""

    @abstractmethod
    def inject(self, context: str) -> bool:
        """Put it at the end of the system prompt; False where the request has no place for one."""

    def offer(self, tools: Iterable[Tool]) -> None:
        """Our tools beside the client's, where the request leaves the model a choice."""
        client = self._client_names()
        ours = [tool for tool in tools if tool.name not in client]
        if ours and self._takes_tools() and self._free_to_choose():
            self._client_tools = self.body.get("tools")
            self.names = frozenset(tool.name for tool in ours)
            self._edit(tools=[*as_list(self._client_tools), *map(self._declared, ours)])

    @abstractmethod
    def _client_names(self) -> set[str]:
        """Of the client's own tools."""

    @abstractmethod
    def _takes_tools(self) -> bool:
        """Nothing in the request forbids tools beside the client's."""

    @abstractmethod
    def _reads_calls(self) -> bool:
        """Nothing in the request wants JSON as the answer, which then is no call."""

    def _written(self, text: str) -> list[Call]:
        """Calls of ours that a model wrote as its whole text."""
        return written_calls(text, self.names) if self._reads_calls() else []

    def _may_write(self, text: str) -> bool:
        """Whether that may become of a text that is still coming."""
        return self._reads_calls() and may_be_calls(text, self.names)

    @abstractmethod
    def _declared(self, tool: Tool) -> Json: ...

    def _free_to_choose(self) -> bool:
        """Whether the model may call what it likes: only then are tools of ours offered."""
        tools, choice = self.body.get("tools"), self.body.get("tool_choice")
        if tools is not None and not isinstance(tools, list):
            return False
        return choice in (None, "auto") or (choice == "required" and bool(as_list(tools)))

    def _edit(self, **changes: Any) -> None:
        self.body = {**self.body, **changes}
        self._raw = None

    # ------------------------------------------------------------------------------------------------ the rounds

    @property
    def calls(self) -> list[Call]:
        """Ours to run, when the round is complete."""
        return [] if self.last or self._was_stopped() else self._own_calls()

    @abstractmethod
    def _own_calls(self) -> list[Call]: ...

    @abstractmethod
    def _was_stopped(self) -> bool:
        """The model did not finish what it was about to call."""

    @property
    @abstractmethod
    def client_calls(self) -> list[str]:
        """The ids of the client's, which end the exchange."""

    def go_on(self, answered: Sequence[AnsweredCall], *, last: bool) -> None:
        """The next round: `payload` then has what the calls gave."""
        self._continue(answered)
        if last:
            # Upstreams want the tools that a conversation speaks of declared; a client's own are enough.
            self._edit(**({"tools": self._client_tools} if self._client_tools else {"tool_choice": "none"}))
        self.last = last
        self._used_before = self.usage
        self.rounds += 1
        self._begin()

    @abstractmethod
    def _continue(self, answered: Sequence[AnsweredCall]) -> None:
        """Add this round and what our calls gave to the request."""

    @abstractmethod
    def settle(self, answered: Sequence[AnsweredCall]) -> list[CallsToKeep]:
        """The exchange is at its end: what has to be kept for the client's next request."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What the model said in all rounds."""

    @property
    @abstractmethod
    def partial(self) -> str:
        """The same while it is still speaking, or when it broke off: as far as the client may have seen it."""

    @property
    def usage(self) -> Json | None:
        """Of all rounds together."""
        return sum_of(self._used_before, self._used)

    # ------------------------------------------------------------------------------------------- a whole answer

    def read(self, payload: bytes) -> None:
        """A whole answer, of this round."""
        self._answer_raw = payload
        self.over = self.complete = True
        self._take_answer(loaded(payload) or {})

    def _take_answer(self, answer: Json) -> None:
        self._answer = answer
        self.model = as_text(answer.get("model")) or self.model
        self._used = as_object(answer.get("usage")) or None

    def whole(self) -> bytes:
        """The answer for the client, of all rounds, when it came whole."""
        return dumped(self._shown_answer()) if self._answer and self._is_changed() else self._answer_raw

    def _is_changed(self) -> bool:
        return self.rounds > 1 or self.note.shown() is not None or bool(self._own_calls())

    def _shown_answer(self) -> Json:
        answer = {**self._answer, **self._visible_parts()}
        if self.rounds > 1 and self.usage is not None:
            answer["usage"] = self.usage
        return self._noted(answer)

    @abstractmethod
    def _visible_parts(self) -> Json:
        """What of the answer has to change, so that it is one of all rounds without calls of ours."""

    def _noted(self, answer: Json) -> Json:
        note = self.note.shown()
        return answer if note is None else {**answer, "x_memory": note}

    # ------------------------------------------------------------------------------------------------- a stream

    def feed(self, event: Event) -> list[Piece]:
        """An event of a streamed answer, of this round."""
        if event.data is None or self.over:
            return [Piece(raw=event.raw)]
        if event.data.strip() == _DONE:
            return self._feed_end(event)
        payload = loaded(event.data)
        return [Piece(raw=event.raw)] if payload is None else self._feed(payload, event)

    @abstractmethod
    def _feed(self, payload: Json, event: Event) -> list[Piece]: ...

    def _feed_end(self, event: Event) -> list[Piece]:
        return [Piece(raw=event.raw)]

    @abstractmethod
    def tail(self) -> list[bytes]:
        """What the client still has to get, when it came as a stream."""

    @abstractmethod
    def fault(self, error: Mapping[str, Any]) -> bytes:
        """An event that tells the client of an error in the middle of a stream; the official SDKs raise it."""
