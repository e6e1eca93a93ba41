"""Decisions: which sentences make one and which are firm.

What is proposed, reported, open or not settled yet is none. It must not reword, and it knows no database and no clock.
"""

import re

from keepstone.engine.cues import CUES
from keepstone.engine.extract.passed_over import NAMED, SOLID
from keepstone.engine.language import tables
from keepstone.engine.language.doubt import JOKE, SUPPOSED, UNSURE, is_quoted
from keepstone.engine.language.sentences import lowered

_TABLES = tables.load("takeaways")
_DECIDES = _TABLES.pattern("decides")
# Only with a number or a name: "let's use another approach" settles nothing.
_DECIDES_NAMED = _TABLES.pattern("decides_named")
_NOT_YET = _TABLES.pattern("not_yet")
_PROPOSED = _TABLES.pattern("proposed")
_REPORTED = _TABLES.pattern("reported")
# Said of oneself it is a plan, and not what the room has agreed on.
_ALONE = _TABLES.pattern("alone")
_OURS = _TABLES.pattern("ours")

_CUES = [cue for cue in CUES if cue.about["kind"] == "decision" and cue.about["weight"] >= 0.7]
_STRONG = tables.RuleIndex([cue for cue in _CUES if cue.about["weight"] >= 0.75])
_PATTERNS = (_DECIDES_NAMED, _DECIDES, *(cue.pattern for cue in _CUES))
_FIRM = tables.late(lambda: re.compile("|".join(pattern.pattern for pattern in _PATTERNS)))


def decides(sentence: str, low: str) -> bool:
    """Whether a sentence says that something was settled: in the words of its own table or by a strong cue."""
    if is_open(low) or _REPORTED.search(low):
        return False
    if is_said(low, _DECIDES.search(low)):
        return True
    if is_said(low, _DECIDES_NAMED.search(low)) and (SOLID.search(low) or NAMED.search(sentence)):
        return True
    return any(is_said(low, cue.pattern.search(low)) for cue in _STRONG.near(low))


def is_open(low: str) -> bool:
    """Whether a sentence says that nothing was settled yet."""
    return _NOT_YET.search(low) is not None


def is_proposed(low: str) -> bool:
    """Whether a sentence puts something to the others."""
    return _PROPOSED.search(low) is not None


def is_alone(low: str, end: int | None = None) -> bool:
    """Whether somebody speaks of themself up to a place, and not for others too."""
    return bool(_ALONE.search(low, 0, len(low) if end is None else end)) and not _OURS.search(low)


def is_said(low: str, match: re.Match[str] | None) -> bool:
    """Whether what was found is there, and not within quotation marks."""
    return match is not None and not is_quoted(low, match.start())


def is_firm(sentence: str, message: str) -> bool:
    """Whether a decision is firm enough to be pinned for good. `message` is the one that it stands in."""
    if sentence.rstrip().endswith(("?", "？")):
        return False
    low = lowered(sentence)
    firm = _FIRM.search(low)
    if not firm or _PROPOSED.search(low) or UNSURE.search(low) or SUPPOSED.search(low, 0, firm.start()):
        return False
    if is_alone(low, firm.end()) or JOKE.search(lowered(message)):
        return False
    return is_said(low, firm)
