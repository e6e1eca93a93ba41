"""Fits the logistic models behind `relevance` on the benchmark data, and shows how far they can be believed.

`python -m bench.calibration --models FOLDER [--write]`. The engine searches, as in `bench/quality.py`. Positives are
the gold turns; `bench/examples.py` says what else is asked.

What is reported as shipped goes through `calibrate.relevance` itself; what is reported as held out was fitted anew
without the conversations, or without the whole set, that it is measured on.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.examples import CHAT, OTHERS, SIZES, WHOLE, Example, Floats, examples_of, tricks
from bench.figures import Json, Options
from bench.laboratory import laboratory
from keepstone.engine import calibrate
from keepstone.engine.calibrate import QUESTION, RESULT, Logistic, View, ViewModel

Models = dict[View, ViewModel]
Judge = Callable[[Example], tuple[float, list[float]]]

TARGET = Path(__file__).parent.parent / "src" / "keepstone" / "engine" / "calibration.json"
VIEWS: tuple[View, ...] = ("late", "pooled", "terms")
FOLDS = 5

# How much a conversation counts in full, and cut down to so many turns.
RESULT_WEIGHT = {WHOLE: 1.0, 120: 1.0, 40: 1.0, 12: 0.5, 5: 0.25, 3: 0.25, 2: 0.25}
QUESTION_WEIGHT = {WHOLE: 1.0, 120: 0.3, 40: 0.2, 12: 0.2, 5: 0.15, 3: 0.15, 2: 0.15}
# Of what is asked of a space of that size, the share that it doesn't speak of. Assumed, not measured.
UNANSWERED = {WHOLE: 0.2, 120: 0.2, 40: 0.2, 12: 0.2, 5: 0.3, 3: 0.4, 2: 0.4}
# LongMemEval has few questions, and XQuAD is here for what is asked in one language and said in another.
SET_WEIGHT = {"longmemeval": 0.5}
QUESTION_SET_WEIGHT = {"xquad": 1.5}

# By what a search may have to go by: all models, one without its token vectors, the multilingual one, none.
VIEW_OF: dict[str, View] = {"late": "late", "pooled": "pooled", "multilingual": "pooled", "terms": "terms"}


# ------------------------------------------------------------------------------------------------------ the fit


def fit(rows: Floats, gold: Floats, weight: Floats, ridge: float = 0.1, steps: int = 60) -> Logistic:
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
    return Logistic(float(beta[0]), beta[1:])


def fit_all(examples: Sequence[Example]) -> Models:
    return {
        view: ViewModel(
            fit_result(view, [example for example in examples if VIEW_OF[example.way] == view]),
            fit_question(view, [example for example in examples if VIEW_OF[example.way] == view]),
        )
        for view in VIEWS
    }


def fit_result(view: View, examples: Sequence[Example]) -> Logistic:
    """From the first five of questions that have an answer, in chat."""
    own = [example for example in examples if example.kind == "own" and example.dataset in CHAT]
    counts = {name: sum(RESULT_WEIGHT[example.size] for example in own if example.dataset == name) for name in CHAT}
    rows = [
        calibrate.result_features(view, example.candidates, example.scores, example.order, example.terms)[:5]
        for example in own
    ]
    weights = [
        np.full(
            len(row),
            400.0 * SET_WEIGHT.get(example.dataset, 1.0) * RESULT_WEIGHT[example.size] / counts[example.dataset],
        )
        for example, row in zip(own, rows, strict=True)
    ]
    return fit(np.vstack(rows), np.concatenate([example.gold[:5] for example in own]), np.concatenate(weights))


def fit_question(view: View, examples: Sequence[Example]) -> Logistic:
    """From questions of all kinds but tricks, so many of each as one may expect to be asked."""
    used = [example for example in examples if _share(example) and (example.dataset != "xquad" or view == "pooled")]
    counts = Counter((example.dataset, example.kind, example.size) for example in used)
    rows = [calibrate.question_features(view, example.candidates, example.scores, example.terms) for example in used]
    weights = [
        200.0
        * QUESTION_SET_WEIGHT.get(example.dataset, 1.0)
        * QUESTION_WEIGHT[example.size]
        * _share(example)
        / counts[example.dataset, example.kind, example.size]
        for example in used
    ]
    return fit(np.vstack(rows), np.array([float(example.kind == "own") for example in used]), np.array(weights))


def _share(example: Example) -> float:
    """How much of what is asked is of this kind. In a whole conversation the answer is often given twice: there, to
    remove the gold turns does not make a question one without an answer.
    """
    unanswered = UNANSWERED[example.size]
    removed = 0.5 if example.size and example.size <= 40 and example.dataset != "xquad" else 0.0
    shares = {"own": 1.0 - unanswered, "foreign": unanswered * (1.0 - removed), "removed": unanswered * removed}
    return shares.get(example.kind, 0.0)


# -------------------------------------------------------------------------------------------------- the figures


def shipped(example: Example) -> tuple[float, list[float]]:
    return calibrate.relevance(example.candidates, example.scores, example.order, example.terms)


def fitted(models: Models) -> Judge:
    return lambda example: calibrate.relevance(
        example.candidates, example.scores, example.order, example.terms, models=models
    )


def held_out(examples: Sequence[Example], dataset: str, *, whole_set: bool) -> dict[str, Judge]:
    """For each conversation of the set what was fitted without the set, or without its part of the conversations."""
    names = sorted({example.conversation for example in examples if example.dataset == dataset})
    folds = [set(names)] if whole_set else [set(names[start::FOLDS]) for start in range(min(FOLDS, len(names)))]
    judges: dict[str, Judge] = {}
    for fold in folds:
        models = fit_all([example for example in examples if example.conversation not in fold])
        judges |= dict.fromkeys(fold, fitted(models))
    return judges


def reliability(said: Floats, true: Floats) -> list[dict[str, float]]:
    """Ten equal bins: what was said in each, how often it was true, and how many there are."""
    bins = np.clip((said * 10).astype(int), 0, 9)
    return [
        {
            "from": number / 10,
            "said": round(float(said[bins == number].mean()), 3),
            "true": round(float(true[bins == number].mean()), 3),
            "count": int((bins == number).sum()),
        }
        for number in sorted(set(bins.tolist()))
    ]


def auroc(above: Sequence[float], below: Sequence[float]) -> float:
    """How often one of the first is above one of the second."""
    first, second = np.array(above)[:, None], np.array(below)[None, :]
    return float((first > second).mean() + 0.5 * (first == second).mean())


def figures(examples: Sequence[Example], judges: Sequence[Judge] | Judge) -> dict[str, Any]:
    """Of examples of one set, size and way: calibration, silence at one half, and how `answerable` tells them apart."""
    each_judge = judges if isinstance(judges, Sequence) else [judges] * len(examples)
    judged = [(example, *judge(example)) for example, judge in zip(examples, each_judge, strict=True)]
    own = [(example, answerable, said) for example, answerable, said in judged if example.kind == "own"]
    said = np.concatenate([said[:5] for _, _, said in own])
    true = np.concatenate([example.gold[:5] for example, _, _ in own])
    table = reliability(said, true)
    found: dict[str, Any] = {
        "questions": len(own),
        "first is gold": round(float(np.mean([example.gold[0] for example, _, _ in own])), 3),
        "first is said": round(float(np.mean([said[0] for _, _, said in own])), 3),
        "ece": round(sum(abs(row["said"] - row["true"]) * row["count"] for row in table) / len(said), 3),
        "own silent": _share_of(said[0] < 0.5 for _, _, said in own),
        "table": table,
    }
    for kind in ("foreign", "removed", "trick"):
        others = [(answerable, said) for example, answerable, said in judged if example.kind == kind]
        if others:
            found[f"{kind} silent"] = _share_of(said[0] < 0.5 for _, said in others)
            found[f"{kind} auroc"] = round(auroc([a for _, a, _ in own], [a for a, _ in others]), 3)
            found[f"{kind} answerable"] = [a for a, _ in others]
    found["own answerable"] = [answerable for _, answerable, _ in own]
    return found


def _share_of(flags: Iterable[bool]) -> float:
    return round(float(np.mean(list(flags))), 3)


def abstention(found: dict[str, Any], thresholds: Sequence[float]) -> list[dict[str, float]]:
    """For each threshold of `answerable`, how many questions of each kind `ask` would not answer."""
    kinds = [kind for kind in ("own", "foreign", "trick") if f"{kind} answerable" in found]
    return [
        {"below": threshold} | {kind: _share_of(a < threshold for a in found[f"{kind} answerable"]) for kind in kinds}
        for threshold in thresholds
    ]


# --------------------------------------------------------------------------------------------------- the report

THRESHOLDS = (0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
COLUMNS = ("questions", "ece", "first is gold", "first is said", "own silent", "foreign silent", "foreign auroc")


async def gather_all(models: Path) -> list[Example]:
    async with laboratory(models) as lab:
        return [example for name in (*CHAT, *OTHERS) for example in await examples_of(name, lab)] + await tricks(lab)


def report(examples: Sequence[Example], judge: Judge = shipped) -> dict[str, Any]:
    """All figures as data: `rows` by what was measured how, the reliability `tables`, and the `thresholds`."""

    def of(judged: Sequence[Example] = examples, **wanted: object) -> list[Example]:
        return [one for one in judged if all(getattr(one, name) == value for name, value in wanted.items())]

    rows: dict[str, dict[str, Any]] = {}
    for dataset in CHAT:
        for way in VIEW_OF:
            rows[f"{dataset}, {way}, shipped"] = figures(of(dataset=dataset, size=WHOLE, way=way), judge)
        for how, whole_set in (("other conversations", False), ("other sets", True)):
            judges = held_out(examples, dataset, whole_set=whole_set)
            kept = of(dataset=dataset, size=WHOLE, way="late")
            rows[f"{dataset}, late, fitted on {how}"] = figures(kept, [judges[one.conversation] for one in kept])
        for size in SIZES:
            rows[f"{dataset} cut to {size} turns, shipped"] = figures(of(dataset=dataset, size=size, way="late"), judge)
    for name in sorted({one.conversation for one in of(dataset="xquad")}):
        rows[f"{name}, shipped"] = figures(of(conversation=name, size=WHOLE, way="late"), judge)
    late = {dataset: rows[f"{dataset}, late, shipped"] for dataset in CHAT}
    return {
        "rows": rows,
        "tables": {f"{dataset}, late, shipped": row["table"] for dataset, row in late.items()},
        "thresholds": {dataset: abstention(row, THRESHOLDS) for dataset, row in late.items()},
    }


def markdown(found: dict[str, Any]) -> str:
    lines = [
        "ECE is over the first five results of each answerable question, in ten bins. Silent means that no result "
        "reaches one half; foreign questions are those of other conversations, or, for XQuAD, those whose paragraph "
        "was taken out. AUROC is that of the probability that the scope speaks of it at all.",
        "",
        f"| | {' | '.join(COLUMNS)} |",
        "| --- |" + " ---: |" * len(COLUMNS),
        *(
            f"| {name} | {' | '.join(str(row.get(column, '')) for column in COLUMNS)} |"
            for name, row in found["rows"].items()
        ),
        "",
    ]
    for name, table in found["tables"].items():
        lines += [f"{name}:", "", "| said | true | results |", "| ---: | ---: | ---: |"]
        lines += [f"| {row['said']:.2f} | {row['true']:.2f} | {row['count']} |" for row in table] + [""]
    for name, table in found["thresholds"].items():
        columns = list(table[0])[1:]
        auroc_of_tricks = found["rows"][f"{name}, late, shipped"].get("trick auroc")
        lines += [
            f"{name}: what `ask` would leave unanswered, by the threshold (tricks: AUROC {auroc_of_tricks}).",
            "",
            f"| below | {' | '.join(columns)} |",
            "| ---: |" + " ---: |" * len(columns),
            *(f"| {row['below']} | {' | '.join(str(row[column]) for column in columns)} |" for row in table),
            "",
        ]
    return "\n".join(lines)


def part(options: Options) -> Json:
    """How far `relevance` can be believed, as Markdown."""
    return {"markdown": markdown(report(asyncio.run(gather_all(options.models))))}


def stored(models: Models) -> dict[str, Any]:
    """As `calibrate` reads it."""

    def written(model: Logistic, names: Sequence[str]) -> dict[str, Any]:
        weights = {name: round(float(value), 4) for name, value in zip(names, model.weights, strict=True)}
        return {"bias": round(model.bias, 4), "weights": weights}

    return {
        view: {"result": written(model.result, RESULT[view]), "question": written(model.question, QUESTION[view])}
        for view, model in models.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="fit anew, and replace what ships")
    options = parser.parse_args()
    examples = asyncio.run(gather_all(options.models))
    judge: Judge = shipped
    if options.write:
        models = fit_all(examples)
        TARGET.write_text(json.dumps(stored(models), indent=2) + "\n")
        judge = fitted(models)
    print(markdown(report(examples, judge)))


if __name__ == "__main__":
    main()
