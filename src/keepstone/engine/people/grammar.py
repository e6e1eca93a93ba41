"""English from the first person to the third: "I'm not into jazz" becomes "… is not into jazz"."""

import re

from keepstone.engine.language import tables

_TABLES = tables.load("people")
# Verbs that take an "s", and those that are the same for everybody: what follows one of these doesn't turn either.
_REGULAR = _TABLES.pattern("regular")
_FINITE = _TABLES.pattern("finite")
_BE = dict.fromkeys(("'m", "m", "am", "are", "'re"), "is")
_HAVE = dict.fromkeys(("'ve", "ve", "have"), "has")
_DO = {"do": "does", "don't": "doesn't", "dont": "doesn't", "study": "studies", "'ll": "will"}
_THIRD = _BE | _HAVE | _DO
_THEY = {"my": "their", "our": "their", "me": "them", "us": "them", "myself": "themself", "mine": "theirs"}
_PRONOUN = re.compile(rf"\b(?:{'|'.join(_THEY)})\b", re.IGNORECASE)
_WORD = re.compile(r"\s*'?[\w'-]+|\W+")


def in_third_person(head: str) -> str:
    """The words between the subject and the object, from the first person to the third."""
    words = _WORD.findall(head)
    for index, word in enumerate(words):
        bare = word.strip().lower()
        if _FINITE.fullmatch(bare):
            break
        if bare in _THIRD or _REGULAR.fullmatch(bare):
            words[index] = f" {_THIRD[bare]}" if bare in _THIRD else f"{word}s"
            break
    return of_others("".join(words).replace(" both ", " "))


def of_others(words: str) -> str:
    return _PRONOUN.sub(lambda match: _THEY[match.group().lower()], words)
