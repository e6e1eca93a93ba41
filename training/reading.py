"""Texts as the encoder reads them, as flat arrays of word pieces that fit on a GPU. Needs no PyTorch."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer

from keepstone.engine import terms
from keepstone.engine.bm25 import idf
from keepstone.providers.embedder import Span
from keepstone.providers.reading import carries_meaning
from keepstone.providers.windows import well_formed
from keepstone.providers.wordpieces import whole_words
from training.arrays import NONE, Texts

LONGEST = 254  # word pieces of a text


@dataclass(frozen=True, slots=True)
class ReadText:
    pieces: list[int]
    kept: list[bool]
    spans: list[Span]  # of the whole word of each piece


def read(tokenizer: Tokenizer, texts: Sequence[str], longest: int = LONGEST) -> Iterator[ReadText]:
    for start in range(0, len(texts), 10_000):
        some = [well_formed(text) for text in texts[start : start + 10_000]]
        for text, encoding in zip(some, tokenizer.encode_batch(some, add_special_tokens=False), strict=True):
            words, spans = whole_words(encoding)
            meant = [carries_meaning(text[begin:end]) for begin, end in spans]
            words = words[:longest]
            yield ReadText(
                list(encoding.ids[:longest]), [meant[word] for word in words], [spans[word] for word in words]
            )


def flat(texts: Iterable[ReadText], before: Sequence[int] | None = None) -> Texts:
    pieces: list[int] = []
    kept: list[bool] = []
    starts = [0]
    for text in texts:
        pieces += text.pieces
        kept += text.kept
        starts.append(len(pieces))
    return Texts(
        np.array(pieces, np.uint16),
        np.array(kept, np.bool_),
        np.array(starts, np.int64),
        np.full(len(starts) - 1, NONE, np.int64) if before is None else np.array(before, np.int64),
    )


def weights(question: str, read_text: ReadText, frequencies: dict[str, int], passages: int) -> list[float]:
    """How much each piece of a question counts: the idf of its word in the conversation, as search has it."""
    words = terms.words(question)

    def weight(start: int, end: int) -> float:
        inside = (word.term for word in words if word.start < end and start < word.end)
        return float(idf(max((frequencies.get(term, 0) for term in inside), default=0), passages))

    return [weight(*span) if kept else 0.0 for span, kept in zip(read_text.spans, read_text.kept, strict=True)]
