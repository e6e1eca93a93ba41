"""Relevance as a probability: a small logistic model on the search's own features, read from a file.

It is the product of two: that the space speaks of what is asked at all, and, if so, that this result is the one.
`bench/calibration.py` fits both, for each way in which a search can work: with late interaction, with pooled vectors
alone, with terms alone. Nothing here changes an order; it says how far to believe it.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
import numpy.typing as npt

from cairn.engine.rank import Candidate

Floats = npt.NDArray[np.float64]
Mode = Literal["late", "pooled", "terms"]

NAMES: dict[Mode, tuple[str, ...]] = {
    "late": ("covered", "known", "spoken", "near", "place", "lead", "maxsim", "meaning"),
    "pooled": ("covered", "known", "spoken", "near", "place", "lead", "meaning"),
    "terms": ("covered", "known", "spoken", "near", "place", "lead"),
}
_FULL_MATCH = 2.2  # what BM25 can give at most for one term, times its weight


@dataclass(frozen=True, slots=True)
class Terms:
    """The weight (idf) of the question's terms together, that of those which the space knows at all, and how many
    passages it has: that a small space does not know a word says little.
    """

    total: float
    known: float
    passages: int

    @property
    def share(self) -> float:
        unknown = 1.0 - self.known / max(self.total, 1e-9)
        return 1.0 - unknown * min(1.0, math.log10(1 + self.passages) / 3)


def mode_of(candidates: Sequence[Candidate]) -> Mode:
    """How the search worked, by what is known of its candidates."""
    if any(np.isfinite(each.maxsim) and each.latin for each in candidates):
        return "late"
    if any(np.isfinite(each.pooled) or np.isfinite(each.multilingual) for each in candidates):
        return "pooled"
    return "terms"


def features(mode: Mode, candidates: Sequence[Candidate], scores: Floats, order: Sequence[int], terms: Terms) -> Floats:
    """One row for each result in its order, one column for each name of the mode; what is missing is 0.

    None of them depends on how many candidates there were: a scope of three turns is as good as one of thousands.
    """
    values = np.asarray(scores, dtype=np.float64)
    total = max(terms.total, 1e-9)
    columns: dict[str, list[float]] = {
        "covered": [candidates[index].bm25 / (_FULL_MATCH * total) for index in order],
        "known": [terms.share] * len(order),
        "spoken": [candidates[index].spoken for index in order],
        "near": [candidates[index].near for index in order],
        "place": [float(np.log1p(place)) for place in range(len(order))],
        "lead": [float(values[index] - values[order[0]]) for index in order],
        "maxsim": [candidates[index].maxsim for index in order],
        "meaning": [_meaning(candidates[index]) for index in order],
    }
    rows = np.array([columns[name] for name in NAMES[mode]], dtype=np.float64).T
    return np.nan_to_num(rows.reshape(len(order), len(NAMES[mode])))


def relevance(
    candidates: Sequence[Candidate], scores: Floats, order: Sequence[int], terms: Terms
) -> tuple[float, list[float]]:
    """The probability that the space speaks of it, and for each result, in its order, that it is what was asked for.

    The latter never rises down the list.
    """
    if not order:
        return 0.0, []
    mode = mode_of(candidates)
    rows = features(mode, candidates, scores, order, terms)
    model = _models()[mode]
    answerable = float(probability(question_features(rows), *model.question)[0])
    believed = np.minimum.accumulate(probability(rows, *model.turn) * answerable)
    return answerable, [round(float(value), 4) for value in believed]


def question_features(rows: Floats) -> Floats:
    """What the first results say of the question: their best and their mean in each feature."""
    top = rows[:5]
    return np.concatenate([top.max(axis=0), top.mean(axis=0)])[None, :]


def probability(rows: Floats, bias: float, weights: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(rows @ weights + bias, -30.0, 30.0)))


@dataclass(frozen=True, slots=True)
class _Model:
    """A bias and the weights of each: for a turn among its question's results, and for the question itself."""

    turn: tuple[float, Floats]
    question: tuple[float, Floats]


def _meaning(candidate: Candidate) -> float:
    return candidate.pooled if np.isfinite(candidate.pooled) and candidate.latin else candidate.multilingual


@cache
def _models() -> Mapping[Mode, _Model]:
    stored = json.loads(files("cairn.engine").joinpath("calibration.json").read_text())

    def part(mode: str, name: str) -> tuple[float, Floats]:
        found = stored[mode][name]
        return float(found["bias"]), np.array(list(found["weights"].values()), dtype=np.float64)

    return {mode: _Model(part(mode, "turn"), part(mode, "question")) for mode in NAMES}
