"""The models of another process: where a server has several, the first alone loads them, and the others ask it.

A model takes tens of megabytes and its run is not Python's: one thread of one process reads the questions of all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keepstone.errors import UpstreamError
from keepstone.link import Link
from keepstone.model.provider import Outage
from keepstone.providers.embedder import Cutter, Embedder, Embedding
from keepstone.providers.embedders import Embedders
from keepstone.providers.judge import BATCH_TEXTS, Judge
from keepstone.providers.llm import outage_of

_Described = tuple[str, int, bool, int, Cutter, Outage | None]


@dataclass(frozen=True, slots=True, eq=False)
class RemoteEmbedder:
    """As the one of this name in the first process, which is told by `link`."""

    link: Link
    name: str
    dimension: int
    multilingual: bool
    context: int
    cut: Cutter
    outage: Outage | None = None

    @property
    def described(self) -> tuple[str, int, Outage | None]:
        """What of it may be another from one moment to the next."""
        return self.name, self.dimension, self.outage

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        return await self.link.ask("embed", (self.name, texts, before))

    async def embed_question(self, text: str) -> Embedding:
        return await self.link.ask("embed_question", (self.name, text))

    def close(self) -> None:
        """It is the first process's."""


class RemoteEmbedders(Embedders):
    """Those of the first process, which says whenever they change."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link
        self._known: dict[str, RemoteEmbedder] = {}
        self._told = False

    def need(self) -> None:
        if not self._told:
            self._told = True
            self._link.tell("need")

    def become(self, described: "EmbeddersState") -> None:
        self.status = described.status
        self.active = tuple(self._named(description) for description in described.active)
        self.former = tuple(self._named(description) for description in described.former)

    def _named(self, description: "_Described") -> RemoteEmbedder:
        known, named = self._known.get(description[0]), RemoteEmbedder(self._link, *description)
        if known is None or known.described != named.described:
            known = self._known[named.name] = named
        return known


@dataclass(frozen=True, slots=True)
class EmbeddersState:
    """Embedders as another process has to know them."""

    status: str
    active: list["_Described"]
    former: list["_Described"]


def describe_embedders(embedders: Embedders) -> EmbeddersState:
    def described(embedder: Embedder) -> _Described:
        named = embedder.name, embedder.dimension, embedder.multilingual, embedder.context, embedder.cut
        return *named, outage_of(embedder)

    return EmbeddersState(
        embedders.status, [described(each) for each in embedders.active], [described(each) for each in embedders.former]
    )


class RemoteJudge(Judge):
    """The first process's."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self._link = link

    async def read(
        self, pairs: Sequence[tuple[str, str | None]], batch: int = BATCH_TEXTS, *, awaited: bool = True
    ) -> NDArray[np.float32]:
        return await self._link.ask("judge", (pairs, batch, awaited))

    def close(self) -> None:
        pass


async def ask_model(embedders: Embedders, judge: Judge | None, kind: str, value: Any) -> Any:
    """In the first process: what another asks of a model."""
    if kind == "judge" and judge is not None:
        pairs, batch, awaited = value
        return await judge.read(pairs, batch, awaited=awaited)
    name, *given = value
    embedder = next((each for each in (*embedders.active, *embedders.former) if each.name == name), None)
    if embedder is None:
        raise UpstreamError("This model is not in use any more: others are.")
    return await (embedder.embed(*given) if kind == "embed" else embedder.embed_question(*given))
