"""The calendar: names of months, weekdays, seasons, numbers and units, in all languages that are known.

Owns the reading of `rules/calendar.toml`. Names are in small letters; months and numbers count from 1, weekdays from 0.
"""

from collections.abc import Iterator
from datetime import date

from keepstone.engine.language.tables import LANGUAGES, load

_CALENDAR = load("calendar")


def _named(table: str) -> Iterator[tuple[str, int]]:
    """Every name of a table with its place in the list of its language."""
    for language in LANGUAGES:
        for place, names in enumerate(_CALENDAR.words(table, language)):
            for name in names.split("|"):
                yield name, place


MONTHS = {name: place + 1 for name, place in _named("months")}
# Also a verb, a name or a short form: a month only beside a number or a word like "in".
DOUBTFUL_MONTHS = frozenset(_CALENDAR.words("doubtful_months"))
WEEKDAYS = dict(_named("weekdays"))
NUMBERS = {name: place + 1 for name, place in _named("numbers")}
UNCOUNTED = frozenset(_CALENDAR.words("uncounted"))
# A season and a quarter by their first month.
SEASONS = {name: 3 + 3 * place for name, place in _named("seasons")}
QUARTERS = {name: 1 + 3 * place for name, place in _named("quarters")}
UNITS = {
    **{name: ("day", "week", "month", "year", "quarter")[place] for name, place in _named("units")},
    **dict.fromkeys(_CALENDAR.words("weekend"), "weekend"),
}
DAYS_OF = {"day": 1, "week": 7, "weekend": 7, "month": 30, "quarter": 91, "year": 365}
ENGLISH_MONTHS = tuple(names.split("|")[0].capitalize() for names in _CALENDAR.words("months", "en"))
ENGLISH_WEEKDAYS = tuple(names.split("|")[0].capitalize() for names in _CALENDAR.words("weekdays", "en"))


def number(word: str) -> int:
    """The number that is written in digits, in a word, or in Chinese up to 99. ValueError for anything else."""
    if word.isdecimal():
        return int(word)
    if word in NUMBERS:
        return NUMBERS[word]
    tens, ten, ones = word.partition("十")
    digits = (NUMBERS.get(tens, 1 if not tens else 10), NUMBERS.get(ones, 0 if not ones else 10))
    if not ten or max(digits) > 9:
        raise ValueError(f"{word} is no number")
    return 10 * digits[0] + digits[1]


def date_words(at: date) -> str:
    """The words of a date that a question may use for it, to be indexed with the text: "Sunday 7 May 2023"."""
    return f"{ENGLISH_WEEKDAYS[at.weekday()]} {at.day} {ENGLISH_MONTHS[at.month - 1]} {at.year}"
