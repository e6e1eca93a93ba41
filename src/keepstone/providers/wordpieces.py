"""The word pieces of MiniLM's tokenizer, and the windows of a text that the model reads whole. Without the model, so
that a text can be cut in a process that has none.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from keepstone.providers.embedder import Span, well_formed
from keepstone.providers.models import MINILM_TOKENIZER

WINDOW, OVERLAP = 254, 32  # word pieces; with [CLS] and [SEP] the 256 that the model was trained on
UNIT = 16


@cache
def load_tokenizer(folder: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(folder / MINILM_TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def cut(folder: Path, text: str) -> list[Span]:
    """By the tokenizer in this folder."""
    encoding: Any = load_tokenizer(folder).encode(well_formed(text), add_special_tokens=False)
    if len(encoding.ids) <= WINDOW:
        return [(0, len(text))]
    return windows(*whole_words(encoding), len(text))


def whole_words(encoding: Any) -> tuple[list[int], list[Span]]:
    """For each piece the number of its word, and for each word where it stands in the text."""
    words: list[int] = []
    spans: list[Span] = []
    last = -1
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        if word == last:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
            last = word
        words.append(len(spans) - 1)
    return words, spans


def windows(words: Sequence[int], spans: Sequence[Span], length: int) -> list[Span]:
    """Runs of whole words of at most WINDOW pieces, each beginning with up to OVERLAP pieces of the one before.

    Together they are the whole text: the space between words belongs to the window that ends there.
    """
    starts, sizes = units(words, spans)
    runs: list[Span] = []
    first = 0
    while True:
        size, end = 0, first
        while end < len(sizes) and (size + sizes[end] <= WINDOW or end == first):
            size += sizes[end]
            end += 1
        begin = starts[first] if first else 0
        if end == len(sizes):
            return [*runs, (begin, length)]
        runs.append((begin, starts[end]))
        shared, following = 0, end
        while following - 1 > first and shared + sizes[following - 1] <= OVERLAP:
            following -= 1
            shared += sizes[following]
        first = following


def units(words: Sequence[int], spans: Sequence[Span]) -> tuple[list[int], list[int]]:
    """What is not cut: words that touch, as `didn't` and `12:30`, up to UNIT pieces. Their starts and sizes.

    The limit is for what is written without spaces.
    """
    sizes = [0] * len(spans)
    for word in words:
        sizes[word] += 1
    found_starts: list[int] = []
    found_sizes: list[int] = []
    last = -1
    for (start, end), size in zip(spans, sizes, strict=True):
        if start == last and found_sizes[-1] + size <= UNIT:
            found_sizes[-1] += size
        else:
            found_starts.append(start)
            found_sizes.append(size)
        last = end
    return found_starts, found_sizes
