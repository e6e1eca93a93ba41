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
RANKED = 200  # of what is ranked, so many at most are on all pages together
LONGEST_CURSOR = 4_096
_END = 6  # letters at the end of an id, by which it is told from others
_SEEN = "+"  # before those that were seen


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPage:
    """A page of what comes in the order of how well it fits, which may be another when it is asked again. So the cursor
    names what was seen, by the ends of ids: nothing is shown twice and nothing left out, whatever was added meanwhile.
    """

    limit: int
    since: datetime  # when the first page was asked: what was made later is on none
    seen: frozenset[str] = frozenset()

    @classmethod
    def of(cls, page: PageRequest, now: datetime) -> "RankedPage":
        if page.after is None:
            return cls(limit=page.limit, since=now)
        since, text = page.after
        ends = [text[place : place + _END] for place in range(1, len(text), _END)]
        if not text.startswith(_SEEN) or not ends or any(len(end) < _END for end in ends) or len(ends) > RANKED:
            raise not_ours()
        return cls(limit=page.limit, since=since, seen=frozenset(ends))

    @property
    def deep(self) -> int:
        """How many of the best have to be known."""
        return min(RANKED, len(self.seen) + self.limit + 1)

    def cut(self, items: Sequence[Item], position: Callable[[Item], Position]) -> Page[Item]:
        """The page out of the best, as many as were asked for; when was each made, and its id."""
        new = [item for item in items if self._is_new(position(item))]
        kept = new[: self.limit]
        seen = sorted(self.seen) + [position(item)[1][-_END:] for item in kept]
        if len(new) <= self.limit or len(seen) >= RANKED:
            return Page(items=kept, next_cursor=None)
        return Page(items=kept, next_cursor=write_cursor((self.since, _SEEN + "".join(seen))))

    def _is_new(self, position: Position) -> bool:
        return position[1][-_END:] not in self.seen and (not self.seen or position[0] <= self.since)


def write_cursor(position: Position) -> str:
    text = json.dumps([position[0].isoformat(), position[1]])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def number_in(page: PageRequest) -> int | None:
    """Of a list whose things have numbers: the one that the page begins behind."""
    if page.after is None:
        return None
    if not page.after[1].isdecimal() or len(page.after[1]) > 18:
        raise not_ours()
    return int(page.after[1])


def read_cursor(cursor: str) -> Position:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        at, last = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        position = datetime.fromisoformat(at), str(last)
        if position[0].tzinfo is None or not last.isascii() or "\0" in last:
            raise ValueError
    except (binascii.Error, ValueError, TypeError, AttributeError, RecursionError):
        raise not_ours() from None
    return position


def not_ours() -> Malformed:
    return Malformed(
        "This cursor is not one of ours: pass next_cursor of the page before as it came, or leave it out.",
        details=[{"path": "query.cursor", "message": "not a cursor"}],
    )
