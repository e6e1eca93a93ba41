"""Until when something has to be done, in the words of the sentence that says it; and which day such words mean."""

from datetime import date, timedelta

from keepstone.engine.language import tables
from keepstone.engine.language.dates import days_in

_TABLES = tables.load("takeaways")
_DUE = _TABLES.pattern("due")
_DUE_ZH = _TABLES.pattern("due_zh")
_DAY_WORDS = _TABLES.pattern("day_words")
_WEEK = timedelta(days=7)


def due_of(sentence: str) -> str | None:
    """The words that say until when: those with "by" before others, since what is to be done may have a day in it."""
    matches = list(_DUE.finditer(sentence.replace("’", "'")))
    if matches:
        match = next((match for match in matches if match["by"] or match["before"]), matches[0])
        return sentence[match.start("before" if match["before"] else "when") : match.end()].strip()
    chinese = _DUE_ZH.search(sentence)
    return chinese.group().strip() if chinese else None


def due_day(due: str, said: date) -> date | None:
    """The day that such words mean in something said on a day: the next one, or the last of several."""
    when = _DUE.search(due)
    days = days_in(due[when.start("when") :] if when else due.rstrip("之以前"), said)
    if not days:
        return None
    day = days[-1].last
    if day >= said:
        return day
    return day + _WEEK if said - day <= _WEEK else _next_year(day, said)


def days_meant(sentence: str, said: date) -> dict[str, date]:
    """What "tomorrow" and its like mean in something said on a day, by the words."""
    meant = {sentence[slice(*days.span)]: days for days in days_in(sentence, said) if days.first == days.last}
    return {words: days.first for words, days in meant.items() if _DAY_WORDS.fullmatch(words.lower())}


def _next_year(day: date, said: date) -> date | None:
    """The same day of a year to come. What names its own year, and is over, was not meant as a day until when."""
    try:
        later = day.replace(year=day.year + 1)
    except ValueError:
        return None
    return later if later >= said else None


def is_timed(sentence: str) -> bool:
    """Whether it says until when, and not only when."""
    if any(match["by"] or match["before"] for match in _DUE.finditer(sentence)):
        return True
    chinese = _DUE_ZH.search(sentence)
    return chinese is not None and chinese.group().endswith("前")
