"""Any OpenAI-compatible embeddings endpoint, in place of the local models: pooled vectors only.

Neither the key nor a text is ever part of an error or a log line.
"""

import asyncio
import json
from collections.abc import Sequence
from functools import partial

import numpy as np
from pydantic import BaseModel, ValidationError

from keepstone.errors import UpstreamError
from keepstone.providers.embedder import Embedding, Floats
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.providers.patience import post
from keepstone.providers.windows import Cutter, cut_by_characters, well_formed

WINDOW, OVERLAP = 1_500, 150  # characters: under 512 tokens in most scripts, which every such model reads
BATCH = 128
SECONDS = 30  # that a batch may take


class _Vector(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Vector]


class OpenAIEmbedder:
    """`dimension` is 0 until the endpoint has answered once: a server starts while it is down."""

    multilingual = True
    context = 0

    def __init__(self, base_url: str, api_key: str | None, model: str, *, retries: int = 4) -> None:
        self.name = f"openai/{model}"
        self.dimension = 0
        self._model = model
        self._retries = retries
        self._upstream = OpenAIUpstream(base_url, api_key, model, settings="KEEPSTONE_EMBEDDINGS")
        self._closing: asyncio.Task[None] | None = None
        self.cut: Cutter = partial(cut_by_characters, window=WINDOW, overlap=OVERLAP)

    async def embed(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,  # noqa: ARG002 - it reads no context
    ) -> list[Embedding]:
        embeddings: list[Embedding] = []
        for start in range(0, len(texts), BATCH):
            embeddings += await self._call(texts[start : start + BATCH])
        return embeddings

    async def embed_question(self, text: str) -> Embedding:
        return (await self.embed([text]))[0]

    def close(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # the connections went with their loop
        self._closing = loop.create_task(self._upstream.close())

    async def _call(self, texts: Sequence[str]) -> list[Embedding]:
        # An empty text is refused by most. Floats, because not every server knows base64.
        inputs = [well_formed(text) or " " for text in texts]
        asked = {"model": self._model, "input": inputs, "encoding_format": "float"}
        try:
            status, body = await post(
                self._upstream, "/embeddings", json.dumps(asked).encode(), retries=self._retries, seconds=SECONDS
            )
        except UpstreamError:
            raise UpstreamError(
                "The embeddings endpoint could not be reached in time: look whether it runs and its address is right."
            ) from None
        if not 200 <= status < 300:
            raise UpstreamError(f"The embeddings endpoint answered {status}: {_advice(status)}.")
        try:
            entries = sorted(_Embeddings.model_validate_json(body).data, key=lambda entry: entry.index)
        except ValidationError:
            raise UpstreamError("The embeddings endpoint did not answer with embeddings: check its address.") from None
        rows = [np.array(entry.embedding, np.float32) for entry in entries]
        return self._embeddings(rows, len(texts))

    def _embeddings(self, rows: Sequence[Floats], expected: int) -> list[Embedding]:
        shapes = {row.shape for row in rows}
        if len(rows) != expected or len(shapes) != 1 or len(rows[0].shape) != 1 or not rows[0].size:
            raise UpstreamError(f"The embeddings endpoint answered {expected} texts with something else.")
        dimension = rows[0].size
        if self.dimension not in {0, dimension}:
            raise UpstreamError(
                f"The embeddings endpoint now gives {dimension} dimensions instead of {self.dimension}: it runs "
                "another model. Set it back, or restart Keepstone and run `keepstone reembed`."
            )
        vectors: Floats = np.stack(rows)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise UpstreamError("The embeddings endpoint gave vectors without a direction.")
        self.dimension = dimension
        return [Embedding(pooled=vector, tokens=None) for vector in vectors / norms]


def _advice(status: int) -> str:
    if status in {401, 403}:
        return "check the key"
    if status == 404:
        return "check the address and the name of the model"
    if status == 429:
        return "too many requests, or no credit left"
    return "try again later" if status >= 500 else "check the name of the model"
