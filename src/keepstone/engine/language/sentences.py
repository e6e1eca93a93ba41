"""Sentences: a text with markdown in it as plain lines and sentences, and a phrase cut to a length.

Owns what markdown is taken off and where a sentence ends. It must not judge what is said, and it must not reword: what
comes out stands in the text, but for the marks and for the ellipsis of a cut.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from keepstone.engine.language.calendar import MONTHS
from keepstone.engine.language.scripts import DENSE
from keepstone.engine.language.stopwords import guess, is_stop
from keepstone.engine.language.tables import load

FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
BARRIER = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
HEADING = re.compile(r"^(?:\s{0,3}#{1,6}\s+(?P<text>.*)|\s*+(?:\*\*|__)(?P<bold>[^*_]+?)[:：]?(?:\*\*|__)[:：]?\s*)$")
UNDERLINE = re.compile(r"^\s*+(?:={3,}+|-{3,}+)\s*$")
# What stands before the words of a line: a quote, a bullet, a number, a box to tick.
LEAD = re.compile(r"^(?:\s*+(?:>++|[-*+•·](?=\s)|\d{1,3}[.)、](?=\s|[^\d\s,;])|\[[ xX]\](?=\s)))++\s*")
# No bracket stands in another but for one pair in an address: a text of nothing but brackets is read once.
_ADDRESS = r"\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*"
PICTURE = re.compile(rf"!\[([^\[\]]*)\]{_ADDRESS}\)")
LINK = re.compile(rf"\[([^\[\]]+)\]{_ADDRESS}(?:\s+\"[^\"]*\")?\)")
TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,200}>")
MARK = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|~~|`+")
RULE = re.compile(r"[\s|:=*_#>+.-]*")
# A full stop ends a sentence when a space and no small letter follows, and no short form, lone letter or short number
# stands before; of those who write no capitals, behind a whole word. The minutes of a time are no short number.
_FORMS = load("sentences")
_NOT_BEHIND = "".join(rf"(?<!\b{re.escape(form)})" for form in _FORMS.words("short_forms"))
_NOT_COUNTED = "".join(rf"(?<!{re.escape(form)})" for form in _FORMS.words("before_numbers"))
END = re.compile(
    r"[。！？…]+[”」』）)]{0,3}|(?=[.!?])(?<!(?<!°)\b[A-Z\d])(?<!(?<![.\w])[a-z])(?<!(?<![:.,])\b\d\d)"
    rf"{_NOT_BEHIND}(?:(?!\.\s+\d)|(?i:{_NOT_COUNTED}))"
    r"[.!?]{1,9}[\"'”’)\]]{0,3}(?=\s+[^\sa-z]|\s*$)"
    rf"|[!?]{{1,9}}(?=\s+[a-z])|(?<=[a-zäöüß]{{3}}){_NOT_BEHIND}\.(?=\s+[a-z])"
)
# In English no full stop makes an ordinal of a number: "below 7. Otherwise".
_NUMBER_END = re.compile(r"(?<=\w\s)\d{1,2}\.(?=\s+(\w+))")
# A mark between digits belongs to a number or a time.
CLAUSE = re.compile(r"[;，；：、]|(?<!\d)[,:]|[,:](?!\d)|\s[–—-]\s|—|\s\(|（")
STOP = re.compile(r"[\n。！？]|(?<!\b\d)(?<!\b\d\d)[.!?](?=\s|$)")
SPACES = re.compile(r"\s+")
LAST_WORD = re.compile(r"(?<![^\s\u3000-\u9fff])[^\s\u3000-\u9fff]+$")


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its marks. A line that is all bold is a heading too, mostly of a part."""

    text: str
    heading: Literal["", "marked", "bold"] = ""
    item: bool = False


def lowered(text: str) -> str:
    """In small letters and with plain apostrophes, and as long as the text, so that places in one are places in the
    other: few letters of few scripts would change the length, and then the text stays as it is.
    """
    low = text.lower().replace("’", "'")
    return low if len(low) == len(text) else text


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def lines(markdown: str) -> list[Line]:
    """The lines that say something, without code, unless code is all there is."""
    return list(_lines(FENCE.sub("\n", markdown))) or list(_lines(BARRIER.sub("", markdown)))


def sentences(line: str) -> list[str]:
    """The sentences of a plain line, each with its closing mark."""
    ends = [0, *sorted({*(match.end() for match in END.finditer(line)), *_after_numbers(line)}), len(line)]
    pieces = (line[start:end].strip() for start, end in pairwise(ends))
    return [sentence for sentence in pieces if sentence]


def _after_numbers(line: str) -> Iterator[int]:
    english = None
    for match in _NUMBER_END.finditer(line):
        if match[1][0].isupper() and match[1].lower() not in MONTHS:
            english = guess(line) == "en" and sum(map(is_stop, line.split()[:200])) > 1 if english is None else english
            if english:
                yield match.end()


def around(text: str, place: int) -> tuple[int, int]:
    """Where the sentence or line that holds a place begins and ends; cheap, and so only about right."""
    start = max(text.rfind(mark, 0, place) for mark in "\n。！？") + 1
    for stop in STOP.finditer(text, start, place):
        start = stop.end()
    match = STOP.search(text, place)
    return start, match.end() if match else len(text)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters: cut after a clause where there is one late enough, else after a word with "…"."""
    text = SPACES.sub(" ", text).strip()
    if len(text) <= limit:
        return text
    clauses = [match.start() for match in CLAUSE.finditer(text, limit // 2, limit + 1) if match.start() <= limit]
    for cut in reversed(clauses):
        # Not inside of brackets.
        if text.count("(", 0, cut) == text.count(")", 0, cut) and text.count("（", 0, cut) == text.count("）", 0, cut):
            return text[:cut].rstrip()
    kept = text[: limit - 1]
    if not DENSE.match(text[limit - 1]):
        # A word is not cut, unless it is longer than half of all.
        whole_words = LAST_WORD.sub("", kept)
        kept = whole_words if len(whole_words) > limit // 2 else kept
    words, language = kept.split(), guess(text)
    while len(words) > 3 and is_stop(words[-1].strip(","), language):
        words.pop()
    return " ".join(words).rstrip(" ,;:，；：、-–—(") + "…"


def unmarked(line: str) -> str:
    """One line without the marks of markdown."""
    line = LEAD.sub("", line, count=1) if LEAD.match(line) else line
    line = LINK.sub(r"\1", PICTURE.sub(r"\1", line))
    return SPACES.sub(" ", MARK.sub("", TAG.sub("", line)).replace("|", " ")).strip()


def _lines(text: str) -> Iterator[Line]:
    raw = text.splitlines()
    for line, below in zip(raw, [*raw, ""][1:], strict=True):
        if RULE.fullmatch(line):
            continue
        heading = HEADING.match(line)
        inner = unmarked(((heading["text"] or "").rstrip("# ") or heading["bold"] or "") if heading else line)
        if inner:
            marked = heading["text"] if heading else UNDERLINE.match(below) and not LEAD.match(line)
            yield Line(inner, "marked" if marked else "bold" if heading else "", _is_item(line))


def _is_item(line: str) -> bool:
    """Whether a line is one of a list or of a table."""
    return bool(LEAD.match(line)) or line.count("|") > 1
