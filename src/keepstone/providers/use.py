"""USE-multilingual-v3 on onnxruntime: pooled vectors in one space for 16 languages, and no token vectors.

Its tokenizer is part of the graph, as a custom operation of onnxruntime-extensions.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from keepstone.errors import Misconfigured
from keepstone.providers.embedder import Embedding, Floats
from keepstone.providers.mapped import open_mapped
from keepstone.providers.models import USE_GRAPH, operations
from keepstone.providers.session import by_length, in_background, in_batches, in_front
from keepstone.providers.windows import Cutter, cut_by_characters, well_formed

WINDOW, OVERLAP = 1_000, 120  # characters: a mean over much more says little
BATCH, BATCH_CHARACTERS = 32, 4_000  # its memory grows with their product
QUICK = 1_000  # characters: no more than this in all is a question, not a backlog


class Use:
    """Loads in the constructor, which takes most of a second: not in the event loop."""

    name = "USE-multilingual-v3/1"
    dimension = 512
    multilingual = True
    context = 0

    def __init__(self, folder: Path, mapped: Path | None = None) -> None:
        """`mapped` is where a graph may be kept that takes less memory."""
        if not (folder / USE_GRAPH).exists():
            raise Misconfigured(f"{folder / USE_GRAPH} is missing: run `keepstone models` to fetch it.")
        self._session = open_mapped(folder / USE_GRAPH, mapped, operations())
        self._backlog = in_background("use")
        self._quick = in_front("use")
        self.cut: Cutter = partial(cut_by_characters, window=WINDOW, overlap=OVERLAP)

    async def embed(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,  # noqa: ARG002 - it reads no context
    ) -> list[Embedding]:
        quick = len(texts) <= BATCH and sum(map(len, texts)) <= QUICK
        batches = list(by_length([len(text) for text in texts], BATCH, BATCH_CHARACTERS))
        return await in_batches(self._quick if quick else self._backlog, self._run, texts, batches)

    async def embed_question(self, text: str) -> Embedding:
        return (await self.embed([text]))[0]

    def close(self) -> None:
        self._quick.shutdown(cancel_futures=True)
        self._backlog.shutdown(cancel_futures=True)

    def _run(self, texts: Sequence[str]) -> list[Embedding]:
        # Other embedders cut by words, and a word can be as long as a book: its memory would be, too.
        inputs = np.array([well_formed(text[:BATCH_CHARACTERS]) for text in texts], dtype=object)
        pooled: Floats = self._session.run(["outputs"], {"inputs": inputs})[0]
        pooled /= np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        return [Embedding(pooled=vector.copy(), tokens=None) for vector in pooled]
