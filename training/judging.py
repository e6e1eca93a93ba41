"""From labelled judgements to the judge that ships: `python -m training.judging --data FOLDER --encoder FOLDER --out
FOLDER`.

`data` is what the encoder was trained on, `encoder` the folder that `python -m training` left. Every step leaves its
result in `out`, as there: `train` needs nothing but PyTorch and NumPy.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from training import tensors
from training.judge_arrays import JudgeArrays
from training.tensors import Arrays

JUDGEMENTS = Path(__file__).with_name("judgements")
STEPS = ("prepare", "train", "export")
RESULTS = {"prepare": "judge.npz", "train": "judge.safetensors", "export": "chat_judge/judge.onnx"}
PIECES = 220
PROBES = 120


def prepare(data: Path, encoder: Path, models: Path, out: Path) -> None:
    """Words, examples as arrays, and the weights to start from."""
    from keepstone.providers.judge import Judge
    from keepstone.providers.wordpieces import load_tokenizer
    from training.judge_examples import HEADS, examples
    from training.judge_words import added_words, extend, write_tokenizer

    tokenizer: dict[str, Any] = json.loads((encoder / "tokenizer.json").read_text(encoding="utf-8"))
    words = extend(tokenizer, added_words(JUDGEMENTS / "words.tsv"), models)
    write_tokenizer(tokenizer, out / "tokenizer.json")
    weights = tensors.load(encoder / "mixed.safetensors")
    tensors.save(begun(weights, words.size, words.ids, words.near, words.shares), out / "start.safetensors")
    made = examples(JUDGEMENTS, data)
    texts = list(dict.fromkeys(text for row in made.rows for text in (row.first, row.second) if text is not None))
    number = {text: place for place, text in enumerate(texts)}
    pieces = [np.array(ids[:PIECES], np.int32) for ids in Judge(out).pieces_of(texts)]
    vocabulary: dict[str, int] = load_tokenizer((out / "tokenizer.json").absolute()).get_vocab(with_added_tokens=False)
    inside = np.zeros(words.size, np.bool_)
    inside[[place for word, place in vocabulary.items() if word.startswith("##")]] = True
    JudgeArrays(
        pieces=np.concatenate(pieces),
        starts=np.concatenate([[0], np.cumsum([len(ids) for ids in pieces])]).astype(np.int64),
        rows=np.array(
            [
                (
                    HEADS.index(row.head), number[row.first], -1 if row.second is None else number[row.second],
                    row.target, row.group,
                )
                for row in made.rows
            ],
            np.int64,
        ),
        weights=np.array([row.weight for row in made.rows], np.float32),
        held_out=np.array([row.held_out for row in made.rows], np.bool_),
        inside=inside,
        translations=words.translations,
        mined=made.mined,
    ).save(out / RESULTS["prepare"])  # fmt: skip


def begun(weights: Arrays, size: int, ids: Any, near: Any, shares: Any) -> Arrays:
    """The encoder's weights with a row for each word more."""
    words = weights["embeddings.word_embeddings.weight"]
    table = np.zeros((size, words.shape[1]), np.float32)
    table[: len(words)] = words
    table[ids] = np.einsum("nk,nkd->nd", shares, words[near])
    return {name: value for name, value in weights.items() if name != "projection"} | {
        "embeddings.word_embeddings.weight": table
    }


def train(out: Path) -> None:
    from training.judge import JudgeRecipe, trained

    start, data = tensors.load(out / "start.safetensors"), JudgeArrays.load(out / RESULTS["prepare"])
    weights = trained(start, data, JudgeRecipe(), lambda step, loss: say(f"{step} {loss:.3f}"))
    tensors.save(weights, out / RESULTS["train"])


def export(out: Path) -> None:
    from training.graph import export as export_graph
    from training.graph import judge_graph

    folder = out / "chat_judge"
    folder.mkdir(exist_ok=True)
    shutil.copyfile(out / "tokenizer.json", folder / "tokenizer.json")
    probes = probes_of(JudgeArrays.load(out / RESULTS["prepare"]))
    likeness = export_graph(
        tensors.load(out / RESULTS["train"]), folder / "judge.onnx", probes, judge_graph, "logits"
    )  # fmt: skip
    say(f"int8 and fp32 agree to {likeness:.4f}")


def probes_of(data: JudgeArrays, count: int = PROBES) -> list[list[int]]:
    """Some rows as ids: half of them of what people wrote."""
    chance = np.random.default_rng(1)
    mined = data.rows[:, 4] >= data.mined
    chosen = [chance.choice(np.flatnonzero(these), count // 2) for these in (mined, ~mined)]

    def ids(text: int) -> list[int]:
        return data.pieces[data.starts[text] : data.starts[text + 1]].tolist()

    return [
        [101, *ids(first)[:96], 102, *([*ids(second)[:120], 102] if second >= 0 else [])]
        for _, first, second, *_ in data.rows[np.concatenate(chosen)].tolist()
    ]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="conversations.jsonl.gz and train_mined.jsonl.gz")
    parser.add_argument("--encoder", type=Path, help="tokenizer.json and mixed.safetensors")
    parser.add_argument("--models", type=Path, help="the folder with the multilingual model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--until", choices=STEPS, default=STEPS[-1], help="the last step to do")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for step in STEPS[: STEPS.index(options.until) + 1]:
        if (options.out / RESULTS[step]).exists():
            continue
        say(step)
        if step == "prepare":
            if None in {options.data, options.encoder, options.models}:
                parser.error("--data, --encoder and --models are needed for the first step")
            prepare(options.data, options.encoder, options.models, options.out)
        else:
            {"train": train, "export": export}[step](options.out)


if __name__ == "__main__":
    main()
