"""Embeddings for whoever asks: made on this machine, by the models that search uses too."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keepstone.errors import Invalid, NotFound, Unavailable
from keepstone.providers.embedder import Embedder, Floats
from keepstone.providers.windows import well_formed
from keepstone.services import Services

MOST_TEXTS = 2_048
MOST_CHARACTERS = 1_200_000  # of all texts: what a small machine embeds in minutes, not in hours
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A vector of unit length for each text, in their order; `tokens` is a rough count."""

    model: str
    vectors: list[Floats]
    tokens: int


# What OpenAI's clients ask for where nobody told them otherwise. They get what there is.
USUAL = ("text-embedding-3-small", "text-embedding-3-large", "text-embedding-ada-002")


def models(services: Services) -> list[str]:
    """Names that can be asked for at this moment."""
    if services.embeddings_upstream is not None:
        own = services.embeddings_upstream.model
        return [] if own is None else [own] if own in USUAL else [own, *USUAL]
    names = [embedder.name for embedder in services.embedders.active]
    return [*names, *USUAL] if names else []


def stands_for(model: str | None, own: str | None) -> str | None:
    """The model that is meant where the usual names mean no other: an endpoint whose `own` is one of them knows them
    all.
    """
    return own if not model or (model in USUAL and own is not None and own not in USUAL) else model


async def embed(
    services: Services, texts: Sequence[str], *, model: str | None = None, dimensions: int | None = None
) -> Embedded:
    """By this model; without a name by the one for English. A text that is longer than the model reads is read in
    windows, and gets what they have in common.
    """
    embedder = _embedder(services, model)
    if dimensions not in {None, embedder.dimension}:
        raise Invalid(
            f"{embedder.name} has {embedder.dimension} dimensions: leave `dimensions` out.",
            details=[{"path": "dimensions", "message": f"must be {embedder.dimension}"}],
        )
    if not 1 <= len(texts) <= MOST_TEXTS or not all(texts):
        raise _wrong_input(f"`input` must be 1 to {MOST_TEXTS} texts, none of them empty.")
    if sum(map(len, texts)) > MOST_CHARACTERS:
        raise _wrong_input(f"`input` has more than {MOST_CHARACTERS} characters: send it in several requests.")
    whole = [well_formed(text) for text in texts]
    spans = await asyncio.to_thread(lambda: [embedder.cut(text) for text in whole])
    windows = [text[start:end] for text, parts in zip(whole, spans, strict=True) for start, end in parts]
    made = iter(await embedder.embed(windows))
    vectors = [_together([next(made).pooled for _ in parts], [end - start for start, end in parts]) for parts in spans]
    tokens = sum(max(1, len(text) // _CHARACTERS_A_TOKEN) for text in texts)
    return Embedded(model=embedder.name, vectors=vectors, tokens=tokens)


def _embedder(services: Services, model: str | None) -> Embedder:
    active = services.embedders.active
    if services.settings.embeddings_provider == "none":
        raise Unavailable(
            "This server makes no embeddings: its operator has set KEEPSTONE_EMBEDDINGS_PROVIDER to none.",
            code="no_embeddings",
        )
    if not active:
        services.embedders.need()
        raise Unavailable("The embedding models are being loaded. Try again.", code="loading", retry_after=5)
    if not model or model in USUAL:
        return next((embedder for embedder in active if not embedder.multilingual), active[0])
    named = [embedder for embedder in active if embedder.name == model]
    if not named:
        known = ", ".join(embedder.name for embedder in active)
        raise NotFound(
            f"There is no such embedding model here: ask for {known}, or for none.",
            code="model_not_found",
            details=[{"path": "model", "message": "not here"}],
        )
    return named[0]


def _together(vectors: Sequence[Floats], weights: Sequence[int]) -> Floats:
    if len(vectors) == 1:
        return vectors[0]
    mean: Floats = np.average(np.stack(vectors), axis=0, weights=weights).astype(np.float32)
    length = float(np.linalg.norm(mean))
    return mean / np.float32(length) if length else vectors[0]


def _wrong_input(message: str) -> Invalid:
    return Invalid(message, details=[{"path": "input", "message": message}])
