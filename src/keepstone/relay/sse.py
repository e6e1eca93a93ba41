"""Server-sent events as they arrive: each with the very bytes it came in, however the network cut them."""

import re
from dataclasses import dataclass

_END = re.compile(rb"\r\n|\n|\r")
_MARK = b"\xef\xbb\xbf"  # of the byte order, which may stand at the beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """`data` is None for what only keeps a connection alive: comments, or a lone end of line."""

    raw: bytes
    data: str | None
    name: str | None = None


class Events:
    """Feed it what arrives; it gives the events that are whole. An event ends with an empty line."""

    def __init__(self) -> None:
        self._rest = b""  # the beginning of a line
        self._lines: list[bytes] = []  # of the event that is not over yet
        self._before = b""
        self._after_return = False
        self._first = True

    def feed(self, piece: bytes) -> list[Event]:
        events: list[Event] = []
        if self._after_return and piece:
            # The other half of an end of line whose first half was one already.
            self._after_return = False
            if piece.startswith(b"\n"):
                self._keep(b"\n")
                piece = piece[1:]
        unread = self._rest + piece
        place = 0
        for end in _END.finditer(unread, len(self._rest)):  # what is left of the last time has none
            line, place = unread[place : end.end()], end.end()
            self._after_return = place == len(unread) and line.endswith(b"\r")
            self._lines.append(line)
            if not line.rstrip(b"\r\n"):
                events.append(self._event())
        self._rest = unread[place:]
        return events

    def finish(self) -> Event | None:
        """What is left when nothing more comes: an event without its empty line, or nothing."""
        if self._rest:
            self._lines.append(self._rest)
            self._rest = b""
        return self._event() if self._lines or self._before else None

    def _keep(self, rest: bytes) -> None:
        """It belongs to the line before, or, where that line ended an event, to the bytes before the next one."""
        if self._lines:
            self._lines[-1] += rest
        else:
            self._before += rest

    def _event(self) -> Event:
        raw = self._before + b"".join(self._lines)
        name: str | None = None
        data: list[str] = []
        for number, line in enumerate(self._lines):
            text = line.rstrip(b"\r\n")
            if self._first and number == 0:
                text = text.removeprefix(_MARK)
            field, _, value = text.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value.decode(errors="replace"))
            elif field == b"event":
                name = value.decode(errors="replace")
        self._lines, self._before, self._first = [], b"", False
        return Event(raw=raw, data="\n".join(data) if data else None, name=name)
