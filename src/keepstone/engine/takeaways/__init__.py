"""Takeaways: what a message holds that its room should remember: facts, decisions, action items.

`messages` reads a message, `decisions` says what was settled and which decision supersedes which, `participants` who
has to do what, `due` until when. The phrases are in `language/rules/takeaways.toml`.
"""

from keepstone.engine.takeaways.decisions import revises
from keepstone.engine.takeaways.messages import (
    MOST,
    MOST_BY_MODEL,
    Takeaway,
    is_landmark,
    takeaways,
    takeaways_by_model,
)

__all__ = ["MOST", "MOST_BY_MODEL", "Takeaway", "is_landmark", "revises", "takeaways", "takeaways_by_model"]
