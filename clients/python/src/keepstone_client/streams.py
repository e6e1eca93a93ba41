"""Server-sent events, without any input or output: bytes go in, typed events come out.

Lines end where the protocol says and nowhere else. `str.splitlines` also ends them at U+2028 and its like, which are
ordinary characters inside JSON.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from keepstone_client.core import Request, broken_off
from keepstone_client.errors import KeepstoneError, UnexpectedAnswer

E = TypeVar("E")
L = TypeVar("L")

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class ServerEvent:
    name: str
    data: str


class EventParser:
    """Fed with whatever arrives, in whatever pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        held = self._rest + piece
        found: list[ServerEvent] = []
        start = 0
        for end in _LINE_END.finditer(held):
            if end.group() == b"\r" and end.end() == len(held):
                break  # the other half of the line end may be on its way
            event = self._line(held[start : end.start()].decode(errors="replace"))
            start = end.end()
            if event:
                found.append(event)
        self._rest = held[start:]
        return found

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            made = ServerEvent(self._name or "message", "\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return made
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        return None


@dataclass(frozen=True, kw_only=True)
class Streamed(Generic[E, L]):
    """A call that is answered by events. `read` makes something of those it knows; a `last` has to be among them."""

    request: Request[None]
    read: Callable[[str, Any], E | None]
    last: type[L]


class EventReader(Generic[E, L]):
    """The way of one answer: pieces of bytes in, events out, and an error when it ends too soon."""

    def __init__(self, streamed: Streamed[E, L]) -> None:
        self._streamed = streamed
        self._parser = EventParser()
        self._whole = False

    def feed(self, piece: bytes) -> list[E]:
        found: list[E] = []
        for event in self._parser.feed(piece):
            made = self._event(event)
            if made is not None:
                found.append(made)
                self._whole = self._whole or isinstance(made, self._streamed.last)
        return found

    def end(self) -> None:
        if not self._whole:
            raise broken_off("The answer ended before it was complete.")

    def _event(self, event: ServerEvent) -> E | None:
        try:
            data = json.loads(event.data)
        except ValueError:
            raise UnexpectedAnswer("unexpected_answer", f"The event {event.name} is not JSON.") from None
        if event.name == "error":
            raise _error(data)
        return self._streamed.read(event.name, data)


def _error(data: Any) -> KeepstoneError:
    held = cast("dict[str, Any]", data).get("error") if isinstance(data, dict) else None
    error = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
    return KeepstoneError(str(error.get("code", "error")), str(error.get("message", "The answer failed.")))
