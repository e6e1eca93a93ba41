"""What tests put in the place of models and clocks: they say what they are told to, and keep what they were asked."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from keepstone.errors import UpstreamError
from keepstone.providers.embedder import Embedder, Embedding, Span, Tokens
from keepstone.providers.llm import Completion


class FakeModel:
    """A language model that always says this (what is no text, as JSON), or with None is away."""

    name = "fake"

    def __init__(self, says: Any, *, tokens_in: int = 1, tokens_out: int = 1) -> None:
        self.says: str | None = says if says is None or isinstance(says, str) else json.dumps(says)
        self.prompts: list[str] = []
        self.systems: list[str] = []
        self._tokens = {"tokens_in": tokens_in, "tokens_out": tokens_out}

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion:
        await asyncio.sleep(0)
        self.systems.append(system)
        self.prompts.append(prompt)
        if self.says is None:
            raise UpstreamError("The language model could not be reached. Try again.")
        return Completion(text=self.says, **self._tokens)

    async def close(self) -> None: ...


class Ticks:
    """Seconds that pass when a test says so."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class FakeEmbedder:
    """Reads a text whole. What it makes of one is in `vector`."""

    name, dimension, multilingual, context = "fake", 4, False, 0

    def cut(self, text: str) -> list[Span]:
        return [(0, len(text))]

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        await asyncio.sleep(0)
        return [Embedding(pooled=np.array(self.vector(text), dtype=np.float32), tokens=None) for text in texts]

    async def embed_question(self, text: str) -> Embedding:
        return (await self.embed([text]))[0]

    def vector(self, text: str) -> Any:
        """Whatever it reads means the same."""
        return [1, 0, 0, 0]

    def close(self) -> None: ...


class DownEmbedder(FakeEmbedder):
    """One that does not answer, in the place of another."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        if embedder is not None:
            self.name, self.dimension, self.multilingual = embedder.name, embedder.dimension, embedder.multilingual

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        await asyncio.sleep(0)
        raise UpstreamError("It is down.")


class NumberEmbedder(FakeEmbedder):
    """Of four dimensions: enough to fill a large space in seconds. A text is its own vector."""

    name, multilingual = "flat/1", True

    def vector(self, text: str) -> Any:
        return text.rsplit(": ", maxsplit=1)[-1].split()


class LetterEmbedder(FakeEmbedder):
    """By the letters of a text."""

    name, dimension, multilingual = "letters/1", 26, True

    def vector(self, text: str) -> Any:
        counts = np.array([text.lower().count(chr(97 + n)) for n in range(26)], dtype=np.float32) + 0.01
        return counts / np.linalg.norm(counts)


class WordEmbedder(FakeEmbedder):
    """Reads a text as the words in it: near in meaning is what shares them."""

    name, dimension = "bag", 64

    def vector(self, text: str) -> Any:
        total = np.full(self.dimension, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            direction = np.random.default_rng(abs(sum(map(ord, word)) * 7919)).normal(size=self.dimension)
            total += direction.astype(np.float32)
        return total / np.linalg.norm(total)


class HearingEmbedder(WordEmbedder):
    """Reads words together with the turn before, and keeps by text what it was told of that. Has token vectors, too."""

    name, context = "hearing/1", 48

    def __init__(self) -> None:
        self.heard: dict[str, str] = {}

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        said = list(before or [""] * len(texts))
        self.heard |= dict(zip(texts, said, strict=True))
        made = await super().embed([f"{text} {turn}" for text, turn in zip(texts, said, strict=True)])
        tokens = [np.tile(embedding.pooled, (1, 2)) for embedding in made]
        return [
            Embedding(embedding.pooled, Tokens(vectors, ((0, 1),)))
            for embedding, vectors in zip(made, tokens, strict=True)
        ]
