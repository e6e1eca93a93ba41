"""Outdated statements: which sentence of a talk a later one takes the place of.

Owns the values that a sentence gives (days, times of day, amounts), and the test whether a later sentence gives another
one for the same matter. It must not judge what is worth telling. Where it isn't sure, both hold: a value alone proves
nothing, so the later sentence has to say that something has changed or is settled, or speak of the same subject.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from keepstone.engine.extract.passed_over import NAMED
from keepstone.engine.language.calendar import MONTHS, WEEKDAYS
from keepstone.engine.language.doubt import ASKED, UNSURE
from keepstone.engine.language.scripts import DENSE
from keepstone.engine.language.sentences import CLAUSE, lowered
from keepstone.engine.language.stopwords import COMMON, STOP_WORDS
from keepstone.engine.language.tables import load
from keepstone.engine.terms import terms

# So many messages back a change or a settlement is looked for, where no subject says of what.
NEAR = 8
# So many statements back anything is looked for at all, so many with a word in common; and so many between two are
# asked whether somebody objected.
LOOKED_AT = 40
SHARED = 12
MOST_BETWEEN = 30
# Amounts of one unit that are further apart are hardly two values of one thing.
APART = 2.0
# Of the same subject: so much of the shorter sentence's terms.
SAME = 0.6
_TABLES = load("outdated")
_CHANGED, _IS_NOW, _CORRECTED, _DENIED, _CALLED_OFF, _REFUSED = (
    _TABLES.pattern(table) for table in ("changed", "is_now", "corrected", "denied", "called_off", "refused")
)
_SETTLED, _THEN, _PROPOSED, _SUPPOSED, _OBJECTED, _ACCEPTED = (
    _TABLES.pattern(table) for table in ("settled", "chosen_then", "proposed", "supposed", "objected", "accepted")
)
_MONEY = _TABLES.pattern("money")
# The words with which something is changed, and those that are values themselves.
_SAYING = frozenset(
    term
    for word in (*_TABLES.words("saying"), *_TABLES.words("money"), *MONTHS, *WEEKDAYS)
    for term in (word, *terms(word, "en"), *terms(word, "de"))
)
_SMALL = frozenset[str]().union(*STOP_WORDS.values())
_NAMES = "|".join(sorted((name for name in MONTHS if not DENSE.match(name)), key=len, reverse=True))
_DAYS = "|".join(sorted((name for name in WEEKDAYS if not DENSE.match(name)), key=len, reverse=True))
_HAN_DIGITS = "〇零一二两三四五六七八九十百千万亿"
_HAN_DIGIT = frozenset(_HAN_DIGITS)
_DAY = re.compile(
    rf"(?<![\w.])(?:(?P<first>\d{{1,2}})(?:st|nd|rd|th|\.)?(?:\s?(?:,|and|und|y|to|bis|a|–|-)\s?(?P<second>\d{{1,2}})\.?)?"
    rf"\s(?:of\s|de\s)?(?P<month>{_NAMES})(?!\w)|(?P<before>{_NAMES})\s(?P<after>\d{{1,2}})(?![\d:.,]\d|\w)"
    rf"|(?P<th>\d{{1,2}})(?:st|nd|rd|th)(?!\w)|(?:am|den|el|vom)\s(?P<am>\d{{1,2}})(?!\.?\s(?:de\s)?(?:{_NAMES}))(?:\.|(?![\d:.,\w]))"
    rf"|(?P<alone>{_NAMES})(?!\w))"
    rf"|(?:(?P<zh_month>[\d{_HAN_DIGITS}]{{1,3}})月(?:(?P<zh_day>[\d{_HAN_DIGITS}]{{1,3}})[号日]?)?)"
    rf"|(?P<zh_th>[\d{_HAN_DIGITS}]{{1,3}})[号日](?!点|楼|线|机|店|门|馆)"
    r"|(?P<iso>\d{4}-\d\d-\d\d)"
)
_WEEKDAY = re.compile(rf"(?<!\w)(?P<name>{_DAYS})(?:s|n)?(?!\w)")
_NUMBERED = re.compile(
    r"\W{0,3}(?:(?:the|der|die|das)\s)?(?P<what>[^\W\d_]{2,30})\s(?:(?:no|nr)\.?\s)?#?\d{1,3}(?![\d.,:%]|\s?[€$£%])"
)
_CLOCK = re.compile(
    rf"(?<![\d:.,])(?P<hour>\d{{1,2}}):(?P<minute>\d\d)(?!\d)|(?<![\w.,])(?P<bare>\d{{1,2}})\s?(?:am|pm|uhr|h)(?!\w)"
    rf"|[\d{_HAN_DIGITS}]{{1,3}}点(?:半|[\d{_HAN_DIGITS}]{{1,3}}分?)?"
)
_AMOUNT = re.compile(
    rf"(?<![\w.,])(?P<sign>[€$£¥])?\s?(?P<number>\d{{1,12}}(?:[.,'’]\d{{1,3}}){{0,4}})(?P<k>k(?!\w))?(?:\s?(?P<unit>[€$£¥%]|[^\W\d_]{{1,24}}))?"
    rf"|(?P<han>[{_HAN_DIGITS}]{{1,10}})(?P<han_unit>[^\W\d]?)"
)
_JOINED = _TABLES.pattern("joined")
_HAN_UNIT = _TABLES.pattern("counted")
_THOUSANDS = re.compile(r"[.,'’](?=\d{3}(?!\d))")
_HAN_VALUES = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}


# A month and a day of it, each of which may be left open: "the 27th", "in June".
Day = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class TalkStatement:
    """A sentence of a talk: who said it in which message, and what it gives."""

    message: int
    speaker: str
    low: str
    subject: frozenset[str]
    names: frozenset[str]
    days: frozenset[Day]
    weekdays: frozenset[int]
    clocks: frozenset[str]
    amounts: tuple[tuple[float, str], ...]

    @property
    def gives(self) -> int:
        """How many values it has."""
        return len(self.days) + len(self.weekdays) + len(self.clocks) + len(self.amounts)


def statement(message: int, speaker: str, text: str, spoken: frozenset[str]) -> TalkStatement:
    """`spoken` are the terms of the text."""
    low = lowered(text)
    days = [day for match in _DAY.finditer(low) for day in _days(match)]
    rest = _DAY.sub(" ", low)
    weekdays = [WEEKDAYS[match["name"]] for match in _WEEKDAY.finditer(rest)]
    rest = _WEEKDAY.sub(" ", rest)
    clocks = [match.group().replace(" ", "") for match in _CLOCK.finditer(rest)]
    rest = _CLOCK.sub(" ", rest)
    amounts = tuple(amount for match in _AMOUNT.finditer(rest) for amount in _amount(match))
    subject = frozenset(
        term
        for term in spoken - _SAYING
        if len(term) > 1 and term not in COMMON and not term[0].isdigit() and _HAN_DIGIT.isdisjoint(term)
    )
    return TalkStatement(
        message=message,
        speaker=speaker,
        low=low,
        subject=subject,
        names=_names(text),
        days=frozenset(days),
        weekdays=frozenset(weekdays),
        clocks=frozenset(clocks),
        amounts=amounts,
    )


def outdated(said: Sequence[TalkStatement]) -> dict[int, int]:
    """The places of those that no longer hold, each with the place of what holds instead."""
    gone: dict[int, int] = {}
    givers: list[int] = []
    by_term: dict[str, list[int]] = {}
    for place, later in enumerate(said):
        reached = _reach(said, place, givers, by_term)
        for before in reached:
            earlier = said[before]
            if replaces(earlier, later, said[max(before + 1, place - MOST_BETWEEN) : place]):
                # What repeats the old value is as old.
                old = (other for other in reached if other < before and _repeats(said[other], earlier, later))
                gone |= dict.fromkeys([before, *old], place)
                break
        if later.gives or later.subject:
            givers.append(place)
            for term in later.subject:
                by_term.setdefault(term, []).append(place)
    return gone


def still_true(text: str, later: TalkStatement) -> str:
    """What is left of an outdated sentence: the clauses at its beginning or end that give other values; or nothing."""
    cuts = [0, *(match.end() for match in CLAUSE.finditer(text)), len(text)]
    clauses = [text[start:end] for start, end in pairwise(cuts)]
    read = [statement(0, "", clause, frozenset(terms(clause))) for clause in clauses]
    old = [bool(_differs(clause, later, same=True)) for clause in read]
    if True not in old or not later.gives:
        return ""
    first, last = old.index(True), len(old) - old[::-1].index(True)
    for kept, clause in ((text[: cuts[first]], read[:first]), (text[cuts[last] :], read[last:])):
        if any(part.gives for part in clause) and not _JOINED.match(kept):
            return kept.strip(" ,;:，；：、")
    return ""


def is_refusal(low: str) -> bool:
    """Whether it says no, and nothing more."""
    return _REFUSED.fullmatch(low) is not None


def refused(earlier: TalkStatement, later: TalkStatement) -> bool:
    """Whether somebody else said no to it at once."""
    return earlier.speaker != later.speaker and later.message - earlier.message == 1 and is_refusal(later.low)


def replaces(earlier: TalkStatement, later: TalkStatement, between: Sequence[TalkStatement]) -> bool:
    """Whether a later statement takes the place of an earlier one: another value of the same matter."""
    shared = earlier.subject & later.subject
    if _other_number(earlier, later):
        return False
    if len(shared) > 1 and _CALLED_OFF.search(later.low) and not _CALLED_OFF.search(earlier.low):
        return _near(shared, earlier, later) and not _other_values(earlier, later)
    return _differs(earlier, later, same=bool(shared)) and (
        _corrects(earlier, later, shared) or _chooses(earlier, later, between, same=bool(shared))
    )


def _corrects(earlier: TalkStatement, later: TalkStatement, shared: frozenset[str]) -> bool:
    """Whether the later one says that something has changed, or the same speaker says it again with another value."""
    gap = later.message - earlier.message
    elsewhere = earlier.names and later.names and not earlier.names & later.names
    if _CHANGED.search(later.low) or (not elsewhere and _IS_NOW.search(later.low)):
        return bool(shared) or gap <= NEAR or len(later.subject) < 2
    if earlier.speaker != later.speaker:
        denied = gap <= 2 and _DENIED.match(later.low) is not None
        return denied or (gap <= 3 and _CORRECTED.search(later.low) is not None)
    if not earlier.subject:
        return gap <= 2  # a value alone, and then another
    changed = {number for number, _ in earlier.amounts} ^ {number for number, _ in later.amounts}
    return bool(shared) and not elsewhere and _near(shared, earlier, later) and len(changed) <= 2


def _chooses(earlier: TalkStatement, later: TalkStatement, between: Sequence[TalkStatement], *, same: bool) -> bool:
    """Whether the later one settles what the earlier one had left open."""
    gap = later.message - earlier.message
    if _THEN.search(later.low) and gap <= NEAR // 2 and len(later.subject) <= (2 if later.days else 0):
        return not _accepted(earlier, between)
    near = same or gap <= NEAR // 2 or (gap <= NEAR and len(later.subject) < 2)
    return near and _SETTLED.search(later.low) is not None and _is_open(earlier, later, between)


def _accepted(earlier: TalkStatement, between: Sequence[TalkStatement]) -> bool:
    return any(other.speaker != earlier.speaker and _ACCEPTED.match(other.low) for other in between)


def _is_open(earlier: TalkStatement, later: TalkStatement, between: Sequence[TalkStatement]) -> bool:
    """Whether others had something against it or named what was then chosen, or nobody agreed to what was proposed."""
    others = [other for other in between if other.speaker != earlier.speaker]
    if any(_differs(earlier, other, same=False) and not _differs(other, later, same=False) for other in others):
        return True
    if any(_OBJECTED.search(other.low) for other in others):
        return not _accepted(earlier, others[:1])
    return bool(_PROPOSED.search(earlier.low)) and not _accepted(earlier, others)


def _reach(said: Sequence[TalkStatement], place: int, givers: list[int], by_term: dict[str, list[int]]) -> list[int]:
    """What a statement may replace: what has a word in common with it, then what is near; the latest of each first."""
    later = said[place]
    if ASKED.search(later.low[-3:]) or UNSURE.search(later.low) or _SUPPOSED.search(later.low):
        return []
    if not later.gives and not _CALLED_OFF.search(later.low):
        return []
    shared = sorted({before for term in later.subject for before in by_term.get(term, [])[-SHARED:]}, reverse=True)
    few = len(later.subject) < 2
    says_so = any(pattern.search(later.low) for pattern in (_CHANGED, _IS_NOW, _CORRECTED, _SETTLED, _THEN))
    near = [
        before
        for before in (givers[: -LOOKED_AT - 1 : -1] if says_so else ())
        if before not in shared and (few or later.message - said[before].message <= NEAR)
    ]
    return [before for before in (*shared, *near) if said[before].message < later.message]


def _near(shared: frozenset[str], earlier: TalkStatement, later: TalkStatement) -> bool:
    return len(shared) >= SAME * min(len(earlier.subject), len(later.subject))


def _other_number(earlier: TalkStatement, later: TalkStatement) -> bool:
    """Whether each begins with the number of what it speaks of: "box 3", "ticket 17"."""
    names = [_NUMBERED.match(each.low) for each in (earlier, later)]
    return all(names) and len({name["what"] for name in names if name}) < len({name.group() for name in names if name})


def _other_values(earlier: TalkStatement, later: TalkStatement) -> bool:
    """Whether the later one speaks of other days than the earlier one."""
    return bool(earlier.days and later.days and not earlier.days & later.days)


def _differs(earlier: TalkStatement, later: TalkStatement, *, same: bool) -> bool:
    """Whether both give a value of one kind, and not the same."""
    if earlier.days and later.days:
        return not any(_is_day(day, other) for day in earlier.days for other in later.days)
    if earlier.weekdays and (later.weekdays or (same and later.days)):
        return not earlier.weekdays & later.weekdays
    if earlier.clocks and later.clocks and not (later.amounts or later.days):
        return not earlier.clocks & later.clocks
    return any(
        number != other and (unit == of or {unit, of} == {"", "money"}) and (
            max(number, other) <= APART * min(number, other) or (same and unit == of != "")
        )
        for number, unit in earlier.amounts
        for other, of in later.amounts
    ) and not {number for number, _ in earlier.amounts} & {number for number, _ in later.amounts}  # fmt: skip


def _repeats(other: TalkStatement, earlier: TalkStatement, later: TalkStatement) -> bool:
    days = any(day[1] and old[1] and _is_day(day, old) for day in other.days for old in earlier.days)
    amounts = {number for number, _ in other.amounts if number > 12} & {number for number, _ in earlier.amounts}
    return (days or bool(amounts)) and later.message - other.message <= 2 * NEAR and len(other.amounts) < 3


def _is_day(left: Day, right: Day) -> bool:
    """Whether two days may be the same: "the 27th" and "27 June"."""
    months = left[0] == right[0] or left[0] is None or right[0] is None
    return months and (left[1] == right[1] or left[1] is None or right[1] is None)


def _names(text: str) -> frozenset[str]:
    """What is written with a capital, but for the small words that begin a sentence."""
    first = text.split(maxsplit=1)[:1]
    begins = [word for word in first if word[0].isupper() and word.lower() not in _SMALL and word.lower() not in COMMON]
    return (
        frozenset(lowered(name).rstrip(".-&") for name in (*NAMED.findall(text), *begins))
        - MONTHS.keys()
        - WEEKDAYS.keys()
    )


def _days(match: re.Match[str]) -> Iterator[Day]:
    month = match["month"] or match["before"] or match["alone"]
    number = MONTHS[month] if month else None
    if match["iso"]:
        _, written, day = match["iso"].split("-")
        yield int(written), int(day)
    elif match["zh_month"]:
        yield int(_han(match["zh_month"])), int(_han(match["zh_day"])) if match["zh_day"] else None
    elif match["zh_th"]:
        day = int(_han(match["zh_th"]))
        if day <= 31:  # a higher one is the number of a house or of a line
            yield None, day
    elif match["alone"]:
        yield number, None
    else:
        for day in filter(None, (match["first"], match["second"], match["after"], match["th"], match["am"])):
            yield number, int(day)


def _amount(match: re.Match[str]) -> Iterator[tuple[float, str]]:
    """A number with what it counts; money is one unit, whatever it is called."""
    if match["han"]:
        # A digit alone is part of a word as often as a number.
        counted = _HAN_UNIT.match(match["han_unit"]) is not None
        if len(match["han"]) > 1 or counted:
            money = _MONEY.fullmatch(match["han_unit"])
            yield _han(match["han"]), "money" if money else match["han_unit"] if counted else ""
        return
    plain = _THOUSANDS.sub("", match["number"]).replace(",", ".")
    try:
        value = float(plain) * (1000 if match["k"] else 1)
    except ValueError:
        return  # a version or an address
    unit = match["unit"] or ""
    money = match["sign"] or _MONEY.fullmatch(unit)
    yield value, "money" if money else "" if unit in _SMALL else next(iter(terms(unit)), "")


def _han(written: str) -> float:
    """A number as it is written in Chinese: in spoken short forms too, 一万二 is 12,000."""
    if written.isdigit():
        return float(written)
    total, section, digit, unit = 0, 0, 0, 1
    for sign in written:
        if sign in _HAN_VALUES:
            digit = 10 * digit + _HAN_VALUES[sign] if unit == 1 and digit else _HAN_VALUES[sign]
            unit = 1 if sign in "零〇" else unit
        elif sign in _HAN_UNITS:
            step = _HAN_UNITS[sign]
            if step >= 10_000:
                total, section, digit = (total + section + digit or 1) * step, 0, 0
            else:
                section, digit = section + (digit or 1) * step, 0
            unit = step
    return float(total + section + digit * (unit // 10 if unit >= 100 else 1))
