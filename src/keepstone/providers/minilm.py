"""all-MiniLM-L6-v2 on onnxruntime, int8: pooled vectors and late-interaction vectors in one pass. English.

Owns the tokenizer, the windows, the choice of word pieces that are kept, and two threads of its own: a long backlog
runs in one and a question in the other, so nobody who asks waits for an import.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from keepstone.errors import Misconfigured
from keepstone.providers.embedder import Cutter, Embedding, Floats, Span, Tokens, well_formed
from keepstone.providers.models import MINILM_TOKENIZER, MINILM_WEIGHTS, locked
from keepstone.providers.session import by_length, in_background, in_batches, in_front, open_session
from keepstone.providers.wordpieces import cut, load_tokenizer, whole_words

GRAPH = "all-minilm-l6-v2.int8-1.onnx"  # the number changes with what minilm_graph makes of the same weights
PROJECTION = Path(__file__).with_name("minilm_projection.npy")  # written by bench/projection.py

CLS, SEP = 101, 102
WINDOW, OVERLAP = 254, 32
BATCH_TEXTS, BATCH_TOKENS = 32, 512
QUICK = 1_000  # characters: no more than this in all is a question, not a backlog

# Words whose vectors only match their like. The pieces of contractions are among them: the tokenizer cuts at `'`.
_STOP = """
    a about above after again against ain all also am an and any are aren as at be because been before being below
    between both but by can could couldn d did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just let ll m ma may me might mightn more most must mustn my myself needn no nor not now o of off on once only or
    other our ours ourselves out over own re s same shall shan she should shouldn so some such t than that the their
    theirs them themselves then there these they this those through to too under until up ve very was wasn we were
    weren what when where which while who whom whose why will with won would wouldn y you your yours yourself
    yourselves
"""
STOP_WORDS = frozenset(_STOP.split())


@dataclass(frozen=True, slots=True)
class ReadPieces:
    """A text as the model reads it, and the rows that are kept: positions among `ids`, spans of their words."""

    ids: list[int]
    rows: list[int]
    spans: list[Span]


def load_session(folder: Path) -> Any:
    """The graph, built first where it is missing."""
    if not (folder / GRAPH).exists():
        build_graph(folder)
    return open_session(folder / GRAPH)


def build_graph(folder: Path) -> None:
    """In a process of its own, so that what it needs is given back. Of two that come at once, one builds."""
    command = [sys.executable, "-m", "keepstone.providers.minilm_graph", str(folder)]
    with locked(folder):
        if (folder / GRAPH).exists():
            return
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Misconfigured(f"The model in {folder} could not be made ready ({reason}): run `keepstone models` again.")


def read(tokenizer: Tokenizer, text: str) -> ReadPieces:
    """The word pieces of a text, as many as the model takes."""
    encoding: Any = tokenizer.encode(well_formed(text), add_special_tokens=False)
    ids: list[int] = encoding.ids
    words, spans = whole_words(encoding)
    kept = [carries_meaning(text[start:end]) for start, end in spans]
    rows = [row for row, word in enumerate(words[:WINDOW]) if kept[word]]
    return ReadPieces([CLS, *ids[:WINDOW], SEP], [row + 1 for row in rows], [spans[words[row]] for row in rows])


def carries_meaning(word: str) -> bool:
    return word.lower() not in STOP_WORDS and any(character.isalnum() for character in word)


def batches(pieces: Sequence[ReadPieces]) -> Iterator[list[int]]:
    return by_length([len(piece.ids) for piece in pieces], BATCH_TEXTS, BATCH_TOKENS)


def run(session: Any, pieces: Sequence[ReadPieces]) -> tuple[Floats, Floats]:
    """Pooled vectors [n, 384] and the last layer [n, t, 384]."""
    ids: NDArray[np.int64] = np.zeros((len(pieces), max(len(piece.ids) for piece in pieces)), np.int64)
    mask = np.zeros_like(ids)
    for row, piece in enumerate(pieces):
        ids[row, : len(piece.ids)] = piece.ids
        mask[row, : len(piece.ids)] = 1
    pooled, hidden = session.run(["pooled", "tokens"], {"input_ids": ids, "attention_mask": mask})
    return pooled, hidden


class MiniLM:
    """Loads in the constructor, and builds the graph there the first time: seconds, so not in the event loop."""

    name = "all-MiniLM-L6-v2/int8-1"
    dimension = 384
    multilingual = False
    context = 0

    def __init__(self, folder: Path) -> None:
        for file in (MINILM_WEIGHTS, MINILM_TOKENIZER):
            if not (folder / file).exists():
                raise Misconfigured(f"{folder / file} is missing: run `keepstone models` to fetch it.")
        self._session = load_session(folder)
        self._tokenizer = load_tokenizer(folder / MINILM_TOKENIZER)
        self.cut: Cutter = partial(cut, folder / MINILM_TOKENIZER, False, WINDOW, OVERLAP)
        self._projection: Floats = np.load(PROJECTION).astype(np.float32)
        self._backlog = in_background("minilm")
        self._quick = in_front("minilm")

    async def embed(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,  # noqa: ARG002 - it reads no context
    ) -> list[Embedding]:
        loop = asyncio.get_running_loop()
        if 0 < len(texts) <= BATCH_TEXTS and sum(map(len, texts)) <= QUICK:
            return await loop.run_in_executor(self._quick, lambda: self._run(self._read(texts)))
        pieces = await loop.run_in_executor(self._backlog, self._read, texts)
        return await in_batches(self._backlog, self._run, pieces, list(batches(pieces)))

    async def embed_question(self, text: str) -> Embedding:
        return (await self.embed([text]))[0]

    def close(self) -> None:
        self._quick.shutdown(cancel_futures=True)
        self._backlog.shutdown(cancel_futures=True)

    def _read(self, texts: Sequence[str]) -> list[ReadPieces]:
        return [read(self._tokenizer, text) for text in texts]

    def _run(self, pieces: Sequence[ReadPieces]) -> list[Embedding]:
        pooled, hidden = run(self._session, pieces)
        rows = np.concatenate([hidden[number, piece.rows] for number, piece in enumerate(pieces)])
        rows = rows @ self._projection
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        ends = np.cumsum([len(piece.rows) for piece in pieces])[:-1]
        return [
            Embedding(pooled=mean.copy(), tokens=Tokens(vectors=vectors.copy(), spans=tuple(piece.spans)))
            for mean, vectors, piece in zip(pooled, np.split(rows, ends), pieces, strict=True)
        ]
