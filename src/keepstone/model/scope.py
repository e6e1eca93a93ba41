"""Scopes as their owner sees them in a list."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """`scope_id` is the caller's own name for it, `space` its number. `last_at` is when somebody last spoke in it,
    `people` how many did lately.
    """

    space: int
    scope_id: str
    messages: int
    size_bytes: int
    created_at: datetime
    last_at: datetime | None = None
    people: int = 0
