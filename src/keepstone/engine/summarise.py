"""Summaries of a room, tier upon tier: a session out of its messages, a day out of sessions, a week out of days.

Owns which sentences stand for the whole, and the guards of what a model writes. It must not say what nobody said: by
rules a summary is made of sentences of the messages, each with who said it, in the order in which they were said. No
database and no clock. A language model writes more smoothly, and is never needed.

A sentence counts for what it settles, promises or states exactly, for how much of the talk its terms stand for, and for
what it adds to those that were chosen before it.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from heapq import heapify, heappop, heappush, nlargest

from keepstone.engine.ask_model import DATA_ONLY, quoted
from keepstone.engine.cues import CHATTER, CUES, NOISE, NUMBER, SMALL_TALK, without_blocks
from keepstone.engine.extract.passed_over import NAMED
from keepstone.engine.gleanings import glean, is_landmark, revises
from keepstone.engine.language.calendar import DOUBTFUL_MONTHS, MONTHS, WEEKDAYS
from keepstone.engine.language.doubt import ASKED, JOKE, SUPPOSED, UNSURE
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.language.sentences import FENCE, lines, sentences, shortened
from keepstone.engine.pack import depends, own_words
from keepstone.engine.rank import normalised
from keepstone.engine.terms import terms
from keepstone.errors import UpstreamError
from keepstone.providers.llm import LanguageModel

READ = 8_000
# A longer sentence is cut, with an ellipsis.
SENTENCE = 300
NAME = 80
# So many sentences are weighed against each other; of a long thread the best.
WEIGHED = 400
# A sentence that is worth less is left out, though there be room, unless there is no better one.
TELLING = 0.35
# How much the length of a sentence counts against it, from 0 to 1.
LONG = 0.4
# From so much in common on, two sentences say the same.
ALIKE = 0.8
# What a model is given at most, in characters; the oldest quarter of it is kept, for that is where a talk begins.
GIVEN = 24_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A message of a room."""

    speaker: str
    text: str
    at: datetime
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A summary of the tier below."""

    text: str
    at: datetime
    until: datetime
    id: str


def summarise(lines: Sequence[Line], *, most: int = 1200) -> str:
    """The most telling sentences, one to a line, each after who said it; at most `most` characters.

    Empty only when nobody said a word.
    """
    people = tuple(dict.fromkeys(line.speaker for line in lines))
    said = [each for place, line in enumerate(lines) for each in _sentences_of(place, line)]
    _answer(said)
    best = _weighed(said, people)
    chosen = _chosen([each for each in best if each.score >= TELLING] or best, most)
    if chosen:
        return "\n".join(each.shown for each in chosen)
    if best:
        top = max(best, key=lambda each: each.score)
        return _cut(top.speaker, top.text, most)
    return _anything(lines, most)


def summarise_parts(parts: Sequence[Part], *, most: int = 1800, labels: Callable[[Part], str] | None = None) -> str:
    """The most telling lines of the parts, in their order, under a heading where there is more than one part to tell
    apart: its day, or what `labels` says.
    """
    said = [each for place, part in enumerate(parts) for each in _lines_of(place, part)]
    named = [_squeezed((labels or _day)(part)) for part in parts]
    headed = len(set(named)) > 1
    longest = max((len(name) for name in named), default=0) + len(HEADING) + 2
    # Room is left for the headings of those parts that are likely to be told of.
    room = most - min(len(set(named)) * longest, most // 4) if headed else most
    chosen = _chosen(_weighed(said, ()), room)
    if not chosen:
        return next((shortened(part.text, most)[:most] for part in parts if _has_words(part.text)), "")
    text = "\n".join(_under_headings(chosen, named) if headed else (each.shown for each in chosen))
    # With more parts than there was room for, the lines alone say more than the days.
    return text if len(text) <= most else "\n".join(each.shown for each in chosen)


async def summarise_by_model(
    model: LanguageModel, given: Sequence[Line | Part], *, tier: str, max_tokens: int = 400
) -> str:
    """What a model makes of messages or of parts, without the sentences that have numbers or days which nobody said.

    UpstreamError when nothing is left, so that the caller takes the rules' summary.
    """
    text = "\n".join(_shown_to_a_model(given))
    prompt = f"{quoted('conversation', text)}\n\nWrite the summary of this {tier}."
    said = (await model.complete(system=_SYSTEM, prompt=prompt, max_tokens=max_tokens)).text
    kept = _borne_out(said, text)
    if not _has_words(kept):
        raise UpstreamError("The language model gave no summary that can be used. Try again.")
    return kept


_SYSTEM = (
    "You summarise a group chat of people and AI agents for somebody who was away. Keep decisions, facts, names, "
    "numbers, dates, who promised what until when, who said what, and open questions; of a decision that was changed, "
    f"both, and which holds. Leave out greetings and chatter. {DATA_ONLY} Invent nothing: every number and date must "
    "stand in the text, as it is written there. Write short plain sentences, one to a line, in the language of the "
    "text, without a heading or a preamble."
)
HEADING = "## "


# --- sentences --------------------------------------------------------------------------------------------------------


class _Said:
    """A sentence as it would be shown, where it stands, and what is asked of it more than once."""

    __slots__ = ("about", "answers", "asks", "low", "place", "score", "shown", "speaker", "terms", "text")

    def __init__(self, place: tuple[int, int], speaker: str, text: str) -> None:
        self.place, self.speaker = place, speaker
        self.text = shortened(text, SENTENCE) if len(text) > SENTENCE else text
        self.shown = f"{speaker}: {self.text}" if speaker else self.text
        low = self.text.lower().replace("’", "'")
        self.low = low if len(low) == len(self.text) else self.text
        self.terms = frozenset(terms(self.text))
        self.asks = bool(ASKED.search(self.low[-3:])) or self.low.endswith(("吗", "呢"))
        self.answers: _Said | None = None
        self.about = 0.0
        self.score = 0.0


def _sentences_of(place: int, line: Line) -> Iterator[_Said]:
    plain = _ASIDE.sub("", without_blocks(FENCE.sub("\n", _own(line.text))))
    if not plain.strip() or NOISE.match(plain.lower()):
        return
    speaker = _squeezed(line.speaker)[:NAME].rstrip()
    number = 0
    for each in lines(plain):
        for sentence in sentences(each.text):
            if _has_words(sentence):
                yield _Said((place, number), speaker, sentence)
                number += 1


def _own(text: str) -> str:
    # What stood around something that is taken out is not one sentence.
    return own_words(text[:READ].replace("<recalled-memory", "\n<recalled-memory"))


def _lines_of(place: int, part: Part) -> Iterator[_Said]:
    """The lines of a summary; of one that a model wrote as prose the sentences."""
    number = 0
    for raw in part.text.splitlines():
        line = _squeezed(raw)
        if not _has_words(line) or line.startswith(HEADING):
            continue
        speaker, mark, rest = line.partition(": ")
        named = bool(mark) and len(speaker) <= NAME and bool(rest)
        for sentence in [rest] if named and len(rest) <= SENTENCE else sentences(line):
            yield _Said((place, number), speaker if named and sentence is rest else "", sentence)
            number += 1


def _answer(said: Sequence[_Said]) -> None:
    """Marks what answers a question: the first thing that another says within the next few messages."""
    asked: _Said | None = None
    for each in said:
        if each.asks:
            asked = each if len(each.terms) > 1 and not SMALL_TALK.search(each.low) else None
        elif asked is not None and each.speaker != asked.speaker and not _is_chatter(each):
            if each.place[0] - asked.place[0] <= 4:
                each.answers = asked
            asked = None


def _is_chatter(each: _Said) -> bool:
    return len(each.low) < 80 and bool(CHATTER.fullmatch(each.low))


def _weighed(said: Sequence[_Said], people: Sequence[str]) -> list[_Said]:
    """The sentences that may be chosen, the best of a long talk, each with its score."""
    spread = Counter(term for each in said for term in each.terms)
    for each in said:
        each.about = _central(each, spread, len(said))
    highest = max((each.about for each in said), default=0.0) or 1.0
    for each in said:
        each.about /= highest
        each.score = _worth(each)
    best = nlargest(WEIGHED, (each for each in said if each.score > 0), key=lambda each: (each.score, each.place))
    for each in best:
        each.score += _gleaned(each, people)
    best.sort(key=lambda each: each.place)
    _give_way(best)
    return best


def _central(each: _Said, spread: Counter[str], size: int) -> float:
    """How much of the talk its terms stand for: those that come again count, those that are everywhere do not."""
    found = sum(math.log(spread[term]) * math.log((1 + size) / spread[term]) for term in each.terms)
    return found / math.sqrt(len(each.terms) + 4)


def _worth(each: _Said) -> float:
    """What a sentence is worth by itself."""
    if _is_chatter(each) or not each.terms or SMALL_TALK.search(each.low):
        return 0.0
    settled = [cue.weight * _KINDS[cue.code] for cue in CUES if cue.needle in each.low and cue.pattern.search(each.low)]
    numbers = len(NUMBER.findall(each.low)) or bool(_DIGIT.search(each.low))
    days = bool(_DAY.search(each.low))
    names = len(set(NAMED.findall(each.text)))
    score = 0.1 + max(settled, default=0.0) + 0.3 * min(numbers, 2) + 0.2 * days + 0.15 * min(names, 2)
    score += 0.3 * each.about + (0.2 if each.answers else 0.0) + (0.3 if TURNED.search(each.low) else 0.0)
    if each.asks:
        return 0.2 * score
    if JOKE.search(each.low):
        score *= 0.3
    if UNSURE.search(each.low) or SUPPOSED.search(each.low):
        score *= 0.7
    few = len(each.text) * (3 if unspaced(each.text) else 1) < 20
    return score * (0.6 if few else 1.0)


def _gleaned(each: _Said, people: Sequence[str]) -> float:
    """What more it is worth when it holds a decision, something to do, or a fact. Slow: asked of the best."""
    found = glean(each.speaker, each.text, people)
    if not found:
        return 0.0
    if is_landmark(found[0], each.text):
        return 1.0
    return {"decision": 0.7, "action_item": 0.7, "fact": 0.5}[found[0].type]


def _give_way(best: Sequence[_Said]) -> None:
    """Lets what was decided anew go before what it revises."""
    for place, new in enumerate(best):
        if TURNED.search(new.low):
            most = 0.8 * new.score
            for old in best[:place]:
                if old.score > most and new.terms & old.terms and revises(new.text, old.text):
                    old.score = most


# --- choosing ---------------------------------------------------------------------------------------------------------


def _chosen(best: Sequence[_Said], most: int) -> list[_Said]:
    """Those that add most, as many as fit, in the order in which they were said."""
    kept: dict[tuple[int, int], _Said] = {}
    covered: Counter[str] = Counter()
    taken: Counter[int] = Counter()
    seen: set[str] = set()
    left = most
    queue = [(-_gain(each, covered, taken), each.place, each) for each in best]
    heapify(queue)
    while queue and left > 0:
        gain, place, each = heappop(queue)
        now = _gain(each, covered, taken)
        # What was chosen meanwhile can only have made it worth less: looked at again, and put back if it is no more
        # the best.
        if queue and now < -gain - 1e-9 and now < -queue[0][0]:
            heappush(queue, (-now, place, each))
            continue
        whole = normalised(each.text)
        if place in kept or whole in seen or any(_alike(each, other) for other in kept.values()):
            continue
        for wanted in _with_question(each, kept):
            cost = sum(len(one.shown) + 1 for one in wanted)
            if cost <= left + 1:
                for one in wanted:
                    kept[one.place] = one
                    seen.add(normalised(one.text))
                    covered.update(one.terms)
                    taken[one.place[0]] += 1
                left -= cost
                break
    return [kept[place] for place in sorted(kept)]


def _gain(each: _Said, covered: Counter[str], taken: Counter[int]) -> float:
    """Its score, less where its terms are told already, where it is long, and where its message has been heard."""
    new = sum(1 for term in each.terms if not covered[term]) / max(len(each.terms), 1)
    long = (len(each.shown) + 40) ** LONG
    return each.score * (0.4 + 0.6 * new) / long / (1 + 0.1 * taken[each.place[0]])


def _with_question(each: _Said, kept: dict[tuple[int, int], _Said]) -> Iterator[list[_Said]]:
    """An answer that says nothing alone comes with its question, if both fit."""
    asked = each.answers
    if asked is not None and asked.place not in kept and depends(each.text):
        yield [asked, each]
    yield [each]


def _alike(one: _Said, other: _Said) -> bool:
    if not one.terms or not other.terms:
        return False
    both = len(one.terms & other.terms)
    if both < ALIKE * max(len(one.terms), len(other.terms)):
        return False
    # Another number makes another thing of it.
    return not any(term[0].isdigit() for term in one.terms ^ other.terms)


def _anything(given: Sequence[Line], most: int) -> str:
    """Of a talk without a telling word the longest sentence that begins a message."""
    for bare in (_bare, _squeezed):
        told = [(bare(_own(line.text)), _squeezed(line.speaker)[:NAME].rstrip()) for line in given]
        told = [(text, speaker) for text, speaker in told if _has_words(text)]
        if told:
            text, speaker = max(told, key=lambda each: len(each[0]))
            return _cut(speaker, text, most)
    return ""


def _cut(speaker: str, text: str, most: int) -> str:
    """One sentence where not even one fits: with who said it if that leaves room for words."""
    shown = f"{speaker}: " if speaker and len(speaker) + 12 <= most else ""
    return (shown + shortened(text, max(min(SENTENCE, most - len(shown)), 2)))[: max(most, 0)]


def _bare(text: str) -> str:
    return next((sentence for line in lines(text) for sentence in sentences(line.text) if _has_words(sentence)), "")


def _under_headings(chosen: Iterable[_Said], named: Sequence[str]) -> Iterator[str]:
    last: str | None = None
    for each in chosen:
        name = named[each.place[0]]
        if name != last and name:
            yield HEADING + name
        last = name
        yield each.shown


def _day(part: Part) -> str:
    return f"{part.at:%Y-%m-%d}"


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


_KINDS = {"decision": 1.0, "commitment": 0.9, "conclusion": 0.8, "fact": 0.6, "idea": 0.2}
_ASIDE = re.compile(r"^[ \t]*>[^\n]*", re.MULTILINE)
_DIGIT = re.compile(r"\d")
_DAY = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october|"
    r"november|december|tomorrow|deadline|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|"
    r"märz|juni|juli|oktober|dezember|lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b|周[一二三四五六日末]|月底|明天"
)
TURNED = re.compile(
    r"\b(?:actually|instead|no longer|not any ?more|change of plans?|changed (?:my|our) minds?|scratch that|correction|"
    r"on second thought|after all|postponed|moved (?:to|from)|stattdessen|doch (?:lieber|nicht)|nicht mehr|ya no|"
    r"en vez de|mejor)\b|改[成为到]|不再|换成|推迟"
)


# --- by a model -------------------------------------------------------------------------------------------------------


def _shown_to_a_model(given: Sequence[Line | Part]) -> list[str]:
    """What a model is given, day by day; of too much the middle is left out, with a note."""
    shown: list[tuple[str, str]] = []
    for each in given:
        if isinstance(each, Line):
            text = f"{_tame(each.speaker)}: {_tame(own_words(each.text[:READ]))}"
        else:
            text = "\n".join(map(_tame, filter(None, each.text.splitlines())))
        if _has_words(text):
            shown.append((f"{each.at:%Y-%m-%d}", text))
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
    return _squeezed(text.replace("<", "‹"))


def _borne_out(said: str, given: str) -> str:
    """What a model wrote, line by line, without the sentences whose numbers or days are not in what it was given."""
    numbers, days = _numbers(given), _days(given)
    # A day may be written in words that was given in numbers.
    for written in _ISO.findall(given):
        numbers |= _numbers(written.replace("-", " "))
        days |= (
            {f"month {int(written[5:7])}", f"day {date.fromisoformat(written).weekday()}"}
            if _is_day(written)
            else set()
        )
    kept: list[str] = []
    for line in map(_squeezed, said.splitlines()):
        held = [each for each in sentences(line) if _numbers(each) <= numbers and _days(each, sure=True) <= days]
        if held:
            kept.append(("" if unspaced(line) else " ").join(held))
    return "\n".join(kept)


def _numbers(text: str) -> set[str]:
    """The numbers of a text in one writing: plain digits, without marks between thousands and zeros ahead."""
    plain = _THOUSANDS.sub("", unicodedata.normalize("NFKC", text))
    return {_ZEROS.sub("", match.group()) for match in _NUMBER.finditer(plain)}


def _days(text: str, *, sure: bool = False) -> set[str]:
    """The months and weekdays that a text names. "may" is a month for sure only beside a number."""
    found: set[str] = set()
    for match in _NAMED_DAY.finditer(text):
        low = match["name"].lower()
        if low in WEEKDAYS:
            found.add(f"day {WEEKDAYS[low]}")
        elif not sure or low not in DOUBTFUL_MONTHS or match["before"] or match["after"]:
            found.add(f"month {MONTHS[low]}")
    return found


def _is_day(written: str) -> bool:
    try:
        date.fromisoformat(written)
    except ValueError:
        return False
    return True


_ISO = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"\d{4}-\d\d-\d\d|\d+(?:[.,:/]\d+)*")
_THOUSANDS = re.compile(r"(?<=\d)[.,'](?=\d{3}(?!\d))")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_NAMES = sorted({*MONTHS, *WEEKDAYS}, key=len, reverse=True)
_SPACED = "|".join(name for name in _NAMES if not name.startswith(("周", "星")))
_DENSE = "|".join(name for name in _NAMES if name.startswith(("周", "星")))
_NAMED_DAY = re.compile(
    rf"(?P<before>\d(?:st|nd|rd|th|\.)?\s(?:of\s)?)?(?P<name>(?<![^\W\d_])(?:{_SPACED})(?![^\W\d_])|{_DENSE})"
    r"(?P<after>\.?\s\d)?",
    re.IGNORECASE,
)
