"""What a user says in a chat turn that holds beyond it.

Owns which sentences are the user's own, which of them last, and what is cut off at their end. It must not reword. The
words by which they are known are in `said.toml` and `passed_over.toml`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat

from keepstone.engine.cues import without_blocks
from keepstone.engine.extract import passed_over
from keepstone.engine.language import scripts, tables
from keepstone.engine.language.doubt import ASKS, JOKE, SUPPOSED, TENTATIVE
from keepstone.engine.language.sentences import FENCE, Line, lines, lowered, sentences
from keepstone.engine.people.statements import statements

# A longer turn holds something pasted, and only what it says of "I" and "my" is the user's own; of a very long one the
# beginning is read.
PASTED = 1_000
VERY_LONG = 5_000
# A longer sentence is prose, a log or a table.
SENTENCE = 400

_TABLES = tables.load("said")
_CLAUSE = _TABLES.pattern("at")
_CUES = _TABLES.rules("cue")
_INSTRUCTIONS = tables.RuleIndex([cue for cue in _CUES if cue.about["category"] == "instruction"])
_STATEMENTS = tables.RuleIndex([cue for cue in _CUES if cue.about["category"] != "instruction"])

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
_AGAIN = _TABLES.pattern("new_sentence")


def said(text: str) -> list[tuple[str, str]]:
    """What is to be kept, each with its category, in the order of the text."""
    own, quotations = own_sentences(text)
    low = text.lower()
    if JOKE.search(low) or passed_over.RIDDLE.search(low):
        return []
    everything = lowered(" ".join(own))
    cues = _INSTRUCTIONS.near(everything), _STATEMENTS.near(everything)
    pasted = len(everything) + 2 > PASTED
    kept: list[_OwnSentence] = []
    before: _OwnSentence | None = None
    for raw in own:
        if len(raw) > SENTENCE:
            before = None
            continue
        sentence = _OwnSentence(raw)
        sentence.category = _category(sentence, before, *cues, pasted=pasted)
        if sentence.category and sentence.leans():
            if before is not None and before.category:
                before.content = joined(before.content, sentence.content)
                continue
            if before is None or before.asks():
                sentence.category = None
            else:
                sentence.content = joined(before.content, sentence.content)
        if sentence.category:
            kept.append(sentence)
        before = sentence
    return [(unmasked(sentence.content, quotations), sentence.category or "") for sentence in kept]


class _OwnSentence:
    """A sentence, and what is asked of it, if it is. A quotation in it is one private character."""

    def __init__(self, raw: str) -> None:
        self.raw = self.content = raw
        self.low = lowered(raw)
        self.category: str | None = None

    @cached_property
    def exact(self) -> bool:
        return bool(passed_over.SOLID.search(self.low) or passed_over.NAMED.search(self.raw))

    @cached_property
    def starts(self) -> list[int]:
        """Where a clause begins."""
        first = len(self.raw) - len(self.raw.lstrip(_MARKS))
        return sorted({first, *(match.end() for match in _CLAUSE.finditer(self.low))})

    def asks(self) -> bool:
        patterns = ASKS.search, passed_over.ASKING.match, passed_over.REQUEST.match
        return any(fits(self.low) for fits in patterns)

    def leans(self) -> bool:
        """Whether it can't be understood without the sentence before it."""
        if passed_over.LEANS.match(self.low):
            return True
        return self.category != "instruction" and len(self.low) < 60 and bool(passed_over.OBJECT.search(self.low))


def own_sentences(text: str) -> tuple[list[str], list[str]]:
    """The sentences that are the user's own, and what is quoted in them."""
    plain = FENCE.sub("\n", text)
    plain = _ASIDE.sub("", without_blocks(plain if len(plain) <= VERY_LONG else plain[:PASTED]))
    if not plain.strip():
        return [], []
    quotations: list[str] = []

    def mask(match: re.Match[str]) -> str:
        quotations.append(match.group())
        return chr(_MASK + len(quotations) - 1)

    return list(_until_handed_in(lines(_QUOTED.sub(mask, plain)))), quotations


def unmasked(text: str, quotations: Sequence[str]) -> str:
    return _PRIVATE.sub(lambda match: quotations[ord(match.group()) - _MASK], text)


def _until_handed_in(given: Sequence[Line]) -> Iterator[str]:
    """Sentences up to where a play begins or another's text. Code, logs and lines of a chat are passed over."""
    spoken = {line.text for line in given if passed_over.SPOKEN.match(line.text)}
    # "Parking: behind the hall" names a matter; two such lines in which somebody says "I" are a chat.
    chat = len(spoken) > 1 and any(passed_over.WE.search(lowered(text)) for text in spoken)
    for line in given:
        low = lowered(line.text)
        if passed_over.LETTER.match(low):
            return
        if (chat and line.text in spoken and not passed_over.LABEL.match(low)) or passed_over.MACHINE.search(low):
            continue
        for sentence in (part for parts in sentences(line.text) for part in _AGAIN.split(parts)):
            low = lowered(sentence)
            if passed_over.PLAY.match(low) or passed_over.ERRAND.search(low):
                return
            yield sentence


def joined(before: str, after: str) -> str:
    return before + after if scripts.DENSE.search(before[-2:]) else f"{before} {after}"


def _category(
    sentence: _OwnSentence,
    before: _OwnSentence | None,
    instructions: Sequence[tables.Rule],
    statements: Sequence[tables.Rule],
    *,
    pasted: bool,
) -> str | None:
    """What a sentence is; None when it is nothing to remember. A question or an errand at its end is taken off."""
    asked = ASKS.search(sentence.low)
    category = None if asked else _cued(sentence, sentence.low, instructions)
    if category:
        return category
    tail = passed_over.TAIL.search(sentence.low, 4)
    if asked and not tail:
        return None
    low = sentence.low[: tail.start()] if tail else sentence.low
    sentence.content = sentence.raw[: len(low)].rstrip(" ,;-–—") if tail else sentence.raw
    if passed_over.ASKING.match(low) or passed_over.REQUEST.match(low) or (pasted and not passed_over.OWN.search(low)):
        return None
    category = _cued(sentence, low, statements) or _told(sentence, low, before)
    doubtful = category is None or passed_over.REPORTED.search(low) or TENTATIVE.search(low)
    return None if doubtful else category


def _cued(sentence: _OwnSentence, low: str, cues: Sequence[tables.Rule]) -> str | None:
    """The category of the first cue that fits. A weak one says too little by itself."""
    for cue in cues:
        if not cue.about.get("weak") or sentence.exact:
            category: str = cue.about["category"]
            begins = cue.about.get("begins_clause")
            tried = map(cue.pattern.match, repeat(low), sentence.starts) if begins else [cue.pattern.search(low)]
            if any(match is not None and _holds(low, match.end(), category) for match in tried):
                return category
    return None


def _holds(low: str, place: int, category: str) -> bool:
    """Whether what a cue says up to a place is meant to last."""
    if category == "instruction":
        return not TENTATIVE.search(low)
    if SUPPOSED.search(low, 0, place):
        return False
    return category == "decision" or not passed_over.PASSING.search(low)


def _told(sentence: _OwnSentence, low: str, before: _OwnSentence | None) -> str | None:
    """What is known without a cue: said in order to be remembered, said of what came before, or read of a person."""
    category: str | None = None
    if passed_over.TELLS.match(low) and (passed_over.SOLID.search(low) or passed_over.WE.search(low)):
        category = "fact"
    elif before is not None and passed_over.LEANING.match(low):
        category = "fact" if sentence.exact and (before.category or passed_over.OURS.match(before.low)) else None
    elif passed_over.WE.search(low):
        stated = statements("-", sentence.content)
        category = None if not stated else "preference" if stated[0].kind == "preference" else "fact"
    return None if category and (passed_over.PASSING.search(low) or SUPPOSED.search(low)) else category
