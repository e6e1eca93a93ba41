"""Dates in a text: which days it speaks of, read against a day that the caller names.

Owns the reading of dates and relative expressions; the expressions themselves are in `rules/when.toml`, and each names
the function here that reads it. It must not read the clock.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from keepstone.engine.language.calendar import DAYS_OF, MONTHS, NUMBERS, SEASONS, UNITS, WEEKDAYS, number
from keepstone.engine.language.tables import RuleIndex, load

# How far back "before June" and how wide "recently" reaches, in days.
BEFORE = 365
RECENT = 30
# So many characters before a date are looked at for a word that goes with it.
_BESIDE = 60


@dataclass(frozen=True, slots=True)
class Days:
    """First and last day of what an expression means, and the characters that it was read from."""

    first: date
    last: date
    span: tuple[int, int]


def days_in(text: str, today: date) -> list[Days]:
    """The days that a text speaks of, in its order; empty when it names none."""
    lowered = text.lower()
    read_already = bytearray(len(lowered))
    dates: list[Days] = []
    for rule in _INDEX.near(lowered):
        read = _READINGS[rule.about["reads"]]
        for match in rule.pattern.finditer(lowered):
            start, end = match.span()
            if any(read_already[start:end]):
                continue
            try:
                spans = read(_Expression(match, rule.about), today)
            except (ValueError, OverflowError):
                # The thirtieth of February, a thousand years from now: no date after all.
                continue
            if spans:
                read_already[start:end] = b"\1" * (end - start)
                dates += [Days(first, last, (start, end)) for first, last in spans]
    dates.sort(key=lambda days: days.span)
    return _related(lowered, dates, today)


def _related(text: str, dates: Sequence[Days], today: date) -> list[Days]:
    """Windows for what stands beside a date: the week before it, since it, between it and the next one."""
    related: list[Days] = []
    for days in dates:
        if related and _TOGETHER.fullmatch(text, related[-1].span[1], days.span[0]):
            before = related.pop()
            span = (before.span[0], days.span[1])
            related.append(Days(min(before.first, days.first), max(before.last, days.last), span))
            continue
        near = text[max(days.span[0] - _BESIDE, 0) : days.span[0]]
        beside, opening = _BESIDE_IT.search(near), _OPENING.search(near)
        if beside:
            # "Last weekend before April 10" is one expression; what was read from its first half goes.
            begin = days.span[0] - len(near) + beside.start()
            while related and related[-1].span[1] > begin:
                related.pop()
            related.append(_beside(beside, days))
        elif opening and opening["since"]:
            related.append(Days(days.first, max(today, days.last), days.span))
        elif opening and opening["before"]:
            related.append(Days(_back(days.first, BEFORE), _back(days.first, 1), days.span))
        elif opening and opening["until"]:
            related.append(Days(_back(days.first, BEFORE), days.last, days.span))
        else:
            related.append(days)
    return related


def _beside(match: re.Match[str], days: Days) -> Days:
    count = number(match["count"]) if match["count"] in NUMBERS or (match["count"] or "").isdecimal() else 1
    unit = DAYS_OF[UNITS[match["unit"]]]
    far, near = unit * count + unit // 2, max(unit * count - unit // 2, 0)
    if match["before"]:
        return Days(_back(days.first, far), _back(days.first, near), days.span)
    return Days(_back(days.last, -near), _back(days.last, -far), days.span)


def _back(day: date, days: int) -> date:
    return date.fromordinal(min(max(day.toordinal() - days, 2), date.max.toordinal() - 2))


def _months(year: int, month: int, months: int = 1) -> tuple[date, date]:
    """First and last day of some months, beginning with this one; 13 is January of the next year."""
    begin, end = year * 12 + month - 1, year * 12 + month - 1 + months
    return date(begin // 12, begin % 12 + 1, 1), _back(date(end // 12, end % 12 + 1, 1), 1)


def _latest(month: int, day: int, today: date) -> date:
    """The last time that it was this day of the year."""
    this = date(today.year, month, day)
    return this if this <= today else date(today.year - 1, month, day)


# --- readings of an expression ----------------------------------------------------------------------------------------


class _Expression:
    """A match of a rule: its parts, and what the rule says besides."""

    __slots__ = ("about", "parts")

    def __init__(self, match: re.Match[str], about: Mapping[str, Any]) -> None:
        self.parts, self.about = match.groupdict(), about

    def __getitem__(self, part: str) -> str:
        return self.parts[part] or ""

    def number(self, part: str) -> int | None:
        written = self.parts.get(part)
        return number(written) if written else None

    @property
    def which(self) -> int:
        """-1 for last, 0 for this, 1 for next."""
        if "which" in self.about:
            return self.about["which"]
        word = self.parts.get("which") or ""
        return -1 if _LAST.fullmatch(word) else 1 if _NEXT.fullmatch(word) else 0

    @property
    def unit(self) -> str:
        return self.about.get("unit") or UNITS[self["unit"]]


Spans = list[tuple[date, date]]


def _one_day(day: date) -> Spans:
    return [(day, day)]


def _day(said: _Expression, _: date) -> Spans:
    return _one_day(date(int(said["y"]), int(said["m"]), int(said["d"])))


def _day_or_month_first(said: _Expression, _: date) -> Spans:
    """5/7/2023: month first in some countries, day first in others. Both, since it is only a preference."""
    first, second, year = int(said["m"]), int(said["d"]), int(said["y"])
    days = [date(year, month, day) for month, day in sorted({(first, second), (second, first)}) if month <= 12]
    return [(day, day) for day in days]


def _day_of_month(said: _Expression, today: date) -> Spans:
    month, day, year = MONTHS[said["month"]], int(said["d"]), said.number("y")
    return _one_day(date(year, month, day) if year else _latest(month, day, today))


def _month(said: _Expression, today: date) -> Spans:
    month, which, year = MONTHS[said["month"]], said.which, said.number("y")
    if year is None and which > 0:
        year = today.year + (month <= today.month)
    elif year is None:
        year = today.year - (month > today.month or (which < 0 and month == today.month))
    first, last = _months(year, month)
    part = said.parts.get("part")
    if part:
        begin, end = (0, 10) if _EARLY.fullmatch(part) else (9, 20) if _MID.fullmatch(part) else (19, 31)
        first, last = _back(first, -begin), min(_back(first, -end), last)
    return [(first, last)]


def _season(said: _Expression, today: date) -> Spans:
    month, year = SEASONS[said["season"]], said.number("y")
    if year:
        return [_months(year, month, 3)]
    year = today.year
    first, last = _months(year, month, 3)
    # The summer that is or was last; "last summer" is over.
    while first > today or (said.which < 0 and last >= today):
        year -= 1
        first, last = _months(year, month, 3)
    return [_months(year + 1, month, 3) if said.which > 0 else (first, last)]


def _holiday(said: _Expression, today: date) -> Spans:
    month, day, year = said.about["month"], said.about["day"], said.number("y")
    feast = date(year, month, day) if year else _latest(month, day, today)
    return [(_back(feast, 2), _back(feast, -2))]


def _year(said: _Expression, _: date) -> Spans:
    return [_months(int(said["y"]), 1, 12)]


def _chinese_date(said: _Expression, today: date) -> Spans:
    year, month, day = said.number("y"), said.number("m"), said.number("d")
    if month is None:
        return [_months(year, 1, 12)] if year else []
    if day is None:
        return [_months(year or today.year - (month > today.month), month)]
    return _one_day(date(year, month, day) if year else _latest(month, day, today))


def _today(said: _Expression, today: date) -> Spans:
    return _one_day(_back(today, said.about["back"]))


def _ago(said: _Expression, today: date) -> Spans:
    """The day, or as many around it as such a figure is usually off."""
    unit = DAYS_OF[said.unit]
    middle, slack = number(said["n"]) * unit, unit // 2
    return [(_back(today, middle + slack), _back(today, max(middle - slack, 0)))]


def _past(said: _Expression, today: date) -> Spans:
    return [(_back(today, (said.number("n") or 1) * DAYS_OF[said.unit]), today)]


def _relative(said: _Expression, today: date) -> Spans:
    """Last, this or next week, weekend, month or year."""
    unit, which = said.unit, said.which
    if unit == "month":
        return [_months(today.year, today.month + which) if today.year > 1 else _months(1, 1)]
    if unit == "year":
        return [(date(today.year + which, 1, 1), date(today.year + which, 12, 31))]
    if unit == "day":
        return []
    monday = _back(today, today.weekday() - 7 * which)
    return [(_back(monday, -5 if unit == "weekend" else 0), _back(monday, -6))]


def _weekday(said: _Expression, today: date) -> Spans:
    back = (today.weekday() - WEEKDAYS[said["weekday"]]) % 7
    which = said.which
    return _one_day(_back(today, back - 7) if which > 0 else _back(today, back or (7 if which < 0 else 0)))


def _weekday_of_last_week(said: _Expression, today: date) -> Spans:
    return _one_day(_back(today, today.weekday() + 7 - WEEKDAYS[said["weekday"]]))


def _recently(_: _Expression, today: date) -> Spans:
    return [(_back(today, RECENT), today)]


_READINGS = {
    read.__name__.removeprefix("_"): read
    for read in (
        *(_day, _day_or_month_first, _day_of_month, _month, _season, _holiday, _year, _chinese_date, _today, _ago),
        *(_past, _relative, _weekday, _weekday_of_last_week, _recently),
    )
}
_WHEN = load("when")
_INDEX = RuleIndex(_WHEN.rules("expressions"))
_LAST, _NEXT, _EARLY, _MID = (_WHEN.pattern(table) for table in ("last", "next", "early", "mid"))
_BESIDE_IT, _OPENING, _TOGETHER = (_WHEN.pattern(table) for table in ("beside", "opening", "between_dates"))
