"""From the data to the encoder that ships: `python -m training --data FOLDER --out FOLDER`.

Every step leaves its result in the folder `out`, and one whose result is there is not done again. So the steps that
need a GPU can run on another machine, with nothing there but PyTorch: copy the folder there and back, with
`--until train` between.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from training import dev, tensors
from training.arrays import Prepared
from training.tensors import Arrays, mixed

NAME = "keepstone-chat/1"  # of the vector space: other weights are another name
STEPS = ("prepare", "train", "mix", "export")
SHARES = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85)  # of the trained weights
SETS = ("locomo", "qmsum", "xquad")
PROBES, PROJECTED = 300, 12_000  # turns


def prepare(data: Path, out: Path) -> None:
    """The training data, the dev sets, and the published weights with a first projection."""
    from bench.minilm import MINILM, TOKENIZER, WEIGHTS

    from keepstone.providers.models import fetch
    from training import graph, projection
    from training.prepare import prepare_dev, prepare_training

    fetch(out / "start", lambda _: None, catalogue=[MINILM])
    shutil.copyfile(out / "start" / TOKENIZER, out / "tokenizer.json")
    prepared = prepare_training(data, out / "tokenizer.json")
    published = tensors.load(out / "start" / WEIGHTS)
    start = {name: value for name, value in published.items() if "pooler" not in name}
    start["projection"] = projection.fit(graph.hidden(start, probes_of(prepared, PROJECTED)))
    tensors.save(start, out / "start.safetensors")
    dev.save(prepare_dev(SETS, out / "tokenizer.json"), out / "dev.pickle.gz")
    prepared.save(out / "prepared.npz")


def train(out: Path) -> None:
    """The average of all runs of the last rounds, not mixed yet."""
    from training import rounds

    data, start = Prepared.load(out / "prepared.npz"), tensors.load(out / "start.safetensors")
    trained = rounds.train_rounds(data, start, rounds.FIRST, rounds.RUNS)
    tensors.save(trained, out / "trained.safetensors")


def mix(out: Path) -> None:
    """The share of the trained weights that does best on dev, as the graph that would ship."""
    from training.evaluate import Exported, Figures, evaluate
    from training.graph import export

    start, trained = tensors.load(out / "start.safetensors"), tensors.load(out / "trained.safetensors")
    sets, probes = dev.load(out / "dev.pickle.gz"), probes_of(Prepared.load(out / "prepared.npz"))

    def judge(weights: Arrays) -> Figures:
        export(weights, out / "tried.onnx", probes)
        return evaluate(Exported(out / "tried.onnx"), sets)

    share, found = choose(start, trained, judge)
    tensors.save(mixed(start, trained, share), out / "mixed.safetensors")
    (out / "tried.onnx").unlink()
    (out / "figures.json").write_text(json.dumps({"share": share, "dev": found}, indent=1) + "\n")


def export(out: Path) -> None:
    from training.graph import export as export_graph

    folder = out / "chat_encoder"
    folder.mkdir(exist_ok=True)
    probes = probes_of(Prepared.load(out / "prepared.npz"))
    likeness = export_graph(tensors.load(out / "mixed.safetensors"), folder / "encoder.onnx", probes)
    shutil.copyfile(out / "tokenizer.json", folder / "tokenizer.json")
    manifest = {"name": NAME, "window": 254, "overlap": 32, "context": 48, "keep": "words"}
    (folder / "encoder.json").write_text(json.dumps(manifest, indent=1) + "\n")
    say(f"int8 and fp32 agree to {likeness:.4f}")


def choose(
    start: Arrays, trained: Arrays, judge: Callable[[Arrays], dict[str, dict[str, float]]]
) -> tuple[float, dict[str, dict[str, dict[str, float]]]]:
    """The best share by the mean of recall and NDCG over the sets, and the figures of all."""
    figures = {share: judge(mixed(start, trained, share)) for share in SHARES}

    def worth(share: float) -> float:
        return float(np.mean([row[name] for row in figures[share].values() for name in ("R@10", "NDCG@10")]))

    return max(SHARES, key=worth), {str(share): row for share, row in figures.items()}


def probes_of(data: Prepared, count: int = PROBES) -> list[list[int]]:
    """Some turns that answer a question, as ids."""
    chosen = np.random.default_rng(1).choice(data.gold, min(count, len(data.gold)), replace=False)
    return [[101, *data.turns.pieces_of(int(turn)), 102] for turn in chosen]


RESULTS = {
    "prepare": "prepared.npz",
    "train": "trained.safetensors",
    "mix": "mixed.safetensors",
    "export": "chat_encoder/encoder.json",
}


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="conversations.jsonl.gz and questions_raw.jsonl.gz")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--until", choices=STEPS, default=STEPS[-1], help="the last step to do")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for step in STEPS[: STEPS.index(options.until) + 1]:
        if (options.out / RESULTS[step]).exists():
            continue
        say(step)
        if step == "prepare":
            if options.data is None:
                parser.error("--data is needed for the first step")
            prepare(options.data, options.out)
        else:
            {"train": train, "mix": mix, "export": export}[step](options.out)


if __name__ == "__main__":
    main()
