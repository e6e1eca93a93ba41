"""How well the engine finds things: recall on parts of public benchmarks, with each step taken away in turn.

    python -m bench.quality --models ~/.keepstone/models --json quality.json --markdown quality.md

The engine itself searches, on a Postgres of its own (`bench/laboratory.py`); only the weights differ from line to line.
"""

import argparse
import asyncio
import json
import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from bench import datasets
from bench.datasets import LOADERS, SETS
from bench.figures import Json, Options
from bench.laboratory import Laboratory, Loaded, laboratory, look, views
from bench.minilm import minilm_folder
from keepstone.engine import rank
from keepstone.engine.question import EmbeddedQuestion
from keepstone.engine.search import Texts, best_of, describe, distinct, read_texts, weights_of
from keepstone.resident import View

Results = dict[str, dict[str, dict[str, dict[str, float]]]]  # by set, way to rank, category and figure
Ranker = Callable[[Loaded, EmbeddedQuestion, Texts], list[int]]

STEPS = ("maxsim", "bm25", "pooled", "speaker", "time", "neighbour", "session", "length")
# Paragraphs of XQuAD have no speakers, dates or neighbours.
STEPS_OF = {"xquad": ("maxsim", "bm25", "length")}
TOP = 50


# ------------------------------------------------------------------------------------------------ ways to rank


def pipeline(*without: str, collapse: bool = True) -> Ranker:
    """As a recall does it, without these steps."""

    def ranker(loaded: Loaded, asked: EmbeddedQuestion, texts: Texts) -> list[int]:
        weights = weights_of(asked, loaded.style).without(*without)
        scores = rank.scores(texts.described.candidates, weights)
        return distinct(texts, best_of(scores, TOP), TOP, several=not collapse)

    return ranker


def fused(_: Loaded, __: EmbeddedQuestion, texts: Texts) -> list[int]:
    """Reciprocal ranks of BM25 and of the English pooled vector, together."""
    candidates = texts.described.candidates
    total = np.zeros(len(candidates))
    for values in (np.nan_to_num(column, nan=-1.0) for column in (candidates.bm25, candidates.pooled)):
        total[rank.order(values)] += 1.0 / (60.0 + np.arange(len(values)))
    return rank.order(total)


def by(feature: str) -> Ranker:
    """By one feature of the candidates alone."""

    def ranker(_: Loaded, __: EmbeddedQuestion, texts: Texts) -> list[int]:
        return rank.order(np.nan_to_num(getattr(texts.described.candidates, feature), nan=-1.0))

    return ranker


# With the encoder that was there before: what the floor has, and what the same pipeline makes of it.
FORMER: dict[str, Ranker] = {"RRF(BM25, MiniLM)": fused, "pipeline with MiniLM": pipeline()}


def rankers(steps: Iterable[str]) -> dict[str, Ranker]:
    ablations = {f"without {step}": pipeline(step) for step in steps}
    if ablations:
        ablations |= {
            "without bm25 and pooled in the score": pipeline("bm25", "pooled"),
            "without multilingual": pipeline("multilingual", "foreign"),
            "without collapse": pipeline(collapse=False),
        }
    return {
        "BM25": by("bm25"),
        "pooled vector alone": by("pooled"),
        "late interaction alone": by("maxsim"),
        "pipeline": pipeline(),
        **ablations,
    }


# --------------------------------------------------------------------------------------------------- the figures


def figures(collection: datasets.Collection, keys: Sequence[Hashable], gold: frozenset[Hashable]) -> dict[str, float]:
    def recall(k: int) -> float:
        return len(gold.intersection(keys[:k])) / len(gold)

    if collection.by_session:
        return {
            "any@5": float(recall(5) > 0),
            "all@5": float(recall(5) == 1),
            "all@10": float(recall(10) == 1),
        }
    gains = sum(1 / math.log2(place + 2) for place, key in enumerate(keys[:10]) if key in gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
    return {"R@1": recall(1), "R@5": recall(5), "R@10": recall(10), "R@20": recall(20), "NDCG@10": gains / ideal}


def row_of(
    collection: datasets.Collection, turns: Sequence[datasets.Turn], gold: frozenset[Hashable]
) -> dict[str, float]:
    """The figures of a question that these turns were found for."""
    keys = [turn.session if collection.by_session else turn.key for turn in turns]
    return figures(collection, list(dict.fromkeys(keys)), gold)


async def measure(
    lab: Laboratory, collections: Iterable[datasets.Collection], ways: dict[str, Ranker]
) -> dict[str, dict[str, dict[str, float]]]:
    """For each way to rank the means of each figure in per cent, over all questions and by category."""
    rows: dict[str, dict[str, list[dict[str, float]]]] = {name: {} for name in ways}
    for collection in collections:
        loaded = await lab.load(collection)
        seen: list[View] = []
        for question in collection.questions:
            asked = await lab.embed(loaded, question)
            async with lab.services.db.transaction(loaded.place.scope) as conn:
                seen = seen or await views(conn, loaded.place)
                described = describe(asked, await look(conn, loaded.place, asked, loaded.style, seen))
                texts = await read_texts(conn, loaded.place, described, range(len(described.groups)))
            for name, ranker in ways.items():
                best = [texts.rows[index][0].source_id for index in ranker(loaded, asked, texts)]
                row = row_of(collection, [loaded.turn(source_id) for source_id in best], question.gold)
                for category in ("all", question.category):
                    rows[name].setdefault(category, []).append(row)
    return {
        name: {
            category: {"n": len(several)}
            | {figure: round(100 * statistics.fmean(row[figure] for row in several), 1) for figure in several[0]}
            for category, several in sorted(by_category.items())
        }
        for name, by_category in rows.items()
    }


def markdown(results: Results) -> str:
    lines: list[str] = []
    for name, by_option in results.items():
        lines += [f"### {name}", ""]
        for category in next(iter(by_option.values())):
            columns = list(next(iter(by_option.values()))[category])[1:]
            lines += [f"{category} ({next(iter(by_option.values()))[category]['n']} questions)", ""]
            lines += [f"| | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
            for option, rows in by_option.items():
                if category == "all" or not option.startswith("without"):
                    lines.append(f"| {option} | {' | '.join(f'{rows[category][column]:.1f}' for column in columns)} |")
            lines.append("")
    return "\n".join(lines)


async def run(sets: Iterable[str], models: Path, *, ablation: bool = True) -> Results:
    results: Results = {}
    async with laboratory(models) as lab:
        for name in sets:
            print(name, flush=True)
            steps = STEPS_OF.get(name, STEPS) if ablation else ()
            results[name] = await measure(lab, LOADERS[name](), rankers(steps))
    async with laboratory(models, minilm_folder(models)) as lab:
        for name in sets:
            print(name, "with the former encoder", flush=True)
            results[name] = await measure(lab, LOADERS[name](), FORMER) | results[name]
    return results


def part(options: Options) -> Json:
    return {"sets": asyncio.run(run(SETS, options.models, ablation=not options.quick))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, help="the folder that `keepstone models` fills")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--no-ablation", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    results = asyncio.run(run(given.sets, given.models, ablation=not given.no_ablation))
    if given.json:
        given.json.write_text(json.dumps({"weights": asdict(rank.ENGLISH), "results": results}, indent=1) + "\n")
    text = markdown(results)
    if given.markdown:
        given.markdown.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
