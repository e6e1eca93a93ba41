"""The clauses of a message in which something is asserted.

Owns where a clause begins and ends, and which are left out: what is asked, supposed, reported, quoted or code.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from keepstone.engine.language import tables
from keepstone.engine.language.doubt import ASKED

# A sentence or a line that is longer is prose, a log or a table, and its clauses can't be told apart by commas.
LONGEST = 400

_TABLES = tables.load("people")
_NOT_ASSERTED = _TABLES.pattern("not_asserted")
_ASKING = _TABLES.pattern("asking")
_SENTENCE = re.compile(r"[^.!?。！？…\n]+(?:[.](?=\w)[^.!?。！？…\n]*)*[.!?。！？…]*")
# Where a new clause may begin: a mark, or a joining word before a subject of its own.
_CLAUSE = re.compile(
    r"[,;:，；、]\s*|\s[-–—]+\s|—|\s(?=(?:and|but|so|because|since|cause|und|aber)\s(?:i|my|we|our|ich)\b)",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*|^(?: {4}|\t)[^\n]*|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_MARKS = {"“": "”", "«": "»", "„": "“", "「": "」", "『": "』"}
_QUOTE = re.compile(r'["“”«»„「」『』\n]|(?<!\w)\'(?=\w)|(?<=[\w.,!?])\'(?!\w)')


def asserted(text: str) -> Iterator[tuple[int, int]]:
    """Where the clauses are that assert something in the speaker's own words."""
    quoted = _quoted(text)
    return ((start, end) for start, end in _clauses(text) if not _inside(start, quoted))


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    """Where the clauses are that assert something."""
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        ends = len(sentence.rstrip(" .!?。！？…"))
        if len(sentence) > LONGEST:
            continue
        unsure = _NOT_ASSERTED.search(sentence)
        cuts = [(0, 0), *(cut.span() for cut in _CLAUSE.finditer(sentence)), (ends, ends)]
        spans = [(before[1], after[0]) for before, after in pairwise(cuts)]
        if ASKED.search(sentence):
            # "I live in Rome, what about you?" asserts its first half; "I'm late, right?" nothing.
            spans = spans[:-1] if _ASKING.match(sentence, spans[-1][0]) else []
        for start, end in spans:
            if unsure is None or (end <= unsure.start() and not _reports(sentence, unsure)):
                yield match.start() + start, match.start() + end


def _reports(sentence: str, unsure: re.Match[str]) -> bool:
    """Whether the doubt comes after what it is about: "I live in Rome, he said"; "I'd go if..."."""
    return sentence[unsure.start() :].lower().startswith(("if", "unless", "say", "said", "würde", "wenn", "falls"))


def _quoted(text: str) -> list[tuple[int, int]]:
    """Code, quoted lines and what stands in quotation marks, up to the line's end where a mark is never closed."""
    spans = [match.span() for match in _CODE.finditer(text)]
    opened, closing = -1, ""
    for match in _QUOTE.finditer(text):
        mark = match.group()
        if opened >= 0 and mark in {closing, "\n"}:
            spans.append((opened, match.end()))
            opened = -1
        elif opened < 0 and mark not in {"\n", "”", "»", "」", "』"}:
            opened, closing = match.start(), _MARKS.get(mark, mark)
    if opened >= 0 and closing != "'":
        spans.append((opened, len(text)))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(spans, (place, 1 << 62)) - 1
    return index >= 0 and spans[index][0] <= place < spans[index][1]
