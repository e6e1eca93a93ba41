"""Other providers in a running server: every process looks once a second whether the operator has set others, and hands
on services that use them. Whoever has begun ends with those before, which are then closed.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from weakref import WeakSet

from keepstone.errors import KeepstoneError, Unavailable
from keepstone.jobs.model_change import change_embedders, let_go_of_former, start_embedders
from keepstone.model.provider import Outage
from keepstone.observe.logs import describe
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.choose import Chosen, choose
from keepstone.providers.llm import LanguageModel
from keepstone.providers.remote import RemoteEmbedders
from keepstone.providers.upstream import Upstream
from keepstone.services import Followed, Services, Standing
from keepstone.settings import Settings
from keepstone.store import provider_settings as store

log = logging.getLogger(__name__)

_LOOK_AGAIN = 1.0  # seconds


class ProviderChange(Standing):
    """Of one process. It loads the embedders as well: where the settings ask for others, those are loaded instead."""

    def __init__(self, environment: Settings, chosen: Chosen) -> None:
        super().__init__(environment)
        self._chosen = chosen
        self._retired: WeakSet[LanguageModel | Upstream] = WeakSet()  # as long as somebody uses them
        self._lock = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._embedding: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self.tell: Callable[[Outage | None], None] = lambda _: None  # the other processes of the server

    async def begin(self, services: Services) -> Services:
        """With what is stored by now; nothing is loaded yet. A database that is away is asked again a moment later."""
        self._own = self.follow(services)
        self._share_outages()
        with suppress(Unavailable):
            await self.renew()
        return self._own.services

    def start(self) -> None:
        """Load the embedders, and look whether others are wanted, until `close`."""
        self._watching = asyncio.create_task(self._watch(), name="look for other providers")
        self._embed(self._own, first=True)

    async def renew(self) -> None:
        async with self._lock:
            services = self._own.services
            async with services.db.unscoped() as conn:
                revision = await store.revision(conn)
            if revision == services.stored.revision:
                return
            async with services.db.of_server() as conn:
                stored = await store.read(conn)
            before, now = self._chosen, choose(self.environment, stored)
            self._chosen = now
            self.change(
                settings=now.settings, llm=now.llm, upstream=now.upstream, further=now.further,
                embeddings_upstream=now.embeddings_upstream, stored=stored,
            )  # fmt: skip
            self._share_outages()
            before.retire()
            self._retired.update(before.all())
            log.info("providers are others", extra={"revision": stored.revision})
            if self._embedding is not None and _of_embeddings(before.settings) != _of_embeddings(now.settings):
                self._embed(self._own, first=False)

    def hear(self, outage: Outage | None) -> None:
        """Another process has found out that the language model fails, or that it answers again."""
        if isinstance(self._chosen.llm, ChatModel):
            self._chosen.llm.breaker.hear(outage)

    def _share_outages(self) -> None:
        model = self._chosen.llm
        if isinstance(model, ChatModel):
            model.breaker.changed = lambda: self.tell(model.outage)

    async def settled(self) -> None:
        """Until the embedders that were last asked for are in use."""
        await self._settled.wait()

    async def opened(self) -> None:
        """Until the encoder is in use that is on this machine, or nothing more is to be waited for."""
        if self._embedding is not None:
            opened = asyncio.create_task(self._own.services.embedders.opened.wait())
            await asyncio.wait({self._embedding, opened}, return_when=asyncio.FIRST_COMPLETED)
            opened.cancel()

    async def close(self) -> None:
        """All of them, also when one can't be."""
        for task in (self._watching, self._embedding):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        async with AsyncExitStack() as stack:
            for one in {*self._chosen.all(), *self._retired}:
                stack.push_async_callback(one.close)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_AGAIN)
            try:
                await self.renew()
            except KeepstoneError:
                pass  # a database that is away is told of elsewhere
            except Exception as fault:
                log.warning("providers can't be looked at", extra=describe(fault))

    def _embed(self, own: Followed, *, first: bool) -> None:
        if isinstance(own.services.embedders, RemoteEmbedders):  # the first process sees to them
            return
        if self._embedding is not None:
            self._embedding.cancel()
        self._settled.clear()
        self._embedding = asyncio.create_task(self._load(own.services, first=first), name="load embedders")

    async def _load(self, services: Services, *, first: bool) -> None:
        await (start_embedders(services) if first else change_embedders(services))
        self._settled.set()
        await let_go_of_former(services)


def _of_embeddings(settings: Settings) -> tuple[str | None, ...]:
    return (
        settings.embeddings_provider, settings.embeddings_base_url, settings.embeddings_api_key,
        settings.embeddings_model,
    )  # fmt: skip
