"""Fits the second look at notes (`engine/second_look.py`), and shows what it gives.

    python -m bench.second_look --models FOLDER [--notes FILE ...] [--measure FOLDER] [--write]

Fitted on `notes.jsonl` beside this file, notes in several languages with what is asked of them half a year later, on
half of XQuAD, and on more notes that are given: those only for what the search knows, since a judge may have learned
from them. To find that nothing is there is learned from questions about what was never noted, and from all others with
their answer taken out. Measured on a folder with `notes.jsonl` and `queries.jsonl` that nothing was fitted on.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import datasets
from bench.calibration import fit, reliability
from bench.examples import Floats, halved
from bench.laboratory import Laboratory, laboratory, views
from keepstone.engine import second_look
from keepstone.engine.calibrate import Logistic
from keepstone.engine.gathered import CANDIDATES, SEVERAL_NOTES
from keepstone.engine.question import Question, embed_question
from keepstone.engine.search import AskedOf, Matches, find
from keepstone.engine.second_look import FOUND, JUDGED, in_doubt, log_odds
from keepstone.engine.titles import title
from keepstone.memory.capsules import found_by
from keepstone.providers.judge import Judge

OWN = Path(__file__).with_name("notes.jsonl")
TARGET = Path(__file__).parent.parent / "src" / "keepstone" / "engine" / second_look.FITTED
ABSENT = 0.15  # of what is asked, the share to which nothing is an answer: assumed, not measured
NEAREST = 12  # results to learn from, and whatever is about as near in meaning as the nearest
READ = 10  # results from which it is learned what the judge's answer says, more than it reads of a search
CLOSE = -0.05
XQUAD_STEP = 16
FLOORS = (0.0, 0.2, 0.3, 0.35, 0.4, 0.5)


@dataclass(frozen=True)
class Looked:
    """A question of a collection, what was found, which of it is an answer, and what the judge says (log odds)."""

    collection: str
    question: str
    matches: Matches
    gold: frozenset[Any]
    answers: dict[str, float]

    def without_answer(self) -> "Looked":
        left = [hit for hit in self.matches.hits if hit.source_id not in self.gold]
        return replace(self, matches=replace(self.matches, hits=left), gold=frozenset())

    def rows(self) -> tuple[Floats, Floats]:
        """Features of what the fit learns from, and which of it is an answer."""
        made = second_look.features(self.question, self.matches)
        nearest = sorted(self.matches.hits, key=lambda hit: -hit.score)[:NEAREST]
        chosen = [
            (row, hit.source_id in self.gold)
            for hit, row in zip(self.matches.hits, made, strict=True)
            if not np.isnan(row).any()
            and (hit in nearest or row[FOUND.index("further")] > CLOSE or hit.source_id in self.gold)
        ]
        features = np.array([row for row, _ in chosen], dtype=np.float64)
        return features.reshape(-1, len(FOUND)), np.array([float(gold) for _, gold in chosen])


def read_notes(name: str, lines: Sequence[dict[str, Any]]) -> datasets.Collection:
    """From lines of notes (`key`, `title`, `content`) and of what is asked (`text`, `gold`)."""
    notes, asked = ([line for line in lines if key in line] for key in ("content", "gold"))
    turns = [datasets.Turn(note["key"], "", _noted(note), None) for note in notes]
    return datasets.Collection(
        name, turns, [datasets.Question(line["text"], frozenset(line["gold"]), line["kind"]) for line in asked]
    )


def _noted(note: dict[str, Any]) -> str:
    """As a capsule is kept: without a title one is made."""
    return found_by(note.get("title") or title(note["content"]), note["content"])


def more_notes(file: Path) -> Iterator[datasets.Collection]:
    """Sets of notes, one a line, each by itself and then all in one place."""
    sets = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
    for number, one in enumerate(sets):
        yield read_notes(f"{file.stem} {number}", [*one["notes"], *one["queries"]])
    yield read_notes(
        f"{file.stem} all",
        [{**note, "key": f"{number} {note['key']}"} for number, one in enumerate(sets) for note in one["notes"]]
        + [
            {**line, "gold": [f"{number} {key}" for key in line["gold"]]}
            for number, one in enumerate(sets)
            for line in one["queries"]
        ],
    )


def jsonl(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines() if line.strip()]


async def look(lab: Laboratory, collection: datasets.Collection) -> list[Looked]:
    loaded = await lab.load(collection)
    looked: list[Looked] = []
    for question in collection.questions:
        wanted = Question(text=question.text, speaker=None, asked_at=loaded.now)
        asked = await embed_question(lab.services, wanted, any_language=True)
        async with lab.services.db.transaction(loaded.place.scope) as conn:
            asked_of = AskedOf(loaded.place, asked, await views(conn, loaded.place))
            matches = await find(conn, asked_of, limit=CANDIDATES, style=SEVERAL_NOTES)
        gold = {hit.source_id for hit in matches.hits if loaded.turn(hit.source_id).key in question.gold}
        if question.gold and not gold:
            gold = {"not among them"}
        looked.append(Looked(collection.name, question.text, matches, frozenset(gold), {}))
    return looked


async def read(judge: Judge, found: Logistic, looked: Sequence[Looked]) -> list[Looked]:
    """With what the judge says of the first, and of what would be there without the answers."""
    with_answers: list[Looked] = []
    for one in looked:
        windows = {hit.source_id: hit.window for hit in one.matches.hits}
        first = [name for name, _ in weighed(found, one)[: READ + 2]]
        chances = await judge.answers(one.question, [windows[name] for name in first])
        with_answers.append(replace(one, answers=dict(zip(first, map(log_odds, chances), strict=True))))
    return with_answers


# ------------------------------------------------------------------------------------------------------ the fit


def fit_found(sets: Sequence[tuple[list[Looked], float]]) -> Logistic:
    """Each set counts as much as is said."""
    rows, gold, weight = [], [], []
    for looked, total in sets:
        for share, part in _shares(looked):
            for one in part:
                features, answers = one.rows()
                rows.append(features)
                gold.append(answers)
                weight.append(np.full(len(answers), total * share / len(part)))
    return fit(np.vstack(rows), np.concatenate(gold), np.concatenate(weight), FOUND)


def fit_judged(found: Logistic, looked: Sequence[Looked]) -> Logistic:
    rows, gold, weight = [], [], []
    for share, part in _shares(looked):
        for one in part:
            first = weighed(found, one)[:READ]
            rows += [[log_odds(chance), one.answers.get(name, -4.0)] for name, chance in first]
            gold += [float(name in one.gold) for name, _ in first]
            weight += [100 * share / len(part)] * len(first)
    return fit(np.array(rows), np.array(gold), np.array(weight), JUDGED)


def _shares(looked: Sequence[Looked]) -> list[tuple[float, list[Looked]]]:
    """Questions with an answer and without, and how much they count."""
    own = [one for one in looked if one.gold]
    absent = [one for one in looked if not one.gold] + [one.without_answer() for one in own[::2]]
    return [(1.0 - ABSENT, own), (ABSENT, absent)]


def weighed(found: Logistic, one: Looked) -> list[tuple[str, float]]:
    """The results by their chance, the best first."""
    made = second_look.features(one.question, one.matches)
    chances = [
        hit.relevance if np.isnan(row).any() else float(found(row[None, :])[0])
        for hit, row in zip(one.matches.hits, made, strict=True)
    ]
    return sorted(zip([hit.source_id for hit in one.matches.hits], chances, strict=True), key=lambda pair: -pair[1])


def judged(found: Logistic, second: Logistic | None, one: Looked) -> list[tuple[str, float]]:
    first = weighed(found, one)
    if second is None:
        return first
    by_name = {hit.source_id: hit for hit in one.matches.hits}
    read = in_doubt([replace(by_name[name], relevance=chance) for name, chance in first], floor=0.0)
    rows = [[log_odds(first[place][1]), one.answers.get(first[place][0], -4.0)] for place in read]
    chances = [chance for _, chance in first]
    for place, chance in zip(read, second(np.array(rows, dtype=np.float64).reshape(-1, len(JUDGED))), strict=True):
        chances[place] = float(chance)
    return sorted(zip([name for name, _ in first], chances, strict=True), key=lambda pair: -pair[1])


# -------------------------------------------------------------------------------------------------- the figures


def figures(looked: Sequence[Looked], found: Logistic, second: Logistic | None) -> list[dict[str, float]]:
    """For each floor: right first, found among ten, silent where nothing is, and how far relevance can be believed."""
    every = [(one, judged(found, second, one)) for one in looked]
    table: list[dict[str, float]] = []
    for floor in FLOORS:
        shown = [(one, [pair for pair in pairs if pair[1] >= floor][:10]) for one, pairs in every]
        own = [(one, pairs) for one, pairs in shown if one.gold]
        absent = [pairs for one, pairs in shown if not one.gold]
        said = np.array([chance for _, pairs in own for _, chance in pairs[:5]])
        true = np.array([float(name in one.gold) for one, pairs in own for name, _ in pairs[:5]])
        bins = reliability(said, true)
        table.append(
            {
                "floor": floor,
                "first": round(float(np.mean([bool(pairs) and pairs[0][0] in one.gold for one, pairs in own])), 3),
                "found": round(float(np.mean([any(name in one.gold for name, _ in pairs) for one, pairs in own])), 3),
                "silent": round(float(np.mean([not pairs for pairs in absent])), 3) if absent else 0.0,
                "ece": round(sum(row["count"] * abs(row["said"] - row["true"]) for row in bins) / len(said), 3),
            }
        )
    return table


async def fit_all(options: argparse.Namespace) -> tuple[Logistic, Logistic, dict[str, list[Looked]]]:
    async with laboratory(options.models) as lab:
        own = await look(lab, read_notes("own", jsonl(OWN)))
        sets = [(own, 100.0)]
        xquad = [replace(one, questions=one.questions[::XQUAD_STEP]) for one in halved(datasets.xquad(), 0)]
        sets.append(([looked for one in xquad for looked in await look(lab, one)], 60.0))
        sets += [
            ([looked for one in more_notes(file) for looked in await look(lab, one)], 150.0) for file in options.notes
        ]
        measured: list[Looked] = []
        if options.measure:
            lines = jsonl(options.measure / "notes.jsonl") + jsonl(options.measure / "queries.jsonl")
            measured = await look(lab, read_notes("measured", lines))
    found, judge = fit_found(sets), Judge()
    looked = {"fitted on": await read(judge, found, own), "measured": await read(judge, found, measured)}
    judge.close()
    return found, fit_judged(found, looked["fitted on"]), looked


def stored(found: Logistic, second: Logistic) -> dict[str, Any]:
    """As `second_look` reads it."""

    def written(model: Logistic, names: Sequence[str]) -> dict[str, Any]:
        weights = {name: round(float(value), 4) for name, value in zip(names, model.weights, strict=True)}
        return {"bias": round(model.bias, 4), "weights": weights}

    return {"found": written(found, FOUND), "judged": written(second, JUDGED)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--notes", type=Path, nargs="*", default=(), help="more sets of notes, one a line")
    parser.add_argument("--measure", type=Path, help="a folder with notes and queries that nothing is fitted on")
    parser.add_argument("--write", action="store_true", help="replace what ships")
    options = parser.parse_args()
    found, second, measured = asyncio.run(fit_all(options))
    print(json.dumps(stored(found, second), indent=2))
    if options.write:
        TARGET.write_text(json.dumps(stored(found, second), indent=2) + "\n")
    for name, looked in measured.items():
        for label, model in (("without the judge", None), ("with it", second)):
            for row in figures(looked, found, model) if looked else ():
                print(name, label, row)


if __name__ == "__main__":
    main()
