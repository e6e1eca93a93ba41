"""Summaries that a language model writes, and the guard that lets through only what somebody said.

Owns the prompt, how much of a talk a model is given, and the check of its numbers and days against the talk. A model
writes more smoothly than the rules of `summarise`, and is never needed.
"""

import re
import unicodedata
from collections.abc import Sequence
from datetime import date

from keepstone.engine.ask_model import DATA_ONLY
from keepstone.engine.language.calendar import DOUBTFUL_MONTHS, MONTHS, WEEKDAYS
from keepstone.engine.language.scripts import DENSE, unspaced
from keepstone.engine.language.sentences import has_words, on_one_line, sentences
from keepstone.engine.quotation import own_words, quote_as, untagged
from keepstone.engine.summarise import READ, PartSummary, RoomLine
from keepstone.errors import UpstreamError
from keepstone.providers.llm import LanguageModel

# What a model is given at most, in characters; the oldest quarter of it is kept, for that is where a talk begins.
GIVEN = 24_000
_SYSTEM = (
    "You summarise a group chat of people and AI agents for somebody who was away. Keep decisions, facts, names, "
    "numbers, dates, who promised what until when, who said what, and open questions; of a decision that was changed, "
    f"both, and which holds. Leave out greetings and chatter. {DATA_ONLY} Invent nothing: every number and date must "
    "stand in the text, as it is written there. Write short plain sentences, one to a line, in the language of the "
    "text, without a heading or a preamble."
)
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"\d{4}-\d\d-\d\d|\d+(?:[.,:/]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d)[.,'](?=\d{3}(?!\d))")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_NAMES = sorted({*MONTHS, *WEEKDAYS}, key=len, reverse=True)
_SPACED = "|".join(name for name in _NAMES if not DENSE.match(name))
_UNSPACED = "|".join(name for name in _NAMES if DENSE.match(name))
_NAMED_DAY = re.compile(
    rf"(?P<before>\d(?:st|nd|rd|th|\.)?\s(?:of\s)?)?(?P<name>(?<![^\W\d_])(?:{_SPACED})(?![^\W\d_])|{_UNSPACED})"
    r"(?P<after>\.?\s\d)?",
    re.IGNORECASE,
)


async def summarise_by_model(
    model: LanguageModel, given: Sequence[RoomLine | PartSummary], *, tier: str, max_tokens: int = 400
) -> str:
    """What a model makes of messages or of parts, without the sentences that have numbers or days which nobody said.

    UpstreamError when nothing is left, so that the caller takes the rules' summary.
    """
    text = "\n".join(_shown_to_a_model(given))
    prompt = f"{quote_as('conversation', text)}\n\nWrite the summary of this {tier}."
    said = (await model.complete(system=_SYSTEM, prompt=prompt, max_tokens=max_tokens)).text
    kept = _borne_out(said, text)
    if not has_words(kept):
        raise UpstreamError("The language model gave no summary that can be used. Try again.")
    return kept


def _shown_to_a_model(given: Sequence[RoomLine | PartSummary]) -> list[str]:
    """What a model is given, day by day; of too much the middle is left out, with a note."""
    shown: list[tuple[str, str]] = []
    for part in given:
        if isinstance(part, RoomLine):
            text = f"{_tame(part.speaker)}: {_tame(own_words(part.text[:READ]))}"
        else:
            text = "\n".join(map(_tame, filter(None, part.text.splitlines())))
        if has_words(text):
            shown.append((f"{part.at:%Y-%m-%d}", text))
    days: list[str] = []
    last = ""
    for day, text in _without_the_middle(shown):
        if day and day != last:
            days.append(f"[{day}]")
        last = day or last
        days.append(text)
    return days


def _without_the_middle(shown: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    if sum(len(text) + 1 for _, text in shown) <= GIVEN:
        return list(shown)
    head = _fitting(shown, GIVEN // 4)
    tail = _fitting(shown[::-1], GIVEN - GIVEN // 4)[::-1]
    # One that is longer than all the room is cut instead of left out.
    if not head and not tail:
        return [(shown[-1][0], shown[-1][1][:GIVEN])]
    return [*head, ("", "[... some of the middle is left out here ...]"), *tail]


def _fitting(shown: Sequence[tuple[str, str]], room: int) -> list[tuple[str, str]]:
    kept: list[tuple[str, str]] = []
    for day, text in shown:
        room -= len(text) + 1
        if room < 0:
            break
        kept.append((day, text))
    return kept


def _tame(text: str) -> str:
    """On one line, and without what would close the quotation."""
    return on_one_line(untagged(text).replace("<", "‹"))


def _borne_out(said: str, given: str) -> str:
    """What a model wrote, line by line, without the sentences whose numbers or days are not in what it was given."""
    numbers, days = _numbers(given), _days(given)
    # A day may be written in words that was given in numbers.
    for written in _ISO.findall(given):
        numbers |= _numbers(written.replace("-", " "))
        try:
            day = date.fromisoformat(written)
        except ValueError:
            continue
        days |= {f"month {day.month}", f"day {day.weekday()}"}
    kept: list[str] = []
    for line in map(on_one_line, said.splitlines()):
        borne_out = [
            sentence
            for sentence in sentences(line)
            if _numbers(sentence) <= numbers and _days(sentence, sure=True) <= days
        ]
        if borne_out:
            kept.append(("" if unspaced(line) else " ").join(borne_out))
    return "\n".join(kept)


def _numbers(text: str) -> set[str]:
    """The numbers of a text in one writing: plain digits, without marks between thousands and zeros ahead."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    return {_ZEROS.sub("", match.group()) for match in _NUMBER.finditer(plain)}


def _days(text: str, *, sure: bool = False) -> set[str]:
    """The months and weekdays that a text names. "may" is a month for sure only beside a number."""
    days: set[str] = set()
    for match in _NAMED_DAY.finditer(text):
        low = match["name"].lower()
        if low in WEEKDAYS:
            days.add(f"day {WEEKDAYS[low]}")
        elif not sure or low not in DOUBTFUL_MONTHS or match["before"] or match["after"]:
            days.add(f"month {MONTHS[low]}")
    return days
