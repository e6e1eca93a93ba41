"""Terms: what a text is indexed under for BM25, and where in the text each of them stands.

Owns the stemming and what is made of each token. It must stay a function of the text alone: the same text gives the
same terms at every time and place, or stored terms are no longer found. No statistics here; those are `bm25`'s, and
belong to a space.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import snowballstemmer

from keepstone.engine.language.calendar import ENGLISH_MONTHS
from keepstone.engine.language.scripts import DENSE, HAN, LONGEST_TOKEN, language_of_script, placed_tokens, tokens
from keepstone.engine.language.stopwords import LATIN_LANGUAGES, guess_from, is_stop


class Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802


# The classes are named instead of asking `snowballstemmer.stemmer`, which takes PyStemmer where it happens to be
# installed: another version of the algorithm would give other stems than those in the database.
STEMMERS: dict[str, Callable[[], Stemmer]] = {
    "ar": snowballstemmer.ArabicStemmer,
    "da": snowballstemmer.DanishStemmer,
    "de": snowballstemmer.GermanStemmer,
    "el": snowballstemmer.GreekStemmer,
    "en": snowballstemmer.EnglishStemmer,
    "es": snowballstemmer.SpanishStemmer,
    "fi": snowballstemmer.FinnishStemmer,
    "fr": snowballstemmer.FrenchStemmer,
    "hi": snowballstemmer.HindiStemmer,
    "it": snowballstemmer.ItalianStemmer,
    "nl": snowballstemmer.DutchStemmer,
    "no": snowballstemmer.NorwegianStemmer,
    "pt": snowballstemmer.PortugueseStemmer,
    "ru": snowballstemmer.RussianStemmer,
    "sv": snowballstemmer.SwedishStemmer,
    "tr": snowballstemmer.TurkishStemmer,
}


@dataclass(frozen=True, slots=True)
class Word:
    """A term and the characters of the text that it stands for."""

    start: int
    end: int
    term: str


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A term that is looked for, and what a word may begin with instead, if any may."""

    term: str
    beginning: str | None

    def met_by(self, term: str, raw: str) -> bool:
        """Whether a word of a text is it, or begins so."""
        return term == self.term or (self.beginning is not None and _fold(raw.casefold()).startswith(self.beginning))


def terms(text: str, language: str | None = None) -> list[str]:
    """The terms of a text in its order, with repeats. Stop words only where there is nothing else."""
    raw_tokens = tokens(text)
    language = language or guess_from(raw_tokens)
    kept: list[str] = []
    for raw in raw_tokens:
        kept += _terms(raw, language) if len(raw) <= LONGEST_TOKEN else _dense_terms(raw)
    if kept:
        return kept
    return [term for raw in raw_tokens for term in _spoken(raw, language)]


def asked_words(text: str) -> list[AskedWord]:
    """What somebody looks for: its terms in their order, each once, and with what other words may begin."""
    raw_tokens = tokens(text)
    language = guess_from(raw_tokens)
    wanted = set(terms(text, language))
    asked: dict[str, AskedWord] = {}
    for raw in raw_tokens:
        spoken = [term for term in _spoken(raw, language) if term in wanted]
        for term in spoken:
            beginning = _beginning(raw) if len(spoken) == 1 else None
            if term not in asked or asked[term].beginning is None:
                asked[term] = AskedWord(term, beginning)
    return list(asked.values())


def _beginning(raw: str) -> str | None:
    """What a word that somebody has begun to write begins with. Of few letters too much does; of a script without
    spaces one letter does, unless it is in the index by itself.
    """
    folded = _fold(unicodedata.normalize("NFKC", raw).casefold())
    if DENSE.match(raw):
        return folded if len(raw) == 1 and not HAN.match(raw) else None
    return folded[:LONGEST_TOKEN] if len(folded) >= _BEGUN and folded.isalpha() else None


def words(text: str, language: str | None = None) -> list[Word]:
    """Every term with its place, stop words too: they have a place as well, and the caller knows their weight."""
    matches = list(placed_tokens(text))
    language = language or guess_from(match.group() for match in matches)
    placed: list[Word] = []
    for match in matches:
        raw, start = match.group(), match.start()
        if DENSE.match(raw):
            placed += _dense_words(raw, start)
        else:
            placed += [Word(start, match.end(), term) for term in _spoken(raw, language)]
    return placed


_BEGUN = 3  # letters of a word from which on others may begin so
_PLAIN = re.compile(r"[a-z]+")


@lru_cache(maxsize=1 << 16)
def _terms(raw: str, language: str) -> tuple[str, ...]:
    return () if is_stop(raw, language) else _spoken(raw, language)


@lru_cache(maxsize=1 << 16)
def _spoken(raw: str, language: str) -> tuple[str, ...]:
    """The terms of one match of the pattern. Some letters become several when they are folded."""
    return tuple(term[:LONGEST_TOKEN] for term in _as_written(raw, language))


def _as_written(raw: str, language: str) -> tuple[str, ...]:
    if DENSE.match(raw):
        return _dense_terms(raw)
    folded = unicodedata.normalize("NFKC", raw).casefold().replace("’", "'")
    if _PLAIN.fullmatch(folded) and not _CAMEL.search(raw):
        return (stem(folded, language),)
    if folded[0].isdigit():
        number = _number(folded)
        if number:
            return number
    if "'" in folded and "@" not in folded:
        return _apostrophe(folded, language)
    if "." in folded and all(len(part) == 1 for part in folded.split(".")):
        return (folded.replace(".", ""),)
    inner = _inner(raw, language)
    # An identifier, an address or a file name is asked for whole or by its parts.
    return (_fold(folded).strip("_"), *inner) if len(inner) > 1 else inner


# The places where a word begins inside another, and what stands between words.
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[_.@+' -]+")


def _inner(raw: str, language: str) -> tuple[str, ...]:
    """The words inside an identifier: get_userName → get, user, name."""
    apart = unicodedata.normalize("NFKC", _CAMEL.sub(" ", raw)).casefold()
    return tuple(stem(part, language) for part in _SPLIT.split(apart) if part)


_ORDINAL = re.compile(r"(\d{1,100}+)(?:st|nd|rd|th)")
_ISO_DATE = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def _number(folded: str) -> tuple[str, ...]:
    """Nothing when it only begins with a digit."""
    if _THOUSANDS.fullmatch(folded):
        return (folded.replace(",", ""),)
    date = _ISO_DATE.fullmatch(folded)
    if date and 1 <= int(date[2]) <= 12 and 1 <= int(date[3]) <= 31:
        # Also under the words that people use for it, so that "7 May 2023" finds 2023-05-07.
        month, day = int(date[2]), int(date[3])
        return (f"{date[1]}-{month:02}-{day:02}", date[1], stem(ENGLISH_MONTHS[month - 1].casefold(), "en"), str(day))
    ordinal = _ORDINAL.fullmatch(folded)
    if ordinal:
        return (ordinal[1],)
    return () if any(map(str.isalpha, folded)) else (folded,)


_CONTRACTED = frozenset({"s", "t", "re", "ve", "ll", "d", "m"})


def _apostrophe(folded: str, language: str) -> tuple[str, ...]:
    parts = [part for part in folded.split("'") if part]
    if len(parts) > 1 and parts[-1] in _CONTRACTED:
        parts = parts[:-1]
    # l'homme, qu'il, O'Brien: what stands before is grammar.
    if len(parts) > 1 and len(parts[0]) <= 2:
        parts = parts[1:]
    return tuple(term for part in parts for term in _inner(part, language))


def _dense_terms(run: str) -> tuple[str, ...]:
    return tuple(word.term for word in _dense_words(run, 0))


def _dense_words(run: str, offset: int) -> list[Word]:
    """Bigrams of a run without spaces, and each Han character alone: a name or a word of one must be found as well."""
    placed: list[Word] = []
    letters = [unicodedata.normalize("NFKC", letter).casefold() for letter in run]
    for index, letter in enumerate(letters):
        if len(letters) == 1 or HAN.match(letter):
            placed.append(Word(offset + index, offset + index + 1, letter))
        if index + 1 < len(letters):
            placed.append(Word(offset + index, offset + index + 2, letter + letters[index + 1]))
    return placed


@lru_cache(maxsize=1 << 16)
def stem(word: str, language: str) -> str:
    """A folded word without its ending and its diacritics."""
    word = word[:LONGEST_TOKEN]
    if word.isascii():
        language = language if language in LATIN_LANGUAGES else "en"
    else:
        script = language_of_script(word)
        language = script if script in STEMMERS else language if language in LATIN_LANGUAGES else "en"
    # A stemmer holds the word that it works on, so a shared one would mix up the threads; a new one costs nothing.
    return _fold(STEMMERS[language]().stemWord(word)) or word


_FOLDED = re.compile(r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]")
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th"})


def _fold(word: str) -> str:
    if word.isascii():
        return word
    bare = _FOLDED.sub("", unicodedata.normalize("NFD", word)).translate(_STROKES)
    return unicodedata.normalize("NFC", bare) or word
