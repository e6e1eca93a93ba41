"""Standing wishes: memories that say how their user wants to be answered, and which turns they are for.

Owns the form of such a wish and nothing of whose it is: only what a person kept in their own words may be followed
(`relay`). Judged by rules, from the text alone. In doubt a text is none, and is data like any other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from keepstone.engine.language import tables
from keepstone.engine.language.sentences import lines, lowered, on_one_line, sentences
from keepstone.engine.quotation import own_words
from keepstone.engine.terms import terms

LONGEST = 400  # characters: what is longer is a text, and no wish
_SUPPORT = 0.5  # of its telling words, that stand in what somebody said

_TABLES = tables.load("standing")
_FORMS = tuple(map(_TABLES.pattern, ("in_language", "length", "layout", "tone")))
_UNITS = _TABLES.pattern("units")
_IN_UNITS = tuple(map(_TABLES.pattern, ("measured_in", "told_units")))
_ORDERS = tuple(map(_TABLES.pattern, ("told", "told_zh", "barred", "barred_zh")))
_WANTED = tuple(map(_TABLES.pattern, ("wanted", "wanted_zh")))
_CALLED = tuple(map(_TABLES.pattern, ("called", "called_zh")))
_FIRM = tuple(map(_TABLES.pattern, ("told_firmly", "told_firmly_zh")))
_LASTING = _TABLES.pattern("lasting")
_ANSWERS = _TABLES.pattern("answers")
_ADDRESSING = _TABLES.pattern("addressing")
_WRITTEN = _TABLES.pattern("written")
_SO_WRITTEN = _TABLES.pattern("so_written")
_LIMITED = _TABLES.pattern("limited")
_REGARDLESS = _TABLES.pattern("regardless")
_OTHERS = _TABLES.pattern("others")
_MATTERS = _TABLES.rules("matter")
# What a model says of any wish.
_GENERIC = frozenset(terms("the user prefers wants likes asked answers replies responses always never please"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingWish:
    """`always`: for every turn. Otherwise for those about its `matters`, as far as these are known."""

    always: bool
    matters: frozenset[str] = frozenset()

    def applies_to(self, turn: str) -> bool:
        """Whether a turn is surely one of those that it is for."""
        return self.always or bool(self.matters and self.matters & matters_of(turn))


@lru_cache(maxsize=4096)
def standing_wish(text: str) -> StandingWish | None:
    """What a text wants of every answer, or of those it names; None when it is no such wish."""
    plain = lowered(on_one_line(text))
    if not plain or len(plain) > LONGEST or plain.endswith(("?", "？")):
        return None
    if _any(_CALLED, plain):
        return StandingWish(always=True)
    if _OTHERS.search(plain):
        return None
    form = _any(_FORMS, plain)
    units = _any(_IN_UNITS, plain) or bool(_ANSWERS.search(plain) and _UNITS.search(plain))
    limited = bool(_WRITTEN.search(plain)) or _is_limited(plain)
    if not (units or _is_wish(plain, form=form, limited=limited)):
        return None
    if (form or _ADDRESSING.search(plain)) and not limited and not units:
        return StandingWish(always=True)
    units = units or bool(_UNITS.search(plain))
    measured = frozenset({"quantity"}) if units else frozenset[str]()
    return StandingWish(always=False, matters=matters_of(plain) | measured)


@lru_cache(maxsize=64)  # a turn is asked about with every wish
def matters_of(text: str) -> frozenset[str]:
    """What a text is about, as far as wishes are limited to it."""
    plain = lowered(on_one_line(text))
    return frozenset(str(rule.about["name"]) for rule in _MATTERS if rule.pattern.search(plain))


def asked_for(wish: str, said: str) -> bool:
    """Whether somebody's own words ask for this: a model may put a wish in other words, but invents none."""
    own = own_words(said)
    telling = set(terms(wish)) - set(_GENERIC)
    borne_out = telling & set(terms(own))
    return bool(telling) and len(borne_out) >= _SUPPORT * len(telling) and any(map(standing_wish, _clauses(own)))


def _is_wish(plain: str, *, form: bool, limited: bool) -> bool:
    if _any(_FIRM, plain) or _SO_WRITTEN.search(plain):
        return True
    if _any(_WANTED, plain) and (_ADDRESSING.search(plain) or (form and limited)):
        return True
    return form and (_any(_ORDERS, plain) or bool(_ANSWERS.search(plain)) or bool(_LASTING.search(plain)))


def _is_limited(plain: str) -> bool:
    """Whether it says for which turns it is, before its reasons."""
    return bool(_LIMITED.search(_REGARDLESS.sub("", plain)))


def _clauses(text: str) -> list[str]:
    return [sentence for line in lines(text) for sentence in sentences(line.text)]


def _any(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)
