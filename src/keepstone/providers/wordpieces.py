"""The word pieces of a tokenizer, and the windows of a text that a model reads whole. Without the model, so that a text
can be cut in a process that has none.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keepstone.errors import Misconfigured
from keepstone.providers.windows import Span, well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNIT = 16


@cache
def load_tokenizer(path: Path, *, lowercase: bool = False) -> "Tokenizer":
    library: Any = import_module("tokenizers")  # large, and of no use to a process that cuts short texts alone
    try:
        tokenizer: Any = library.Tokenizer.from_file(str(path))
    except Exception:  # the package raises no other
        problem = "is no tokenizer that can be read" if path.exists() else "is missing"
        raise Misconfigured(f"{path} {problem}: put the model's tokenizer.json there.") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # what somebody writes is text, also `[SEP]`
    if lowercase:
        before = [tokenizer.normalizer] if tokenizer.normalizer else []
        tokenizer.normalizer = library.normalizers.Sequence([library.normalizers.Lowercase(), *before])
    return tokenizer


def cut(path: Path, lowercase: bool, window: int, overlap: int, text: str) -> list[Span]:
    """By the tokenizer in this file. It is not asked of a text that has no more letters than a window has pieces."""
    if len(text) < window and text.isascii():
        return [(0, len(text))]
    tokenizer = load_tokenizer(path, lowercase=lowercase)
    if text.isascii() and len(text) - text.count(" ") <= window and _passes_over_spaces(tokenizer):
        return [(0, len(text))]
    encoding: Any = tokenizer.encode(well_formed(text), add_special_tokens=False)
    if len(encoding.ids) <= window:
        return [(0, len(text))]
    return windows(*whole_words(encoding), len(text), window, overlap)


def _passes_over_spaces(tokenizer: "Tokenizer") -> bool:
    """Whether a piece has a letter at least: of those that tell how words are parted, this one says so."""
    return type(tokenizer.pre_tokenizer).__name__ == "BertPreTokenizer"


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
