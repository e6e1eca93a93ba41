"""An encoder of token vectors on onnxruntime, from a folder: the built-in one, the one before it, or any other.

Pooled vectors and late-interaction vectors come out of one pass. Threads of its own: a long backlog runs in two and a
question in another, so nobody who asks waits for an import.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepstone.errors import Misconfigured
from keepstone.providers.embedder import Embedding, Floats, Tokens
from keepstone.providers.manifest import INPUTS, Manifest, check_folder
from keepstone.providers.mapped import open_mapped
from keepstone.providers.reading import Pieces, Reader
from keepstone.providers.session import by_length, in_background, in_batches, in_front
from keepstone.providers.windows import Cutter
from keepstone.providers.wordpieces import cut

BATCH_TEXTS, BATCH_TOKENS = 32, 256  # more is more padding and memory, lets others wait, and is no faster
AT_ONCE = 2  # batches of a backlog
QUICK = 1_000  # characters: no more than this in all is as short as a question, and no backlog
_MOST_DIMENSIONS = 4_000  # of a pooled vector that Postgres can index
_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

# What was built in before there was an encoder for chats: its vectors serve until there are new ones.
FORMER = Manifest(
    name="all-MiniLM-L6-v2/int8-1", graph="all-minilm-l6-v2.int8-1.onnx", tokenizer="all-minilm-l6-v2.tokenizer.json"
)
FORMER_PROJECTION = Path(__file__).with_name("minilm_projection.npy")


class Encoder:
    """Loads in the constructor, and reads there a passage as long as may come: not in the event loop."""

    def __init__(
        self, folder: Path, manifest: Manifest | None = None, projection: Path | None = None, mapped: Path | None = None
    ) -> None:
        """`mapped` is where a graph may be kept that takes less memory."""
        manifest = manifest or check_folder(folder)
        self.name, self.multilingual, self.context = manifest.name, manifest.multilingual, manifest.context
        self._graph = folder / manifest.graph
        if manifest.projection:
            projection = folder / manifest.projection
        self._reader = Reader(folder, manifest)
        self._projection = _load_projection(projection) if projection else None
        self._open(manifest, mapped)
        tokenizer = (folder / manifest.tokenizer).absolute()
        self.cut: Cutter = partial(cut, tokenizer, manifest.lowercase, manifest.window, manifest.overlap)
        self.dimension = self._probe(manifest)
        self._backlog = in_background("encoder", AT_ONCE)
        self._quick = in_front("encoder")

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        loop = asyncio.get_running_loop()
        length = sum(map(len, texts)) + sum(map(len, before or ()))
        if 0 < len(texts) <= BATCH_TEXTS and length <= QUICK:
            return await loop.run_in_executor(self._quick, lambda: self._run(self._reader.passages(texts, before)))
        pieces = await loop.run_in_executor(self._backlog, self._reader.passages, texts, before)
        lengths = [len(piece.ids) for piece in pieces]
        batches = list(by_length(lengths, BATCH_TEXTS, BATCH_TOKENS))
        return await in_batches(self._backlog, self._run, pieces, batches)

    async def embed_question(self, text: str) -> Embedding:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._quick, lambda: self._run([self._reader.question(text)])[0])

    def close(self) -> None:
        self._quick.shutdown(cancel_futures=True)
        self._backlog.shutdown(cancel_futures=True)

    def _run(self, pieces: Sequence[Pieces]) -> list[Embedding]:
        pooled, tokens = self._vectors(pieces)
        rows = self._projected(np.concatenate([tokens[number, piece.rows] for number, piece in enumerate(pieces)]))
        kept = np.split(rows, np.cumsum([len(piece.rows) for piece in pieces])[:-1])
        if pooled is None:
            # Of what has only stop words, those have to do.
            means = [
                vectors if len(vectors) else self._projected(tokens[number, piece.own : piece.attended])
                for number, (piece, vectors) in enumerate(zip(pieces, kept, strict=True))
            ]
            pooled = _unit(np.stack([vectors.mean(axis=0) for vectors in means]))
        return [
            Embedding(pooled=mean.copy(), tokens=Tokens(vectors=vectors.copy(), spans=tuple(piece.spans)))
            for mean, vectors, piece in zip(pooled, kept, pieces, strict=True)
        ]

    def _projected(self, rows: Floats) -> Floats:
        return _unit(rows if self._projection is None else rows @ self._projection)

    def _vectors(self, pieces: Sequence[Pieces]) -> tuple[Floats | None, Floats]:
        """Pooled vectors [n, D], where the graph gives them, and those of all pieces [n, t, d]."""
        shape = len(pieces), max(len(piece.ids) for piece in pieces)
        ids: NDArray[np.int64] = np.zeros(shape, np.int64)
        mask, pooled_mask = np.zeros_like(ids), np.zeros_like(ids)
        for row, piece in enumerate(pieces):
            ids[row, : len(piece.ids)] = piece.ids
            mask[row, : piece.attended] = 1
            pooled_mask[row, piece.own : piece.attended] = 1
        given: dict[str, NDArray[np.int64]] = dict(
            zip(INPUTS, (ids, mask, np.zeros_like(ids), pooled_mask), strict=True)
        )
        feed = {name: given[ours].astype(kind, copy=False) for name, (ours, kind) in self._inputs.items()}
        made = [output.astype(np.float32, copy=False) for output in self._session.run(self._outputs, feed)]
        return (made[1] if len(made) > 1 else None), made[0]

    def _open(self, manifest: Manifest, mapped: Path | None) -> None:
        """The session, and what it is fed and gives, by the names that the graph has for it."""
        try:
            self._session = open_mapped(self._graph, mapped)
        except Exception as fault:  # onnxruntime has one for each status
            raise self._unusable(f"can't be loaded ({_first_line(fault)})") from None
        names = {manifest.inputs.get(ours, ours): ours for ours in INPUTS}
        self._inputs: dict[str, tuple[str, Any]] = {}
        for node in self._session.get_inputs():
            if node.name not in names or node.type not in _INTEGERS:
                raise self._unusable(
                    f"wants {node.name} ({node.type}), and is given integers as {', '.join(names)}: export it with "
                    "these, or name them in `inputs`"
                )
            self._inputs[node.name] = names[node.name], _INTEGERS[node.type]
        outputs = {node.name: node for node in self._session.get_outputs()}
        of_pieces = [name for name, node in outputs.items() if len(node.shape or ()) == 3]
        usual = of_pieces[0] if len(of_pieces) == 1 else "tokens"
        tokens = manifest.outputs.get("tokens", usual)
        pooled = manifest.outputs.get("pooled", "pooled" if "pooled" in outputs else "")
        for name in (tokens, pooled):
            if name and name not in outputs:
                raise self._unusable(
                    f"has no output {name}, only {', '.join(outputs)}: export one with a vector for each word piece, "
                    "or name it in `outputs`"
                )
        self._outputs = [tokens, *([pooled] if pooled else [])]

    def _probe(self, manifest: Manifest) -> int:
        """The dimension of pooled vectors, from reading as much as may come at once."""
        longest = Pieces([0] * self._reader.longest, self._reader.longest, 0, [0, 1], [(0, 1), (0, 1)])
        try:
            pooled, tokens = self._vectors([longest])
        except Exception as fault:  # onnxruntime has one for each status
            raise self._unusable(
                f"does not read {self._reader.longest} word pieces ({_first_line(fault)}): make `window` smaller"
            ) from None
        if tokens.ndim != 3 or tokens.shape[:2] != (1, self._reader.longest):
            raise self._unusable(f"gives {self._outputs[0]} of shape {list(tokens.shape)}, not [n, t, d]")
        if pooled is not None and (pooled.ndim != 2 or len(pooled) != 1):
            raise self._unusable(f"gives {self._outputs[1]} of shape {list(pooled.shape)}, not [n, D]")
        dimensions = tokens.shape[2]
        if self._projection is not None and dimensions != len(self._projection):
            raise self._unusable(f"gives {dimensions} dimensions, and `projection` takes {len(self._projection)}")
        if self._projection is None and manifest.dimension not in {0, dimensions}:
            raise self._unusable(f"gives {dimensions} dimensions, not {manifest.dimension}: export its projection too")
        dimension = self._run([longest])[0].pooled.size
        if dimension > _MOST_DIMENSIONS:
            raise self._unusable(f"gives pooled vectors of {dimension} dimensions, more than {_MOST_DIMENSIONS}")
        return dimension

    def _unusable(self, problem: str) -> Misconfigured:
        return Misconfigured(f"The graph {self._graph} {problem}. docs/encoders.md says what a graph has to have.")


def former(folder: Path) -> Encoder | None:
    """The encoder that was built in before, where its graph is still in the folder of models."""
    files = (folder / FORMER.graph, folder / FORMER.tokenizer)
    return Encoder(folder, FORMER, FORMER_PROJECTION) if all(file.is_file() for file in files) else None


def _load_projection(path: Path) -> Floats:
    try:
        matrix = np.load(path, allow_pickle=False)
    except (OSError, ValueError):
        raise Misconfigured(f"{path} is no matrix that numpy has saved.") from None
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise Misconfigured(f"{path} has to be a matrix of floats, from the graph's dimensions to those of the tokens.")
    return matrix.astype(np.float32)


def _unit(vectors: Floats) -> Floats:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _first_line(fault: Exception) -> str:
    return (str(fault).strip().splitlines() or ["no reason given"])[0][:200]
