"""The embedders in use: none at first, then those that the settings ask for, as soon as their weights are there.

What runs them (onnxruntime, the tokenizer) is large, so it is imported when they are loaded: a
process that needs none of it does not pay for it.
"""

import asyncio
import logging
from collections.abc import Collection, Container
from pathlib import Path

from keepstone.errors import KeepstoneError
from keepstone.footprint import give_back
from keepstone.providers.embedder import Embedder
from keepstone.providers.models import CATALOGUE, fetch, installed
from keepstone.providers.openai_embedder import OpenAIEmbedder
from keepstone.settings import Settings

log = logging.getLogger(__name__)


class Embedders:
    """`active` is what search and the index use at this moment, the one for English first; `status` is for people.
    `former` are models for English that came before: their vectors serve until those of the present one are complete.
    """

    def __init__(self, active: tuple[Embedder, ...] = (), former: tuple[Embedder, ...] = ()) -> None:
        self.active = active
        self.former = former
        self.status = "ok" if active else "none: search is by terms"
        self._needed = asyncio.Event()

    def need(self) -> None:
        """There is something to find: whoever waits in `load` may go on."""
        self._needed.set()

    @property
    def english(self) -> Embedder | None:
        return next((embedder for embedder in self.active if not embedder.multilingual), None)

    def outgoing(self, serving: Container[str]) -> tuple[Embedder, ...]:
        """The former ones that still serve where these models do."""
        if self.english is None or self.english.name in serving:
            return ()
        return tuple(embedder for embedder in self.former if embedder.name in serving)

    def instead_of(self, embedder: Embedder) -> list[str]:
        """The models whose place this one takes."""
        return [former.name for former in self.former] if embedder is self.english else []

    def let_go(self, serving: Container[str]) -> tuple[Embedder, ...]:
        """The former ones that serve nowhere any more; from now on they are not asked."""
        gone = tuple(embedder for embedder in self.former if embedder.name not in serving)
        self.former = tuple(embedder for embedder in self.former if embedder not in gone)
        return gone

    async def load(self, settings: Settings, serving: Collection[str] = ()) -> None:
        """Get them ready: fetch the weights now, and load them when there is something to find; with them those that
        came before, if they are at hand and still among the models that are `serving`.

        Until then, and whenever they can't be had, everything works by terms alone.
        """
        try:
            if settings.embeddings_provider == "openai":
                address, model = settings.embeddings_base_url or "", settings.embeddings_model or ""
                self.active = (OpenAIEmbedder(address, settings.embeddings_api_key, model),)
            elif settings.embeddings_provider == "builtin":
                active = await self._builtin(settings)
                unknown = set(serving) - {embedder.name for embedder in active}
                self.former = await asyncio.to_thread(_load_former, models_folder(settings), unknown)
                self.active = active
        except KeepstoneError as fault:
            log.warning("no embedder", extra={"error": fault.code})
            self.status = "none: search is by terms; `keepstone models` fetches the weights and says what is wrong"
            return
        if self.active:
            self.status = "ok"
            log.info("embedders are ready", extra={"models": [embedder.name for embedder in self.active]})

    async def _builtin(self, settings: Settings) -> tuple[Embedder, ...]:
        folder = models_folder(settings)
        if len(installed(folder)) < len(CATALOGUE):
            self.status = "fetching the weights: search is by terms until they are here"
            log.info("fetching the weights of the embedders")
            # A server shows no progress; `keepstone models` does.
            await asyncio.to_thread(fetch, folder, lambda _: None, settings.models_from)
        self.status = "ok: loads with the first message"
        await self._needed.wait()
        self.status = "loading: search is by terms until it is done"
        return await asyncio.to_thread(_load_builtin, folder)

    def close(self) -> None:
        for embedder in (*self.active, *self.former):
            embedder.close()


def models_folder(settings: Settings) -> Path:
    return settings.home / "models"


def _load_builtin(folder: Path) -> tuple[Embedder, ...]:
    from keepstone.providers.minilm import MiniLM
    from keepstone.providers.use import Use

    made = (MiniLM(folder), Use(folder))
    give_back()
    return made


def _load_former(folder: Path, names: Collection[str]) -> tuple[Embedder, ...]:
    """Those of these models that are at hand."""
    from keepstone.providers.encoder import FORMER, former

    try:
        at_hand = former(folder) if FORMER.name in names else None
    except KeepstoneError as fault:
        log.warning("the former embedder can't be loaded", extra={"error": fault.code})
        at_hand = None
    return () if at_hand is None else (at_hand,)
