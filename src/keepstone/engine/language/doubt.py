"""Doubt: what is joked, asked, supposed, left open or quoted, and so not said of what is.

Owns the patterns of `rules/doubt.toml`. They are tried on text in small letters (`sentences.lowered`). What follows
from a doubt is decided by whoever asks: a joke may spoil a whole message, a condition only what stands behind it.
"""

import re

from keepstone.engine.language.tables import late, load

_DOUBT = load("doubt")


def _any(*tables: str) -> re.Pattern[str]:
    return late(lambda: re.compile("|".join(_DOUBT.pattern(table).pattern for table in tables)))


# The whole message is not meant as it is said. Laughter may also go with what is true: "I love pizza, haha".
JOKE = _any("laughter", "kidding")
IRONY = _any("kidding", "irony")
# What stands behind it in the sentence is not asserted.
SUPPOSED = _any("supposed")
# The sentence is open. TENTATIVE also takes what is only thought of for that: "I would move to Rome".
UNSURE = _any("unsure")
TENTATIVE = _any("unsure", "considered")
# Holds a question; and ends as one.
ASKED = late(lambda: re.compile(rf"[?？]|{_DOUBT.pattern('asked').pattern}"))
ASKS = late(lambda: re.compile(rf"(?<!\W)(?=\W*[?？])\W*$|^\W*¿|{_DOUBT.pattern('asked').pattern}"))
# Each mark ends what another one opened, so that a line of them is read once.
QUOTED = re.compile(r'"[^"\n]{3,}"|“[^“”\n]{3,}”|「[^「」\n]{3,}」|„[^„“\n]{3,}“')


def is_quoted(text: str, place: int) -> bool:
    """Whether a place of a text stands within quotation marks."""
    return any(quote.start() <= place < quote.end() for quote in QUOTED.finditer(text))
