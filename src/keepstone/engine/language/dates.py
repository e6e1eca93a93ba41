"""Dates in a text: which days it speaks of, read against a day that the caller names.

Owns the reading of dates and relative expressions; the expressions themselves are in `rules/when.toml`, and each names
the function here that reads it. It must not read the clock.
"""

import re
from calendar import isleap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from keepstone.engine.language.calendar import (
    DAYS_OF,
    MONTHS,
    NUMBERS,
    QUARTERS,
    SEASONS,
    UNCOUNTED,
    UNITS,
    WEEKDAYS,
    number,
)
from keepstone.engine.language.tables import RuleIndex, load

# How far back "before June" and how wide "recently" reaches, in days.
BEFORE = 365
RECENT = 30
# So many characters before a date are looked at for a word that goes with it.
_BESIDE = 60


@dataclass(frozen=True, slots=True)
class Days:
    """First and last day of what an expression means, and the characters that it was read from.

    `vague`: no certain days are meant, as by "recently". `rough`: somebody counted back, and the middle is likeliest.
    `assumed`: it is not said of which year or month, and the last was taken.
    """

    first: date
    last: date
    span: tuple[int, int]
    vague: bool = False
    rough: bool = False
    assumed: bool = False


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
            said = _Expression(match, rule.about)
            try:
                spans = read(said, today)
            except (ValueError, OverflowError):
                # The thirtieth of February, a thousand years from now: no date after all.
                continue
            if spans:
                read_already[start:end] = b"\1" * (end - start)
                at = match.span("at") if "at" in match.re.groupindex else (start, end)
                kind = (rule.about.get("vague", False), read is _ago, read in _ASSUMING and not said.settled)
                dates += [Days(first, last, at, *kind) for first, last in spans]
    dates.sort(key=lambda days: days.span)
    return _related(lowered, dates, today)


def _related(text: str, dates: Sequence[Days], today: date) -> list[Days]:
    """Windows for what stands beside a date: the week before it, since it, between it and the next one."""
    related: list[Days] = []
    for days in dates:
        if related and _TOGETHER.fullmatch(text, related[-1].span[1], days.span[0]):
            before = related.pop()
            span = (before.span[0], days.span[1])
            first, last = min(before.first, days.first), max(before.last, days.last)
            related.append(Days(first, last, span, assumed=before.assumed and days.assumed))
            continue
        near = text[max(days.span[0] - _BESIDE, 0) : days.span[0]]
        beside = _BESIDE_IT.search(near)
        if beside:
            # "Last weekend before April 10" is one expression; what was read from its first half goes.
            begin = days.span[0] - len(near) + beside.start()
            while related and related[-1].span[1] > begin:
                related.pop()
            related.append(_beside(beside, days))
            continue
        said = _OPENING.search(near) or _CLOSING.match(text, days.span[1])
        if said and said["since"]:
            related.append(Days(days.first, max(today, days.last), days.span))
        elif said and said["before"]:
            related.append(Days(_back(days.first, BEFORE), _back(days.first, 1), days.span))
        elif said and said["until"]:
            related.append(Days(_back(days.first, BEFORE), days.last, days.span))
        else:
            related.append(days)
    return related


def _beside(match: re.Match[str], days: Days) -> Days:
    count = number(match["count"]) if match["count"] in NUMBERS or (match["count"] or "").isdecimal() else 1
    unit = DAYS_OF[UNITS[match["unit"]]]
    far, near = unit * count + unit // 2, max(unit * count - unit // 2, 0)
    if match["before"]:
        return Days(_back(days.first, far), _back(days.first, near), days.span, rough=True)
    return Days(_back(days.last, -near), _back(days.last, -far), days.span, rough=True)


def _back(day: date, days: int) -> date:
    return date.fromordinal(min(max(day.toordinal() - days, 2), date.max.toordinal() - 2))


def _months(year: int, month: int, months: int = 1) -> tuple[date, date]:
    """First and last day of some months, beginning with this one; 13 is January of the next year."""
    begin, end = year * 12 + month - 1, year * 12 + month - 1 + months
    return date(begin // 12, begin % 12 + 1, 1), _back(date(end // 12, end % 12 + 1, 1), 1)


def _latest(month: int, day: int, today: date) -> date:
    """The last time that it was this day of the year."""
    # 29 February is in some years only.
    for year in range(today.year, max(today.year - 8, 0), -1):
        if (month, day) == (2, 29) and not isleap(year):
            continue
        if date(year, month, day) <= today:
            return date(year, month, day)
    raise ValueError("there was none yet")


def _cut(first: date, last: date, part: str) -> tuple[date, date]:
    """The beginning, the middle or the end of some days: about a third of them, which overlap."""
    if not part:
        return first, last
    days = (last - first).days + 1
    begin, end = (0, 10) if _EARLY.fullmatch(part) else (9, 20) if _MID.fullmatch(part) else (19, 31)
    return _back(first, -(begin * days // 31)), min(_back(first, -(end * days // 31)), last)


# --- readings of an expression ----------------------------------------------------------------------------------------


class _Expression:
    """A match of a rule: its parts, and what the rule says besides."""

    __slots__ = ("about", "parts")

    def __init__(self, match: re.Match[str], about: Mapping[str, Any]) -> None:
        self.parts, self.about = match.groupdict(), about

    def __getitem__(self, part: str) -> str:
        return " ".join((self.parts.get(part) or "").split())

    def number(self, part: str) -> int | None:
        written = self[part]
        return number(written) if written else None

    def year(self, today: date) -> int | None:
        """The year that is said, in numbers or as "last year"."""
        year, word = self.number("y"), self["yearword"]
        if year is not None:
            return year + 2000 if year < 100 else year
        return (
            next((today.year + far for far, words in _YEARS.items() if words.fullmatch(word)), None) if word else None
        )

    @property
    def settled(self) -> bool:
        """Whether it says of which year, or which of several it means."""
        return bool(self["y"] or self["yearword"] or self["which"] or "which" in self.about)

    @property
    def which(self) -> int:
        """-2 for the one before last, -1 for last, 0 for this, 1 for next."""
        if "which" in self.about:
            return self.about["which"]
        word = self["which"]
        return next((far for far, words in _WHICH.items() if words.fullmatch(word)), 0)

    @property
    def unit(self) -> str:
        return self.about.get("unit") or UNITS[self["unit"]]


Spans = list[tuple[date, date]]


def _one_day(day: date) -> Spans:
    return [(day, day)]


def _by_numbers(said: _Expression, today: date) -> Spans:
    """A day, several days of a month, a month or a year."""
    year, month, day = said.year(today), said.number("m"), said.number("d")
    if month is None:
        return [_cut(*_months(year, 1, 12), said["part"])] if year else []
    if day is None:
        return [_cut(*_month_of(year, month, today), said["part"])]
    return _days(year, month, day, said.number("until"), today)


def _days(year: int | None, month: int, day: int, until: int | None, today: date) -> Spans:
    first = date(year, month, day) if year else _latest(month, day, today)
    return [(first, first.replace(day=until) if until and until > day else first)]


def _month_of(year: int | None, month: int, today: date) -> tuple[date, date]:
    """The month; of no certain year the last that has begun."""
    first = date(year or today.year - (month > today.month), month, 1)
    return _months(first.year, month)


def _day_or_month_first(said: _Expression, today: date) -> Spans:
    """5/7/2023: month first in some countries, day first in others. Both, since it is only a preference."""
    first, second, year = int(said["m"]), int(said["d"]), said.year(today)
    either = [(month, day) for month, day in sorted({(first, second), (second, first)}) if month <= 12]
    return [span for month, day in either for span in _days(year, month, day, None, today)]


def _days_of_month(said: _Expression, today: date) -> Spans:
    return _days(said.year(today), MONTHS[said["month"]], int(said["d"]), said.number("until"), today)


def _day_of_this_month(said: _Expression, today: date) -> Spans:
    """The tenth; of no certain month the last that was."""
    day = number(said["d"])
    back = said.which if said["which"] else -(day > today.day)
    return _one_day(_months(today.year, today.month + back)[0].replace(day=day))


def _months_named(said: _Expression, today: date) -> Spans:
    """A month, a part of it, or several."""
    month, which, year = MONTHS[said["month"]], said.which, said.year(today)
    if said["until"]:
        until = MONTHS[said["until"]]
        last = _month_of(year, until, today)[1]
        return [(date(last.year - (month > until), month, 1), last)]
    if year is None and said["which"] and which == 0:
        year = today.year
    elif year is None and which > 0:
        year = today.year + (month <= today.month)
    elif year is None:
        year = today.year - (month > today.month or (which < 0 and month == today.month)) - (which < -1)
    return [_cut(*_months(year, month), said["part"])]


def _season(said: _Expression, today: date) -> Spans:
    month, year, which = SEASONS[said["season"]], said.year(today), said.which
    if year:
        return [_months(year, month, 3)]
    year = today.year
    first, last = _months(year, month, 3)
    # The summer that is or was last; "last summer" is over.
    while first > today or (which < 0 and last >= today):
        year -= 1
        first, last = _months(year, month, 3)
    return [_months(year + (1 if which > 0 else min(which + 1, 0)), month, 3)]


def _half_year(said: _Expression, today: date) -> Spans:
    month = 6 * said.about["half"] - 5
    return [_months(said.year(today) or today.year - (month > today.month), month, 6)]


def _quarter(said: _Expression, today: date) -> Spans:
    month, year = QUARTERS[said["quarter"]], said.year(today)
    return [_months(year or today.year - (month > today.month), month, 3)]


def _holiday(said: _Expression, today: date) -> Spans:
    month, day, year = said.about["month"], said.about["day"], said.number("y")
    feast = date(year, month, day) if year else _latest(month, day, today)
    return [(_back(feast, 2), _back(feast, -2))]


def _easter(said: _Expression, today: date) -> Spans:
    year = said.year(today) or (today.year if easter(today.year) <= today else today.year - 1)
    return [(_back(easter(year), 3), _back(easter(year), -1))]


def easter(year: int) -> date:
    """Easter Sunday in the Gregorian calendar, after Butcher."""
    century, of_century = divmod(year, 100)
    golden = year % 19
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - epact - of_century % 4) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def _that_year(said: _Expression, today: date) -> Spans:
    return [_cut(*_months(said.year(today) or today.year, 1, 12), said["part"])]


def _today(said: _Expression, today: date) -> Spans:
    return _one_day(_back(today, said.about["back"]))


def _ago(said: _Expression, today: date) -> Spans:
    """The day, or as many around it as such a figure is usually off."""
    count = said.about.get("count") or number(said["n"])
    if said.unit == "weekend":
        return [_week(today, -count, weekend=True)]
    unit = DAYS_OF[said.unit]
    slack = unit * (count + 1) // 2 if said["n"] in UNCOUNTED else unit // 2
    return [(_back(today, count * unit + slack), _back(today, max(count * unit - slack, 0)))]


def _past(said: _Expression, today: date) -> Spans:
    return [(_back(today, (said.number("n") or said.about.get("count", 1)) * DAYS_OF[said.unit]), today)]


def _week(today: date, which: int, *, weekend: bool = False) -> tuple[date, date]:
    monday = _back(today, today.weekday() - 7 * which)
    return _back(monday, -5 if weekend else 0), _back(monday, -6)


def _relative(said: _Expression, today: date) -> Spans:
    """Last, this or next week, weekend, month, quarter or year."""
    unit, which = said.unit, said.which
    if unit == "day":
        return []
    if unit in {"week", "weekend"}:
        return [_cut(*_week(today, which, weekend=unit == "weekend"), said["part"])]
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    return [_cut(*_months(today.year, (today.month - 1) // months * months + 1 + which * months, months), said["part"])]


def _weekday(said: _Expression, today: date) -> Spans:
    back = (today.weekday() - WEEKDAYS[said["weekday"]]) % 7
    which = said.which
    if which == 0 and said["which"]:
        return _weekday_of_week(said, today)
    if which > 0:
        return _one_day(_back(today, back - 7))
    return _one_day(_back(today, (back or (7 if which < 0 else 0)) + (7 if which < -1 else 0)))


def _weekday_of_week(said: _Expression, today: date) -> Spans:
    return _one_day(_back(_week(today, said.which)[0], -WEEKDAYS[said["weekday"]]))


def _weekday_ago(said: _Expression, today: date) -> Spans:
    """The Friday two weeks ago, in that week; two months ago, the nearest to that day; three Fridays ago."""
    weekday, count = WEEKDAYS[said["weekday"]], number(said["n"])
    if not said["unit"]:
        return _one_day(_back(today, ((today.weekday() - weekday) % 7 or 7) + 7 * (count - 1)))
    if said.unit == "week":
        return _one_day(_back(_week(today, -count)[0], -weekday))
    near = _back(today, count * DAYS_OF[said.unit] - 3)
    return _one_day(_back(near, (near.weekday() - weekday) % 7))


def _recently(_: _Expression, today: date) -> Spans:
    return [(_back(today, RECENT), today)]


_READINGS: dict[str, Callable[[_Expression, date], Spans]] = {
    "by_numbers": _by_numbers,
    "day_or_month_first": _day_or_month_first,
    "day_of_this_month": _day_of_this_month,
    "days_of_month": _days_of_month,
    "months": _months_named,
    "season": _season,
    "quarter": _quarter,
    "half_year": _half_year,
    "holiday": _holiday,
    "easter": _easter,
    "that_year": _that_year,
    "today": _today,
    "ago": _ago,
    "past": _past,
    "relative": _relative,
    "weekday": _weekday,
    "weekday_of_week": _weekday_of_week,
    "weekday_ago": _weekday_ago,
    "recently": _recently,
}
_ASSUMING = frozenset(
    _READINGS[name]
    for name in (
        *("by_numbers", "day_or_month_first", "day_of_this_month", "days_of_month", "months", "season", "quarter"),
        *("half_year", "holiday", "easter", "weekday"),
    )
)
_WHEN = load("when")
_INDEX = RuleIndex(_WHEN.rules("expressions"))
_EARLY, _MID = (_WHEN.pattern(table) for table in ("early", "mid"))
_WHICH = {-2: _WHEN.pattern("before_last"), -1: _WHEN.pattern("last"), 1: _WHEN.pattern("next")}
_YEARS = {
    -2: _WHEN.pattern("year_before_last"),
    -1: _WHEN.pattern("last_year"),
    0: _WHEN.pattern("this_year"),
    1: _WHEN.pattern("next_year"),
}
_BESIDE_IT, _OPENING, _CLOSING, _TOGETHER = (
    _WHEN.pattern(table) for table in ("beside", "opening", "closing", "between_dates")
)
