"""Where a document is cut: pieces that are read whole, each with its place in the text, its page and its heading.

Owns the lengths and which ends are better than others. A chunk is a part of the whole text, to the character.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, groupby, zip_longest

from keepstone.engine.language.scripts import latin
from keepstone.engine.language.sentences import CLAUSE, END
from keepstone.engine.terms import terms
from keepstone.model.message import NewPassage
from keepstone.providers.parsing import Block

BETWEEN = "\n\n"
NEXT = re.compile(r"\S")
_AHEAD = 80  # characters that are looked at to see whether a sentence ends
_LONGEST_CLUSTER = 16
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """`start` and `end` are characters of the whole text. `heading` is the path under which all of it stands; the page
    is the one on which most of it does.
    """

    text: str
    start: int
    end: int
    page: int | None
    heading: str | None


def whole_text(blocks: Sequence[Block]) -> str:
    """The text of a document, into which places count."""
    return BETWEEN.join(block.text for block in blocks)


def chunks(blocks: Sequence[Block], *, size: int = 900, overlap: int = 120) -> list[TextPiece]:
    """At most `size` characters each, at least 32; what is cut within a paragraph begins again up to `overlap` before.

    None spans two sections: what is found under a heading stands there. Only a heading with nothing below it but others
    goes with the first of those. Two pages of a section share one where the first is too short to stand alone.
    """
    text = whole_text(blocks)
    starts = [0, *accumulate(len(block.text) + len(BETWEEN) for block in blocks)][:-1]
    heads = {start for block, start in zip(blocks, starts, strict=True) if block.heading}
    overlap = min(overlap, size // 4)
    pieces: list[TextPiece] = []
    for start, end, heading in _regions(blocks, starts, size // 8):
        for begin, until in _cuts(text, start, end, size, overlap, heads):
            page = _most(blocks, starts, begin, until).page
            pieces.append(TextPiece(text=text[begin:until], start=begin, end=until, page=page, heading=heading))
    return pieces


def _regions(blocks: Sequence[Block], starts: Sequence[int], tiny: int) -> Iterator[tuple[int, int, str | None]]:
    """What may be one chunk, with the heading that it stands under."""
    sections = [list(part) for _, part in groupby(zip(blocks, starts, strict=True), lambda placed: placed[0].heading)]
    begins: int | None = None  # where the headings begin that lead to the section
    for section, after in zip_longest(sections, sections[1:]):
        heading = section[0][0].heading
        if after is not None and _only_leads_to(section, after[0][0].heading):
            begins = section[0][1] if begins is None else begins
            continue
        pages = _pages(section, tiny)
        if begins is not None:
            pages[0] = (begins, pages[0][1])
            begins = None
        yield from ((start, end, heading) for start, end in pages)


def _only_leads_to(section: Sequence[tuple[Block, int]], heading: str | None) -> bool:
    """Whether it is a heading alone, a single line, and the next one stands below it."""
    [(block, _), *more] = section
    alone = not more and block.page is None and "\n" not in block.text.strip()
    return alone and block.heading is not None and heading is not None and heading.startswith(f"{block.heading} > ")


def _pages(section: Sequence[tuple[Block, int]], tiny: int) -> list[tuple[int, int]]:
    """The spans of a section by page. One that is tiny takes in the next, and the last one joins the one before."""
    spans: list[tuple[int, int]] = []
    last: int | None = None
    for block, start in section:
        end = start + len(block.text)
        if spans and (block.page == last or spans[-1][1] - spans[-1][0] < tiny):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        last = block.page
    if len(spans) > 1 and spans[-1][1] - spans[-1][0] < tiny:
        _, end = spans.pop()
        spans[-1] = (spans[-1][0], end)
    return spans


def _cuts(text: str, start: int, end: int, size: int, overlap: int, heads: Container[int]) -> Iterator[tuple[int, int]]:
    while first := NEXT.search(text, start, end):
        begin = first.start()
        left = end - begin
        # What is left is shared out when it is a little more than one: no crumb at the end.
        most = size if 2 * left > 3 * size else left if left <= size else 2 * left // 3
        cut = end if most == left else _cut(text, begin + most // 2, begin + most, heads)
        yield begin, begin + len(text[begin:cut].rstrip())
        if cut == end:
            return
        start = cut if text.startswith(BETWEEN, cut - len(BETWEEN)) else _again(text, begin, cut - overlap, cut)


def _cut(text: str, low: int, high: int, heads: Container[int]) -> int:
    """The best place to end: after a paragraph, a sentence, a line, a word, a clause; or else anywhere."""
    paragraph = text.rfind(BETWEEN, low, high)
    if paragraph >= 0:
        before = text.rfind(BETWEEN, low, paragraph) + len(BETWEEN)
        return before if before in heads and before > low else paragraph + len(BETWEEN)  # a heading is not left behind
    ends = [match.end() for match in END.finditer(text, low, high + _AHEAD) if match.end() <= high]
    if ends:
        return ends[-1]
    line = text.rfind("\n", low, high)
    if line >= 0:
        return line + 1
    for at in range(high, low, -1):
        if text[at - 1].isspace() or text[at : at + 1].isspace():
            return at
    clauses = [match.end() for match in CLAUSE.finditer(text, low, high)]
    return clauses[-1] if clauses else _between(text, low, high)


def _again(text: str, begin: int, low: int, high: int) -> int:
    """Where the next one begins: with a sentence, if one begins in what may be said again; else with a word."""
    for match in END.finditer(text, low, high):
        if NEXT.search(text, match.end(), high):
            return match.end()
    for at in range(low, high):
        if text[at].isspace():
            return at
    return _between(text, begin, low)


def _between(text: str, low: int, high: int) -> int:
    """A place not inside of what is seen as one character: a letter with its accents, a joined emoji."""
    for at in range(high, max(low, high - _LONGEST_CLUSTER), -1):
        if not (_continues(text[at : at + 1]) or text[at - 1] == _JOINER):
            return at
    return high


def _continues(character: str) -> bool:
    return character != "" and (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # the colour of a skin
        or "\udc00" <= character <= "\udfff"
    )


def _most(blocks: Sequence[Block], starts: Sequence[int], begin: int, until: int) -> Block:
    """The block in which most of a chunk stands."""
    first = bisect_right(starts, begin) - 1
    touched = range(first, bisect_right(starts, until - 1))
    return blocks[max(touched, key=lambda at: min(until, starts[at] + len(blocks[at].text)) - max(begin, starts[at]))]


def cut_document(
    document_id: str, name: str, blocks: Sequence[Block], at: datetime, visibility: str
) -> list[NewPassage]:
    """A part is also found by the name of its document and the heading it stands under."""
    passages: list[NewPassage] = []
    for part, chunk in enumerate(chunks(blocks)):
        about = terms(f"{name.rsplit('.', 1)[0]} {chunk.heading or ''}")
        place = {"start": chunk.start, "end": chunk.end, "page": chunk.page, "heading": chunk.heading}
        passages.append(
            NewPassage(
                source_kind="document", source_id=document_id, part=part, speaker=None, at=at, session=None,
                visibility=visibility, text=chunk.text, foreign=not latin(chunk.text),
                frequencies=dict(Counter([*terms(chunk.text), *set(about)])),
                place={key: value for key, value in place.items() if value is not None},
            )
        )  # fmt: skip
    return passages
