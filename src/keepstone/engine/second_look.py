"""A second look at the notes that a search found: how likely each is what was asked for, whatever its language.

The search's own order is by words and by a model that reads English best, so that of notes in several languages those
in the language of the question come first. Here meaning across languages counts beside them, and a judge reads the
question and the first results side by side, as far as its answer can decide whether they are shown. Both are small
logistic models, fitted by `bench/second_look.py`; their probability is the order and the relevance. Each result is
believed for itself: any number may answer, or none.
"""

import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np

from keepstone.engine.gathered import Floats
from keepstone.engine.language.scripts import latin
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.rank import normalised
from keepstone.engine.search import Hit, Matches
from keepstone.services import Services

LOOKED_AT = 5  # results that the judge reads at most: what it says of further ones has changed nothing that is shown
_WAITED_FOR = 1_000  # characters, after which it begins with no other: somebody waits
KEPT = 10  # results that are kept however unlikely they are: one may be asked for in its own words
EXACT = 0.99  # what is asked for in its own words

FITTED = "second_look.json"
# How far behind the best it is in the search's own order; how near in meaning across languages, how much less than the
# nearest, and how much more than the crowd, for what answers stands out; how many of the question's words it has, and
# how many less than another; how near to an English model.
FOUND = ("behind", "meaning", "further", "above", "words", "fewer", "english")
JUDGED = ("found", "answers")
_FURTHEST = -6.0
_WORDS, _ABOVE = 0.6, 0.3
_CROWD = slice(3, 10)  # of the results, the nearest first: several may stand out
_STRANGER = 0.05  # how near what has nothing to do with a question is to it, where there is no crowd
_LONG = 400  # characters from which on one vector says little of a window, and the search's finer view may know better
_UNSURE = 7.0  # log odds beyond which a judge is not believed more
_YES = 3.5  # log odds: more than the judge has said of any answer


@dataclass(frozen=True, slots=True)
class Weighing:
    """A logistic model of features that stand in that order."""

    bias: float
    weights: Floats

    def __call__(self, features: Floats) -> Floats:
        """The chance of each row."""
        return 1.0 / (1.0 + np.exp(-np.clip(self.bias + features @ self.weights, -30.0, 30.0)))


def by_meaning(asked: EmbeddedQuestion, matches: Matches, floor: float = 0.0) -> Matches:
    """The same results in the order of how likely they are by all that the search knows of them, without those far
    behind that can't come above the floor any more. What has no vector across languages yet is as relevant as the
    search says; without those models everything is.
    """
    models = asked.embedded.values()
    if not any(embedder.multilingual for embedder, _ in models) or all(made.tokens is None for _, made in models):
        return matches
    rows = features(asked.question.text, matches)
    believed = np.array([hit.relevance for hit in matches.hits])
    likely = np.where(np.isnan(rows).any(axis=1), believed, _fitted()["found"](rows))
    long = [len(hit.window) > _LONG for hit in matches.hits]
    chances: list[float] = np.where(long, np.maximum(likely, believed), likely).tolist()
    order = sorted(range(len(chances)), key=lambda place: -chances[place])
    kept = bisect_left(order, True, min(KEPT, len(order)), key=lambda place: not reaches(chances[place], floor))
    return replace(matches, hits=[_believed(matches.hits[place], chances[place]) for place in order[:kept]])


async def judged(
    services: Services, asked: EmbeddedQuestion, matches: Matches, said: Mapping[str, Sequence[str]], floor: float = 0.0
) -> Matches:
    """The same results after the judge has read the first of them that may come above the floor. `said` is what each
    says and is called, by its id: what is asked for in just these words is certain. In no transaction: the judge takes
    its time.
    """
    question = asked.question.text
    wanted = normalised(question)
    exact = {name for name, texts in said.items() if any(normalised(text) == wanted for text in texts)}
    chances = [hit.relevance for hit in matches.hits]
    if services.judge is not None and matches.degraded is None:
        doubted = [place for place in in_doubt(matches.hits, floor) if matches.hits[place].source_id not in exact]
        windows = [matches.hits[place].window for place in doubted]
        read = await services.judge.answers(question, windows) if windows else []
        for place, answer in zip(doubted, read, strict=True):
            chance = after_reading(chances[place], log_odds(answer))
            # Of a long window the judge reads the beginning.
            long = len(matches.hits[place].window) > _LONG
            chances[place] = max(chance, chances[place]) if long else chance
        if doubted:  # what was not read and stood behind is not likelier than the best that was
            most, behind = max(chances[place] for place in doubted), doubted[-1] + 1
            chances[behind:] = [min(chance, most) for chance in chances[behind:]]
    return _ordered(
        matches,
        [EXACT if hit.source_id in exact else chance for hit, chance in zip(matches.hits, chances, strict=True)],
    )


def in_doubt(hits: Sequence[Hit], floor: float) -> list[int]:
    """Places of those that the judge reads: the first that it can bring above the floor, and not too much in all."""
    places: list[int] = []
    waited = 0
    for place, hit in enumerate(hits[:LOOKED_AT]):
        if waited < _WAITED_FOR and reaches(hit.relevance, floor):
            places.append(place)
            waited += len(hit.window)
    return places


def reaches(chance: float, floor: float) -> bool:
    """Whether a result that is that likely may come above the floor."""
    return chance >= floor or after_reading(chance, _YES) >= floor


def after_reading(chance: float, answer: float) -> float:
    """How likely a result is for which the judge says this (log odds), if it was that likely before."""
    return float(_fitted()["judged"](np.array([log_odds(chance), answer])))


def features(question: str, matches: Matches) -> Floats:
    """Of each result a row of `FOUND`; NaN of what has no vector across languages yet."""
    hits, readable = matches.hits, latin(question)
    score, words, meaning, english = (
        np.array(column, dtype=np.float64)
        for column in (
            [hit.score for hit in hits],
            [hit.why.get("bm25", 0.0) for hit in hits],
            [hit.why.get("multilingual", math.nan) for hit in hits],
            [hit.why.get("meaning", 0.0) if readable and latin(hit.window) else 0.0 for hit in hits],
        )
    )
    words = np.minimum(words / max(matches.full_match, 1e-9), _WORDS)
    near = -np.sort(-meaning[~np.isnan(meaning)])
    crowd = near[_CROWD]
    strangers = _CROWD.stop - _CROWD.start - len(crowd)
    usual = (float(crowd.sum()) + strangers * _STRANGER) / (len(crowd) + strangers)
    columns = {
        "behind": np.maximum(score - score.max(initial=-math.inf), _FURTHEST),
        "meaning": meaning,
        "further": meaning - (near[0] if len(near) else 0.0),
        "above": np.clip(meaning - usual, 0.0, _ABOVE),
        "words": words,
        "fewer": words - words.max(initial=0.0),
        "english": english,
    }
    return np.stack([columns[name] for name in FOUND], axis=1)


def above(matches: Matches, floor: float) -> list[Hit]:
    """Those that are relevant enough; all of them at 0."""
    return [hit for hit in matches.hits if hit.relevance >= floor]


def log_odds(chance: float) -> float:
    sure = min(max(chance, 1e-6), 1.0 - 1e-6)
    return min(max(math.log(sure / (1.0 - sure)), -_UNSURE), _UNSURE)


def _ordered(matches: Matches, chances: Sequence[float]) -> Matches:
    """By their chances, the best first; what is as likely as another stays behind it."""
    order = sorted(range(len(chances)), key=lambda place: -chances[place])
    return replace(matches, hits=[_believed(matches.hits[place], chances[place]) for place in order])


def _believed(hit: Hit, chance: float) -> Hit:
    relevance = round(chance, 4)
    return hit if hit.relevance == relevance else replace(hit, relevance=relevance)


@cache
def _fitted() -> Mapping[str, Weighing]:
    stored = json.loads(files("keepstone.engine").joinpath(FITTED).read_text())
    return {
        name: Weighing(float(stored[name]["bias"]), np.array([stored[name]["weights"][feature] for feature in names]))
        for name, names in (("found", FOUND), ("judged", JUDGED))
    }
