"""How an encoder reads: the ids of the word pieces of a passage or a question, with what stands before and around them,
and which of their vectors are kept.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepstone.errors import Misconfigured
from keepstone.providers.manifest import Manifest
from keepstone.providers.windows import Span, well_formed
from keepstone.providers.wordpieces import load_tokenizer, whole_words

_LONGEST_PIECE = 40  # characters: no need to look further back for a piece of what was said before

# Words whose vectors only match their like. The pieces of contractions are among them: the tokenizer cuts at `'`.
_STOP = """
    a about above after again against ain all also am an and any are aren as at be because been before being below
    between both but by can could couldn d did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just let ll m ma may me might mightn more most must mustn my myself needn no nor not now o of off on once only or
    other our ours ourselves out over own re s same shall shan she should shouldn so some such t than that the their
    theirs them themselves then there these they this those through to too under until up ve very was wasn we were
    weren what when where which while who whom whose why will with won would wouldn y you your yours yourself
    yourselves
"""
STOP_WORDS = frozenset(_STOP.split())


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text as the model reads it: the first `attended` ids are seen by the others, those from `own` on are its own.

    `rows` are the positions whose vectors are kept, each with the span of its word; of what is no word that tells
    something the span is empty.
    """

    ids: list[int]
    attended: int
    own: int
    rows: list[int]
    spans: list[Span]


class Reader:
    """Reads as the manifest says, with the special pieces that the tokenizer puts around a text."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        path = folder / manifest.tokenizer
        self._tokenizer: Any = load_tokenizer(path, lowercase=manifest.lowercase)
        probe: Any = self._tokenizer.encode("a", add_special_tokens=True)
        inner = [place for place, special in enumerate(probe.special_tokens_mask) if not special]
        self._start: list[int] = probe.ids[: inner[0]] if inner else []
        self._end: list[int] = probe.ids[inner[-1] + 1 :] if inner else []
        if manifest.context and not self._end:
            raise Misconfigured(f"{path} ends a text with no special piece: the encoder can't have a `context`.")
        self._question_prefix = self._prefix(manifest.question_prefix)
        self._passage_prefix = self._prefix(manifest.passage_prefix)
        self._expansion: int | None = self._tokenizer.token_to_id(manifest.expansion) if manifest.expansion else None
        if manifest.expansion and self._expansion is None:
            raise Misconfigured(f"{path} has no piece {manifest.expansion}, which `expansion` names.")
        self._manifest = manifest
        around = len(self._start) + len(self._end)
        self._question_room = manifest.window
        if manifest.question_length:
            self._question_room = manifest.question_length - around - len(self._question_prefix)
            if self._question_room < 4:
                raise Misconfigured(f"{folder}: `question_length` leaves no room for a question: make it larger.")
        self.longest = manifest.window + around + len(self._passage_prefix)
        if manifest.context:
            self.longest += manifest.context + len(self._end)

    def passages(self, texts: Sequence[str], before: Sequence[str] | None) -> list[Pieces]:
        """Each is read once, though it stands before the next one too."""
        encodings: dict[str, Any] = {}

        def encoded(text: str) -> Any:
            if text not in encodings:
                encodings[text] = self._encode(text)
            return encodings[text]

        if before is None or not self._manifest.context:
            return [self._passage(text, encoded(text), []) for text in texts]
        return [
            self._passage(text, encoded(text), encoded(self._tail(said)).ids[-self._manifest.context :] if said else [])
            for text, said in zip(texts, before, strict=True)
        ]

    def question(self, text: str) -> Pieces:
        encoding = self._encode(text)
        ids = [*self._start, *self._question_prefix, *encoding.ids[: self._question_room], *self._end] or [0]
        first = len(self._start) + len(self._question_prefix)
        attended = len(ids)
        if self._expansion is not None:
            ids += [self._expansion] * (self._manifest.question_length - len(ids))
        rows, spans = self._kept(text, encoding, self._question_room, first)
        if self._manifest.keep == "all":
            words = dict(zip(rows, spans, strict=True))
            rows, spans = list(range(len(ids))), [words.get(row, (0, 0)) for row in range(len(ids))]
        return Pieces(ids, len(ids) if self._manifest.attend_expansion else attended, 0, rows, spans)

    def _passage(self, text: str, encoding: Any, said: list[int]) -> Pieces:
        head = [*self._start, *self._passage_prefix]
        if said:
            head += [*said, *self._end]
        ids = [*head, *encoding.ids[: self._manifest.window], *self._end] or [0]
        own = len(head) if said else 0
        rows, spans = self._kept(text, encoding, self._manifest.window, len(head))
        if self._manifest.keep == "all":
            words, places = dict(zip(rows, spans, strict=True)), self._punctuation(text, encoding, len(head))
            rows = [row for row in range(own, len(ids)) if row not in places]
            spans = [words.get(row, (0, 0)) for row in rows]
        return Pieces(ids, len(ids), own, rows, spans)

    def _kept(self, text: str, encoding: Any, room: int, first: int) -> tuple[list[int], list[Span]]:
        """The places of pieces of words that tell something, and their words."""
        words, spans = whole_words(encoding)
        kept = [carries_meaning(text[start:end]) for start, end in spans]
        rows = [row for row, word in enumerate(words[:room]) if kept[word]]
        return [row + first for row in rows], [spans[words[row]] for row in rows]

    def _punctuation(self, text: str, encoding: Any, first: int) -> set[int]:
        return {
            first + row
            for row, (start, end) in enumerate(encoding.offsets)
            if text[start:end] and all(character in string.punctuation for character in text[start:end].strip())
        }

    def _encode(self, text: str) -> Any:
        return self._tokenizer.encode(well_formed(text), add_special_tokens=False)

    def _tail(self, said: str) -> str:
        """Enough of it to give as many pieces as are read: the turn before may be a book."""
        most = self._manifest.context * _LONGEST_PIECE
        if len(said) <= most:
            return said
        tail = said[-most:]
        return tail.partition(" ")[2] or tail

    def _prefix(self, text: str) -> list[int]:
        """One piece if there is such a piece, as `[Q] `; else the pieces of it as a text."""
        if not text:
            return []
        piece: int | None = self._tokenizer.token_to_id(text)
        return self._encode(text).ids if piece is None else [piece]


def carries_meaning(word: str) -> bool:
    word = word.strip()
    return word.lower() not in STOP_WORDS and any(character.isalnum() for character in word)
