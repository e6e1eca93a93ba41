"""Fits the logistic models behind `relevance` on the benchmark data, and shows how far they can be believed.

`python -m bench.calibration --models FOLDER [--write]`. Positives are the gold turns. Beside its own questions, a
conversation is asked those of others, to which nothing is an answer, and its own after the gold turns were taken out.
All of it again in short pieces of the conversations: most scopes are small at first.

What is reported as shipped goes through `calibrate.relevance` itself; what is reported as held out was fitted anew
without the conversations, or without the whole set, that it is measured on.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import quality
from keepstone.engine import bm25, calibrate, rank, terms
from keepstone.engine.calibrate import QUESTION, RESULT, Logistic, Model, Terms, View
from keepstone.engine.language.scripts import latin
from keepstone.providers.minilm import MiniLM
from keepstone.providers.use import Use

Floats = npt.NDArray[np.float64]
Models = dict[View, Model]
Judge = Callable[["Example"], tuple[float, list[float]]]

TARGET = Path(__file__).parent.parent / "src" / "keepstone" / "engine" / "calibration.json"
CHAT = ("locomo", "longmemeval")
# In meetings dozens of turns are gold, and paragraphs are no turns: they are for the question, not for its results.
OTHERS = ("qmsum", "xquad")
VIEWS: tuple[View, ...] = ("late", "pooled", "terms")
TOP = 10
WHOLE = 0
SIZES = (2, 3, 5, 12, 40, 120)
FEW_SIZES = (3, 12)
FOREIGN = 200  # questions of others, at most, for each conversation
FOLDS = 5

# How much a conversation counts in full, and cut down to so many turns.
RESULT_WEIGHT = {WHOLE: 1.0, 120: 1.0, 40: 1.0, 12: 0.5, 5: 0.25, 3: 0.25, 2: 0.25}
QUESTION_WEIGHT = {WHOLE: 1.0, 120: 0.3, 40: 0.2, 12: 0.2, 5: 0.15, 3: 0.15, 2: 0.15}
# Of what is asked of a space of that size, the share that it doesn't speak of. Assumed, not measured.
UNANSWERED = {WHOLE: 0.2, 120: 0.2, 40: 0.2, 12: 0.2, 5: 0.3, 3: 0.4, 2: 0.4}
# LongMemEval has few questions, and XQuAD is here for what is asked in one language and said in another.
SET_WEIGHT = {"longmemeval": 0.5}
QUESTION_SET_WEIGHT = {"xquad": 1.5}

WAYS: dict[str, rank.Weights | None] = {
    "late": None,
    "pooled": rank.Weights(maxsim=0.0, bm25=0.5, pooled=1.0, multilingual=1.0),
    "multilingual": rank.Weights(maxsim=0.0, bm25=0.5, pooled=1.0, multilingual=1.0),
    "terms": rank.Weights(maxsim=0.0, bm25=1.0, pooled=0.0),
}
VIEW_OF: dict[str, View] = {"late": "late", "pooled": "pooled", "multilingual": "pooled", "terms": "terms"}


@dataclass(frozen=True)
class Example:
    """A question as the search answered it: its first results, and which of them are gold.

    `kind` is "own" for a question that the space answers, "foreign" for one of another space, "removed" for one whose
    answer was taken out, and "trick" for one that the data set made up to have no answer.
    """

    dataset: str
    conversation: str
    kind: str
    size: int
    way: str
    candidates: list[rank.Candidate]
    scores: Floats
    terms: Terms
    gold: Floats

    @property
    def order(self) -> range:
        return range(len(self.candidates))


# ------------------------------------------------------------------------------------------------- the examples


@dataclass
class Asker:
    """Asks any question of any space, and looks at the answer in each way that a search can work."""

    english: MiniLM
    other: Use

    def __post_init__(self) -> None:
        self._embedded: dict[str, tuple[Any, Any]] = {}

    def learn(self, texts: Iterable[str]) -> None:
        several = [text for text in dict.fromkeys(texts) if text not in self._embedded]
        tokens = quality.embed(self.english, several, "tokens")
        pooled = quality.embed(self.other, several, "pooled")
        for text, (vector, _, kept), (multilingual, _, _) in zip(several, tokens, pooled, strict=True):
            self._embedded[text] = ((vector, kept), multilingual)

    def ask(self, space: quality.Space, question: quality.Question) -> quality.Asked:
        english, other = self._embedded[question.text]
        return quality.ask(space, question, english, other)


def examples(name: str, asker: Asker) -> list[Example]:
    """Each conversation with its own questions, with those of others, and with its own where the answer is missing."""
    prepared = quality.prepare(name, asker.english, asker.other)
    asker.learn(each.question.text for _, _, several in prepared for each in several)
    chance = random.Random(name)
    found: list[Example] = []
    for number, (collection, space, several) in enumerate(prepared):
        own = [replace(each.question, gold=each.question.turns or each.question.gold) for each in several]
        own = own[::4] if name == "xquad" else own
        elsewhere = [each.question for place, (_, _, rest) in enumerate(prepared) if place != number for each in rest]
        # The paragraphs of XQuAD are the same in every language.
        elsewhere = [] if name == "xquad" else chance.sample(elsewhere, min(FOREIGN, len(elsewhere)))
        for size in (WHOLE, *(SIZES if name in CHAT else FEW_SIZES)):
            found += _of_size(name, collection, space, own, elsewhere, size, asker, chance)
    return found


def _of_size(
    name: str,
    collection: quality.Collection,
    space: quality.Space,
    own: Sequence[quality.Question],
    elsewhere: Sequence[quality.Question],
    size: int,
    asker: Asker,
    chance: random.Random,
) -> list[Example]:
    found: list[Example] = []
    places = range(len(space.turns))

    def add(kind: str, question: quality.Question, numbers: Sequence[int], gold: frozenset[Hashable]) -> None:
        where = space if len(numbers) == len(space.turns) else part(space, numbers)
        asked = asker.ask(where, question)
        found.extend(looked_at(name, collection.name, kind, size, where, asked, gold))

    for question in own:
        gold = [number for number in places if space.turns[number].key in question.gold]
        if not gold:
            continue
        close = {number + step for number in gold for step in (-1, 0, 1)}
        add("own", question, piece(places, size, chance, chance.choice(gold)), question.gold)
        without = [number for number in places if number not in close]
        add("foreign" if name == "xquad" else "removed", question, piece(without, size, chance), frozenset())
    moments = [turn.at for turn in space.turns if turn.at]
    for question in elsewhere if size == WHOLE else elsewhere[: len(own)]:
        now = max(moments) if moments and question.now else None
        add("foreign", replace(question, now=now), piece(places, size, chance), frozenset())
    return found


def piece(numbers: Sequence[int], size: int, chance: random.Random, around: int | None = None) -> Sequence[int]:
    """So many turns that follow each other, with a certain one among them."""
    if size == WHOLE or size >= len(numbers):
        return numbers
    last = len(numbers) - size
    start = chance.randint(0, last) if around is None else around - chance.randrange(size)
    start = min(max(start, 0), last)
    return numbers[start : start + size]


def part(space: quality.Space, numbers: Sequence[int]) -> quality.Space:
    """The space as if only these turns had been said."""
    place = {number: index for index, number in enumerate(numbers)}
    postings: dict[str, list[tuple[int, int]]] = {}
    for term, said in space.postings.items():
        kept = [(place[number], count) for number, count in said if number in place]
        if kept:
            postings[term] = kept
    windows = np.flatnonzero(np.isin(space.owner, numbers))
    others = np.flatnonzero(np.isin(space.multilingual_owner, numbers))
    turns = [space.turns[number] for number in numbers]
    lengths = space.lengths[list(numbers)]
    return quality.Space(
        turns=turns,
        postings=postings,
        lengths=lengths,
        average=float(lengths.mean()),
        pooled=space.pooled[windows],
        tokens=[space.tokens[window] for window in windows],
        owner=np.array([place[int(space.owner[window])] for window in windows], dtype=np.int64),
        multilingual=space.multilingual[others],
        multilingual_owner=np.array(
            [place[int(space.multilingual_owner[window])] for window in others], dtype=np.int64
        ),
        latin=[space.latin[number] for number in numbers],
        places={(turn.session, turn.position): index for index, turn in enumerate(turns)},
    )


def looked_at(
    name: str,
    conversation: str,
    kind: str,
    size: int,
    space: quality.Space,
    asked: quality.Asked,
    gold: frozenset[Hashable],
) -> list[Example]:
    """An example for each way; none where nothing was found."""
    of_terms = weight_of(space, asked.question.text)
    found: list[Example] = []
    for way, fixed in WAYS.items():
        weights = fixed or rank.weights_for(asked.language)
        chosen = quality.candidates(space, asked, weights)
        if not chosen:
            continue
        several = [candidate(way, space, asked, number) for number in chosen]
        scores = rank.scores(several, weights)
        best = rank.order(scores)[: 2 * TOP]
        texts = [space.turns[chosen[index]].text for index in best]
        speakers = [space.turns[chosen[index]].speaker for index in best]
        kept = [best[index] for index in rank.collapse(range(len(best)), texts, speakers)][:TOP]
        hits = [float(space.turns[chosen[index]].key in gold) for index in kept]
        candidates = [several[index] for index in kept]
        found.append(
            Example(
                name,
                conversation,
                kind,
                size,
                way,
                candidates,
                scores[kept],
                of_terms,
                np.array(hits, dtype=np.float64),
            )
        )
    return found


def candidate(way: str, space: quality.Space, asked: quality.Asked, number: int) -> rank.Candidate:
    """As the search would see it: the multilingual vector is asked for only where English is not enough."""
    english = asked.language == "en" and latin(asked.question.text) and all(space.latin)
    pooled, multilingual = float(asked.pooled[number]), float(asked.multilingual[number])
    return rank.Candidate(
        session=space.turns[number].session,
        position=space.turns[number].position,
        chars=len(space.turns[number].text),
        bm25=float(asked.bm25[number]),
        maxsim=float(asked.maxsim[number]) if way == "late" else rank.MISSING,
        pooled=pooled if way in {"late", "pooled"} else rank.MISSING,
        multilingual=multilingual if way == "multilingual" or (way == "late" and not english) else rank.MISSING,
        spoken=float(asked.spoken[number]),
        near=float(asked.near[number]),
        latin=space.latin[number],
    )


def weight_of(space: quality.Space, text: str) -> Terms:
    counts = [len(space.postings.get(term, ())) for term in terms.terms(text)]
    weights = bm25.idf(counts, len(space.turns))
    known = float(weights[np.array(counts) > 0].sum()) if counts else 0.0
    return Terms(total=float(weights.sum()), known=known, passages=len(space.turns))


def tricks(asker: Asker) -> list[Example]:
    """Questions made up to have no answer: in LoCoMo about the wrong person, in LongMemEval about the wrong thing."""
    found: list[Example] = []
    for name, collections in (
        ("locomo", quality.locomo(answerable=False)),
        ("longmemeval", quality.longmemeval(answerable=False)),
    ):
        for collection, space, several in quality.index(collections, asker.english, asker.other):
            for asked in several:
                found += looked_at(name, collection.name, "trick", WHOLE, space, asked, frozenset())
    return found


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


def fit_all(several: Sequence[Example]) -> Models:
    return {
        view: Model(
            fit_result(view, [each for each in several if VIEW_OF[each.way] == view]),
            fit_question(view, [each for each in several if VIEW_OF[each.way] == view]),
        )
        for view in VIEWS
    }


def fit_result(view: View, several: Sequence[Example]) -> Logistic:
    """From the first five of questions that have an answer, in chat."""
    own = [each for each in several if each.kind == "own" and each.dataset in CHAT]
    counts = {name: sum(RESULT_WEIGHT[each.size] for each in own if each.dataset == name) for name in CHAT}
    rows = [calibrate.result_features(view, each.candidates, each.scores, each.order, each.terms)[:5] for each in own]
    weights = [
        np.full(
            len(row),
            400.0 * SET_WEIGHT.get(each.dataset, 1.0) * RESULT_WEIGHT[each.size] / counts[each.dataset],
        )
        for each, row in zip(own, rows, strict=True)
    ]
    return fit(np.vstack(rows), np.concatenate([each.gold[:5] for each in own]), np.concatenate(weights))


def fit_question(view: View, several: Sequence[Example]) -> Logistic:
    """From questions of all kinds but tricks, so many of each as one may expect to be asked."""
    used = [each for each in several if _share(each) and (each.dataset != "xquad" or view == "pooled")]
    counts = Counter((each.dataset, each.kind, each.size) for each in used)
    rows = [calibrate.question_features(view, each.candidates, each.scores, each.terms) for each in used]
    weights = [
        200.0
        * QUESTION_SET_WEIGHT.get(each.dataset, 1.0)
        * QUESTION_WEIGHT[each.size]
        * _share(each)
        / counts[each.dataset, each.kind, each.size]
        for each in used
    ]
    return fit(np.vstack(rows), np.array([float(each.kind == "own") for each in used]), np.array(weights))


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
    return lambda each: calibrate.judge(models, each.candidates, each.scores, each.order, each.terms)


def held_out(several: Sequence[Example], dataset: str, *, whole_set: bool) -> tuple[list[Example], list[Judge]]:
    """The set's examples, each with what was fitted without its set, or without its part of the conversations."""
    inside = [each for each in several if each.dataset == dataset]
    names = sorted({each.conversation for each in inside})
    folds = [set(names)] if whole_set else [set(names[start::FOLDS]) for start in range(min(FOLDS, len(names)))]
    models = [fit_all([each for each in several if each.conversation not in fold]) for fold in folds]
    fold_of = {name: number for number, fold in enumerate(folds) for name in fold}
    return inside, [fitted(models[fold_of[each.conversation]]) for each in inside]


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


def figures(several: Sequence[Example], judges: Sequence[Judge] | Judge) -> dict[str, Any]:
    """Of examples of one set, size and way: calibration, silence at one half, and how `answerable` tells them apart."""
    each_judge = judges if isinstance(judges, Sequence) else [judges] * len(several)
    judged = [(each, *judge(each)) for each, judge in zip(several, each_judge, strict=True)]
    own = [(each, answerable, said) for each, answerable, said in judged if each.kind == "own"]
    said = np.concatenate([said[:5] for _, _, said in own])
    true = np.concatenate([each.gold[:5] for each, _, _ in own])
    table = reliability(said, true)
    found: dict[str, Any] = {
        "questions": len(own),
        "first is gold": round(float(np.mean([each.gold[0] for each, _, _ in own])), 3),
        "first is said": round(float(np.mean([said[0] for _, _, said in own])), 3),
        "ece": round(sum(abs(row["said"] - row["true"]) * row["count"] for row in table) / len(said), 3),
        "own silent": _share_of(said[0] < 0.5 for _, _, said in own),
        "table": table,
    }
    for kind in ("foreign", "removed", "trick"):
        others = [(answerable, said) for each, answerable, said in judged if each.kind == kind]
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


def gather(models: Path) -> list[Example]:
    english, other = MiniLM(models), Use(models)
    try:
        asker = Asker(english, other)
        return [example for name in (*CHAT, *OTHERS) for example in examples(name, asker)] + tricks(asker)
    finally:
        english.close()
        other.close()


def report(several: Sequence[Example], judge: Judge = shipped) -> dict[str, Any]:
    """All figures as data: `rows` by what was measured how, the reliability `tables`, and the `thresholds`."""
    rows: dict[str, dict[str, Any]] = {}
    for dataset in CHAT:
        whole = [each for each in several if each.dataset == dataset and each.size == WHOLE]
        for way in WAYS:
            rows[f"{dataset}, {way}, shipped"] = figures([each for each in whole if each.way == way], judge)
        for how, whole_set in (("other conversations", False), ("other sets", True)):
            pairs = zip(*held_out(several, dataset, whole_set=whole_set), strict=True)
            kept = [(each, without) for each, without in pairs if each.size == WHOLE and each.way == "late"]
            rows[f"{dataset}, late, fitted on {how}"] = figures([e for e, _ in kept], [without for _, without in kept])
        for size in SIZES:
            short = [e for e in several if e.dataset == dataset and e.size == size and e.way == "late"]
            rows[f"{dataset} cut to {size} turns, shipped"] = figures(short, judge)
    for name in sorted({each.conversation for each in several if each.dataset == "xquad"}):
        whole = [e for e in several if e.conversation == name and e.size == WHOLE and e.way == "late"]
        rows[f"{name}, shipped"] = figures(whole, judge)
    tables = {name: row["table"] for name, row in rows.items() if name in {f"{each}, late, shipped" for each in CHAT}}
    choices = {name: abstention(rows[f"{name}, late, shipped"], THRESHOLDS) for name in CHAT}
    return {"rows": rows, "tables": tables, "thresholds": choices}


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


def report_markdown(models: Path) -> str:
    """How far `relevance` can be believed, as Markdown."""
    return markdown(report(gather(models)))


def stored(models: Models) -> dict[str, Any]:
    """As `calibrate` reads it."""

    def part(model: Logistic, names: Sequence[str]) -> dict[str, Any]:
        weights = {name: round(float(value), 4) for name, value in zip(names, model.weights, strict=True)}
        return {"bias": round(model.bias, 4), "weights": weights}

    return {
        view: {"result": part(model.result, RESULT[view]), "question": part(model.question, QUESTION[view])}
        for view, model in models.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="fit anew, and replace what ships")
    options = parser.parse_args()
    several = gather(options.models)
    judge: Judge = shipped
    if options.write:
        models = fit_all(several)
        TARGET.write_text(json.dumps(stored(models), indent=2) + "\n")
        judge = fitted(models)
    print(markdown(report(several, judge)))


if __name__ == "__main__":
    main()
