"""Opens what a Keepstone process runs on, and closes it in the other order: Postgres, then the services on it.

Shared by the server, the worker and the command line; knows no surface.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime

from argon2 import PasswordHasher
from jwt import PyJWKClient

from keepstone.access.meter import RETRY_SECONDS
from keepstone.disk import Disk
from keepstone.home import ensure_home, secret
from keepstone.jobs.tasks import register_tasks
from keepstone.observe.metrics import Metrics
from keepstone.observe.tracing import make_tracer
from keepstone.offload import Offload
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from keepstone.providers.choose import make_embeddings_upstream, make_model, make_upstream
from keepstone.providers.embedders import Embedders, models_folder
from keepstone.providers.parsing import Parser
from keepstone.providers.rates import Rates
from keepstone.providers.tokenizer import Tokenizer
from keepstone.providers.working import RedisWorking
from keepstone.replies import Replies
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.store.db import APP_ROLE, WORKER_ROLE, Database
from keepstone.store.migrate import migrate
from keepstone.store.queue import Queue
from keepstone.store.roles import role_conninfo
from keepstone.throttle import Throttle

log = logging.getLogger(__name__)

# What OWASP asks for at least: two passes over 19 MiB.
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


@asynccontextmanager
async def open_postgres(settings: Settings) -> AsyncGenerator[tuple[str, Supervisor | None]]:
    """The connection string of the database, and the supervisor of the embedded one while it runs."""
    ensure_home(settings.home)
    if settings.database_url:
        yield settings.database_url, None
        return
    supervisor = Supervisor(open_cluster(settings.home))
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
async def open_services(settings: Settings, conninfo: str, hasher: PasswordHasher = HASHER) -> AsyncGenerator[Services]:
    """Everything that operations need, on a database that is migrated first."""
    applied = await migrate(conninfo, roles_url=settings.app_database_url)
    if applied:
        log.info("migrated", extra={"applied": len(applied)})
    async with open_migrated(settings, conninfo, hasher) as services:
        yield services


@asynccontextmanager
async def open_migrated(settings: Settings, conninfo: str, hasher: PasswordHasher = HASHER) -> AsyncGenerator[Services]:
    """The same on a database that is known to be of this version."""
    services = _make_services(settings, conninfo, hasher)
    register_tasks(services)
    async with opened(services):
        yield services


@asynccontextmanager
async def opened(services: Services) -> AsyncGenerator[None]:
    """Open what has to be opened, and close all of it at the end, the last first: also when one of them can't be opened
    or closed.
    """
    providers = (services.llm, services.upstream, services.embeddings_upstream, services.working, services.rates)
    async with AsyncExitStack() as stack:
        stack.callback(services.tracer.close)
        for closable in (services.db, services.queue, services.offload, *providers):
            if closable is not None:
                stack.push_async_callback(closable.close)
        stack.callback(services.embedders.close)
        await services.db.open()
        await services.queue.open()
        yield


def make_disk(settings: Settings) -> Disk:
    reserve = settings.disk_reserve_mb
    return Disk(
        settings.home, None if reserve is None else reserve * 1024**2, ours=settings.database_url is None
    )  # fmt: skip


def _make_services(settings: Settings, conninfo: str, hasher: PasswordHasher) -> Services:
    app, worker = (role_conninfo(conninfo, role, settings.app_database_url) for role in (APP_ROLE, WORKER_ROLE))
    return Services(
        settings=settings,
        db=Database(
            app,
            owner=conninfo,
            worker=worker,
            size=settings.database_pool,
            statement_seconds=settings.database_statement_seconds,
        ),
        embedders=Embedders(),
        llm=make_model(settings),
        upstream=make_upstream(settings),
        embeddings_upstream=make_embeddings_upstream(settings),
        parser=Parser(),
        offload=Offload(),
        tokenizer=Tokenizer(models_folder(settings)),
        working=RedisWorking(settings.redis_url) if settings.redis_url else None,
        queue=Queue(worker),
        clock=lambda: datetime.now(UTC),
        disk=make_disk(settings),
        throttle=Throttle(),
        rates=Rates(settings.redis_url),
        replies=Replies(seconds=RETRY_SECONDS),
        notes=Replies(seconds=60, capacity=10_000),
        metrics=Metrics(),
        tracer=make_tracer(settings.otlp_endpoint),
        hasher=hasher,
        jwt_secret=settings.jwt_secret or secret(settings.home, "jwt-secret"),
        jwks=PyJWKClient(settings.oidc_jwks_url, timeout=5) if settings.oidc_jwks_url else None,
    )


@asynccontextmanager
async def open_all(settings: Settings) -> AsyncGenerator[Services]:
    """Database and services together, for the command line."""
    async with open_postgres(settings) as (conninfo, _), open_services(settings, conninfo) as services:
        yield services
