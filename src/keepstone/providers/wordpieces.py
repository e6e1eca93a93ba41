"""The word pieces of a tokenizer, and the windows of a text that a model reads whole. Without the model, so that a text
can be cut in a process that has none.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, normalizers

from keepstone.errors import Misconfigured
from keepstone.providers.embedder import Span, well_formed

UNIT = 16

_normalizers: Any = normalizers  # tells the type checker nothing of what it has


@cache
def load_tokenizer(path: Path, *, lowercase: bool = False) -> Tokenizer:
    try:
        tokenizer: Any = Tokenizer.from_file(str(path))
    except Exception:  # the package raises no other
        problem = "is no tokenizer that can be read" if path.exists() else "is missing"
        raise Misconfigured(f"{path} {problem}: put the model's tokenizer.json there.") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # what somebody writes is text, also `[SEP]`
    if lowercase:
        before = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = _normalizers.Sequence([_normalizers.Lowercase(), *before])
    return tokenizer


def cut(path: Path, lowercase: bool, window: int, overlap: int, text: str) -> list[Span]:
    """By the tokenizer in this file."""
    encoding: Any = load_tokenizer(path, lowercase=lowercase).encode(well_formed(text), add_special_tokens=False)
    if len(encoding.ids) <= window:
        return [(0, len(text))]
    return windows(*whole_words(encoding), len(text), window, overlap)


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


def windows(words: Sequence[int], spans: Sequence[Span], length: int, window: int, overlap: int) -> list[Span]:
    """Runs of whole words of at most `window` pieces, each beginning with up to `overlap` pieces of the one before.

    Together they are the whole text: the space between words belongs to the window that ends there.
    """
    starts, sizes = units(words, spans)
    runs: list[Span] = []
    first = 0
    while True:
        size, end = 0, first
        while end < len(sizes) and (size + sizes[end] <= window or end == first):
            size += sizes[end]
            end += 1
        begin = starts[first] if first else 0
        if end == len(sizes):
            return [*runs, (begin, length)]
        runs.append((begin, starts[end]))
        shared, following = 0, end
        while following - 1 > first and shared + sizes[following - 1] <= overlap:
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
