"""The participants of a room, and what a sentence gives them to do.

A wrong action item costs more than a missed one: small talk that sounds like a promise gives nobody anything to do.
"""

import re
from collections.abc import Sequence

from keepstone.engine.language import tables
from keepstone.engine.language.doubt import ASKS
from keepstone.engine.language.sentences import lowered
from keepstone.engine.takeaways.decisions import is_said
from keepstone.engine.takeaways.due import due_of, is_timed

_TABLES = tables.load("takeaways")
# Before a name that is called out; behind it, what is asked or told; what is asked of the one named last, or of all.
_GREETS = _TABLES.pattern("greets")
_JOINS = _TABLES.pattern("joins_names")
_ASKED_OF = _TABLES.pattern("asks")
_TOLD = _TABLES.pattern("told")
_CAN_YOU = _TABLES.pattern("can_you")
_PLEASE = _TABLES.pattern("please")
# Takes something on, and will do it before anybody reads of it.
_PROMISES = _TABLES.pattern("promises")
_AT_ONCE = _TABLES.pattern("at_once")
# Has to be done: by the speaker, by whoever is named, by nobody in particular.
_OWES = _TABLES.pattern("owes")
_HAS_TO = _TABLES.pattern("has_to")
_NEEDED = _TABLES.pattern("needed")
_SHOULD = _TABLES.pattern("should")
_COMMA = re.compile(r"[,，]\s*$")


class Participants:
    """The people of a room by their names, and the one of them that speaks."""

    __slots__ = ("_named", "_names", "_speaker")

    def __init__(self, speaker: str, participants: Sequence[str]) -> None:
        self._speaker = speaker
        self._names: dict[str, str] = {}
        for participant in participants:
            for name in (participant, *participant.split()[:1]):
                if name.strip() and any(map(str.isalnum, name)):
                    self._names.setdefault(lowered(name), participant)
        longest = sorted(self._names, key=len, reverse=True)
        self._named = re.compile("|".join(_bounded(name) for name in longest) or r"(?!)")

    def known(self, name: str) -> str | None:
        bare = lowered(name.strip().lstrip("@"))
        return self._speaker if bare == lowered(self._speaker) else self._names.get(bare)

    def named(self, sentence: str) -> str | None:
        """The one participant that a sentence names; None when it names none or several."""
        names = {self._names[match.group()] for match in self._named.finditer(lowered(sentence))}
        return names.pop() if len(names) == 1 else None

    def begins(self, sentence: str) -> bool:
        return bool(self._named.match(lowered(sentence)))

    def asked(self, sentence: str) -> tuple[str | None] | None:
        """Whom a sentence asks or tells to do something; None when it does not, or nobody is named."""
        low = lowered(sentence)
        called = [match for match in self._named.finditer(low) if self._addresses(low, match)]
        for match in called:
            rest = low[match.end() :]
            if _ASKED_OF.match(rest) or (_ahead(low, match) and _TOLD.match(rest)):
                several = len({self._names[name.group()] for name in called}) > 1
                return (None if several else self._names[match.group()],)
        if called and called[-1].end() >= len(low.rstrip(" ?!.？。！")) and _CAN_YOU.match(low):
            return (self._names[called[-1].group()],)
        everybody = _PLEASE.match(low) and not ASKS.search(low) and due_of(sentence)
        return (None,) if everybody else None

    def _addresses(self, low: str, match: re.Match[str]) -> bool:
        """Whether a name is called out: at the beginning, after an "@", or set off by commas."""
        before = low[: match.start()]
        at_sign = before.endswith("@")
        if self._names[match.group()] == self._speaker and not at_sign:
            return False
        after = low[match.end() : match.end() + 1]
        alone = not self._named.sub("", before).strip(" @,，&+/") or bool(_GREETS.fullmatch(before))
        return at_sign or alone or (bool(_COMMA.search(before)) and after in {"", "?", ",", ".", "!", "？"})

    def promised(self, sentence: str) -> tuple[str | None] | None:
        """Who takes something on in a sentence; a tuple with None when somebody has to, and nobody says who."""
        low = lowered(sentence)
        if not _AT_ONCE.search(low) and is_said(low, _PROMISES.search(low)):
            return (self._speaker,)
        if is_said(low, _OWES.search(low)) and is_timed(sentence):
            return (self._speaker,)
        for match in self._named.finditer(low):
            if _HAS_TO.match(low, match.end()) and _ahead(low, match):
                names = {self._names[name.group()] for name in self._named.finditer(low, 0, match.end())}
                return (self._names[match.group()] if len(names) == 1 else None,)
        needed = is_said(low, _NEEDED.search(low)) or (_SHOULD.search(low) and is_timed(sentence))
        return (None,) if needed else None


def _bounded(name: str) -> str:
    """A name that is no part of a longer word; in a script without spaces there is nothing to tell it by."""
    escaped = re.escape(name)
    return rf"(?<![^\W_])(?<!-){escaped}(?![^\W_]|-\w)" if name.isascii() else escaped


def _ahead(low: str, match: re.Match[str]) -> bool:
    """Whether a name begins the sentence or a clause of it."""
    before = low[: match.start()].rstrip(" @")
    return not before or before[-1] in ",;:：，；" or _JOINS.search(before) is not None
