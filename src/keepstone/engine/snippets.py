"""Snippets: the part of a text that answers a question, with the words that were asked for marked.

What comes out is HTML text: everything is escaped but the marks.
"""

import html
from bisect import bisect_left

from keepstone.engine.terms import Word, asked_words, terms, words

LENGTH = 240
_LONGEST_SEARCHED = 20_000  # characters: what is looked at of a text that was not cut before


def snippet(text: str, question: str, length: int = LENGTH, *, begun: bool = False) -> str:
    """Where most of the question's different words stand close together; the beginning when none does. `begun`: what
    begins with a word of the question is marked, too.
    """
    text = text[:_LONGEST_SEARCHED]
    if begun:
        asked = asked_words(question)
        matching = [
            word for word in words(text) if any(one.met_by(word.term, text[word.start : word.end]) for one in asked)
        ]
    else:
        wanted = set(terms(question))
        matching = [word for word in words(text) if word.term in wanted]
    start = _best_start(matching, length)
    begin, end = _whole_words(text, start, start + length)
    parts: list[str] = []
    place = begin
    for word in matching:
        if word.start < place or word.end > end:
            continue
        parts += [html.escape(text[place : word.start]), f"<mark>{html.escape(text[word.start : word.end])}</mark>"]
        place = word.end
    parts.append(html.escape(text[place:end]))
    return ("… " if begin else "") + " ".join("".join(parts).split()) + (" …" if end < len(text) else "")


def _best_start(matching: list[Word], length: int) -> int:
    best, most = 0, 0
    starts = [word.start for word in matching]
    for index, first in enumerate(matching):
        end = first.start + length
        near = bisect_left(starts, end, index)
        inside = {word.term for word in matching[index:near] if word.end <= end}
        if len(inside) > most:
            best, most = first.start, len(inside)
    # A little of what stands before makes it readable.
    return max(0, best - length // 4)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Moved inwards to where words begin and end, if that is near; text without spaces is cut where it is."""
    if start > 0:
        space = text.find(" ", start, start + 30)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", end - 30, end)
        end = space if space > start else end
    return start, min(end, len(text))
