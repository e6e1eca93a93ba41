"""Fits the logistic models behind `relevance` on the benchmark data, and shows how far they can be believed.

`python -m bench.calibration --models FOLDER [--write]`. Positives are the gold turns; besides the questions of a
conversation, questions of other conversations are asked of it, to which nothing is an answer.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import quality
from cairn.engine import bm25, rank, terms
from cairn.engine.calibrate import NAMES, Mode, Terms, features, probability, question_features
from cairn.providers.minilm import MiniLM
from cairn.providers.use import Use

Floats = npt.NDArray[np.float64]
TARGET = Path(__file__).parent.parent / "src" / "cairn" / "engine" / "calibration.json"
SETS = ("locomo", "qmsum")
TOP = 10
WAYS: dict[Mode, rank.Weights | None] = {
    "late": None,
    "pooled": rank.Weights(maxsim=0.0, bm25=0.5, pooled=1.0, multilingual=1.0),
    "terms": rank.Weights(maxsim=0.0, bm25=1.0, pooled=0.0),
}


@dataclass(frozen=True)
class Example:
    """One question: the features of its first results, which of them are gold, and whether anything is."""

    dataset: str
    rows: Floats
    gold: Floats
    answerable: bool


def examples(name: str, english: MiniLM, other: Use) -> dict[Mode, list[Example]]:
    """Each conversation with its own questions, and with as many of other conversations."""
    prepared = quality.prepare(name, english, other)
    texts = list(dict.fromkeys(asked.question.text for _, _, several in prepared for asked in several))
    tokens = {t: (p, k) for t, (p, _, k) in zip(texts, quality.embed(english, texts, "tokens"), strict=True)}
    pooled = {t: p for t, (p, _, _) in zip(texts, quality.embed(other, texts, "pooled"), strict=True)}
    found: dict[Mode, list[Example]] = {mode: [] for mode in NAMES}
    for number, (_, space, several) in enumerate(prepared):
        elsewhere = [asked for place, (_, _, s) in enumerate(prepared) if place != number for asked in s]
        step = max(1, len(elsewhere) // max(len(several), 1))
        foreign = [
            quality.ask(space, asked.question, tokens[asked.question.text], pooled[asked.question.text])  # pyright: ignore[reportArgumentType]
            for asked in elsewhere[::step][: len(several)]
        ]
        for mode, list_of in found.items():
            # Also as if the scope had been small: most are, at first.
            for size in (0, 3, 12, 40):
                list_of += [example(name, mode, space, asked, answerable=True, size=size) for asked in several]
                list_of += [example(name, mode, space, asked, answerable=False, size=size) for asked in foreign]
    return found


def example(
    name: str, mode: Mode, space: quality.Space, asked: quality.Asked, *, answerable: bool, size: int = 0
) -> Example:
    """`size` takes as many candidates at random, the gold ones among them; 0 takes all."""
    weights = WAYS[mode] or rank.weights_for(asked.language)
    chosen = quality.candidates(space, asked, weights)
    if size:
        golden = [number for number in chosen if answerable and space.turns[number].key in asked.question.gold][:2]
        others = [number for number in chosen if number not in golden]
        chosen = sorted([*golden, *random.Random(asked.question.text).sample(others, min(size, len(others)))])
    candidates = [
        rank.Candidate(
            session=space.turns[number].session,
            position=space.turns[number].position,
            chars=len(space.turns[number].text),
            bm25=asked.bm25[number],
            maxsim=asked.maxsim[number] if mode == "late" else rank.MISSING,
            pooled=asked.pooled[number] if mode != "terms" else rank.MISSING,
            multilingual=asked.multilingual[number] if mode != "terms" else rank.MISSING,
            spoken=asked.spoken[number],
            near=asked.near[number],
            latin=space.latin[number],
        )
        for number in chosen
    ]
    scores = rank.scores(candidates, weights)
    order = rank.order(scores)[:TOP]
    rows = features(mode, candidates, scores, order, weight_of(space, asked.question.text, size or len(space.turns)))
    gold = asked.question.gold if answerable else frozenset[Any]()
    hits = [float(space.turns[chosen[index]].key in gold) for index in order]
    return Example(name, rows, np.array(hits), answerable)


def weight_of(space: quality.Space, text: str, size: int) -> Terms:
    counts = [len(space.postings.get(term, ())) for term in terms.terms(text)]
    weights = bm25.idf(counts, len(space.turns))
    known = float(weights[np.array(counts) > 0].sum()) if counts else 0.0
    return Terms(total=float(weights.sum()), known=known, passages=size)


def fit(rows: Floats, gold: Floats, weight: Floats, ridge: float = 1.0, steps: int = 60) -> tuple[float, Floats]:
    """Logistic regression by Newton's method."""
    design = np.hstack([np.ones((len(rows), 1)), rows])
    beta = np.zeros(design.shape[1])
    penalty = ridge * np.eye(len(beta))
    penalty[0, 0] = 0.0
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (weight * (gold - p)) - penalty @ beta
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + penalty
        beta += np.linalg.solve(hessian + 1e-9 * np.eye(len(beta)), gradient)
    return float(beta[0]), beta[1:]


Fitted = tuple[tuple[float, Floats], tuple[float, Floats]]


def both(several: Sequence[Example]) -> Fitted:
    """The model of a turn, from questions that have an answer; and that of the question, from both kinds.

    A turn is calibrated on chat: in meetings, where dozens of turns are gold, the first is right for other reasons.
    """
    own = [e for e in several if e.answerable and e.dataset != "qmsum"] or [e for e in several if e.answerable]
    sizes = Counter(e.dataset for e in several)
    turn = fit(
        np.vstack([e.rows for e in own]),
        np.concatenate([e.gold for e in own]),
        np.concatenate([np.full(len(e.gold), 300.0 / sizes[e.dataset]) for e in own]),
    )
    question = fit(
        np.vstack([question_features(e.rows) for e in several]),
        np.array([float(e.answerable) for e in several]),
        np.array([1000.0 / sizes[e.dataset] for e in several]),
        ridge=5.0,
    )
    return turn, question


def believed(example: Example, fitted: Fitted) -> Floats:
    turn, question = fitted
    p = probability(example.rows, *turn) * probability(question_features(example.rows), *question)
    return np.minimum.accumulate(p)


def report(several: Sequence[Example], fitted: Fitted) -> dict[str, float]:
    """Expected calibration error of the first five, and how often nothing reaches one half."""
    values = [(believed(e, fitted), e) for e in several]
    p = np.concatenate([p[:5] for p, e in values if e.answerable])
    gold = np.concatenate([e.gold[:5] for _, e in values if e.answerable])
    bins = np.clip((p * 10).astype(int), 0, 9)
    gaps = [abs(p[bins == b].mean() - gold[bins == b].mean()) * (bins == b).mean() for b in set(bins.tolist())]
    silent = [float(p[0] < 0.5) for p, e in values if not e.answerable]
    missed = [float(p[0] < 0.5) for p, e in values if e.answerable]
    return {
        "ece@5": round(float(sum(gaps)), 3),
        "silent on foreign": round(float(np.mean(silent)), 3),
        "silent on its own": round(float(np.mean(missed)), 3),
        "first is gold": round(float(np.mean([e.gold[0] for _, e in values if e.answerable])), 3),
    }


def named(model: tuple[float, Floats], names: Sequence[str]) -> dict[str, Any]:
    weights = {name: round(float(value), 4) for name, value in zip(names, model[1], strict=True)}
    return {"bias": round(model[0], 4), "weights": weights}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    english, other = MiniLM(options.models), Use(options.models)
    stored: dict[str, Any] = {}
    modes: tuple[Mode, ...] = ("late", "pooled", "terms")
    by_set = {name: examples(name, english, other) for name in options.sets}
    for mode in modes:
        every = [example for name in options.sets for example in by_set[name][mode] if len(example.gold)]
        for held in options.sets:
            rest = [e for e in every if e.dataset != held] or every
            print(mode, "without", held, report([e for e in every if e.dataset == held], both(rest)), flush=True)
        turn, question = both(every)
        print(mode, "all", report(every, (turn, question)), flush=True)
        names = [f"{kind} {name}" for kind in ("best", "mean") for name in NAMES[mode]]
        stored[mode] = {"turn": named(turn, NAMES[mode]), "question": named(question, names)}
    print(json.dumps(stored, indent=2))
    if options.write:
        TARGET.write_text(json.dumps(stored, indent=2) + "\n")


if __name__ == "__main__":
    main()
