"""Windows of a text: what a model reads whole. Imports next to nothing, for whoever cuts texts and has no model."""

from collections.abc import Callable

Span = tuple[int, int]
Cutter = Callable[[str], list[Span]]


def well_formed(text: str) -> str:
    """The text without halves of characters, which no tokenizer takes; as long as before."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def cut_by_characters(text: str, window: int, overlap: int) -> list[Span]:
    """Windows for models whose tokenizer is out of reach: between words where there are spaces."""
    spans: list[Span] = []
    start = 0
    while len(text) - start > window:
        end = _boundary(text, start + window - overlap, start + window)
        spans.append((start, end))
        start = _boundary(text, end - overlap, end - overlap // 2)
    return [*spans, (start, len(text))]


def _boundary(text: str, earliest: int, latest: int) -> int:
    """The last place not after `latest` where a word begins; `latest` itself where there is none."""
    for place in range(latest, earliest, -1):
        if text[place - 1].isspace() and not text[place].isspace():
            return place
    return latest
