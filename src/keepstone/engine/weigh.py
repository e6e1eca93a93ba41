"""What was found for a question, read again: which of it answers, and which of that still holds.

A search says what is near to a question, and the newest first of what it knows to be revised. Here the judge reads the
question beside each turn, and beside two of them whether the later one takes the place of the earlier as an answer. It
reads a few only, for whoever wants one answer rather than all that is near. No database.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from keepstone.engine.judge import not_asserted
from keepstone.engine.rank import Floats, order, z
from keepstone.engine.when import asks_of
from keepstone.providers.judge import Judge

READ = 8  # turns that are read beside the question
_SEARCH = 0.5  # what the search's own order counts beside a reading
_NOT_MEANT = 2.0  # what a joke, a question or a supposition loses
# A later turn answers instead if it may take the place of the best, by the question and by itself, and does not answer
# much worse; among several the likelier and the newer.
_REPLACES, _WORSE, _LIKELIER, _NEWER = 0.35, 4.0, 0.5, 0.3
_NEVER = 1e-4
_ANSWERED = 0.6  # what is added to how well the best reads: a turn seldom says all that a question asks


@dataclass(frozen=True, slots=True)
class Said:
    speaker: str
    text: str
    at: datetime
    score: float


@dataclass(frozen=True, slots=True)
class AnswerPlaces:
    """Places among what was found, the answer first. `outdated` are those that another took the place of."""

    places: list[int]
    answered: float
    outdated: frozenset[int] = field(default=frozenset())


async def weigh(judge: Judge, question: str, found: Sequence[Said]) -> AnswerPlaces:
    """What of the best that a search has found answers, and how sure that is."""
    read = found[:READ]
    texts = [f"{said.speaker}: {said.text}" for said in read]
    chances = await judge.answers(question, texts)
    reading = _logit(chances)
    worth = reading + _SEARCH * z([said.score for said in read])
    worth -= _NOT_MEANT * np.array([not_asserted(said.text) for said in read])
    answered = _ANSWERED + float(reading.max())
    ranked = order(worth)
    outdated = await _replaced(judge, question, read, texts, reading, ranked[0]) if asks_of(question) == "now" else []
    if outdated:
        ranked = [outdated.pop(), *ranked]
    first = ranked[0]
    rest = [place for place in ranked[1:] if place != first and place not in outdated]
    places = [first, *outdated, *rest, *range(len(read), len(found))]
    return AnswerPlaces(places, float(1 / (1 + np.exp(-answered))), frozenset(outdated))


async def _replaced(
    judge: Judge, question: str, read: Sequence[Said], texts: Sequence[str], reading: Floats, best: int
) -> list[int]:
    """The best and what took its place, the one that holds last; nothing where the best holds itself."""
    later = [
        place
        for place, said in enumerate(read)
        if said.at > read[best].at and reading[place] >= reading[best] - _WORSE and not not_asserted(said.text)
    ]
    pairs = [(texts[best], texts[place]) for place in later]
    by_question = await judge.holds(question, pairs)
    by_itself = [relation.update for relation in await judge.relations(pairs)]
    chances = {place: sum(both) / 2 for place, *both in zip(later, by_question, by_itself, strict=True)}
    takes_over = sorted((place for place in later if chances[place] >= _REPLACES), key=lambda place: read[place].at)
    if not takes_over:
        return []
    worth = [
        reading[place] + _LIKELIER * float(_logit([chances[place]])[0]) + _NEWER * number
        for number, place in enumerate(takes_over)
    ]
    holds = takes_over[int(np.argmax(worth))]
    return [place for place in (best, *takes_over) if place != holds and read[place].at <= read[holds].at] + [holds]


def _logit(chances: Sequence[float]) -> Floats:
    clipped = np.clip(np.array(chances, dtype=np.float64), _NEVER, 1 - _NEVER)
    return np.log(clipped / (1 - clipped))
