"""Time in a question: which days it speaks of, and how near to them something was said.

Owns the reading of dates and relative expressions (English, basics of German and Chinese) against the time of asking.
A window is a preference and never a filter: people misremember dates, and what happened in May is told in June.
It must not read the clock; the caller says when the question was asked.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import numpy as np
import numpy.typing as npt

DAY = 86400.0
GRACE = 7.0
# How far back "before June" and how wide "recently" reaches, in days.
BEFORE = 365
RECENT = 30

_MONTH_NAMES = {
    1: "january jan januar janvier enero gennaio janeiro",
    2: "february feb februar février febrero febbraio fevereiro",
    3: "march mar märz mars marzo março",
    4: "april apr avril abril aprile",
    5: "may mai mayo maggio maio",
    6: "june jun juni juin junio giugno junho",
    7: "july jul juli juillet julio luglio julho",
    8: "august aug août agosto",
    9: "september sep sept septembre septiembre settembre setembro",
    10: "october oct oktober octobre octubre ottobre outubro",
    11: "november nov novembre noviembre novembro",
    12: "december dec dezember décembre diciembre dicembre dezembro",
}
MONTHS = {name: number for number, names in _MONTH_NAMES.items() for name in names.split()}
# Also a verb, a name or a short form: a month only with a day, a year or a word like "in" beside it.
_DOUBTFUL = "may march mar mars jan jun sep sept dec nov oct aug apr feb jul mai august april june"
DOUBTFUL = frozenset(_DOUBTFUL.split())
ENGLISH_MONTHS = tuple(names.split()[0].capitalize() for names in _MONTH_NAMES.values())
SEASONS = {
    **dict.fromkeys(("spring", "frühling", "frühjahr", "春天"), (3, 3)),
    **dict.fromkeys(("summer", "sommer", "夏天"), (6, 3)),
    **dict.fromkeys(("autumn", "fall", "herbst", "秋天"), (9, 3)),
    **dict.fromkeys(("winter", "冬天"), (12, 3)),
}
HOLIDAYS = {"christmas": (12, 25), "new year": (1, 1), "valentine": (2, 14), "halloween": (10, 31)}
_WEEKDAY_NAMES = (
    "monday montag 周一 星期一",
    "tuesday dienstag 周二 星期二",
    "wednesday mittwoch 周三 星期三",
    "thursday donnerstag 周四 星期四",
    "friday freitag 周五 星期五",
    "saturday samstag 周六 星期六",
    "sunday sonntag 周日 星期日 星期天",
)
WEEKDAYS = {name: number for number, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}
ENGLISH_WEEKDAYS = tuple(names.split()[0].capitalize() for names in _WEEKDAY_NAMES)
_NUMBER_WORDS = (
    "a an one ein eine einem einer 一",
    "two couple zwei 二 两",
    "three few drei 三",
    "four several vier 四",
    "five fünf 五",
    "six sechs 六",
    "seven sieben 七",
    "eight acht 八",
    "nine neun 九",
    "ten zehn 十",
    "eleven elf 十一",
    "twelve zwölf 十二",
)
NUMBERS = {word: value for value, words in enumerate(_NUMBER_WORDS, start=1) for word in words.split()}
UNITS = {
    **dict.fromkeys(("day", "tag", "天", "日"), 1),
    **dict.fromkeys(("week", "woche", "周", "星期"), 7),
    **dict.fromkeys(("month", "monat", "月"), 30),
    **dict.fromkeys(("year", "jahr", "年"), 365),
}

_NUMBER = r"(?:\d{1,3}|" + "|".join(sorted(filter(str.isascii, NUMBERS), key=len, reverse=True)) + r"|fünf|zwölf)"
_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_WEEKDAY = "(?:" + "|".join(name for name in WEEKDAYS if name.isascii()) + ")"
_SEASON = "(?:" + "|".join(SEASONS) + ")"
_YEAR = r"(?:19|20)\d\d"
_UNIT = r"(?:day|week|month|year|tag|woche|monat|jahr)"
_LAST = r"(?:last|past|previous|letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?)"
_NOW = re.compile(
    r"\b(?:now|nowadays|currently|at the moment|at present|presently|still|latest|newest|most recent|up to date|anymore"
    r"|jetzt|derzeit|momentan|aktuell\w*|neueste\w*|noch immer|immer noch)\b|现在|目前|最新|如今|還|还在",
    re.IGNORECASE,
)
_THIS = r"(?:this|current|diese[nrsm]?)"
_NEXT = r"(?:next|coming|upcoming|nächste[nrsm]?|kommende[nrsm]?)"
_WHICH = rf"(?:{_LAST}|{_THIS}|{_NEXT})"
_CHINESE = r"[\d一二两三四五六七八九十]{1,3}"


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` up to and without `end`."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class _Days:
    """First and last day of what an expression means, and the characters that it was read from."""

    first: date
    last: date
    span: tuple[int, int]


def windows(text: str, now: datetime) -> list[Window]:
    """The times that a question speaks of, in its order; empty when it names none. Days are those of `now`'s zone."""
    lowered = text.lower()
    today = now.date()
    taken: list[_Days] = []
    for pattern, read in RULES:
        for match in pattern.finditer(lowered):
            if any(match.start() < days.span[1] and days.span[0] < match.end() for days in taken):
                continue
            try:
                found = read(match, today)
            except (ValueError, OverflowError):
                # The thirtieth of February, a thousand years from now: no date after all.
                continue
            taken += [_Days(first, last, match.span()) for first, last in found]
    taken.sort(key=lambda days: days.span)
    return [_window(days, now.tzinfo or UTC) for days in _related(lowered, taken, today)]


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
    if span <= 0 or not _NOW.search(text):
        return np.zeros(moments.shape, dtype=np.float64)
    return (moments - moments.min()) / span


def date_words(at: datetime) -> str:
    """The words of a date that a question may use for it, to be indexed with the text: "Sunday 7 May 2023"."""
    return f"{ENGLISH_WEEKDAYS[at.weekday()]} {at.day} {ENGLISH_MONTHS[at.month - 1]} {at.year}"


def _window(days: _Days, zone: tzinfo) -> Window:
    # Zero days back keeps a day off the ends of the calendar, where zones can't be reckoned with.
    first, last = _back(days.first, 0), _back(days.last, 0)
    return Window(datetime.combine(first, time(), zone), datetime.combine(last, time(), zone) + timedelta(days=1))


BESIDE = re.compile(
    rf"(?:\b(?P<count>{_NUMBER}|last|the|that)\s+(?:of\s+)?)?(?P<unit>day|week|weekend|month|year)s?\s+"
    r"(?P<side>before|after|prior to|following)\s+(?:the\s+|on\s+)?$"
)
OPEN = re.compile(r"\b(before|until|till|by|prior to|after|since|from|bis|seit|nach|vor|ab)\s+(?:the\s+|dem\s+)?$")
BETWEEN = re.compile(r"\s*(?:and|to|until|till|through|und|bis|[-–—]|到|至)\s*")


def _related(text: str, taken: list[_Days], today: date) -> list[_Days]:
    """Windows for what stands beside a date: the week before it, since it, between it and the next one."""
    related: list[_Days] = []
    for days in taken:
        before = text[: days.span[0]]
        if related and BETWEEN.fullmatch(text[related[-1].span[1] : days.span[0]]):
            first = related.pop()
            span = (first.span[0], days.span[1])
            related.append(_Days(min(first.first, days.first), max(first.last, days.last), span))
            continue
        beside, opened = BESIDE.search(before), OPEN.search(before)
        if beside:
            # "Last weekend before April 10" is one expression; what was read from its first half goes.
            related = [other for other in related if other.span[1] <= beside.start()]
            related.append(_beside(beside, days))
        elif opened and opened[1] in {"after", "since", "seit", "nach", "ab"}:
            related.append(_Days(days.first, max(today, days.last), days.span))
        elif opened and opened[1] in {"before", "prior to", "vor"}:
            related.append(_Days(_back(days.first, BEFORE), _back(days.first, 1), days.span))
        elif opened and opened[1] != "from":
            related.append(_Days(_back(days.first, BEFORE), days.last, days.span))
        else:
            related.append(days)
    return related


def _beside(match: re.Match[str], days: _Days) -> _Days:
    count = _number(match["count"]) if match["count"] and match["count"] not in {"last", "the", "that"} else 1
    step = UNITS.get(match["unit"], 7) * count
    slack = UNITS.get(match["unit"], 7) // 2
    if match["side"] in {"before", "prior to"}:
        return _Days(_back(days.first, step + slack), _back(days.first, max(step - slack, 0)), days.span)
    return _Days(_back(days.last, -max(step - slack, 0)), _back(days.last, -step - slack), days.span)


def _back(day: date, days: int) -> date:
    return date.fromordinal(min(max(day.toordinal() - days, 2), date.max.toordinal() - 2))


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else NUMBERS[word]


def _month(year: int, month: int, months: int = 1) -> tuple[date, date]:
    """First and last day of some months, beginning with this one; 13 is January of the next year."""
    begin, end = year * 12 + month - 1, year * 12 + month - 1 + months
    return date(begin // 12, begin % 12 + 1, 1), _back(date(end // 12, end % 12 + 1, 1), 1)


def _latest(month: int, day: int, today: date) -> date:
    """The last time that it was this day of the year."""
    this = date(today.year, month, day)
    return this if this <= today else date(today.year - 1, month, day)


def _which(word: str | None) -> int:
    """-1 for last, 0 for this, 1 for next."""
    if word and re.fullmatch(_LAST, word):
        return -1
    return 1 if word and re.fullmatch(_NEXT, word) else 0


Read = Callable[[re.Match[str], date], list[tuple[date, date]]]


def _ymd(match: re.Match[str], _: date) -> list[tuple[date, date]]:
    day = date(int(match["y"]), int(match["m"]), int(match["d"]))
    return [(day, day)]


def _numeric(match: re.Match[str], _: date) -> list[tuple[date, date]]:
    """5/7/2023: month first in some countries, day first in others. Both, since it is only a preference."""
    one, two, year = int(match[1]), int(match[2]), int(match[3])
    found: list[tuple[date, date]] = []
    for month, day in sorted({(one, two), (two, one)}):
        if month <= 12:
            found.append((date(year, month, day), date(year, month, day)))
    return found


def _day_of_month(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    month, number = MONTHS[match["month"].rstrip(".")], int(match["d"])
    day = date(int(match["y"]), month, number) if match["y"] else _latest(month, number, today)
    return [(day, day)]


def _month_of_year(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    month = MONTHS[match["month"].rstrip(".")]
    which = _which(match["which"])
    if match["y"]:
        year = int(match["y"])
    elif which > 0:
        year = today.year + (month <= today.month)
    else:
        year = today.year - (month > today.month or (which < 0 and month == today.month))
    first, last = _month(year, month)
    part = match["part"]
    if part:
        cut = {"early": (0, 10), "beginning of": (0, 10), "mid": (9, 20), "middle of": (9, 20)}.get(part, (19, 31))
        first, last = _back(first, -cut[0]), min(_back(first, -cut[1]), last)
    return [(first, last)]


def _season(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    month, months = SEASONS[match["season"]]
    which = _which(match["which"])
    year = int(match["y"]) if match["y"] else today.year
    first, last = _month(year, month, months)
    if not match["y"]:
        # The summer that is or was last; "last summer" is over.
        while first > today or (which < 0 and last >= today):
            year -= 1
            first, last = _month(year, month, months)
        if which > 0:
            first, last = _month(year + 1, month, months)
    return [(first, last)]


def _holiday(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    month, day = HOLIDAYS[match["holiday"]]
    found = date(int(match["y"]), month, day) if match["y"] else _latest(month, day, today)
    return [(_back(found, 2), _back(found, -2))]


def _year(match: re.Match[str], _: date) -> list[tuple[date, date]]:
    year = int(match["y"])
    return [(date(year, 1, 1), date(year, 12, 31))]


def _chinese_date(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    year = int(match["y"]) if match["y"] else None
    if not match["m"]:
        return [_month(year, 1, 12)] if year else []
    month = int(match["m"])
    if not match["d"]:
        return [_month(year or today.year - (month > today.month), month)]
    day = date(year, month, int(match["d"])) if year else _latest(month, int(match["d"]), today)
    return [(day, day)]


def _days_back(back: int) -> Read:
    def read(_: re.Match[str], today: date) -> list[tuple[date, date]]:
        return [(_back(today, back), _back(today, back))]

    return read


def _ago(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    """The day, or as many around it as such a figure is usually off."""
    unit = UNITS[match["unit"]]
    middle, slack = _number(match["n"]) * unit, unit // 2
    return [(_back(today, middle + slack), _back(today, max(middle - slack, 0)))]


def _past(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    return [(_back(today, _number(match["n"] or "one") * UNITS[match["unit"]]), today)]


def _calendar(unit: str, which: int, today: date) -> tuple[date, date]:
    """Last, this or next week, weekend, month or year."""
    if unit in {"month", "monat"}:
        return _month(today.year, today.month + which) if today.year > 1 else _month(1, 1)
    if unit in {"year", "jahr"}:
        return date(today.year + which, 1, 1), date(today.year + which, 12, 31)
    monday = _back(today, today.weekday() - 7 * which)
    if unit in {"weekend", "wochenende"}:
        return _back(monday, -5), _back(monday, -6)
    return monday, _back(monday, -6)


def _relative(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    return [_calendar(match["unit"], _which(match["which"]), today)]


def _fixed(unit: str, which: int) -> Read:
    def read(_: re.Match[str], today: date) -> list[tuple[date, date]]:
        return [_calendar(unit, which, today)]

    return read


def _weekday(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    back = (today.weekday() - WEEKDAYS[match["weekday"]]) % 7
    which = _which(match["which"])
    day = _back(today, back - 7) if which > 0 else _back(today, back or (7 if which < 0 else 0))
    return [(day, day)]


def _weekday_of_last_week(match: re.Match[str], today: date) -> list[tuple[date, date]]:
    day = _back(today, today.weekday() + 7 - WEEKDAYS[match["weekday"]])
    return [(day, day)]


def _recently(_: re.Match[str], today: date) -> list[tuple[date, date]]:
    return [(_back(today, RECENT), today)]


def _doubtful() -> str:
    sure = sorted((name for name in MONTHS if name not in DOUBTFUL), key=len, reverse=True)
    return "(?:" + "|".join(sure) + r")\b"


_PART = r"(?P<part>early|mid|late|beginning of|middle of|end of)"
_IN = r"(?:in|im|during|since|until|till|by|before|after|of|from|for|between|this|every|en|seit|bis|vor|nach|ab)"

# Longer expressions first: what one rule has read, no later one reads again.
RULES: tuple[tuple[re.Pattern[str], Read], ...] = (
    (re.compile(r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)"), _ymd),
    (re.compile(r"(?<!\d)(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>(?:19|20)\d\d)(?!\d)"), _ymd),
    (re.compile(r"(?<!\d)(\d{1,2})[/-](\d{1,2})[/-]((?:19|20)\d\d)(?!\d)"), _numeric),
    (
        re.compile(r"(?P<y>(?:19|20)\d\d)\s?年(?:\s?(?P<m>\d{1,2})\s?月(?:\s?(?P<d>\d{1,2})\s?[日号])?)?"),
        _chinese_date,
    ),
    (re.compile(r"(?P<y>(?!))?(?<!\d)(?P<m>\d{1,2})\s?月(?:(?P<d>\d{1,2})\s?[日号])?"), _chinese_date),
    (
        re.compile(
            rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?(?P<month>{_MONTH})(?:,?\s+(?:of\s+|de\s+)?(?P<y>{_YEAR})\b)?"
        ),
        _day_of_month,
    ),
    (
        re.compile(rf"\b(?P<month>{_MONTH})\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y>{_YEAR})\b)?"),
        _day_of_month,
    ),
    (
        re.compile(
            rf"(?:\b{_PART}[\s-]+)?(?:\b(?P<which>(?!)))?\b(?P<month>{_MONTH}),?\s+(?:of\s+|de\s+)?(?P<y>{_YEAR})\b"
        ),
        _month_of_year,
    ),
    (
        re.compile(rf"\b(?:(?P<which>{_WHICH})|{_PART})[\s-]+(?P<month>{_MONTH})(?P<y>(?!))?"),
        _month_of_year,
    ),
    (
        re.compile(rf"\b{_IN}\s+(?:the\s+)?(?P<month>{_MONTH})(?P<y>(?!))?(?P<which>(?!))?(?P<part>(?!))?"),
        _month_of_year,
    ),
    (re.compile(rf"\b(?P<month>{_doubtful()})(?P<y>(?!))?(?P<which>(?!))?(?P<part>(?!))?"), _month_of_year),
    (re.compile(rf"(?P<which>(?!))?\b(?P<season>{_SEASON})\s+(?:of\s+)?(?P<y>{_YEAR})\b"), _season),
    (re.compile(rf"(?:\b(?P<which>{_WHICH})\s+)(?P<season>{_SEASON})\b(?P<y>(?!))?"), _season),
    (
        re.compile(rf"\b(?:in|during|im|over)\s+(?:the\s+)?(?P<season>{_SEASON})\b(?P<y>(?!))?(?P<which>(?!))?"),
        _season,
    ),
    (
        re.compile(rf"\b(?P<holiday>{'|'.join(HOLIDAYS)})(?:['’]?s)?(?:\s+(?:day|eve))?(?:,?\s+(?P<y>{_YEAR})\b)?"),
        _holiday,
    ),
    (re.compile(rf"\b(?P<n>{_NUMBER})\s+(?:of\s+)?(?P<unit>{_UNIT})s?\s+(?:ago|back|earlier)\b"), _ago),
    (re.compile(rf"\bvor\s+(?P<n>{_NUMBER})\s+(?P<unit>{_UNIT})(?:e?n|en|e)?\b"), _ago),
    (re.compile(rf"(?P<n>{_CHINESE})\s?个?(?P<unit>天|日|周|星期|月|年)[以之]?前"), _ago),
    (
        re.compile(
            rf"\b(?:in|over|within|during|for|within|in)\s+(?:the|den)\s+{_LAST}\s+(?:(?P<n>{_NUMBER})\s+)?"
            rf"(?:of\s+)?(?P<unit>{_UNIT})(?:s|e|en|n)?\b"
        ),
        _past,
    ),
    (re.compile(rf"\b{_LAST}\s+(?P<n>{_NUMBER})\s+(?P<unit>{_UNIT})(?:s|e|en|n)?\b"), _past),
    (re.compile(rf"最近(?P<n>{_CHINESE})\s?个?(?P<unit>天|日|周|星期|月|年)"), _past),
    (
        re.compile(rf"\b(?P<which>{_WHICH})\s+(?P<unit>weekend|week|month|year|wochenende|woche|monat|jahr)\b"),
        _relative,
    ),
    (re.compile(r"\b(?:the day before yesterday|vorgestern)\b|前天"), _days_back(2)),
    (re.compile(r"\b(?:yesterday|last night|gestern)\b|昨天|昨晚"), _days_back(1)),
    (re.compile(r"\b(?:today|tonight|this (?:morning|afternoon|evening)|heute)\b|今天|今晚"), _days_back(0)),
    (re.compile(r"\b(?:tomorrow)\b|明天"), _days_back(-1)),
    (re.compile(r"上个?(?P<weekday>周[一二三四五六日]|星期[一二三四五六日天])"), _weekday_of_last_week),
    (re.compile(r"上个?(?:周|星期)"), _fixed("week", -1)),
    (re.compile(r"[这本]个?(?:周|星期)"), _fixed("week", 0)),
    (re.compile(r"上个?月"), _fixed("month", -1)),
    (re.compile(r"[这本]个?月"), _fixed("month", 0)),
    (re.compile(r"去年"), _fixed("year", -1)),
    (re.compile(r"今年"), _fixed("year", 0)),
    (re.compile(rf"\b(?:(?P<which>{_WHICH})\s+)?(?P<weekday>{_WEEKDAY})\b"), _weekday),
    (re.compile(r"(?P<weekday>周[一二三四五六日]|星期[一二三四五六日天])(?P<which>(?!))?"), _weekday),
    (re.compile(r"\b(?:recently|lately|these days|neulich|kürzlich)\b|最近"), _recently),
    (re.compile(rf"(?<![\d$€£.,])\b(?P<y>{_YEAR})\b(?![.,]?\d)(?!\s*(?:%|dollars|people|km|euros?))"), _year),
)
