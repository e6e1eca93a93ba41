"""Fits the logistic models behind `relevance`, and shows how far they can be believed.

    python -m bench.calibration --models FOLDER --encoder-data ../shared/encoder --write

Fitted on conversations and questions of the encoder's data (`bench/conversations.py`), talk and notes apart, and for
other languages on half of XQuAD; measured, through `calibrate.relevance` itself, on LoCoMo, LongMemEval and the other
half. The engine searches, as in `bench/quality.py`. Positives are the gold turns; `bench/examples.py` says what else is
asked.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.examples import CHAT, SIZES, WHOLE, Example, Floats, examples_of, examples_to_fit, tricks
from bench.figures import Json, Options
from bench.laboratory import laboratory
from keepstone.engine import calibrate
from keepstone.engine.calibrate import KINDS, QUESTION, RESULT, Kind, Logistic, View, ViewModel

Models = dict[Kind, dict[View, ViewModel]]
Judge = Callable[[Example], tuple[float, list[float]]]

TARGET = Path(__file__).parent.parent / "src" / "keepstone" / "engine" / "calibration.json"
VIEWS: tuple[View, ...] = ("late", "pooled", "terms")
SIGNS = {"place": -1, "size": 0}  # how a feature speaks; all others for it
MEASURED = ("locomo", "longmemeval", "xquad")
QUICK = ("locomo", "xquad")  # LongMemEval takes an encoder that has not read it yet a quarter of an hour

# How much a conversation counts in full, and cut down to so many turns.
RESULT_WEIGHT = {WHOLE: 1.0, 60: 1.0, 12: 0.5, 3: 0.5}
QUESTION_WEIGHT = {WHOLE: 1.0, 60: 0.5, 12: 0.5, 3: 0.5}
# Of what is asked of a space of that size, the shares that it doesn't answer, by their kind. Assumed, not measured: so
# small that no more of what can be answered falls silent than did before wrong people were seen through. Of talk, to
# remove the gold turns often takes no answer away: it was given twice.
UNANSWERED = {
    WHOLE: {"foreign": 0.02, "person": 0.05},
    60: {"foreign": 0.02, "person": 0.05},
    12: {"foreign": 0.01, "person": 0.03},
    3: {"foreign": 0.01, "person": 0.03},
}
UNANSWERED_NOTES = {size: {"foreign": 0.08, "removed": 0.08} for size in UNANSWERED}

# By what a search may have to go by: all models, one without its token vectors, the multilingual one, none.
VIEW_OF: dict[str, View] = {"late": "late", "pooled": "pooled", "multilingual": "pooled", "terms": "terms"}


# ------------------------------------------------------------------------------------------------------ the fit


def fit(rows: Floats, gold: Floats, weight: Floats, names: Sequence[str]) -> Logistic:
    """Logistic regression in which nothing that speaks for a result makes it less likely: what would is left out."""
    used = list(range(len(names)))
    while True:
        bias, *weights = _newton(rows[:, used], gold, weight)
        wrong = [place for place, value in zip(used, weights, strict=True) if value * SIGNS.get(names[place], 1) < 0]
        if not wrong:
            every = np.zeros(len(names))
            every[used] = weights
            return Logistic(float(bias), every)
        used = [place for place in used if place not in wrong]


def _newton(rows: Floats, gold: Floats, weight: Floats, ridge: float = 0.1, steps: int = 60) -> Floats:
    design = np.hstack([np.ones((len(rows), 1)), rows])
    beta = np.zeros(design.shape[1])
    penalty = ridge * np.eye(len(beta))
    penalty[0, 0] = 0.0
    for _ in range(steps):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ beta, -30, 30)))
        gradient = design.T @ (weight * (gold - p)) - penalty @ beta
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + penalty
        beta += np.linalg.solve(hessian + 1e-9 * np.eye(len(beta)), gradient)
    return beta


def fit_all(examples: Sequence[Example]) -> Models:
    return {kind: {view: _fit_view(kind, view, examples) for view in VIEWS} for kind in KINDS}


def _fit_view(kind: Kind, view: View, examples: Sequence[Example]) -> ViewModel:
    """XQuAD, whose paragraphs are notes, also teaches how near in meaning talk is across languages."""
    seen = [example for example in examples if VIEW_OF[example.way] == view and _reads(view, example)]
    own = [example for example in seen if example.talk == (kind == "talk")]
    across = [example for example in seen if example.dataset == "xquad"] if kind == "talk" else []
    return ViewModel(fit_result(view, own), fit_question(view, own + across if view == "pooled" else own))


def _reads(view: View, example: Example) -> bool:
    """Only vectors see what is asked in one language and said in another."""
    return view == "pooled" or example.dataset != "xquad" or example.conversation == "xquad en → en"


def fit_result(view: View, examples: Sequence[Example]) -> Logistic:
    """From the first five of questions that have an answer; by terms alone, one that was found: many of the questions
    have no word of what they ask about.
    """
    own = [example for example in examples if example.kind == "own" and (view != "terms" or example.gold[:5].any())]
    counts = Counter((example.dataset, example.size) for example in own)
    rows = [
        calibrate.result_features(view, example.candidates, example.scores, example.order, example.terms)[:5]
        for example in own
    ]
    weights = [
        np.full(len(row), 200.0 * RESULT_WEIGHT[example.size] / counts[example.dataset, example.size])
        for example, row in zip(own, rows, strict=True)
    ]
    gold = np.concatenate([example.gold[:5] for example in own])
    return fit(np.vstack(rows), gold, np.concatenate(weights), RESULT[view])


def fit_question(view: View, examples: Sequence[Example]) -> Logistic:
    """From questions of all kinds, so many of each as one may expect to be asked."""
    used = [example for example in examples if _share(example)]
    counts = Counter((example.dataset, example.kind, example.size) for example in used)
    rows = [
        calibrate.question_features(view, example.candidates, example.scores, example.terms, example.person)
        for example in used
    ]
    weights = [
        200.0 * QUESTION_WEIGHT[example.size] * _share(example) / counts[example.dataset, example.kind, example.size]
        for example in used
    ]
    gold = np.array([float(example.kind == "own") for example in used])
    return fit(np.vstack(rows), gold, np.array(weights), QUESTION[view])


def _share(example: Example) -> float:
    """How much of what is asked is of this kind."""
    unanswered = (UNANSWERED if example.talk else UNANSWERED_NOTES)[example.size]
    return 1.0 - sum(unanswered.values()) if example.kind == "own" else unanswered.get(example.kind, 0.0)


# -------------------------------------------------------------------------------------------------- the figures


def judged_by(models: Models | None = None) -> Judge:
    """By what ships, if nothing else is given."""

    def judge(example: Example) -> tuple[float, list[float]]:
        return calibrate.relevance(
            example.candidates, example.scores, example.order, example.terms,
            person=example.person, talk=example.talk,
            models=models["talk" if example.talk else "notes"] if models else None,
        )  # fmt: skip

    return judge


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


def figures(examples: Sequence[Example], judge: Judge) -> dict[str, Any]:
    """Of examples of one set, size and way: calibration, silence at one half, and how `answerable` tells them apart."""
    judged = [(example, *judge(example)) for example in examples]
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
COLUMNS = (
    "questions", "ece", "first is gold", "first is said", "own silent",
    "foreign silent", "foreign auroc", "removed silent", "removed auroc", "trick silent", "trick auroc",
)  # fmt: skip


async def gather_all(
    models: Path, sets: Sequence[str], encoder_data: Path | None
) -> tuple[list[Example], list[Example]]:
    """What to measure, and what to fit, if that is asked for."""
    async with laboratory(models) as lab:
        to_fit = await examples_to_fit(encoder_data, lab) if encoder_data else []
        measured = [example for name in sets for example in await examples_of(name, lab)]
        return measured + await tricks(lab, sets), to_fit


def report(examples: Sequence[Example], judge: Judge) -> dict[str, Any]:
    """All figures as data: `rows` by what was measured how, the reliability `tables`, and the `thresholds`."""

    def of(**wanted: object) -> list[Example]:
        return [one for one in examples if all(getattr(one, name) == value for name, value in wanted.items())]

    rows: dict[str, dict[str, Any]] = {}
    chat = [name for name in CHAT if of(dataset=name)]
    for dataset in chat:
        for way in VIEW_OF:
            rows[f"{dataset}, {way}"] = figures(of(dataset=dataset, size=WHOLE, way=way), judge)
        for size in SIZES:
            if pieces := of(dataset=dataset, size=size, way="late"):
                rows[f"{dataset} cut to {size} turns"] = figures(pieces, judge)
    for name in sorted({one.conversation for one in of(dataset="xquad")}):
        rows[name] = figures(of(conversation=name, size=WHOLE, way="late"), judge)
    late = {dataset: rows[f"{dataset}, late"] for dataset in chat}
    return {
        "rows": rows,
        "tables": {f"{dataset}, late": row["table"] for dataset, row in late.items()},
        "thresholds": {dataset: abstention(row, THRESHOLDS) for dataset, row in late.items()},
    }


def markdown(found: dict[str, Any]) -> str:
    lines = [
        "ECE is over the first five results of each answerable question, in ten bins. Silent means that no result "
        "reaches one half. Foreign questions are those of other conversations, removed ones those whose paragraph was "
        "taken out, tricks those that the set made up to have no answer: in LoCoMo mostly about the wrong person. "
        "AUROC is that of the probability that the scope speaks of it at all.",
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
        lines += [
            f"{name}: what `ask` would leave unanswered, by the threshold.",
            "",
            f"| below | {' | '.join(columns)} |",
            "| ---: |" + " ---: |" * len(columns),
            *(f"| {row['below']} | {' | '.join(str(row[column]) for column in columns)} |" for row in table),
            "",
        ]
    return "\n".join(lines)


def part(options: Options) -> Json:
    """How far `relevance` can be believed, as Markdown."""
    measured, _ = asyncio.run(gather_all(options.models, MEASURED, None))
    return {"markdown": markdown(report(measured, judged_by()))}


def stored(models: Models) -> dict[str, Any]:
    """As `calibrate` reads it."""

    def written(model: Logistic, names: Sequence[str]) -> dict[str, Any]:
        weights = {name: round(float(value), 4) for name, value in zip(names, model.weights, strict=True)}
        return {"bias": round(model.bias, 4), "weights": weights}

    return {
        kind: {
            view: {"result": written(model.result, RESULT[view]), "question": written(model.question, QUESTION[view])}
            for view, model in views.items()
        }
        for kind, views in models.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument(
        "--encoder-data", type=Path, help="the folder with conversations to fit on; else what ships is measured"
    )
    parser.add_argument("--write", action="store_true", help="replace what ships")
    parser.add_argument("--sets", nargs="*", choices=MEASURED, default=QUICK, help="what to measure")
    options = parser.parse_args()
    if options.write and not options.encoder_data:
        parser.error("--write needs --encoder-data")
    measured, to_fit = asyncio.run(gather_all(options.models, options.sets, options.encoder_data))
    models = fit_all(to_fit) if to_fit else None
    if models and options.write:
        TARGET.write_text(json.dumps(stored(models), indent=2) + "\n")
    print(markdown(report(measured, judged_by(models))))


if __name__ == "__main__":
    main()
