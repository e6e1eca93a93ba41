"""Extraction: what of a chat turn or of a longer text is worth remembering, as short memories.

`turn` reads what a user said, `report` what a model wrote, `passed_over` says what neither keeps, `secret` what nobody
may, and `memories` makes the memories. The phrases are in `language/rules/`.
"""

from keepstone.engine.extract.memories import (
    CATEGORIES,
    LONGEST,
    MOST_SAID,
    MOST_WRITTEN,
    Extracted,
    cut,
    extract_by_model,
    extract_said,
    extract_written,
    summary,
    synthesize,
    synthesize_by_model,
)
from keepstone.engine.extract.secret import has_secret

__all__ = [
    "CATEGORIES",
    "LONGEST",
    "MOST_SAID",
    "MOST_WRITTEN",
    "Extracted",
    "cut",
    "extract_by_model",
    "extract_said",
    "extract_written",
    "has_secret",
    "summary",
    "synthesize",
    "synthesize_by_model",
]
