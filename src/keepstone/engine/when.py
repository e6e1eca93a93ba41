"""Time in a question: which times it speaks of, and how near to them something was said.

A window is a preference and never a filter: people misremember dates, and what happened in May is told in June. It must
not read the clock; the caller says when the question was asked. How dates are read is in `language/dates.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import numpy.typing as npt

from keepstone.engine.language.calendar import ENGLISH_MONTHS, ENGLISH_WEEKDAYS
from keepstone.engine.language.dates import days_in
from keepstone.engine.language.tables import load

DAY = 86400.0
GRACE = 7.0
_NOW = load("when").pattern("now")
# A day off the ends of the calendar, where zones can't be reckoned with.
_FIRST, _LAST = date.fromordinal(2), date.fromordinal(date.max.toordinal() - 2)


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` up to and without `end`."""

    start: datetime
    end: datetime


def windows(text: str, now: datetime) -> list[Window]:
    """The times that a question speaks of, in its order; empty when it names none. Days are those of `now`'s zone."""
    zone = now.tzinfo or UTC
    return [
        Window(
            datetime.combine(min(max(days.first, _FIRST), _LAST), time(), zone),
            datetime.combine(min(max(days.last, _FIRST), _LAST), time(), zone) + timedelta(days=1),
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


def freshness(text: str, at: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """For a question about what holds now: 1 for the newest of these moments, 0 for the oldest. Else 0 for all."""
    moments = np.asarray(at, dtype=np.float64)
    span = float(np.ptp(moments)) if len(moments) else 0.0
    if span <= 0 or not _NOW.search(text.lower()):
        return np.zeros(moments.shape, dtype=np.float64)
    return (moments - moments.min()) / span


def date_words(at: datetime) -> str:
    """The words of a date that a question may use for it, to be indexed with the text: "Sunday 7 May 2023"."""
    return f"{ENGLISH_WEEKDAYS[at.weekday()]} {at.day} {ENGLISH_MONTHS[at.month - 1]} {at.year}"
