"""Fits the matrix that takes MiniLM's token vectors from 384 to 128 dimensions: `python -m bench.projection`.

An uncentred PCA (the leading eigenvectors of the second moment), so that products stay what they were as far as 128
dimensions can say it. Fitted on QMSum and LongMemEval, both MIT; written to src/keepstone/providers, as data.
"""

import argparse
import gzip
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keepstone.providers import minilm, models
from keepstone.settings import read_settings

DATA = Path(os.environ.get("KEEPSTONE_BENCH_DATA", Path(__file__).parents[2] / "shared" / "data"))
DIMENSION = 128
TEXTS = 12_000


def sentences(data: Path) -> Iterator[str]:
    """Turns of meetings and chats, as passages are written: who, then what."""
    for meeting in load(data / "qmsum_dev.json.gz"):
        for turn in meeting["meeting_transcripts"]:
            yield f"{turn['speaker']}: {turn['content']}"
    seen: set[str] = set()
    for question in load(data / "longmemeval_s_dev.json.gz"):
        yield question["question"]
        for session in question["haystack_sessions"]:
            for turn in session:
                if turn["content"] not in seen:
                    seen.add(turn["content"])
                    yield f"{turn['role']}: {turn['content']}"


def load(path: Path) -> Any:
    with gzip.open(path, "rt") as file:
        return json.load(file)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--models", type=Path, default=read_settings().home / "models", help="default: KEEPSTONE_HOME/models"
    )
    options.add_argument("--data", type=Path, default=DATA)
    chosen = options.parse_args()
    texts = random.Random(1).sample(sorted(set(sentences(chosen.data))), TEXTS)

    chosen.models.mkdir(mode=0o700, parents=True, exist_ok=True)
    models.fetch(chosen.models, print)
    session, tokenizer = (
        minilm.load_session(chosen.models),
        minilm.load_tokenizer(chosen.models / minilm.MINILM_TOKENIZER),
    )
    moment, count = np.zeros((384, 384)), 0
    pieces = [minilm.read(tokenizer, text) for text in texts]
    for batch in minilm.batches(pieces):
        chosen_pieces = [pieces[number] for number in batch]
        _, hidden = minilm.run(session, chosen_pieces)
        rows = np.concatenate([hidden[n, each.rows] for n, each in enumerate(chosen_pieces)]).astype(np.float64)
        # Each token counts the same, whatever its length: MaxSim compares directions.
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        moment += rows.T @ rows
        count += len(rows)
    values, vectors = np.linalg.eigh(moment / count)
    # A sign is arbitrary: the largest entry of each column is positive, so that another run gives the same file.
    matrix = vectors[:, ::-1][:, :DIMENSION]
    matrix = matrix * np.sign(matrix[np.abs(matrix).argmax(axis=0), np.arange(DIMENSION)])
    np.save(minilm.PROJECTION, matrix.astype(np.float16))
    kept = values[::-1][:DIMENSION].sum() / values.sum()
    print(f"{count} tokens of {len(texts)} texts; {kept:.1%} of the moment kept; {minilm.PROJECTION}")


if __name__ == "__main__":
    main()
