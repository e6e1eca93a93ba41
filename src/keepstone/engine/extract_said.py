"""What a user says in a chat turn that holds beyond it.

Owns which sentences are the user's own, which of them last, and what is cut off at their end. It must not reword. The
words by which they are known are in `extract_cues` and `extract_refused`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat

from keepstone.engine import extract_refused as refused
from keepstone.engine import people
from keepstone.engine.cues import BLOCK
from keepstone.engine.extract_cues import CLAUSE, INSTRUCTIONS, STATEMENTS, Cue
from keepstone.engine.extract_refused import small
from keepstone.engine.language.scripts import DENSE
from keepstone.engine.language.sentences import FENCE, Line, lines, sentences

# A longer turn holds something pasted, and only what it says of "I" and "my" is the user's own; of a very long one the
# beginning is read.
PASTED = 1_000
VERY_LONG = 5_000
# A longer sentence is prose, a log or a table.
SENTENCE = 400

_Near = list[tuple[str, Cue]]

_MARKS = " .,;:!¡…-–—*\"'“”("
_MASK = 0xE000
_PRIVATE = re.compile(r"[\ue000-\uf8ff]")
# Quoted lines, and what stands for quotations here.
_ASIDE = re.compile(r"^[ \t]*>[^\n]*|[\ue000-\uf8ff]", re.MULTILINE)
_QUOTED = re.compile(
    r"(?<!\w)\"[^\"]{2,1500}\"(?!\w)|“[^“”]{2,1500}”|«[^«»]{2,1500}»|„[^„“”]{2,1500}[“”]|「[^「」]{2,1500}」|"
    r"『[^『』]{2,1500}』"
)
# Ends of sentences that `sentences` passes over for the sake of dates and short forms: what follows begins a new one.
_AGAIN = re.compile(
    r"(?<=[\w)”\"’\ue000-\uf8ff][.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)(?<!\bvs\.)\s+(?=(?:i|my|we|our|you|he|she|"
    r"it|they|the|this|that|can|could|would|what|how|where|why|which|who|when|do|does|is|are|should|please|but|and|so|"
    r"also|any|give|help|let's|btw|thanks)\b)",
    re.IGNORECASE,
)


def said(text: str) -> list[tuple[str, str]]:
    """What is to be kept, each with its category, in the order of the text."""
    read, quotes = _own_sentences(text)
    whole = f" {small(' '.join(read))} "
    tables = _near(INSTRUCTIONS, whole), _near(STATEMENTS, whole)
    pasted = len(whole) > PASTED
    kept: list[_Said] = []
    before: _Said | None = None
    for raw in read:
        if len(raw) > SENTENCE:
            before = None
            continue
        each = _Said(raw)
        each.category = _category(each, before, *tables, pasted=pasted)
        if each.category and each.leans():
            if before is not None and before.category:
                before.content = _joined(before.content, each.content)
                continue
            if before is None or before.asks():
                each.category = None
            else:
                each.content = _joined(before.content, each.content)
        if each.category:
            kept.append(each)
        before = each
    return [(_unmasked(each.content, quotes), each.category or "") for each in kept]


class _Said:
    """A sentence, and what is asked of it, if it is. A quotation in it is one private character."""

    def __init__(self, raw: str) -> None:
        self.raw = self.content = raw
        self.low = small(raw)
        self.category: str | None = None

    @cached_property
    def exact(self) -> bool:
        return bool(refused.SOLID.search(self.low) or refused.NAMED.search(self.raw))

    @cached_property
    def starts(self) -> list[int]:
        """Where a clause begins."""
        first = len(self.raw) - len(self.raw.lstrip(_MARKS))
        return sorted({first, *(match.end() for match in CLAUSE.finditer(self.low))})

    def asks(self) -> bool:
        low = self.low
        return bool(refused.ASKED.search(low) or refused.QUESTION.match(low) or refused.REQUEST.match(low))

    def leans(self) -> bool:
        """Whether it can't be understood without the sentence before it."""
        if refused.LEANS.match(self.low):
            return True
        return self.category != "instruction" and len(self.low) < 60 and bool(refused.OBJECT.search(self.low))


def _own_sentences(text: str) -> tuple[list[str], list[str]]:
    """The sentences that are the user's own, and what is quoted in them."""
    plain = FENCE.sub("\n", text)
    plain = BLOCK.sub("\n", plain if len(plain) <= VERY_LONG else plain[:PASTED])
    plain = _ASIDE.sub("", plain)
    low = plain.lower()
    if not plain.strip() or refused.JOKE.search(low) or refused.RIDDLE.search(low):
        return [], []
    quotes: list[str] = []

    def mask(match: re.Match[str]) -> str:
        quotes.append(match.group())
        return chr(_MASK + len(quotes) - 1)

    return list(_until_handed_in(lines(_QUOTED.sub(mask, plain)))), quotes


def _unmasked(text: str, quotes: Sequence[str]) -> str:
    return _PRIVATE.sub(lambda match: quotes[ord(match.group()) - _MASK], text)


def _until_handed_in(read: Sequence[Line]) -> Iterator[str]:
    """Sentences up to where a play begins or another's text. Code, logs and lines of a chat are passed over."""
    for line in read:
        low = small(line.text)
        if refused.LETTER.match(low):
            return
        if refused.MACHINE.search(low) or (refused.SPOKEN.match(line.text) and not refused.LABEL.match(low)):
            continue
        for each in (part for whole in sentences(line.text) for part in _AGAIN.split(whole)):
            low = small(each)
            if refused.PLAY.match(low) or refused.ERRAND.search(low):
                return
            yield each


def _joined(before: str, after: str) -> str:
    return before + after if DENSE.search(before[-2:]) else f"{before} {after}"


def _near(table: Sequence[Cue], whole: str) -> _Near:
    """The needles that are in the text at all, with their cues."""
    return [(needle, cue) for cue in table for needle in cue.needles if needle in whole]


def _category(each: _Said, before: _Said | None, instructions: _Near, statements: _Near, *, pasted: bool) -> str | None:
    """What a sentence is; None when it is nothing to remember. A question or an errand at its end is taken off."""
    asked = refused.ASKED.search(each.low)
    found = None if asked else _cued(each, each.low, instructions)
    if found:
        return found
    tail = refused.TAIL.search(each.low, 4)
    if asked and not tail:
        return None
    low = each.low[: tail.start()] if tail else each.low
    each.content = each.raw[: len(low)].rstrip(" ,;-–—") if tail else each.raw
    if refused.QUESTION.match(low) or refused.REQUEST.match(low) or (pasted and not refused.OWN.search(low)):
        return None
    found = _cued(each, low, statements) or _told(each, low, before)
    return None if found is None or refused.REPORTED.search(low) or refused.UNSURE.search(low) else found


def _cued(each: _Said, low: str, near: _Near) -> str | None:
    padded = f" {low} "
    for needle, cue in near:
        if needle in padded and (not cue.weak or each.exact):
            tried = map(cue.pattern.match, repeat(low), each.starts) if cue.anchored else [cue.pattern.search(low)]
            if any(match is not None and _holds(low, match.end(), cue.category) for match in tried):
                return cue.category
    return None


def _holds(low: str, place: int, category: str) -> bool:
    """Whether what a cue found up to a place is meant to last."""
    if category == "instruction":
        return not refused.UNSURE.search(low)
    return not refused.SUPPOSED.search(low, 0, place) and (category == "decision" or not refused.PASSING.search(low))


def _told(each: _Said, low: str, before: _Said | None) -> str | None:
    """What is known without a cue: said in order to be remembered, said of what came before, or read of a person."""
    found: str | None = None
    if refused.TELLS.match(low) and (refused.SOLID.search(low) or refused.WE.search(low)):
        found = "fact"
    elif before is not None and refused.LEANING.match(low):
        found = "fact" if each.exact and (before.category or refused.OURS.match(before.low)) else None
    elif refused.WE.search(low):
        read = people.statements("-", each.content)
        found = None if not read else "preference" if read[0].kind == "preference" else "fact"
    return None if found and (refused.PASSING.search(low) or refused.SUPPOSED.search(low)) else found
