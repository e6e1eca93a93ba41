"""Stored text as a model is shown it: as a quotation, so that it takes it for data."""

import re

from keepstone.engine.pack import CLOSING, OPENING


def quote(text: str) -> str:
    """Marked as data; nothing in it can open or close the quotation."""
    defused = re.sub(r"<(/?)\s*recalled-memory", r"‹\1recalled-memory", text, flags=re.IGNORECASE)
    return f"{OPENING}\n{defused}\n{CLOSING}"
