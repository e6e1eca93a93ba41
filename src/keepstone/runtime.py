"""Opens what a Keepstone process runs on, and closes it in the other order: Postgres, then the services on it.

Shared by the server, the worker and the command line; knows no surface. Where a server has several processes, each has
services of its own, and a seat says what of them is shared.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import uvloop
from argon2 import PasswordHasher
from jwt import PyJWKClient

from keepstone.access.meter import RETRY_SECONDS
from keepstone.disk import Disk
from keepstone.home import ensure_home, secret
from keepstone.jobs.provider_change import ProviderChange
from keepstone.jobs.tasks import register_tasks
from keepstone.link import Link
from keepstone.machine import usable_memory
from keepstone.model.provider import Outage, ProviderSettings
from keepstone.observe.metrics import Metrics
from keepstone.observe.tracing import make_tracer
from keepstone.offload import Offload
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from keepstone.providers.choose import choose
from keepstone.providers.embedders import Embedders, mapped_folder, models_folder
from keepstone.providers.judge import Judge
from keepstone.providers.parsing import Parser
from keepstone.providers.rates import Rates
from keepstone.providers.remote import RemoteEmbedders, RemoteJudge
from keepstone.providers.tokenizer import Tokenizer
from keepstone.providers.working import RedisWorking
from keepstone.replies import Replies
from keepstone.resident import ResidentSpaces, SpaceFiles
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.store.db import APP_ROLE, WORKER_ROLE, Database
from keepstone.store.migrate import migrate
from keepstone.store.queue import Queue
from keepstone.store.roles import role_conninfo
from keepstone.store.trace_log import TraceLog
from keepstone.tallies import SharedMemory
from keepstone.throttle import Throttle

log = logging.getLogger(__name__)

# What OWASP asks for at least: two passes over 19 MiB.
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A process's among those of its server: how many there are, what memory they share, and for all but the first how
    the first is reached, which has the models and knows who works on what. The first may have begun to open its
    `embedders`.
    """

    of: int = 1
    memory: SharedMemory | None = None
    first: Link | None = None
    embedders: Embedders | None = None

    def share(self, settings: Settings) -> Settings:
        """What this process may take of what the server may."""
        first = self.first is None

        def part(whole: int, least: int = 1) -> int:
            return max(least, whole // self.of + (whole % self.of if first else 0))

        return replace(
            settings,
            database_pool=part(settings.database_pool, 2),
            max_connections=part(settings.max_connections),
            max_bodies_bytes=part(settings.max_bodies_bytes),
        )


ALONE = Seat()


def in_loop(work: Coroutine[Any, Any, Result]) -> Result:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


@asynccontextmanager
async def open_postgres(
    settings: Settings, *, upgrading: bool = False
) -> AsyncGenerator[tuple[str, Supervisor | None]]:
    """The connection string of the database, and the supervisor of the embedded one while it runs. With `upgrading`
    that is brought to our version of Postgres first, if an older one made it.
    """
    ensure_home(settings.home)
    if settings.database_url:
        yield settings.database_url, None
        return
    supervisor = Supervisor(open_cluster(settings.home, upgrading=upgrading))
    try:
        await supervisor.start()
        watcher = asyncio.create_task(supervisor.watch(), name="watch postgres")
        try:
            yield supervisor.conninfo, supervisor
        finally:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher
    finally:
        try:
            await supervisor.stop()
        finally:
            supervisor.close()


@asynccontextmanager
async def open_services(
    settings: Settings, conninfo: str, hasher: PasswordHasher = HASHER, seat: Seat = ALONE
) -> AsyncGenerator[Services]:
    """Everything that operations need, on a database that is migrated first."""
    applied = await migrate(conninfo, roles_url=settings.app_database_url)
    if applied:
        log.info("migrated", extra={"applied": len(applied)})
    async with open_migrated(settings, conninfo, hasher, seat) as services:
        yield services


@asynccontextmanager
async def open_migrated(
    settings: Settings, conninfo: str, hasher: PasswordHasher = HASHER, seat: Seat = ALONE
) -> AsyncGenerator[Services]:
    """The same on a database that is known to be of this version."""
    services = _make_services(seat.share(settings), conninfo, hasher, seat)
    async with opened(services):
        standing = services.standing
        if isinstance(standing, ProviderChange):
            services = await standing.begin(services)
        register_tasks(services)
        yield services


def follow_providers(services: Services, tell: Callable[[Outage | None], None] | None = None) -> None:
    """From now on: load the embedders, and whenever the operator changes a provider, use that one. The other processes
    of the server are told by `tell` when the language model fails and when it is back.
    """
    standing = services.standing
    if isinstance(standing, ProviderChange):
        standing.tell = tell or standing.tell
        standing.start()


async def embedders_opened(services: Services) -> None:
    """Until search has the encoder that is on this machine, or it is known why not."""
    if isinstance(services.standing, ProviderChange):
        await services.standing.opened()


def hear_outage(services: Services, outage: Outage | None) -> None:
    """What another process was told so."""
    if isinstance(services.standing, ProviderChange):
        services.standing.hear(outage)


@asynccontextmanager
async def opened(services: Services) -> AsyncGenerator[None]:
    """Open what has to be opened, and close all of it at the end, the last first: also when one of them can't be opened
    or closed.
    """
    async with AsyncExitStack() as stack:
        stack.callback(services.tracer.close)
        shared = (
            services.db, services.queue, services.traces, services.offload, services.resident, services.found,
            services.working, services.rates,
        )  # fmt: skip
        for closable in shared:
            if closable is not None:
                stack.push_async_callback(closable.close)
        stack.callback(services.embedders.close)
        if services.judge is not None:
            stack.callback(services.judge.close)
        stack.push_async_callback(services.standing.close)
        await services.db.open()
        await services.queue.open()
        yield


def make_disk(settings: Settings) -> Disk:
    reserve = settings.disk_reserve_mb
    return Disk(
        settings.home, None if reserve is None else reserve * 1024**2, ours=settings.database_url is None
    )  # fmt: skip


def resident_bytes(settings: Settings, processes: int) -> int:
    """What the numbers of spaces may take in the memory of one of so many processes."""
    whole = usable_memory() // 8 if settings.resident_mb is None else settings.resident_mb * 1024**2
    return whole // processes


def space_files(settings: Settings) -> SpaceFiles:
    """Where the processes of a server hold large spaces once."""
    return SpaceFiles(settings.home / "resident")


def _make_services(settings: Settings, conninfo: str, hasher: PasswordHasher, seat: Seat) -> Services:
    first, at_once = seat.first, max(1, 2 // seat.of)
    judge = None
    if settings.judge == "builtin":
        judge = Judge(mapped=mapped_folder(settings)) if first is None else RemoteJudge(first)
    app, worker = (role_conninfo(conninfo, role, settings.app_database_url) for role in (APP_ROLE, WORKER_ROLE))
    metrics, disk, chosen = Metrics(), make_disk(settings), choose(settings, ProviderSettings())
    db = Database(
        app,
        owner=conninfo,
        worker=worker,
        size=settings.database_pool,
        statement_seconds=settings.database_statement_seconds,
    )
    return Services(
        settings=settings,
        db=db,
        embedders=(seat.embedders or Embedders()) if first is None else RemoteEmbedders(first),
        judge=judge,
        llm=chosen.llm,
        upstream=chosen.upstream,
        embeddings_upstream=chosen.embeddings_upstream,
        parser=Parser(at_once=at_once),
        offload=Offload(at_once=at_once),
        tokenizer=Tokenizer(models_folder(settings)),
        working=RedisWorking(settings.redis_url) if settings.redis_url else None,
        queue=Queue(worker) if first is None else Queue(worker, size=1),
        clock=lambda: datetime.now(UTC),
        disk=disk,
        throttle=Throttle(memory=seat.memory),
        rates=Rates(settings.redis_url, seat.memory),
        replies=Replies(seconds=RETRY_SECONDS, first=first and _Claims(first, "replies")),
        notes=Replies(seconds=60, capacity=10_000, first=first and _Claims(first, "notes")),
        metrics=metrics,
        resident=ResidentSpaces(
            resident_bytes(settings, seat.of), metrics, space_files(settings) if seat.of > 1 else None
        ),
        tracer=make_tracer(settings.otlp_endpoint),
        traces=TraceLog(db, disk, metrics, several=seat.of > 1),
        hasher=hasher,
        jwt_secret=settings.jwt_secret or secret(settings.home, "jwt-secret"),
        jwks=PyJWKClient(settings.oidc_jwks_url, timeout=5) if settings.oidc_jwks_url else None,
        standing=ProviderChange(settings, chosen),
    )


@dataclass(frozen=True, slots=True)
class _Claims:
    """The replies of the first process, by the name that `Services` has for them."""

    link: Link
    which: str

    async def claim(self, key: str) -> tuple[Any] | None:
        return await self.link.ask("claim", (self.which, key))

    def settle(self, key: str, made: tuple[Any] | None, *, keep: bool) -> None:
        self.link.tell("settle", (self.which, key, made, keep))


@asynccontextmanager
async def open_all(settings: Settings) -> AsyncGenerator[Services]:
    """Database and services together, for the command line."""
    async with open_postgres(settings) as (conninfo, _), open_services(settings, conninfo) as services:
        yield services
