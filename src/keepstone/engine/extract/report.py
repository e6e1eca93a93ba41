"""What a text that a model wrote comes to: its results and choices, and of a compaction what it says of the user.

Owns what makes a sentence one to keep; the words by which it is known are in `written.toml`. It must not reword. An
essay, a poem, code and a catalogue come to nothing; neither does what is hedged, or said of the work itself.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from keepstone.engine.extract.passed_over import LEANS, NAMED
from keepstone.engine.language import tables
from keepstone.engine.language.doubt import ASKS
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.language.sentences import FENCE, Line, lines, lowered, sentences

Kind = Literal["deep_think", "research", "compaction"]
Section = Literal["", "result", "choice", "known"]

# Of a longer text the beginning and the end: there it says what it comes to.
READ = 40_000
# A longer line is no prose, a longer sentence no memory, a shorter one says nothing.
LINE = 2_000
SENTENCE = 400
SHORTEST = 24
# A part with more lines is a catalogue, whatever its heading says.
CATALOGUE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """A sentence as it stands in the text, with how surely it is one to keep."""

    content: str
    category: str
    weight: int


_TABLES = tables.load("written")
# What a heading or a label announces.
RESULTS, CHOICES, KNOWN = (_TABLES.pattern(name) for name in ("results", "choices", "known_things"))
RESULT, CHOICE = _TABLES.pattern("result_label"), _TABLES.pattern("choice_label")
SUMS_UP = _TABLES.pattern("sums_up")
FOUND = _TABLES.pattern("found")
CHOSEN = _TABLES.pattern("chosen")
DECIDED = _TABLES.pattern("decided")
ADVISED = _TABLES.pattern("advised")
IMPERATIVE = _TABLES.pattern("imperative")
# What was measured, with a number: a finding in a report, and no more than colour in an essay.
MEASURED = _TABLES.pattern("measured")
# Of the work itself, of the reader, or of nobody.
META = _TABLES.pattern("meta")
HEDGED = _TABLES.pattern("hedged")
STATED = _TABLES.pattern("stated")
NOTED = _TABLES.pattern("noted")
ENTRY = _TABLES.pattern("entry")
YOURS = _TABLES.pattern("yours")
_NUMBERED = re.compile(r"\d")
# Rows of a table, and lines that are none.
_ROW = re.compile(rf"^[ \t]*\|[^\n]*|[^\n]{{{LINE},}}", re.MULTILINE)


def tellings(text: str, kind: Kind) -> list[Telling]:
    """Every sentence that may be kept, in the order of the text."""
    read = text if len(text) <= READ else f"{text[: READ // 2]}\n\n{text[-READ // 2 :]}"
    plain = _ROW.sub("", FENCE.sub("\n", read))
    kept: list[Telling] = []
    for section, part in _parts(lines(plain) if plain.strip() else ()):
        for line in part:
            kept += _of_line(line, section, kind)
    return kept


def _parts(read: Iterable[Line]) -> Iterator[tuple[Section, list[Line]]]:
    """The lines under each heading, with what the heading announces."""
    section: Section = ""
    part: list[Line] = []
    for line in read:
        named = _section(line)
        if named is None:
            part.append(line)
        else:
            yield section if len(part) <= CATALOGUE else "", part
            section, part = named, []
    yield section if len(part) <= CATALOGUE else "", part


def _section(line: Line) -> Section | None:
    """What a heading announces; None for a line that is none."""
    low = lowered(line.text)
    if not line.heading and (len(low) > 60 or line.item):
        return None
    if CHOICES.fullmatch(low):
        return "choice"
    if RESULTS.fullmatch(low):
        return "result"
    if KNOWN.fullmatch(low):
        return "known"
    return "" if line.heading or low.endswith((":", "：")) else None


def _of_line(line: Line, section: Section, kind: Kind) -> Iterator[Telling]:
    for sentence in sentences(line.text):
        low = lowered(sentence)
        if _says_something(sentence, low):
            weight = _weight(sentence, low, section, kind, item=line.item)
            if weight:
                yield Telling(content=sentence, category=_category(low, section), weight=weight)


def _says_something(sentence: str, low: str) -> bool:
    size = len(sentence) * (3 if unspaced(sentence) else 1)
    if size < SHORTEST or len(sentence) > SENTENCE or low.endswith((":", "：")):
        return False
    return not (ASKS.search(low) or META.search(low) or HEDGED.search(sentence))


def _weight(sentence: str, low: str, section: Section, kind: Kind, *, item: bool) -> int:
    """How surely a sentence is one to keep; 0 when it is not."""
    if RESULT.match(low) or CHOICE.match(low):
        return 4
    exact = bool(_NUMBERED.search(low) or NAMED.search(sentence))
    if kind == "compaction" and _of_the_user(low, section, exact=exact):
        return 3
    if ENTRY.match(low) or LEANS.match(low):
        return 2 if FOUND.search(low) else 0
    if section == "choice" or (section == "result" and (item or exact or IMPERATIVE.match(low))):
        return 3
    if FOUND.search(low) or (exact and CHOSEN.search(low) and not YOURS.search(low)):
        return 2
    return 1 if exact and not YOURS.search(low) and _sums_up(low, kind) else 0


def _of_the_user(low: str, section: Section, *, exact: bool) -> bool:
    if YOURS.search(low):
        return False
    return section == "known" or bool(STATED.search(low)) or (exact and bool(NOTED.search(low)))


def _sums_up(low: str, kind: Kind) -> bool:
    counted = bool(_NUMBERED.search(low))
    if SUMS_UP.match(low):
        return counted or bool(ADVISED.search(low))
    return kind == "research" and counted and bool(MEASURED.search(low))


def _category(low: str, section: Section) -> str:
    if section == "choice" or CHOICE.match(low) or CHOSEN.search(low) or DECIDED.search(low):
        return "decision"
    concluded = section == "result" or RESULT.match(low) or SUMS_UP.match(low)
    return "decision" if concluded and (IMPERATIVE.match(low) or ADVISED.search(low)) else "fact"
