"""Summaries of a room, tier upon tier: a session out of its messages, a day out of sessions, a week out of days.

Owns which sentences stand for the whole. It must not say what nobody said: a summary is made of sentences of the
messages, each with who said it, in the order in which they were said. No database and no clock.

A sentence counts for what it settles, promises or states exactly, for how much of the talk its terms stand for, and for
what it adds to those that were chosen before it. What a later sentence has put out of date is left out.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import heapify, heappop, heappush, nlargest

from keepstone.engine.cues import CHATTER, NOISE, NUMBER, SMALL_TALK, cues_near, own_prose, unrecalled
from keepstone.engine.extract.passed_over import NAMED
from keepstone.engine.judge import looks_revised
from keepstone.engine.language.doubt import ASKED, JOKE, SUPPOSED, UNSURE
from keepstone.engine.language.scripts import unspaced
from keepstone.engine.language.sentences import has_words, lines, lowered, on_one_line, sentences, shortened
from keepstone.engine.language.tables import load
from keepstone.engine.outdated import is_refusal, outdated, refused, statement, still_true
from keepstone.engine.pack import depends
from keepstone.engine.rank import normalised
from keepstone.engine.takeaways.decisions import is_proposed
from keepstone.engine.takeaways.messages import is_landmark, takeaways
from keepstone.engine.terms import terms

READ = 8_000
# A longer sentence is cut, with an ellipsis.
SENTENCE = 300
NAME = 80
# So many sentences are weighed against each other; of a long thread the best.
WEIGHED = 400
# A sentence that is worth less is left out, though there be room, unless there is no better one; with a number or a day
# in it the second holds.
TELLING = 0.44
EXACT = 0.33
# How much the length of a sentence counts against it, from 0 to 1.
LONG = 0.4
# From so much in common on, two sentences say the same.
ALIKE = 0.8
# So much of it is left where others laugh at it or say no.
DISMISSED = 0.15
HEADING = "## "
_WORTH_OF = {"decision": 1.0, "commitment": 0.9, "conclusion": 0.8, "fact": 0.6, "idea": 0.2}
_DIGIT = re.compile(r"\d")
_DAY, _TURNED, _LAUGHS, _BANTER = (load("summarise").pattern(table) for table in ("day", "turned", "laughs", "banter"))
_ASKS, _PAST = (load("summarise").pattern(table) for table in ("asks", "past"))
# What shows that a sentence says something, and how much that counts.
_SIGNS = tuple(
    (load("summarise").pattern(table), worth) for table, worth in (("label", 0.25), ("rule", 0.25), ("done", 0.2))
)


@dataclass(frozen=True, slots=True)
class RoomLine:
    """A message of a room."""

    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PartSummary:
    """A summary of the tier below, of what was said from `at` on."""

    text: str
    at: datetime


def summarise(messages: Sequence[RoomLine], *, most: int = 900) -> str:
    """The most telling sentences, one to a line, each after who said it; at most `most` characters.

    Empty only when nobody said a word.
    """
    people = tuple(dict.fromkeys(message.speaker for message in messages))
    said = [sentence for place, message in enumerate(messages) for sentence in _sentences_of(place, message)]
    _mark_answers(said)
    best = _weighed(said, people)
    telling = [sentence for sentence in best if sentence.score >= (EXACT if sentence.gives.gives else TELLING)]
    chosen = _chosen(telling or best, most)
    if chosen:
        return "\n".join(sentence.shown for sentence in chosen)
    if best:
        top = max(best, key=lambda sentence: sentence.score)
        return _cut(top.speaker, top.text, most)
    return _anything(messages, most)


def summarise_parts(parts: Sequence[PartSummary], *, most: int = 1800) -> str:
    """The most telling lines of the parts, in their order, under their days where there is more than one."""
    said = [sentence for place, part in enumerate(parts) for sentence in _lines_of(place, part)]
    days = [f"{part.at:%Y-%m-%d}" for part in parts]
    headed = len(set(days)) > 1
    # Room is left for the headings of those parts that are likely to be told of.
    headings = len(set(days)) * (len(HEADING) + len("2000-01-01") + 2)
    chosen = _chosen(_weighed(said, ()), most - min(headings, most // 4) if headed else most)
    if not chosen:
        return next((shortened(part.text, most)[:most] for part in parts if has_words(part.text)), "")
    text = "\n".join(_under_headings(chosen, days) if headed else (sentence.shown for sentence in chosen))
    # With more parts than there was room for, the lines alone say more than the days.
    return text if len(text) <= most else "\n".join(sentence.shown for sentence in chosen)


# --- sentences --------------------------------------------------------------------------------------------------------


class _Sentence:
    """A sentence as it would be shown, where it stands, and what is asked of it more than once."""

    __slots__ = (
        "about",
        "answers",
        "asks",
        "gives",
        "joking",
        "low",
        "place",
        "score",
        "shown",
        "speaker",
        "terms",
        "text",
    )

    def __init__(self, place: tuple[int, int], speaker: str, text: str, *, joking: bool = False) -> None:
        self.place, self.speaker = place, speaker
        self.tell(shortened(text, SENTENCE) if len(text) > SENTENCE else text)
        self.low = lowered(self.text)
        self.terms = frozenset(terms(self.text))
        self.joking = joking
        self.gives = statement(place[0], speaker, self.text, self.terms)
        self.asks = bool(ASKED.search(self.low[-3:]) or _ASKS.match(self.low))
        self.answers: _Sentence | None = None
        self.about = 0.0
        self.score = 0.0

    def tell(self, text: str) -> None:
        self.text = text
        self.shown = f"{self.speaker}: {text}" if self.speaker else text

    @property
    def is_chatter(self) -> bool:
        return len(self.low) < 80 and bool(CHATTER.fullmatch(self.low))


def _sentences_of(place: int, message: RoomLine) -> Iterator[_Sentence]:
    plain = own_prose(message.text[:READ])
    if not plain.strip() or NOISE.match(plain.lower()):
        return
    speaker = on_one_line(message.speaker)[:NAME].rstrip()
    said = (sentence for line in lines(plain) for sentence in sentences(line.text) if has_words(sentence))
    joking = JOKE.search(lowered(plain)) is not None
    for number, sentence in enumerate(said):
        yield _Sentence((place, number), speaker, sentence, joking=joking)


def _lines_of(place: int, part: PartSummary) -> Iterator[_Sentence]:
    """The lines of a summary; of one that a model wrote as prose the sentences."""
    number = 0
    for line in map(on_one_line, part.text.splitlines()):
        if not has_words(line) or line.startswith(HEADING):
            continue
        speaker, mark, rest = line.partition(": ")
        named = bool(mark) and len(speaker) <= NAME and 0 < len(rest) <= SENTENCE
        for sentence in [rest] if named else sentences(line):
            yield _Sentence((place, number), speaker if named else "", sentence)
            number += 1


def _mark_answers(said: Sequence[_Sentence]) -> None:
    """What answers a question: the first thing that another says within the next few messages."""
    asked: _Sentence | None = None
    for sentence in said:
        if sentence.asks:
            asked = sentence if len(sentence.terms) > 1 and not SMALL_TALK.search(sentence.low) else None
        elif asked is not None and sentence.speaker != asked.speaker and not sentence.is_chatter:
            if sentence.place[0] - asked.place[0] <= 4:
                sentence.answers = asked
            asked = None


def _weighed(said: Sequence[_Sentence], people: Sequence[str]) -> list[_Sentence]:
    """The sentences that may be chosen, the best of a long talk, each with its score."""
    spread = Counter(term for sentence in said for term in sentence.terms)
    for sentence in said:
        sentence.about = _central(sentence, spread, len(said))
    highest = max((sentence.about for sentence in said), default=0.0) or 1.0
    for sentence in said:
        sentence.about /= highest
        sentence.score = _worth(sentence)
    telling = (sentence for sentence in said if sentence.score > 0)
    best = nlargest(WEIGHED, telling, key=lambda sentence: (sentence.score, sentence.place))
    for sentence in best:
        sentence.score += 0.0 if sentence.joking else _taken_away(sentence, people)
    _dismiss(said)
    _trust(said)
    best.sort(key=lambda sentence: sentence.place)
    return _current(said, best) or best


def _current(said: Sequence[_Sentence], best: Sequence[_Sentence]) -> list[_Sentence]:
    """Without what is out of date; of a sentence that gives something else too, that is left."""
    gone = {said[old].place: said[new] for old, new in outdated([sentence.gives for sentence in said]).items()}
    revised = _revised(best)
    kept: list[_Sentence] = []
    for sentence in best:
        if sentence.answers is not None and sentence.answers.place in gone:
            sentence.answers = None
        rest = still_true(sentence.text, gone[sentence.place].gives) if sentence.place in gone else sentence.text
        if not has_words(rest) or sentence.place in revised or (rest != sentence.text and sentence.asks):
            continue
        sentence.tell(rest)
        kept.append(sentence)
    return kept


def _dismiss(said: Sequence[_Sentence]) -> None:
    """What others laugh at or say no to counts for little."""
    for place, sentence in enumerate(said):
        for other in said[place + 1 : place + 4]:
            laughs = other.place[0] - sentence.place[0] == 1 and _LAUGHS.match(other.low)
            if refused(sentence.gives, other.gives) or (laughs and other.speaker != sentence.speaker):
                sentence.score *= DISMISSED
                break


def _trust(said: Sequence[_Sentence]) -> None:
    """Those who mostly say how things are are taken at their word sooner than those who are there for the fun."""
    spoken, given = Counter[str](), Counter[str]()
    for sentence in said:
        if not sentence.is_chatter:
            spoken[sentence.speaker] += 1
            given[sentence.speaker] += bool(sentence.gives.gives) and not sentence.asks
    for sentence in said:
        share = (given[sentence.speaker] + 1) / (spoken[sentence.speaker] + 3)
        sentence.score *= 0.8 + 0.4 * share


def _central(sentence: _Sentence, spread: Counter[str], size: int) -> float:
    """How much of the talk its terms stand for: those that come again count, those that are everywhere do not."""
    weight = sum(math.log(spread[term]) * math.log((1 + size) / spread[term]) for term in sentence.terms)
    return weight / math.sqrt(len(sentence.terms) + 4)


def _worth(sentence: _Sentence) -> float:
    """What a sentence is worth by itself."""
    low = sentence.low
    if sentence.is_chatter or not sentence.terms or SMALL_TALK.search(low) or is_refusal(low):
        return 0.0
    cues = (cue.about for cue in cues_near(low) if cue.pattern.search(low))
    settled = [about["weight"] * _WORTH_OF[about["kind"]] for about in cues]
    numbers = max(sentence.gives.gives, len(NUMBER.findall(low)), bool(_DIGIT.search(low)))
    names = len(set(NAMED.findall(sentence.text)))
    score = 0.1 + max(settled, default=0.0) + 0.3 * min(numbers, 2) + 0.15 * min(names, 2) + 0.3 * sentence.about
    score += 0.2 * bool(_DAY.search(low)) + (0.2 if sentence.answers else 0.0) + (0.3 if _TURNED.search(low) else 0.0)
    score += sum(worth for pattern, worth in _SIGNS if pattern.search(low))
    if sentence.asks:
        return 0.2 * score
    if sentence.joking or JOKE.search(low) or _BANTER.search(low):
        score *= 0.3
    if _PAST.search(low):
        score *= 0.7
    if UNSURE.search(low) or SUPPOSED.search(low) or is_proposed(low):
        score *= 0.7
    few = len(sentence.text) * (3 if unspaced(sentence.text) else 1) < 20
    return score * (0.6 if few else 1.0)


def _taken_away(sentence: _Sentence, people: Sequence[str]) -> float:
    """What more it is worth when it holds a decision, something to do, or a fact. Slow: asked of the best."""
    kept = takeaways(sentence.speaker, sentence.text, people)
    if not kept:
        return 0.0
    if is_landmark(kept[0], sentence.text):
        return 1.0
    return {"decision": 0.7, "action_item": 0.7, "fact": 0.5}[kept[0].type]


def _revised(best: Sequence[_Sentence]) -> set[tuple[int, int]]:
    """The places of what was decided anew later."""
    return {
        old.place
        for place, new in enumerate(best)
        if _TURNED.search(new.low)
        for old in best[:place]
        if new.terms & old.terms and looks_revised(old.text, new.text)
    }


# --- choosing ---------------------------------------------------------------------------------------------------------


def _chosen(best: Sequence[_Sentence], most: int) -> list[_Sentence]:
    """Those that add most, as many as fit, in the order in which they were said."""
    kept: dict[tuple[int, int], _Sentence] = {}
    covered: Counter[str] = Counter()
    taken: Counter[int] = Counter()
    seen: set[str] = set()
    left = most
    queue = [(-_gain(sentence, covered, taken), sentence.place, sentence) for sentence in best]
    heapify(queue)
    while queue and left > 0:
        gain, place, sentence = heappop(queue)
        now = _gain(sentence, covered, taken)
        # What was chosen meanwhile can only have made it worth less: looked at again, and put back if it is no more
        # the best.
        if queue and now < -gain - 1e-9 and now < -queue[0][0]:
            heappush(queue, (-now, place, sentence))
            continue
        known = place in kept or normalised(sentence.text) in seen
        if known or any(_alike(sentence, other) for other in kept.values()):
            continue
        for wanted in _with_question(sentence, kept):
            cost = sum(len(addition.shown) + 1 for addition in wanted)
            if cost <= left + 1:
                for addition in wanted:
                    kept[addition.place] = addition
                    seen.add(normalised(addition.text))
                    covered.update(addition.terms)
                    taken[addition.place[0]] += 1
                left -= cost
                break
    return [kept[place] for place in sorted(kept)]


def _gain(sentence: _Sentence, covered: Counter[str], taken: Counter[int]) -> float:
    """Its score, less where its terms are told already, where it is long, and where its message has been heard."""
    new = sum(1 for term in sentence.terms if not covered[term]) / max(len(sentence.terms), 1)
    long = (len(sentence.shown) + 40) ** LONG
    return sentence.score * (0.4 + 0.6 * new) / long / (1 + 0.1 * taken[sentence.place[0]])


def _with_question(sentence: _Sentence, kept: dict[tuple[int, int], _Sentence]) -> Iterator[list[_Sentence]]:
    """An answer that says nothing alone comes with its question, if both fit."""
    asked = sentence.answers
    if asked is not None and asked.place not in kept and depends(sentence.text):
        yield [asked, sentence]
    yield [sentence]


def _alike(left: _Sentence, right: _Sentence) -> bool:
    both = len(left.terms & right.terms)
    if not both or both < ALIKE * max(len(left.terms), len(right.terms)):
        return False
    # Another number makes another thing of it.
    return not any(term[0].isdigit() for term in left.terms ^ right.terms)


def _anything(messages: Sequence[RoomLine], most: int) -> str:
    """Of a talk without a telling word the longest sentence that begins a message."""
    own = [(unrecalled(message.text[:READ]), on_one_line(message.speaker)[:NAME].rstrip()) for message in messages]
    for bare in (_first_sentence, on_one_line):
        worded = [(short, speaker) for text, speaker in own if has_words(short := bare(text))]
        if worded:
            text, speaker = max(worded, key=lambda pair: len(pair[0]))
            return _cut(speaker, text, most)
    return ""


def _first_sentence(text: str) -> str:
    return next((sentence for line in lines(text) for sentence in sentences(line.text) if has_words(sentence)), "")


def _cut(speaker: str, text: str, most: int) -> str:
    """One sentence where not even one fits: with who said it if that leaves room for words."""
    shown = f"{speaker}: " if speaker and len(speaker) + 12 <= most else ""
    return (shown + shortened(text, max(min(SENTENCE, most - len(shown)), 2)))[: max(most, 0)]


def _under_headings(chosen: Iterable[_Sentence], days: Sequence[str]) -> Iterator[str]:
    last = ""
    for sentence in chosen:
        day = days[sentence.place[0]]
        if day != last:
            yield HEADING + day
        last = day
        yield sentence.shown
