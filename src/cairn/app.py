"""The composition root: settings → services → one ASGI app. The only file that knows everything."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime

import uvicorn
from fastapi import FastAPI
from jwt import PyJWKClient
from starlette.middleware.cors import CORSMiddleware

from cairn import __version__
from cairn.access.firstrun import Welcome, welcome
from cairn.errors import Misconfigured
from cairn.home import ensure_home, secret
from cairn.jobs.tasks import register_tasks
from cairn.jobs.worker import run_worker
from cairn.observe.metrics import Metrics
from cairn.observe.tracing import make_tracer
from cairn.postgres.cluster import open_cluster
from cairn.postgres.supervisor import Supervisor
from cairn.services import Services
from cairn.settings import Settings
from cairn.store.db import Database
from cairn.store.migrate import migrate
from cairn.store.queue import Queue
from cairn.surfaces.http.errors import install_error_handlers
from cairn.surfaces.http.guards import LimitedBody, Observed, OwnHost
from cairn.surfaces.rest import auth, health, keys, users
from cairn.surfaces.web import pages
from cairn.throttle import Throttle

log = logging.getLogger(__name__)

DESCRIPTION = "Long-term memory for AI chats and agents."


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
        await supervisor.stop()
        supervisor.close()


@asynccontextmanager
async def open_services(settings: Settings, conninfo: str) -> AsyncGenerator[Services]:
    """Everything that operations need, on a database that is migrated first."""
    applied = await migrate(conninfo)
    if applied:
        log.info("migrated", extra={"applied": len(applied)})
    services = Services(
        settings=settings,
        db=Database(conninfo, size=settings.database_pool),
        queue=Queue(conninfo),
        clock=lambda: datetime.now(UTC),
        throttle=Throttle(),
        metrics=Metrics(),
        tracer=make_tracer(settings.otlp_endpoint),
        jwt_secret=settings.jwt_secret or secret(settings.home, "jwt-secret"),
        jwks=PyJWKClient(settings.oidc_jwks_url, timeout=5) if settings.oidc_jwks_url else None,
    )
    register_tasks(services)
    await services.db.open()
    await services.queue.open()
    try:
        yield services
    finally:
        await services.queue.close()
        await services.db.close()
        services.tracer.close()


@asynccontextmanager
async def open_all(settings: Settings) -> AsyncGenerator[Services]:
    """Database and services together, for the command line."""
    async with open_postgres(settings) as (conninfo, _), open_services(settings, conninfo) as services:
        yield services


def make_app(services: Services, *, postgres_restarts: Callable[[], int] | None = None) -> FastAPI:
    app = FastAPI(
        title="Cairn", version=__version__, description=DESCRIPTION, docs_url=None, redoc_url=None,
        generate_unique_id_function=lambda route: route.name, redirect_slashes=False,
    )  # fmt: skip
    app.state.services = services
    app.state.postgres_restarts = postgres_restarts
    install_error_handlers(app)
    for router in (health.router, auth.router, users.router, keys.router, pages.router):
        app.include_router(router)
    settings = services.settings
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.cors_origins, allow_methods=["*"], allow_headers=["*"]
        )
    app.add_middleware(LimitedBody, limit=settings.max_body_bytes)
    app.add_middleware(OwnHost, settings=settings)
    app.add_middleware(Observed, metrics=services.metrics, tracer=services.tracer)
    return app


async def serve(settings: Settings, announce: Callable[[Settings, Welcome], None]) -> None:
    """Run the server until it is told to stop; then drain requests, jobs, connections and Postgres, in that order."""
    with _bound(settings) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        async with (
            open_postgres(settings) as (conninfo, supervisor),
            open_services(settings, conninfo) as services,
        ):
            welcomed = await welcome(services)
            app = make_app(services, postgres_restarts=(lambda: supervisor.restarts) if supervisor else None)
            server = _Server(_uvicorn_config(app, settings))
            _stop_on_signal(server)
            worker = asyncio.create_task(run_worker(services), name="worker") if settings.worker else None
            announcer = asyncio.create_task(_when_started(server, lambda: announce(settings, welcomed)))
            try:
                await server.serve(sockets=[listener])
            finally:
                announcer.cancel()
                if worker is not None:
                    worker.cancel()
                    with suppress(asyncio.CancelledError):
                        await worker


async def work(settings: Settings, announce: Callable[[], None]) -> None:
    """Run background jobs alone, until told to stop; then drain them."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_all(settings) as services:
        worker = asyncio.create_task(run_worker(services), name="worker")
        announce()
        await stop.wait()
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: it would raise the signal again before we have cleaned up."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _uvicorn_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        proxy_headers=True,
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=settings.shutdown_seconds,
        timeout_keep_alive=75,
    )


def _stop_on_signal(server: uvicorn.Server) -> None:
    def stop() -> None:
        server.force_exit = server.should_exit  # the second time, at once
        server.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)


async def _when_started(server: uvicorn.Server, then: Callable[[], None]) -> None:
    while not server.started:  # noqa: ASYNC110  uvicorn has no event for it
        await asyncio.sleep(0.01)
    then()


def _bound(settings: Settings) -> socket.socket:
    """Take the port first: if it is in use, nothing else is started."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as fault:
        listener.close()
        raise Misconfigured(
            f"Cairn can't listen on {settings.host} port {settings.port} ({fault.strerror}): stop what is there, or "
            "set CAIRN_PORT."
        ) from None
    return listener
