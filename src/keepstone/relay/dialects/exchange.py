"""What OpenAI's two protocols share when some of a model's calls are answered here instead of by the client.

An exchange is one request of a client. It takes one round with the model, or several: as long as the model calls tools
of ours, they are run and it is asked again. The client sees one answer, without those calls. Nothing here waits for
anything: bytes come in, bytes go out.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, cast

from keepstone.errors import Invalid
from keepstone.relay.sse import Event

Json = dict[str, Any]

DONE = "[DONE]"
BETWEEN = "\n\n"  # what was said in one round and in the next


class Tool(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One of ours, as the model asked for it; `arguments` is what should be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The same with what came of it; `memory_id` is what it saved."""

    id: str
    name: str
    arguments: str
    result: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Calls of ours to put back when the client sends one of these ids again."""

    ids: Sequence[str]
    calls: Sequence[Ran]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What the client gets now; `text` is what of it the model said."""

    raw: bytes
    text: str = ""


@dataclass(slots=True, kw_only=True)
class Note:
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

    def __init__(self, raw: bytes, body: Json, *, model: str | None = None) -> None:
        self.note = Note()
        self.body = body
        self.names: frozenset[str] = frozenset()
        self.rounds = 1
        self.last = False
        self.model: str | None = None  # that answered
        self.over = False  # nothing more that matters comes in this round
        self.complete = False  # the model has finished this round
        self.failed = False  # the upstream has said so itself
        self.error: Json = {}  # in its words
        self._raw: bytes | None = raw
        if model and not body.get("model"):
            self._edit(model=model)

    @property
    def payload(self) -> bytes:
        """What the upstream is sent: what the client sent, unless something had to change."""
        return dumped(self.body) if self._raw is None else self._raw

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
    def continues(self) -> bool:
        """The request brings results of tools: the user has said nothing new."""

    @abstractmethod
    def ids(self) -> list[str]:
        """Under what calls of ours may have been kept."""

    @abstractmethod
    def splice(self, kept: Mapping[str, Sequence[Ran]]) -> None:
        """Put calls of ours back where the model made them."""

    @abstractmethod
    def inject(self, context: str) -> bool:
        """Put it at the end of the system prompt; False where the request has no place for one."""

    @abstractmethod
    def offer(self, tools: Iterable[Tool]) -> None:
        """Our tools beside the client's, where the request leaves the model a choice."""

    @abstractmethod
    def read(self, payload: bytes) -> None:
        """A whole answer, of this round."""

    @abstractmethod
    def feed(self, event: Event) -> list[Piece]:
        """An event of a streamed answer, of this round."""

    @property
    @abstractmethod
    def calls(self) -> list[Call]:
        """Ours to run, when the round is complete."""

    @property
    @abstractmethod
    def client_calls(self) -> list[str]:
        """The ids of the client's, which end the exchange."""

    @abstractmethod
    def go_on(self, ran: Sequence[Ran], *, last: bool) -> None:
        """The next round: `payload` then has what the calls gave."""

    @abstractmethod
    def settle(self, ran: Sequence[Ran]) -> list[Kept]:
        """The exchange is at its end: what has to be kept for the client's next request."""

    @abstractmethod
    def whole(self) -> bytes:
        """The answer for the client, of all rounds, when it came whole."""

    @abstractmethod
    def tail(self) -> list[bytes]:
        """What the client still has to get, when it came as a stream."""

    @abstractmethod
    def fault(self, error: Mapping[str, Any]) -> bytes:
        """An event that tells the client of an error in the middle of a stream; the official SDKs raise it."""

    @property
    @abstractmethod
    def text(self) -> str:
        """What the model said in all rounds."""

    @property
    @abstractmethod
    def usage(self) -> Json | None:
        """Of all rounds together."""

    def _edit(self, **changes: Any) -> None:
        self.body = {**self.body, **changes}
        self._raw = None


def read_object(raw: bytes) -> Json:
    """The body of a request. What could not be sent on as JSON is refused here."""
    try:
        body: Any = json.loads(raw, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Invalid("The body can't be read as JSON in UTF-8.") from None
    if not isinstance(body, dict):
        raise Invalid("The body has to be a JSON object.")
    return cast("Json", body)


def loaded(text: str | bytes) -> Json | None:
    """What an upstream sent, if it is a JSON object."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Json", found) if isinstance(found, dict) else None


def dumped(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can hold and UTF-8 can't
        return json.dumps(value, separators=(",", ":")).encode()


def an_object(value: Any) -> Json:
    """Any shape may come, from either side; what is none of ours to judge counts as empty."""
    return cast("Json", value) if isinstance(value, dict) else {}


def a_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def objects(value: Any) -> list[Json]:
    return [cast("Json", item) for item in a_list(value) if isinstance(item, dict)]


def a_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def texts_of(content: Any) -> str:
    """The text of a message, whether it is one or comes in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects(content) if isinstance(part.get("text"), str))


def free_to_choose(body: Json) -> bool:
    """Whether the model may call what it likes: only then are tools of ours offered."""
    tools, choice = body.get("tools"), body.get("tool_choice")
    if tools is not None and not isinstance(tools, list):
        return False
    return choice in (None, "auto") or (choice == "required" and bool(a_list(tools)))


def sum_of(one: Json | None, other: Json | None) -> Json | None:
    """Usage of two rounds together: numbers are added, at any depth."""
    if one is None or other is None:
        return one or other
    return {name: _added(one.get(name), other.get(name)) for name in {**one, **other}}


def _added(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return sum_of(an_object(one), an_object(other))
    if isinstance(one, int | float) and isinstance(other, int | float) and not isinstance(other, bool):
        return one + other
    return cast("Any", one if other is None else other)


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
