"""What an embedder is to the rest of Keepstone: text in, vectors out, off the event loop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keepstone.providers.windows import Cutter, Span

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Late-interaction vectors of one text: a row for each kept word piece, of unit length, float32 [n, 128].

    A span is where the whole word that the piece belongs to stands in the text that was embedded: start and end
    characters. Stop words and punctuation have no row, so there may be none at all.
    """

    vectors: Floats
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """The vectors of one text: pooled, of unit length, float32 [d]; and tokens where the model gives them."""

    pooled: Floats
    tokens: Tokens | None


class Embedder(Protocol):
    """`name` identifies the vector space, model and version: vectors of two names are never compared.

    `dimension` is that of the pooled vector; 0 where it is not known before the first call. `context` is how many word
    pieces of the turn before it reads with a passage; 0: none.
    """

    name: str
    dimension: int
    multilingual: bool
    context: int

    @property
    def cut(self) -> Cutter:
        """Character spans of overlapping windows that the model reads whole; one when the text fits. Where another
        process is to cut, it has to be a function of a module.
        """
        ...

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        """The embeddings of passages, in their order. `before` has for each what was said just before it, as it is
        spoken (`Speaker: text`), or nothing; an embedder without `context` does not look at it. Never blocks the event
        loop.
        """
        ...

    async def embed_question(self, text: str) -> Embedding:
        """A question, which some models read otherwise than passages. Never blocks the event loop."""
        ...

    def close(self) -> None: ...
