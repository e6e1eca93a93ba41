"""Any OpenAI-compatible embeddings endpoint, in place of the local models: pooled vectors only.

Neither the key nor a text is ever part of an error or a log line.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from pydantic import BaseModel, ValidationError

from keepstone.errors import UpstreamError
from keepstone.model.provider import Outage
from keepstone.providers.breaker import Breaker, growing_pause
from keepstone.providers.embedder import Embedding, Floats
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.providers.patience import advice, is_its_fault, post
from keepstone.providers.upstream import Retiring, Upstream
from keepstone.providers.windows import Cutter, cut_by_characters, well_formed

WINDOW, OVERLAP = 1_500, 150  # characters: under 512 tokens in most scripts, which every such model reads
BATCH = 128
SECONDS = 30  # that a batch may take
QUESTION_SECONDS = 5  # that somebody waits for what they search by; then it is searched without


class _Vector(BaseModel):
    index: int
    embedding: list[float]


class _Embeddings(BaseModel):
    data: list[_Vector]


class OpenAIEmbedder:
    """`dimension` is 0 until the endpoint has answered once: a server starts while it is down. `changed` is called when
    it is known, and when an outage begins or ends.
    """

    multilingual = True
    context = 0

    def __init__(
        self, base_url: str, api_key: str | None, model: str, *, retries: int = 4,
        question_seconds: float = QUESTION_SECONDS, pause: Callable[[int], float] = growing_pause,
        upstream: Upstream | None = None,
    ) -> None:  # fmt: skip
        self.name = self.name_of(model)
        self.dimension = 0
        self._model = model
        self._retries = retries
        self._question_seconds = question_seconds
        self._upstream = upstream or OpenAIUpstream(base_url, api_key, model, settings="KEEPSTONE_EMBEDDINGS")
        self._closing: asyncio.Task[None] | None = None
        self._breaker = Breaker("embeddings endpoint", self._try_it, pause)
        self.cut: Cutter = partial(cut_by_characters, window=WINDOW, overlap=OVERLAP)

    @staticmethod
    def name_of(model: str) -> str:
        """Whoever serves a model: under one name are vectors that can be compared."""
        return f"openai/{model}"

    @property
    def outage(self) -> Outage | None:
        return self._breaker.outage

    @property
    def changed(self) -> Callable[[], None]:
        return self._breaker.changed

    @changed.setter
    def changed(self, changed: Callable[[], None]) -> None:
        self._breaker.changed = changed

    async def embed(
        self,
        texts: Sequence[str],
        before: Sequence[str] | None = None,  # noqa: ARG002 - it reads no context
    ) -> list[Embedding]:
        embeddings: list[Embedding] = []
        for start in range(0, len(texts), BATCH):
            self._breaker.require()
            embeddings += await self._call(texts[start : start + BATCH], self._retries, SECONDS)
        return embeddings

    async def embed_question(self, text: str) -> Embedding:
        """Asked once: whoever searches does not wait for a second try."""
        self._breaker.require()
        return (await self._call([text], 0, self._question_seconds))[0]

    def retire(self) -> None:
        """Another takes its place: it is closed when nobody uses it any more."""
        self._breaker.close()
        if isinstance(self._upstream, Retiring):
            self._upstream.retire()

    def close(self) -> None:
        self._breaker.close()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # the connections went with their loop
        self._closing = loop.create_task(self._upstream.close())

    async def _try_it(self) -> None:
        await self._call(["Are you there?"], 0, SECONDS)

    async def _call(self, texts: Sequence[str], retries: int, seconds: float) -> list[Embedding]:
        try:
            made = await self._ask(texts, retries, seconds)
        except _Away as fault:
            self._breaker.failed(fault.reason)
            raise UpstreamError(fault.message) from None
        self._breaker.worked()
        return made

    async def _ask(self, texts: Sequence[str], retries: int, seconds: float) -> list[Embedding]:
        # An empty text is refused by most. Floats, because not every server knows base64.
        inputs = [well_formed(text) or " " for text in texts]
        asked = {"model": self._model, "input": inputs, "encoding_format": "float"}
        try:
            status, body = await post(
                self._upstream, "/embeddings", json.dumps(asked).encode(), retries=retries, seconds=seconds
            )
        except UpstreamError:
            raise _Away(
                "could not be reached in time",
                "The embeddings endpoint could not be reached in time: look whether it runs and its address is right.",
            ) from None
        if not 200 <= status < 300:
            message = f"The embeddings endpoint answered {status}: {advice(status)}."
            if is_its_fault(status):
                raise _Away(f"answered {status}", message)
            raise UpstreamError(message)
        try:
            entries = sorted(_Embeddings.model_validate_json(body).data, key=lambda entry: entry.index)
        except ValidationError:
            raise _Away(
                "did not answer with embeddings",
                "The embeddings endpoint did not answer with embeddings: check its address.",
            ) from None
        rows = [np.array(entry.embedding, np.float32) for entry in entries]
        return self._embeddings(rows, len(texts))

    def _embeddings(self, rows: Sequence[Floats], expected: int) -> list[Embedding]:
        shapes = {row.shape for row in rows}
        if len(rows) != expected or len(shapes) != 1 or len(rows[0].shape) != 1 or not rows[0].size:
            raise UpstreamError(f"The embeddings endpoint answered {expected} texts with something else.")
        dimension = rows[0].size
        if self.dimension not in {0, dimension}:
            raise _Away(
                "runs another model than before",
                f"The embeddings endpoint now gives {dimension} dimensions instead of {self.dimension}: it runs "
                "another model. Set it back, or restart Keepstone and run `keepstone reembed`.",
            )
        vectors: Floats = np.stack(rows)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(norms).all() and norms.all()):
            raise UpstreamError("The embeddings endpoint gave vectors without a direction.")
        if not self.dimension:
            self.dimension = dimension
            self.changed()
        return [Embedding(pooled=vector, tokens=None) for vector in vectors / norms]


class _Away(Exception):
    """It can't be used at the moment, whatever it is asked; `reason` goes on from "it"."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message
