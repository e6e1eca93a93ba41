"""Pages of a list. A cursor names the last thing seen, not a position, so it stays right while rows come and go."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from keepstone.errors import Malformed

Item = TypeVar("Item")
Position = tuple[datetime, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    limit: int = 50
    after: Position | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    items: Sequence[Item]
    next_cursor: str | None


def cut_page(items: Sequence[Item], page: PageRequest, position: Callable[[Item], Position]) -> Page[Item]:
    """A page out of `page.limit + 1` rows: the one too many says that there is more."""
    if len(items) <= page.limit:
        return Page(items=items, next_cursor=None)
    kept = items[: page.limit]
    return Page(items=kept, next_cursor=write_cursor(position(kept[-1])))


def write_cursor(position: Position) -> str:
    text = json.dumps([position[0].isoformat(), position[1]])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def number_in(page: PageRequest) -> int | None:
    """Of a list whose things have numbers: the one that the page begins behind."""
    if page.after is None:
        return None
    if not page.after[1].isdecimal() or len(page.after[1]) > 18:
        raise _not_ours()
    return int(page.after[1])


def read_cursor(cursor: str) -> Position:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        at, last = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        position = datetime.fromisoformat(at), str(last)
        if position[0].tzinfo is None or not last.isascii() or "\0" in last:
            raise ValueError
    except (binascii.Error, ValueError, TypeError, AttributeError, RecursionError):
        raise _not_ours() from None
    return position


def _not_ours() -> Malformed:
    return Malformed(
        "This cursor is not one of ours: pass next_cursor of the page before as it came, or leave it out.",
        details=[{"path": "query.cursor", "message": "not a cursor"}],
    )
