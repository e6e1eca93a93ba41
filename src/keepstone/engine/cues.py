"""What makes a conversation worth keeping: the cues with their weights, and the tables of chatter, errands and noise.

Owns the reading of `curated.toml`; what is done with it is in `curate`, `summarise` and `takeaways`.
"""

import re
from bisect import bisect

from keepstone.engine.language import tables
from keepstone.engine.language.sentences import FENCE
from keepstone.engine.quotation import own_words

_TABLES = tables.load("curated")


# Tried on the text in small letters. Each has the `kind` that it speaks for and a `weight`; with `person` only what a
# person says counts.
CUES = _TABLES.rules("cue")
_INDEX = tables.RuleIndex(CUES)

REQUEST = _TABLES.pattern("request")
# Work on a text, play and probes: the reply is used at once and says nothing later.
ERRAND = _TABLES.pattern("errand")
# An answer that is none: it asks back, or says that it can't say.
DODGE = _TABLES.pattern("dodge")
SMALL_TALK = _TABLES.pattern("small_talk")
CHATTER = _TABLES.pattern("chatter")
GREETING = _TABLES.pattern("greeting")
LINKED = _TABLES.pattern("linked")
ACKNOWLEDGED = _TABLES.pattern("acknowledged")
RECALLED = _TABLES.pattern("recalled")
NOISE = _TABLES.pattern("noise")
NUMBER = _TABLES.pattern("number")
# A choice that is put to somebody, and not an offer of service; and a reply that chooses nothing.
CHOICE = _TABLES.pattern("choice")
OFFER = _TABLES.pattern("offer")
WAVERS = _TABLES.pattern("wavers")
# What anybody could ask again and get as much of; and that an answer was the right one.
OPEN = _TABLES.pattern("open_ended")
WORKED = _TABLES.pattern("worked")
# What a memory or a program put into a message: not said by whoever sent it.
_OPENING = re.compile(
    r"<(memory|memories|context|recalled|retrieved\w*|system[\w-]*|tool[\w-]*|记忆|上下文)\b[^<>]*>", re.IGNORECASE
)
_QUOTED_LINE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
_CLOSING = re.compile(r"</(\w[\w-]*)>")


def cues_near(low: str) -> list[tables.Rule]:
    """The cues that are worth trying on a text."""
    return _INDEX.near(low)


def own_prose(text: str) -> str:
    """The sender's own sentences: nothing recalled, quoted or pasted as code."""
    return _QUOTED_LINE.sub("", without_blocks(FENCE.sub("\n", unrecalled(text))))


def unrecalled(text: str) -> str:
    """Without what was recalled. What stood around something that is taken out is not one sentence."""
    return own_words(text.replace("<recalled-memory", "\n<recalled-memory"))


def without_blocks(text: str, instead: str = "\n") -> str:
    """A text without what a memory or a program put into it between tags, in time that grows with its length."""
    closings: dict[str, list[tuple[int, int]]] = {}
    for tag in _CLOSING.finditer(text):
        closings.setdefault(tag[1].lower(), []).append(tag.span())
    kept: list[str] = []
    place = 0
    for tag in _OPENING.finditer(text) if closings else ():
        ends = closings.get(tag[1].lower(), [])
        first = bisect(ends, (tag.end(), 0))
        if tag.start() >= place and first < len(ends):
            kept += [text[place : tag.start()], instead]
            place = ends[first][1]
    return "".join([*kept, text[place:]])
