"""JSON of any size, one element at a time.

The elements of an array are decoded as they come, so no more than one of them is in memory. Where the buffer ends in
the middle of one, it is doubled before the next try: in all that decodes everything at most twice.
"""

import codecs
import json
import re
from collections.abc import Collection, Iterator
from typing import IO, Any

from keepstone.errors import Invalid
from keepstone.importers.items import Gauge

_CHUNK = 256 * 1024
SMALL = 32 * 1024 * 1024  # characters of one element, where nobody says how large it may be
_SPACE = re.compile(r"[ \t\r\n]*")
_SLACK = 16  # characters: a number, a word or an escape that is cut off by the buffer fails that close to its end
_DECODER = json.JSONDecoder()


class _Text:
    """The text of a file from where it was read last."""

    def __init__(self, file: IO[bytes], name: str, gauge: Gauge | None) -> None:
        self._file, self._name, self._gauge = file, name, gauge
        self._largest = gauge.largest if gauge else SMALL
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer, self._at, self._ended = "", 0, False

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            space = _SPACE.match(self._buffer, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._buffer) or self._ended:
                return self._buffer[self._at : self._at + 1]
            self._more(_CHUNK)

    def expect(self, *signs: str) -> str:
        sign = self.peek()
        if sign not in signs or not sign:
            raise self.broken()
        self._at += 1
        return sign

    def value(self) -> Any:
        self.peek()
        wanted = _CHUNK
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as fault:
                cut_off = fault.msg.startswith("Unterminated string") or fault.pos >= len(self._buffer) - _SLACK
                if self._ended or not cut_off:
                    raise self.broken() from None
            except RecursionError:
                raise Invalid(f"{self._name} is nested too deeply to be an export.") from None
            else:
                # A number at the end of the buffer could go on: "1" with ".5", or with "e+3".
                if self._ended or not isinstance(value, int | float) or end <= len(self._buffer) - _SLACK:
                    self._at = end
                    return value
            if len(self._buffer) - self._at > self._largest:
                raise Invalid(f"{self._name} has an element of more than {self._largest >> 20} MB.")
            self._more(wanted)
            wanted *= 2

    def broken(self) -> Invalid:
        return Invalid(f"{self._name} is no whole JSON file: it breaks off or has a fault. Export it again.")

    def _more(self, size: int) -> None:
        data = self._file.read(size)
        if self._gauge:
            self._gauge.done += len(data)
        self._ended = not data
        self._buffer = self._buffer[self._at :] + self._decode.decode(data, final=self._ended)
        self._at = 0


def begins_with(file: IO[bytes]) -> bytes:
    """The first byte that is no space and no mark of the encoding."""
    head = file.read(_CHUNK)
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:1]


def elements(file: IO[bytes], name: str, gauge: Gauge | None = None) -> Iterator[Any]:
    """The elements of an array. A file with a single object has one."""
    text = _Text(file, name, gauge)
    if text.peek() != "[":
        yield text.value()
        return
    yield from _array(text)


def members(
    file: IO[bytes], name: str, arrays: Collection[str], gauge: Gauge | None = None
) -> Iterator[tuple[str, Any]]:
    """The members of an object by their names; of the named `arrays` each element by itself."""
    text = _Text(file, name, gauge)
    text.expect("{")
    if text.peek() == "}":
        return
    while True:
        key = text.value()
        text.expect(":")
        if key in arrays and text.peek() == "[":
            yield from ((key, element) for element in _array(text))
        else:
            yield key, text.value()
        if text.expect(",", "}") == "}":
            return


def _array(text: _Text) -> Iterator[Any]:
    text.expect("[")
    if text.peek() == "]":
        text.expect("]")
        return
    while True:
        yield text.value()
        if text.expect(",", "]") == "]":
            return
