r"""Scripts: which letters are written without spaces between words, and what counts as one word of a text.

Owns the ranges of letters and the pattern of a token. It knows no words: those are in `rules/`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

# Languages of one script that need no guess: the letters say it.
_OWN_SCRIPT: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ru", re.compile(r"[Ѐ-ӿ]")),
    ("el", re.compile(r"[Ͱ-Ͽἀ-῿]")),
    ("ar", re.compile(r"[؀-ۿݐ-ݿ]")),
    ("hi", re.compile(r"[ऀ-ॿ]")),
)
# Marks that Python's \w leaves out though words are written with them, and whole blocks of scripts full of such marks.
_MARKS = r"\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_INDIC = r"\u0900-\u0963\u0966-\u0df3\u0f00-\u0fbc"
# Written without spaces: Han, kana, Hangul (whose endings stick to the word), Thai, Lao, Burmese, Khmer.
_HAN = r"々〇\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = r"\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_SOUTHEAST = r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1050-\u109f\u1780-\u17d3"
_DENSE = _HAN + _KANA + _HANGUL + _SOUTHEAST
_LETTER = rf"(?:(?![{_DENSE}])[\w{_MARKS}{_INDIC}])"

# A longer run of letters is no word that anybody says: it is cut into tokens of this length, from its beginning, so
# that it is found by its beginning and by the same run. Nothing behind the tokens sees more at once.
LONGEST_TOKEN = 100
# What stays together: an e-mail address, a number with its inner marks (date, time, version, amount), a dotted name.
# An address has at most 16 parts before its "@", or a long run with hyphens would be read again from each of them.
# Two patterns of one shape: the classes of the second cost three times as much, and most text doesn't need them.
_SHAPE = (
    r"{w}{{1,100}}+(?:[.+-]{w}{{1,100}}+){{0,15}}+@{w}{{1,100}}+(?:[.-]{w}{{1,100}}+){{1,50}}+"
    r"|\d{{1,100}}+(?:[.,:/-]\d{{1,100}}+){{1,50}}+|{w}{{1,100}}+(?:['’.]{w}{{1,100}}+){{0,50}}+"
)
_PART = r"{w}{{1,100}}+"
_ASCII, _ASCII_PART = (re.compile(shape.format(w=r"[A-Za-z0-9_]"), re.ASCII) for shape in (_SHAPE, _PART))
_UNICODE, _UNICODE_PART = re.compile(rf"[{_DENSE}]+|" + _SHAPE.format(w=_LETTER)), re.compile(_PART.format(w=_LETTER))
DENSE = re.compile(rf"[{_DENSE}]")
HAN = re.compile(rf"[{_HAN}]")
# Anything but Latin letters, marks that go with them, punctuation, symbols and pictures.
_BEYOND_LATIN = re.compile(r"[^\x00-\u036f\u1e00-\u1eff\u2000-\u2bff\ufe00-\ufe0f\U0001f000-\U0001faff]")
_IS_KANA = re.compile(rf"[{_KANA}]")
_IS_HANGUL = re.compile(rf"[{_HANGUL}]")
_IS_SOUTHEAST = re.compile(rf"[{_SOUTHEAST}]")


def tokens(text: str) -> list[str]:
    """The words of a text as written; of a script without spaces the runs of its letters."""
    pattern, part = (_ASCII, _ASCII_PART) if text.isascii() else (_UNICODE, _UNICODE_PART)
    whole: list[str] = pattern.findall(text)
    if max(map(len, whole), default=0) <= LONGEST_TOKEN:
        return whole
    return [piece for token in whole for piece in ([token] if _stays(token) else part.findall(token))]


def placed_tokens(text: str) -> Iterator[re.Match[str]]:
    """The same, each with its place."""
    pattern, part = (_ASCII, _ASCII_PART) if text.isascii() else (_UNICODE, _UNICODE_PART)
    for match in pattern.finditer(text):
        if _stays(match.group()):
            yield match
        else:
            yield from part.finditer(text, match.start(), match.end())


def _stays(token: str) -> bool:
    """A name or an address that is too long is its parts; a run without spaces is never one word."""
    return len(token) <= LONGEST_TOKEN or DENSE.match(token) is not None


def is_dense(text: str) -> bool:
    """Whether most letters of the text are of a script without spaces between words."""
    letters = sum(map(str.isalpha, text))
    return letters > 0 and 2 * len(DENSE.findall(text)) > letters


def unspaced(text: str) -> bool:
    """Whether so many letters are of a script without spaces that fewer characters say as much."""
    return not text.isascii() and 4 * len(DENSE.findall(text)) > sum(map(str.isalpha, text))


def latin(text: str) -> bool:
    """Whether most letters of the text are Latin: what an English model was trained to read."""
    if not _BEYOND_LATIN.search(text):
        return True
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" or "\u1e00" <= letter <= "\u1eff" for letter in letters) >= len(letters)


def language_of_script(token: str) -> str | None:
    """The language that the letters of a token tell; None where several languages are written with them."""
    # A page without spaces is one token, and is not kept in memory.
    return (_language_of if len(token) <= LONGEST_TOKEN else _language_of.__wrapped__)(token)


@lru_cache(maxsize=4096)
def _language_of(token: str) -> str | None:
    if DENSE.match(token):
        if _IS_KANA.search(token):
            return "ja"
        if _IS_HANGUL.search(token):
            return "ko"
        return "th" if _IS_SOUTHEAST.search(token) else "zh"
    return next((language for language, pattern in _OWN_SCRIPT if pattern.search(token)), None)
