"""How deep JSON text nests and how many values it has, seen before anything is made of it.

What is nested a few hundred deep can be stored, and then no longer be shown: whoever renders it gives up. So there is
one limit for all that comes in, and what was stored before there was one is read with its depths as text.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

DEEPEST = 128
MOST_VALUES = 1_000_000  # each takes some 60 bytes once it is read, whatever it took as text

_PIECE = 1 << 20  # so much at once: other threads get their turn in between
_SHORT = 64 * 1024
_QUOTE, _COMMA = b'",'
_ANYTHING_ELSE = bytes(set(range(256)) - set(b'"[]{},'))
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")] = 1
_STEPS[list(b"]}")] = -1
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Extent:
    """The depth of the deepest value, and how many there are; counted no further than is allowed."""

    depth: int
    values: int

    @property
    def problem(self) -> str | None:
        """Why this can't be taken, whatever it says; None if it can."""
        if self.depth > DEEPEST:
            return f"is nested more than {DEEPEST} deep: make it flatter"
        if self.values > MOST_VALUES:
            return f"has more than {MOST_VALUES:,} values: send it in parts"
        return None


def extent_of(text: bytes) -> Extent:
    """Takes time in proportion to the length. What is short and has few brackets is not looked into."""
    if len(text) <= _SHORT and text.count(b"[") + text.count(b"{") <= DEEPEST:
        return Extent(0, 0)
    depth, deepest, values, in_string, begin = 0, 0, 0, False, 0
    while begin < len(text) and deepest <= DEEPEST and values <= MOST_VALUES:
        end = min(begin + _PIECE, len(text))
        # What a backslash escapes stays with it.
        end += (end - begin - len(text[begin:end].rstrip(b"\\"))) % 2
        piece = text[begin:end].replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _ANYTHING_ELSE)
        begin = end
        if not piece:
            continue
        marks = np.frombuffer(piece, np.uint8)
        inside = np.logical_xor.accumulate(marks == _QUOTE) ^ in_string
        in_string = bool(inside[-1])
        marks = marks[~inside]
        steps = _STEPS[marks]
        depths = depth + np.cumsum(steps, dtype=np.int64)
        if depths.size:
            depth, deepest = int(depths[-1]), max(deepest, int(depths.max()))
            values += int(np.count_nonzero(steps == 1)) + int(np.count_nonzero(marks == _COMMA))
    return Extent(deepest, values)


def load_stored(text: bytes | str) -> Any:
    """What the database holds; where it is nested too deep, the rest as JSON text."""
    text = text if isinstance(text, str) else text.decode()
    return json.loads(text if text.count("[") + text.count("{") <= DEEPEST else _folded(text))


def _folded(text: str) -> str:
    parts: list[str] = []
    depth = begin = end = 0
    for mark in _STRING_OR_BRACKET.finditer(text):
        if mark[0] in "[{":
            depth += 1
            if depth == DEEPEST + 1:
                begin = mark.start()
        elif mark[0] in "]}":
            depth -= 1
            if depth == DEEPEST:
                parts += (text[end:begin], json.dumps(text[begin : mark.end()]))
                end = mark.end()
    return "".join((*parts, text[end:])) if parts else text
