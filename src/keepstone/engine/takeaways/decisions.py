"""Decisions: which sentences make one, which are firm, and which supersedes which.

What is proposed, reported, open or not settled yet is none. It must not reword, and it knows no database and no clock.
"""

import re
from functools import lru_cache

from keepstone.engine.cues import CUES
from keepstone.engine.extract.passed_over import NAMED, SOLID
from keepstone.engine.language import tables
from keepstone.engine.language.doubt import JOKE, SUPPOSED, UNSURE, is_quoted
from keepstone.engine.language.sentences import lowered
from keepstone.engine.language.stopwords import guess
from keepstone.engine.rank import normalised
from keepstone.engine.terms import terms

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
# Says in a decision that another one was made before; and that it is given up.
_TURNED = _TABLES.pattern("turned")
_ENDED = _TABLES.pattern("ended")

_CUES = [cue for cue in CUES if cue.about["kind"] == "decision" and cue.about["weight"] >= 0.7]
_STRONG = tables.RuleIndex([cue for cue in _CUES if cue.about["weight"] >= 0.75])
_PATTERNS = (_DECIDES_NAMED, _DECIDES, *(cue.pattern for cue in _CUES))
_FIRM = tables.late(lambda: re.compile("|".join(pattern.pattern for pattern in _PATTERNS)))
# The words with which a decision is made, not those that it is about; and days, which are chosen in it.
_SAYING = frozenset(
    term
    for language in ("en", "de", "es", "zh")
    for word in _TABLES.words("saying", language)
    for term in terms(word, language)
)
_CALENDAR = tables.load("calendar")
_DAYS = frozenset(
    term
    for language in ("en", "de", "es")
    for words in (
        *_TABLES.words("days", language),
        *_CALENDAR.words("months", language),
        *_CALENDAR.words("weekdays", language),
    )
    for term in terms(words.replace("|", " "), language)
)
_WHOSE = re.compile(r"\b(?:for|of|für|de|von)\s+([\w-]+)", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w'’.-])[\w'’.-]*\w")


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
    if (_ALONE.search(low, 0, firm.end()) and not _OURS.search(low)) or JOKE.search(lowered(message)):
        return False
    return is_said(low, firm)


def revises(new: str, old: str) -> bool:
    """Whether a newer decision takes the place of an older one: of the same thing, and another choice."""
    if normalised(new) == normalised(old):
        return False
    fresh, before = _frame(new), _frame(old)
    shared = fresh.subject & before.subject
    if not shared:
        return False
    near = len(shared) / min(len(fresh.subject), len(before.subject))
    most = max(len(fresh.subject), len(before.subject))
    if _TURNED.search(lowered(new)):
        # One word in common is enough where there is hardly another, or where what it names is given up.
        return near >= 0.5 and (len(shared) > 1 or most <= 2 or bool(_ENDED.search(lowered(new))))
    if (fresh.subject ^ before.subject) & _DAYS:
        return False
    # Without a word that says so: the same sentence but for one value, or for one word at the same place.
    if fresh.values != before.values and fresh.kinds & before.kinds:
        return near >= 0.6 and max(len(fresh.subject - shared), len(before.subject - shared)) <= 1
    places = (fresh.places(fresh.subject - shared), before.places(before.subject - shared))
    return near >= 0.5 and len(places[0]) == 1 and places[0] == places[1]


class _Frame:
    """What a decision is about, and the values in it: numbers and days, which are chosen and never what it is about."""

    __slots__ = ("kinds", "language", "subject", "text", "values")

    def __init__(self, text: str) -> None:
        self.text, self.language = text, guess(text)
        telling = set(terms(text, self.language))
        # "The invoice for March" and that for April are two things.
        whose = {term for match in _WHOSE.finditer(text) for term in terms(match[1], self.language)}
        self.values = {term for term in telling - whose if term[0].isdigit() or term in _DAYS}
        self.kinds = {"day" if term in _DAYS else "number" for term in self.values}
        self.subject = telling - self.values - _SAYING

    def places(self, apart: set[str]) -> list[str]:
        """For each word that differs the small word before it: "for Redis" and "for Kafka" stand at the same place."""
        words = _WORD.findall(lowered(self.text))
        raw = _WORD.findall(self.text)
        return [
            before for before, word in zip(["", *words], raw, strict=False) if apart & {*terms(word, self.language)}
        ]


# A summary compares each with many.
@lru_cache(maxsize=1024)
def _frame(text: str) -> _Frame:
    return _Frame(text)
