"""Whether a new text says anything that an old one does not. Nearness in meaning alone can't tell: "the deadline is
March 15" and "the deadline is April 1" are as near to each other as two wordings of one fact, and so are "Anna manages
Ben" and "Ben manages Anna". So both have to say the same words in the same order, up to words that carry nothing and a
few that people use for each other. In doubt both are kept.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from keepstone.engine.language.calendar import ENGLISH_MONTHS
from keepstone.engine.language.stopwords import guess
from keepstone.engine.rank import normalised
from keepstone.engine.terms import stem, words

NEARLY_THE_SAME = 0.6  # cosine: below this nobody looks at words
# They carry nothing where the other words are the same. Not among them: what turns one statement into another, such as
# "was", "only", "until", "or".
_FILLERS = """
    a an the of is are be being to in on at for as it its that there has have having do does and our
    user users user's format formatted style form
    der das dem den des ein eine le la les un une el los las il het een
"""
# Used for each other where people tell of themselves and of their work. A past tense stands for itself.
_ALIKE = (
    "prefers likes loves enjoys favours", "response reply answer", "uses runs employs", "called named name",
    "short concise brief", "meets happens takes place occurs", "allergic allergy", "big large", "begins starts",
    "ends finishes", "picked chose selected decided", "works job", "due deadline", "email mail",
)  # fmt: skip
# Words that explain another order: "the deadline of the project" is "the project deadline". Where one of the others
# stands, order is what is said: "tabs instead of spaces".
_JOINTS = frozenset({"of", "for", "in", "to"})
_DIRECTED = "than over from instead rather before after if when until since because but then into not"
_MONTHS = {month.casefold(): number for number, month in enumerate(ENGLISH_MONTHS, 1)}
_MONTH = "|".join(_MONTHS)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATE = re.compile(rf"\b(?:{_DAY} (?:of )?({_MONTH})|({_MONTH}) {_DAY})\b(?:,? (\d{{4}})\b)?(?![\d:])", re.IGNORECASE)
_SPELLINGS = (
    (re.compile(r"’"), "'"),
    (re.compile(r"\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bcan't\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\bno\b(?! longer)", re.IGNORECASE), "not"),
    (re.compile(r"\b(?:has|have) to\b", re.IGNORECASE), "must"),
    (re.compile(r"(?<=\d) ?([ap])\.?m\b", re.IGNORECASE), r" \1m"),
    (re.compile("使用"), "用"),
)
_IN_A_NUMBER = re.compile(r"(?<=\d)[.,:/-](?=\d)")
_SIGN = re.compile(r"(?<![\w-])[-−](?=\d)|!=|(?<=\w)#|#(?=\w)|%|[^\w\s!-/:-@\[-`{-~]|[$+<=>|~]")


@dataclass(frozen=True, slots=True)
class _Word:
    """`name` is how it is written, of what may be a name or a number: those are never taken for each other."""

    stem: str
    name: str | None


def content_hash(text: str) -> bytes:
    """The same for texts that differ in nothing but case, width, spaces and punctuation."""
    plain = unicodedata.normalize("NFKC", text)
    kept = [*_signs(plain), *_IN_A_NUMBER.findall(plain)]
    return hashlib.sha256("\0".join([normalised(text), *kept]).encode()).digest()


def superfluous(new: str, old: str) -> bool:
    """For two texts that are near in meaning: whether the new one adds nothing to the old one."""
    if content_hash(new) == content_hash(old):
        return True
    new, old = _spelled(new), _spelled(old)
    language = guess(f"{new} {old}")
    told, known = list(_words(new, language)), list(_words(old, language))
    if not told or list(_signs(new)) != list(_signs(old)) or not _same_names(told, known):
        return False
    left, right = [word.stem for word in told], [word.stem for word in known]
    if left == right:
        return True
    return sorted(left) == sorted(right) and _joints(new) != _joints(old) and _directed().isdisjoint(left)


def _same_names(told: list[_Word], known: list[_Word]) -> bool:
    """Whether names and numbers that stand in both do so in the same order and are written alike."""
    both = {word.stem for word in told if word.name} & {word.stem for word in known if word.name}
    left, right = ([word.name for word in one if word.name and word.stem in both] for one in (told, known))
    return left == right


def _words(text: str, language: str) -> Iterator[_Word]:
    """What carries something, in its order."""
    alike, fillers, last, begun = _classes(), _fillers(), "", -1
    for word in words(text, language):
        raw = text[word.start : word.end]
        low = raw.casefold()
        if word.start == begun or low in fillers:
            continue  # an identifier is told whole first, then by its parts
        begun = word.start
        told = _key(low, word.term)
        if told in alike and alike[told] == last:
            continue  # takes place
        last = alike.get(told, told)
        number = any(map(str.isdigit, raw))
        yield _Word(last, word.term if number else low.removesuffix("'s") if raw[0].isupper() else None)


def _key(low: str, term: str) -> str:
    """What happened is not what is: "lived" is not "lives", though they have one stem."""
    return low if low.endswith("ed") else term


@cache
def _fillers() -> frozenset[str]:
    return frozenset(_FILLERS.split())


@cache
def _directed() -> frozenset[str]:
    return frozenset(stem(word, "en") for word in _DIRECTED.split())


@cache
def _classes() -> dict[str, str]:
    return {_key(word, stem(word, "en")): group.partition(" ")[0] for group in _ALIKE for word in group.split()}


def _spelled(text: str) -> str:
    """With one spelling for what has several: not, times of day, dates."""
    text = unicodedata.normalize("NFKC", text)
    for pattern, instead in _SPELLINGS:
        text = pattern.sub(instead, text)
    return _DATE.sub(_dated, text)


def _dated(match: re.Match[str]) -> str:
    day, month = match[1] or match[4], _MONTHS[(match[2] or match[3]).casefold()]
    return f"{match[5] or '0000'}-{month:02}-{int(day):02}" if 1 <= int(day) <= 31 else match.group()


def _joints(text: str) -> int:
    return sum(word in _JOINTS for word in text.casefold().split())


def _signs(text: str) -> Iterator[str]:
    """What is no word and says something all the same: C++ and C#, $ and €, < and >, a minus, a thumb up or down, and
    the marks that some scripts write vowels with.
    """
    for match in _SIGN.finditer(text):
        sign = match.group().replace("−", "-")
        kind = unicodedata.category(sign[0])
        if sign.isascii() or kind in {"Sc", "Sm", "So", "Mc"} or (kind == "Mn" and not "\ufe00" <= sign <= "\ufe0f"):
            yield sign
