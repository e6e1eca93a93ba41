"""Relevance as a probability: small logistic models on the search's own features, read from a file.

It is the product of two: that the space speaks of what is asked at all, and, if so, that this result is what was asked
for. `bench/calibration.py` fits both, for talk and for notes apart, and for each view that a search can have of its
results: by late interaction, by pooled vectors alone, by terms alone. Nothing here changes an order; it says how far to
believe it.

The features are few, bounded, and chosen because they hold on conversations other than those they were fitted on. What
tells more about one set of conversations (how far the first is ahead in the late view) tells less about the next.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from keepstone.engine import rank
from keepstone.engine.rank import Candidates

Floats = npt.NDArray[np.float64]
View = Literal["late", "pooled", "terms"]
Kind = Literal["talk", "notes"]

KINDS: tuple[Kind, ...] = ("talk", "notes")
# Of a result among the others, and of the question by its best results.
RESULT: dict[View, tuple[str, ...]] = {
    "late": ("maxsim", "covered", "place", "first", "size"),
    "pooled": ("lead", "place", "size"),
    "terms": ("covered", "place", "first", "size"),
}
QUESTION: dict[View, tuple[str, ...]] = {
    "late": ("maxsim", "meaning", "covered", "known", "person", "size"),
    "pooled": ("meaning", "covered", "size"),
    "terms": ("covered", "known", "size"),
}
# With which embedders; that of a former one is used as long as its vectors serve, and is not fitted anew.
_FITTED, _FITTED_WITH = "calibration.json", {"all-MiniLM-L6-v2/int8-1": "calibration_minilm.json"}
BEST = 3  # so many results speak for the question, however many were asked for
FULL_MATCH = 2.2  # what BM25 can give at most for one term, times its weight
_COVERED = 0.4  # more of the question's words in one turn makes it no more likely to answer
_LEAD = 2.0
# How much better what speaks of the person has to match than what speaks of others (`about.balance`) to leave no doubt,
# and from where on there is no more of it. Where nobody is named there is none.
_SURE, _DOUBTFUL = 0.1, -0.3
_SIZE = 2.0  # from a hundred passages on, a scope is large
# Where several may answer: how much of the best's evidence a result may lack to stand beside it, and from where on
# evidence is strong enough for that, and wholly so.
_EVIDENCE: dict[View, str] = {"late": "maxsim", "pooled": "meaning", "terms": "covered"}
_NEAR: dict[View, float] = {"late": 0.25, "pooled": 0.1, "terms": 0.05}
_STRONG: dict[View, tuple[float, float]] = {"late": (0.5, 0.65), "pooled": (0.45, 0.6), "terms": (0.2, 0.35)}


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


@dataclass(frozen=True, slots=True)
class Logistic:
    bias: float
    weights: Floats

    def __call__(self, rows: Floats) -> Floats:
        return 1.0 / (1.0 + np.exp(-np.clip(rows @ self.weights + self.bias, -30.0, 30.0)))


@dataclass(frozen=True, slots=True)
class ViewModel:
    """For a result if the question has an answer, and for the question itself."""

    result: Logistic
    question: Logistic


def relevance(
    candidates: Candidates,
    scores: Floats,
    order: Sequence[int],
    terms: Terms,
    *,
    person: float | None = None,
    talk: bool = True,
    several: bool = False,
    seen_by: Collection[str] = (),
    models: Mapping[View, ViewModel] | None = None,
) -> tuple[float, list[float]]:
    """The probability that the space speaks of it, and for each result, in its order, that it is what was asked for.

    The latter never rises down the list, is never above the former, and does not depend on how many were asked for.
    In talk one turn answers, and the second is worth less for being second. Of notes `several` may answer: what has as
    strong evidence as the first stands beside it. `person` is how far it speaks of whom the question names. Each result
    is judged by the view that believes in it most: an English model says little of a Chinese turn, or question. Without
    `models` those that ship are asked, as they were fitted with the embedders that it was `seen_by`.
    """
    fitted = next((_FITTED_WITH[name] for name in seen_by if name in _FITTED_WITH), _FITTED)
    models = models or _models(fitted)["talk" if talk else "notes"]
    answerable, believed = 0.0, np.zeros(len(order), dtype=np.float64)
    if not order:
        return answerable, []
    chosen = np.asarray(order, dtype=np.int64)
    for view, sees in _seen_by(candidates).items():
        speaks_of_it = float(models[view].question(question_features(view, candidates, scores, terms, person))[0])
        answerable = max(answerable, speaks_of_it)
        rows = result_features(view, candidates, scores, order, terms)
        if several:
            rows = _side_by_side(view, rows, candidates, scores, order, terms)
        if_so = models[view].result(rows)
        seen = sees[chosen]
        believed = np.maximum(believed, np.where(seen, speaks_of_it * if_so, 0.0))
    return answerable, [round(float(value), 4) for value in np.minimum.accumulate(believed)]


def views(candidates: Candidates) -> list[View]:
    """Those that see any of the candidates. What has no vector yet is seen by its terms alone."""
    return list(_seen_by(candidates))


def result_features(view: View, candidates: Candidates, scores: Floats, order: Sequence[int], terms: Terms) -> Floats:
    """One row for each result in its order, one column for each of the view's names."""
    return _rows(RESULT[view], view, candidates, scores, order, terms)


def _side_by_side(
    view: View, rows: Floats, candidates: Candidates, scores: Floats, order: Sequence[int], terms: Terms
) -> Floats:
    """The same rows, as far as results share the first place. Their lead is that of all of them before the rest."""
    worth = np.asarray(scores, dtype=np.float64)
    every = _shares(view, candidates, scores, terms)
    rest, shares = worth[every < 0.5], every[list(order)]
    lead = min(float(worth.max() - rest.max()), _LEAD) if len(rest) else _LEAD
    columns = dict(zip(RESULT[view], rows.T.copy(), strict=True))
    if "place" in columns:
        columns["place"] *= 1.0 - shares
    if "first" in columns:
        columns["first"] = np.maximum(columns["first"], shares)
    if "lead" in columns:
        columns["lead"] = np.maximum(columns["lead"], shares * lead)
    return np.array([columns[name] for name in RESULT[view]], dtype=np.float64).T


def _shares(view: View, candidates: Candidates, scores: Floats, terms: Terms) -> Floats:
    """How far each of them stands beside the best: 1 where it is as strong."""
    strength = _rows((_EVIDENCE[view],), view, candidates, scores, range(len(candidates)), terms)[:, 0]
    lacking = 1.0 - strength / max(float(strength.max()), 1e-9)
    weak, strong = _STRONG[view]
    return np.clip(1.0 - lacking / _NEAR[view], 0.0, 1.0) * np.clip((strength - weak) / (strong - weak), 0.0, 1.0)


def question_features(
    view: View, candidates: Candidates, scores: Floats, terms: Terms, person: float | None = None
) -> Floats:
    """One row: in each of the view's names the best that any of the first results has."""
    best = rank.order(scores)[:BEST]
    return _rows(QUESTION[view], view, candidates, scores, best, terms, person).max(axis=0)[None, :]


def _rows(
    names: Sequence[str],
    view: View,
    candidates: Candidates,
    scores: Floats,
    order: Sequence[int],
    terms: Terms,
    person: float | None = None,
) -> Floats:
    chosen = np.asarray(order, dtype=np.int64)
    several = len(chosen)
    columns: dict[str, Callable[[], npt.ArrayLike]] = {
        "maxsim": lambda: np.where(candidates.latin, candidates.maxsim, 0.0)[chosen],
        "meaning": lambda: _meaning(view, candidates)[chosen],
        "covered": lambda: np.minimum(candidates.bm25[chosen] / (FULL_MATCH * max(terms.total, 1e-9)), _COVERED),
        "known": lambda: np.full(several, terms.share),
        "person": lambda: np.full(
            several, 0.0 if person is None else 5.0 * (min(max(person, _DOUBTFUL), _SURE) - _SURE)
        ),
        "place": lambda: np.log1p(np.arange(several)),
        "first": lambda: np.arange(several) == 0,
        "lead": lambda: np.where(np.arange(several) == 0, _lead(scores), 0.0),
        "size": lambda: np.full(several, min(math.log10(1 + terms.passages), _SIZE)),
    }
    return np.nan_to_num(np.array([columns[name]() for name in names], dtype=np.float64).T)


def _seen_by(candidates: Candidates) -> dict[View, npt.NDArray[np.bool_]]:
    """Which of the candidates each view sees, of those that see any."""
    late = candidates.latin & np.isfinite(candidates.maxsim)
    # The English pooled vector beside its own tokens is no view of its own.
    pooled = np.isfinite(candidates.multilingual) | (np.isfinite(candidates.pooled) & ~late)
    seen: dict[View, npt.NDArray[np.bool_]] = {"late": late, "pooled": pooled, "terms": ~(late | pooled)}
    return {view: sees for view, sees in seen.items() if sees.any()}


def _meaning(view: View, candidates: Candidates) -> Floats:
    if view == "pooled":
        return np.where(np.isfinite(candidates.multilingual), candidates.multilingual, candidates.pooled)
    return np.where(candidates.latin, candidates.pooled, 0.0)


def _lead(scores: Floats) -> float:
    """How far the best is before the next; as far as counts where there is no other."""
    best = np.sort(np.asarray(scores, dtype=np.float64))[::-1]
    return min(float(best[0] - best[1]), _LEAD) if len(best) > 1 else _LEAD


@cache
def _models(file: str) -> Mapping[Kind, Mapping[View, ViewModel]]:
    stored = json.loads(files("keepstone.engine").joinpath(file).read_text())

    def part(fitted: Any, names: Sequence[str]) -> Logistic:
        weights = np.array([fitted["weights"][feature] for feature in names], dtype=np.float64)
        return Logistic(float(fitted["bias"]), weights)

    return {
        kind: {
            view: ViewModel(part(views["result"], RESULT[view]), part(views["question"], QUESTION[view]))
            for view, views in stored[kind].items()
        }
        for kind in KINDS
    }
