"""How many tokens a text is to a language model.

Counted with the vocabulary that current OpenAI models read by (o200k); those of others are near. It comes with the
weights of the built-in models. Where it is not, the count is an estimate on the safe side.
"""

import base64
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from keepstone.providers.models import O200K_RANKS

# The pattern that o200k_base cuts text by, before it merges what is inside a piece.
_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_CHARS_PER_TOKEN = 3.5


class Tokenizer:
    """Reads the vocabulary when it is first needed: it takes some tens of megabytes."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / O200K_RANKS
        self._encoding: Any = None

    @property
    def exact(self) -> bool:
        return self._encoding is not None or self._file.exists()

    def count(self, text: str) -> int:
        if self._encoding is None and self._file.exists():
            lines = self._file.read_bytes().split(b"\n")
            ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
            self._encoding = import_module("tiktoken").Encoding(
                "o200k", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 199999}
            )
        if self._encoding is None:
            return careful(text)
        return len(self._encoding.encode_ordinary(text))


# What such a vocabulary hardly ever joins: a space before a number, three digits, a word, a mark.
_PIECE = re.compile(r" (?=\d)|\d{1,3}|[^\W\d_]+|[^\w\s]|_|\n")


def careful(text: str) -> int:
    """On the safe side, piece by piece: for what must not be too long."""
    count = 1.0
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece.isascii():
            count += 1 + (len(piece) - 1) // 6
        else:
            count += 0.7 + sum(_cost(letter) for letter in piece)
    return int(count)


def _cost(letter: str) -> float:
    if letter > "\uffff":
        return 2.0
    return 1.2 if letter > "\u2e7f" else 0.5 if letter > "\u024f" else 0.3


def estimate(text: str) -> int:
    """Quickly, and about right for prose: other scripts have fewer characters in a token."""
    wide = 0 if text.isascii() else sum(letter > "\u2e7f" for letter in text)
    return int((len(text) - wide) / _CHARS_PER_TOKEN + wide * 1.2) + 1
