"""Time in a question: which times it speaks of, and how near to them something was said.

A window is a preference and never a filter: people misremember dates, and what happened in May is told in June. It must
not read the clock; the caller says when the question was asked. How dates are read is in `language/dates.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

import numpy as np
import numpy.typing as npt

from keepstone.engine.language.dates import days_in
from keepstone.engine.language.tables import load

DAY = 86400.0
GRACE = 7.0
# What the very day counts beside the soft nearness, which is 1 at most; of more days less, half of it of so many more.
VERY_DAY = 5.0
HALVED = 7.0
# Beside the window there is less of that at once, and none after some days; after it later, for things are told later.
_BESIDE = 0.4
_EARLIER, _LATER = 0.5, 2.0
# Of what was counted back the ends are so much less likely than the middle.
_ENDS = 0.5
# Windows that are looked into by themselves: so many at most, none longer than a season.
_LOOKED_INTO, _SEASON = 3, 93
_NOW, _AHEAD, _LOOKS_BACK = (load("when").pattern(table) for table in ("now", "ahead", "looks_back"))
_BEFORE, _CHANGE = (load("holds").pattern(table) for table in ("before", "change"))
# A day off the ends of the calendar, where zones can't be reckoned with.
_FIRST, _LAST = date.fromordinal(2), date.fromordinal(date.max.toordinal() - 2)


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` up to and without `end`. `vague` and `rough` are as in `language/dates.py`."""

    start: datetime
    end: datetime
    vague: bool = False
    rough: bool = False

    @property
    def days(self) -> float:
        return (self.end - self.start).total_seconds() / DAY


def windows(text: str, now: datetime) -> list[Window]:
    """The times that a question speaks of, in its order; empty when it names none. Days are those of `now`'s zone."""
    zone = now.tzinfo or UTC
    lowered = text.lower()
    ahead = bool(_AHEAD.search(lowered)) and not _LOOKS_BACK.search(lowered)
    return [
        Window(
            datetime.combine(min(max(days.first, _FIRST), _LAST), time(), zone),
            datetime.combine(min(max(days.last, _FIRST), _LAST), time(), zone) + timedelta(days=1),
            # What is on today, or on the 22nd, was spoken of on some other day.
            days.vague or (ahead and (days.assumed or days.last >= now.date())),
            days.rough,
        )
        for days in days_in(text, now.date())
    ]


def timeprox(at: npt.ArrayLike, preferred: Sequence[Window], grace: float = GRACE) -> npt.NDArray[np.float64]:
    """How near each moment (seconds since 1970) is to the nearest window: 1 inside, falling softly outside.

    e^(−days outside / (3 + .15 · the window's days)), after some days' grace: things are told a little after they
    happened. 0 for all when nothing is preferred, and for a moment that is not known (NaN).
    """
    moments = np.asarray(at, dtype=np.float64)
    nearest = np.zeros(moments.shape, dtype=np.float64)
    for window in preferred:
        start, end = window.start.timestamp(), window.end.timestamp()
        outside = np.maximum(np.maximum(start - moments, moments - end) / DAY - grace, 0.0)
        nearness = np.exp(-outside / (3.0 + 0.15 * (end - start) / DAY))
        nearest = np.maximum(nearest, np.nan_to_num(nearness, nan=0.0))
    return nearest


def said_then(at: npt.ArrayLike, preferred: Sequence[Window]) -> npt.NDArray[np.float64]:
    """How far each moment is in a window that says it exactly: 1 on the very day, less the longer the window is."""
    moments = np.asarray(at, dtype=np.float64)
    best = np.zeros(moments.shape, dtype=np.float64)
    for window in preferred:
        if window.vague:
            continue
        start, end = window.start.timestamp(), window.end.timestamp()
        early, late = np.maximum(start - moments, 0.0) / DAY, np.maximum(moments - end, 0.0) / DAY
        beside = _BESIDE * np.exp(-early / _EARLIER - late / _LATER)
        inside = (moments >= start) & (moments < end)
        exact = np.where(inside, 1.0, beside) / (1.0 + max(window.days - 1.0, 0.0) / HALVED)
        if window.rough and window.days > 1:
            off = np.abs(moments - (start + end) / 2) / ((end - start) / 2)
            exact *= 1.0 - _ENDS * np.minimum(off, 1.0)
        best = np.maximum(best, np.nan_to_num(exact, nan=0.0))
    return best


def nearness(at: npt.ArrayLike, preferred: Sequence[Window]) -> npt.NDArray[np.float64]:
    """What the time speaks for each moment: softly for what is near, and the more exactly a question says when, the
    more for what was said just then.
    """
    return timeprox(at, preferred) + VERY_DAY * said_then(at, preferred)


def looked_into(preferred: Sequence[Window]) -> list[Window]:
    """The windows so certain that what was said in them is looked at, also when other days have more of it."""
    return [window for window in preferred if not window.vague and window.days <= _SEASON][:_LOOKED_INTO]


def freshness(text: str, at: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """For a question about what holds now: 1 for the newest of these moments, 0 for the oldest. Else 0 for all."""
    moments = np.asarray(at, dtype=np.float64)
    span = float(np.ptp(moments)) if len(moments) else 0.0
    if span <= 0 or not _NOW.search(text.lower()):
        return np.zeros(moments.shape, dtype=np.float64)
    return (moments - moments.min()) / span


def asks_of(text: str) -> Literal["now", "before", "change"]:
    """Whether a question is about what holds, about what held before, or about how that came to change."""
    low = text.lower()
    if _CHANGE.search(low):
        return "change"
    return "before" if _BEFORE.search(low) else "now"
