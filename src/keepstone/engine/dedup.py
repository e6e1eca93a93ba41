"""Whether a new text says anything that an old one does not. Nearness in meaning alone can't tell: "the deadline is
March 15" and "the deadline is April 1" are as near to each other as two wordings of one fact, and so are "Anna manages
Ben" and "Ben manages Anna". So both have to say the same words in the same order, up to words that carry nothing and a
few that people use for each other. In doubt both are kept.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from keepstone.engine.language.calendar import ENGLISH_MONTHS
from keepstone.engine.language.stopwords import FILLERS, guess
from keepstone.engine.language.tables import load
from keepstone.engine.rank import normalised
from keepstone.engine.terms import stem, words

WORTH_COMPARING = 0.6  # cosine: below this nobody looks at words
_TABLES = load("dedup")
_MONTHS = {month.casefold(): number for number, month in enumerate(ENGLISH_MONTHS, 1)}
_MONTH = "|".join(_MONTHS)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATE = re.compile(rf"\b(?:{_DAY} (?:of )?({_MONTH})|({_MONTH}) {_DAY})\b(?:,? (\d{{4}})\b)?(?![\d:])", re.IGNORECASE)
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
    new_words, old_words = list(_words(new, language)), list(_words(old, language))
    if not new_words or list(_signs(new)) != list(_signs(old)) or not _same_names(new_words, old_words):
        return False
    left, right = [word.stem for word in new_words], [word.stem for word in old_words]
    if left == right:
        return True
    return sorted(left) == sorted(right) and _joints(new) != _joints(old) and _DIRECTED.isdisjoint(left)


def _same_names(new: list[_Word], old: list[_Word]) -> bool:
    """Whether names and numbers that stand in both do so in the same order and are written alike."""
    both = {word.stem for word in new if word.name} & {word.stem for word in old if word.name}
    left, right = ([word.name for word in side if word.name and word.stem in both] for side in (new, old))
    return left == right


def _words(text: str, language: str) -> Iterator[_Word]:
    """What carries something, in its order."""
    last, begun = "", -1
    for word in words(text, language):
        if word.start == begun:
            continue  # an identifier comes whole first, then by its parts
        raw = text[word.start : word.end]
        low = raw.casefold()
        if low in FILLERS:
            continue
        begun = word.start
        key = _key(low, word.term)
        if key in _ALIKE and _ALIKE[key] == last:
            continue  # takes place
        last = _ALIKE.get(key, key)
        number = any(map(str.isdigit, raw))
        yield _Word(last, word.term if number else low.removesuffix("'s") if raw[0].isupper() else None)


def _key(low: str, term: str) -> str:
    """What happened is not what is: "lived" is not "lives", though they have one stem."""
    return low if low.endswith("ed") else term


_SPELLINGS = _TABLES.rules("spelling")
_JOINTS = frozenset(_TABLES.words("joints"))
_DIRECTED = frozenset(stem(word, "en") for word in _TABLES.words("directed"))
# A word by the first of those that are used for it.
_ALIKE = {
    _key(word, stem(word, "en")): group.partition(" ")[0] for group in _TABLES.words("alike") for word in group.split()
}


def _spelled(text: str) -> str:
    """With one spelling for what has several: not, times of day, dates."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    for spelling in _SPELLINGS:
        text = spelling.pattern.sub(spelling.about["as"], text)
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


class SaidAlready:
    """Statements that were made, to be asked whether another says anything that none of them does."""

    def __init__(self, statements: Iterable[str] = ()) -> None:
        self._hashes: set[bytes] = set()
        self._by_words: dict[tuple[str, ...], list[str]] = {}
        self.add(statements)

    def add(self, statements: Iterable[str]) -> None:
        for text in statements:
            self._hashes.add(content_hash(text))
            self._by_words.setdefault(_bag(text), []).append(text)

    def says(self, text: str) -> bool:
        # Those that are the same have the same words: no others have to be compared.
        return content_hash(text) in self._hashes or any(
            superfluous(text, old) for old in self._by_words.get(_bag(text), ())
        )


def _bag(text: str) -> tuple[str, ...]:
    spelled = _spelled(text)
    return tuple(sorted(word.stem for word in _words(spelled, guess(spelled))))
