"""The embedders in use: none at first, then those that the settings ask for, as soon as their weights are there. The
encoder is opened with the server, so that whoever comes first finds by meaning; the multilingual model, which is larger
and need not even be there, with the first message.

What runs them (onnxruntime, the tokenizer) is large, so it is imported when they are loaded: a
process that needs none of it does not pay for it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Container, Mapping
from pathlib import Path
from weakref import WeakSet

from keepstone.errors import KeepstoneError
from keepstone.footprint import give_back
from keepstone.model.provider import Outage
from keepstone.providers.embedder import Embedder
from keepstone.providers.llm import outage_of
from keepstone.providers.models import CATALOGUE, Report, fetch, installed
from keepstone.providers.openai_embedder import OpenAIEmbedder
from keepstone.settings import Settings

log = logging.getLogger(__name__)


class Embedders:
    """`active` is what search and the index use at this moment, the one for English first; `status` is for people.
    `former` are models that came before: their vectors serve until those of the leading one are complete.
    """

    def __init__(self, active: tuple[Embedder, ...] = (), former: tuple[Embedder, ...] = ()) -> None:
        self.active = active
        self.former = former
        self.status = "ok" if active else _WITHOUT
        self.changed: Callable[[], None] = lambda: None  # called whenever any of these is another
        self.opened = asyncio.Event()  # the encoder, or it is known that it has to be fetched, or can't be had
        self._needed = asyncio.Event()
        self._opening: asyncio.Task[Embedder] | None = None
        self._retired: WeakSet[OpenAIEmbedder] = WeakSet()  # as long as somebody uses them

    def need(self) -> None:
        """There is something to find: whoever waits in `load` may go on."""
        self._needed.set()

    def begin(self, settings: Settings) -> None:
        """Open the encoder that is on this machine beside whatever else starts; `load` takes it then."""
        if settings.embeddings_provider == "builtin" and not on_hub(settings):
            self._opening = asyncio.create_task(_open_of(settings), name="open the encoder")

    @property
    def leading(self) -> Embedder | None:
        """The one that takes the place of those before: the one for English, or the only one."""
        return next((embedder for embedder in self.active if not embedder.multilingual), next(iter(self.active), None))

    def outgoing(self, serving: Container[str]) -> tuple[Embedder, ...]:
        """The former ones that still serve where these models do."""
        if self.leading is None or self.leading.name in serving:
            return ()
        return tuple(embedder for embedder in self.former if embedder.name in serving)

    def instead_of(self, embedder: Embedder) -> list[str]:
        """The models whose place this one takes."""
        leading = self.leading
        return [one.name for one in self.former] if leading is not None and embedder.name == leading.name else []

    @property
    def outage(self) -> Outage | None:
        """Why one of them is not asked at the moment."""
        return next((outage for outage in map(outage_of, self.active) if outage is not None), None)

    def let_go(self, serving: Container[str]) -> tuple[Embedder, ...]:
        """The former ones that serve nowhere any more; from now on they are not asked."""
        gone = tuple(embedder for embedder in self.former if embedder.name not in serving)
        self.former = tuple(embedder for embedder in self.former if embedder not in gone)
        self.changed()
        return gone

    async def load(
        self, settings: Settings, serving: Collection[str] = (), joined: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Get them ready, each as soon as its weights are here, the multilingual model not before there is something
        to find; then `joined` is told. With the encoder come those before it, if they are at hand and still among those
        that are `serving`.

        Until then, and whenever they can't be had, everything works by terms alone.
        """
        try:
            await self._load(settings, serving, joined)
        finally:
            self.opened.set()
            self._drop_opening()

    async def _load(
        self, settings: Settings, serving: Collection[str], joined: Callable[[], Awaitable[None]] | None
    ) -> None:
        if settings.embeddings_provider == "openai":
            self.former = await asyncio.to_thread(_load_former, settings, set(serving) - {_endpoint_name(settings)})
            self.active = (self._endpoint(settings),)
            self.status = "ok"
            self.changed()
            if joined is not None:
                await joined()
        elif settings.embeddings_provider == "builtin":
            states: dict[str, str] = dict.fromkeys((_ENCODER, _MULTILINGUAL), "fetching")
            telling = asyncio.Lock()

            async def tell(part: str, state: str) -> None:
                states[part] = state
                self.status = _status(states)
                self.changed()
                if state == "ready" and joined is not None:
                    async with telling:
                        await joined()

            encoder = asyncio.create_task(self._load_encoder(settings, serving, tell))
            try:
                await self._load_multilingual(settings, encoder, tell)
            finally:
                encoder.cancel()
            log.info("embedders are ready", extra={"models": [embedder.name for embedder in self.active]})

    async def change(
        self, settings: Settings, serving: Collection[str] = (), joined: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Others, while a server runs. Those of now are asked until one of the new ones is ready; then they are former
        ones, as long as their vectors are `serving`.
        """
        before = (*self.active, *self.former)
        incoming = Embedders()
        incoming.need()

        async def took_over() -> None:
            names = {embedder.name for embedder in (*incoming.active, *incoming.former)}
            kept = [one for one in before if one.name in serving and one.name not in names]
            self.active, self.former = incoming.active, (*incoming.former, *kept)
            self.status = incoming.status
            self.changed()
            if joined is not None:
                await joined()

        incoming.changed = self._tell_changed
        at_hand = {embedder.name for embedder in before}
        await incoming.load(settings, set(serving) - at_hand, took_over)
        if not incoming.active:
            self.active, self.former, self.status = (), (), incoming.status
            self.changed()
        for gone in (one for one in before if one not in (*self.active, *self.former)):
            self._let_linger(gone)

    def _endpoint(self, settings: Settings) -> OpenAIEmbedder:
        address, model = settings.embeddings_base_url or "", settings.embeddings_model or ""
        made = OpenAIEmbedder(address, settings.embeddings_api_key, model)
        made.changed = self._tell_changed
        return made

    def _let_linger(self, embedder: Embedder) -> None:
        """Closed when whoever asked it a moment ago has their answer."""
        if isinstance(embedder, OpenAIEmbedder):
            embedder.retire()
            self._retired.add(embedder)
        else:
            asyncio.get_running_loop().call_later(_LINGER, embedder.close)

    def _tell_changed(self) -> None:
        self.changed()  # whoever is to be told by then

    async def _load_encoder(self, settings: Settings, serving: Collection[str], tell: "_Tell") -> Embedder | None:
        if on_hub(settings):
            self.opened.set()
        try:
            if on_hub(settings):
                await asyncio.to_thread(encoder_folder, settings)
            await tell(_ENCODER, "loading")
            opening, self._opening = self._opening, None
            encoder = await (opening or _open_of(settings))
            if not encoder.multilingual:
                others = set(serving) - {encoder.name}
                self.former = await asyncio.to_thread(_load_former, settings, others)
        except KeepstoneError as fault:
            log.warning("no encoder", extra={"error": fault.code})
            self.opened.set()
            await tell(_ENCODER, "missing")
            return None
        self.active = (encoder, *self.active)
        self.opened.set()
        await tell(_ENCODER, "ready")
        return encoder

    def _drop_opening(self) -> None:
        """Nobody asks for it: the operator has set another one."""

        def drop(opened: asyncio.Task[Embedder]) -> None:
            if not opened.cancelled() and opened.exception() is None:
                opened.result().close()

        if self._opening is not None:
            self._opening.add_done_callback(drop)
            self._opening = None

    async def _load_multilingual(
        self, settings: Settings, encoder: "asyncio.Task[Embedder | None]", tell: "_Tell"
    ) -> None:
        """Unless the encoder knows many languages itself."""
        try:
            folder = models_folder(settings)
            if len(installed(folder)) < len(CATALOGUE):
                log.info("fetching the weights of the multilingual model")
                # A server shows no progress; `keepstone models` does.
                await asyncio.to_thread(fetch, folder, lambda _: None, settings.models_from)
            await tell(_MULTILINGUAL, "waiting")
            chosen = await encoder
            if chosen is None or not chosen.multilingual:
                await self._needed.wait()
                await tell(_MULTILINGUAL, "loading")
                self.active = (
                    *self.active,
                    await asyncio.to_thread(_open_multilingual, folder, mapped_folder(settings)),
                )
        except KeepstoneError as fault:
            log.warning("no multilingual model", extra={"error": fault.code})
            await tell(_MULTILINGUAL, "missing")
            await encoder
        else:
            await tell(_MULTILINGUAL, "ready")

    def close(self) -> None:
        self._drop_opening()
        for embedder in (*self.active, *self.former, *self._retired):
            embedder.close()


def models_folder(settings: Settings) -> Path:
    return settings.home / "models"


def mapped_folder(settings: Settings) -> Path:
    """Where graphs are kept that were derived from others, and take less memory."""
    return settings.home / "mapped"


def on_hub(settings: Settings) -> bool:
    """Whether the encoder that the settings ask for is somewhere else."""
    if settings.encoder is None:
        return False
    from keepstone.providers.hub import revision_of

    return revision_of(settings.encoder) is not None


def encoder_folder(settings: Settings, report: Report = lambda _: None) -> Path:
    """Of the encoder that the settings ask for, which is fetched if it is on a hub."""
    from keepstone.providers.hub import Hub, fetch_revision, revision_of
    from keepstone.providers.manifest import BUILTIN

    revision = revision_of(settings.encoder or "")
    if revision is None:
        return Path(settings.encoder) if settings.encoder else BUILTIN
    return fetch_revision(models_folder(settings), revision, Hub(settings.hub_url, settings.hub_token), report)


_WITHOUT = "none: search is by terms"
_LINGER = 60.0  # seconds
_Tell = Callable[[str, str], Awaitable[None]]
_ENCODER, _MULTILINGUAL = "the encoder", "the multilingual model"
_TOLD = {
    "fetching": "is being fetched",
    "waiting": "loads with the first message",
    "loading": "is being loaded",
    "missing": "is missing: `keepstone models` says why",
}


def _status(states: Mapping[str, str]) -> str:
    """What is there, and of the rest how far it is: search is by terms where it would be needed."""
    rest = [f"{part} {_TOLD[state]}" for part, state in states.items() if state != "ready"]
    if states[_ENCODER] == "ready":
        return "; ".join(["ok", *rest])
    return "; ".join([f"search is by {_MULTILINGUAL if states[_MULTILINGUAL] == 'ready' else 'terms'}", *rest])


def open_encoder(folder: Path, mapped: Path | None = None) -> Embedder:
    """Loads it, and so finds out whether it can be used. `mapped`: where a graph may be kept that takes less memory."""
    from keepstone.providers.encoder import Encoder

    encoder = Encoder(folder, mapped=mapped)
    give_back()
    return encoder


async def _open_of(settings: Settings) -> Embedder:
    return await asyncio.to_thread(lambda: open_encoder(encoder_folder(settings), mapped_folder(settings)))


def _open_multilingual(folder: Path, mapped: Path) -> Embedder:
    from keepstone.providers.use import Use

    multilingual = Use(folder, mapped)
    give_back()
    return multilingual


def _endpoint_name(settings: Settings) -> str:
    return OpenAIEmbedder.name_of(settings.embeddings_model or "")


def _load_former(settings: Settings, names: Collection[str]) -> tuple[Embedder, ...]:
    """Those of these models that are at hand: what is built in, and what was before it."""
    if not names:
        return ()
    from keepstone.providers.encoder import FORMER, Encoder, former
    from keepstone.providers.manifest import BUILTIN, read_manifest
    from keepstone.providers.use import Use

    loaded: list[Embedder] = []
    folder = models_folder(settings)
    try:
        # Where an endpoint takes their place, and not one that is built in.
        if settings.embeddings_provider == "openai" and Use.name in names and len(installed(folder)) == len(CATALOGUE):
            loaded.append(_open_multilingual(folder, mapped_folder(settings)))
        if FORMER.name in names and (at_hand := former(folder)):
            loaded.append(at_hand)
        if (BUILTIN.is_dir() and read_manifest(BUILTIN).name) in names:
            loaded.append(Encoder(BUILTIN))
    except KeepstoneError as fault:
        log.warning("a former encoder can't be loaded", extra={"error": fault.code})
    return tuple(loaded)
