"""The composition root: settings → services → one ASGI app. The only file that knows everything."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial

import uvicorn
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from keepstone import __version__
from keepstone.access.firstrun import Welcome, welcome
from keepstone.errors import Misconfigured
from keepstone.jobs.model_change import start_embedders
from keepstone.jobs.worker import run_worker
from keepstone.runtime import open_all, open_postgres, open_services
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.surfaces.chat import routes as chat
from keepstone.surfaces.http.bodies import LimitedBody
from keepstone.surfaces.http.caller import BROWSER, LinkOver, SignIn
from keepstone.surfaces.http.connections import BoundedProtocol, Connections
from keepstone.surfaces.http.errors import ErrorOut, install_error_handlers
from keepstone.surfaces.http.guards import Observed, OwnHost
from keepstone.surfaces.http.presence import CancelledWithClient
from keepstone.surfaces.mcp import endpoint as mcp
from keepstone.surfaces.mem0 import routes as mem0
from keepstone.surfaces.openai import endpoint as openai
from keepstone.surfaces.rest import (
    agents,
    auth,
    capsules,
    console,
    facts,
    graphs,
    health,
    keys,
    projects,
    rooms,
    scopes,
    stores,
    usage,
    users,
)
from keepstone.surfaces.web import dashboard, pages

DESCRIPTION = "Long-term memory for AI chats and agents."


def make_routes() -> FastAPI:
    """Every route, on nothing yet: enough to describe the API."""
    app = _bare()
    install_error_handlers(app)
    app.add_exception_handler(SignIn, pages.show_login)
    app.add_exception_handler(LinkOver, pages.show_link_over)
    app.router.routes.extend(_routes())
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Of all surfaces. Made once a process: reading their signatures takes the framework a third of a second."""
    app = _bare()
    for part in (
        health,
        auth,
        users,
        keys,
        scopes,
        capsules,
        projects,
        agents,
        rooms,
        facts,
        graphs,
        stores,
        usage,
        console,
        chat,
        mcp,
        openai,
        mem0,
        pages,
        dashboard,
    ):
        app.include_router(part.router)
    return list(app.router.routes)


def _bare() -> FastAPI:
    return FastAPI(
        title="Keepstone",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation,
        redirect_slashes=False,
        responses={
            "4XX": {"model": ErrorOut, "description": "What was wrong with the request, and what to do."},
            "5XX": {"model": ErrorOut, "description": "What is wrong here; try again."},
        },
        # The framework's own traces carry exception messages; ours, in `observe`, do not.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )


def _operation(route: APIRoute) -> str:
    """The name of its handler; of what is there twice, the browser's is told apart."""
    return f"browser_{route.name}" if route.path_format.startswith(BROWSER) else route.name


def make_app(services: Services, *, postgres_restarts: Callable[[], int] | None = None) -> FastAPI:
    app = make_routes()
    app.state.services = services
    app.state.postgres_restarts = postgres_restarts
    settings = services.settings
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.cors_origins, allow_methods=["*"], allow_headers=["*"]
        )
    app.add_middleware(LimitedBody, settings=settings)
    app.add_middleware(CancelledWithClient)
    app.add_middleware(OwnHost, settings=settings)
    app.add_middleware(Observed, metrics=services.metrics, tracer=services.tracer)
    return app


async def serve(settings: Settings, announce: Callable[[Settings, Welcome], None]) -> None:
    """Run the server until it is told to stop; then drain requests, jobs, connections and Postgres, in that order."""
    sys.setswitchinterval(0.001)  # seconds that a thread at work keeps the event loop waiting
    with _bound(settings) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        async with (
            open_postgres(settings) as (conninfo, supervisor),
            open_services(settings, conninfo) as services,
        ):
            welcomed = await welcome(services)
            app = make_app(services, postgres_restarts=(lambda: supervisor.restarts) if supervisor else None)
            server = _Server(server_config(app, settings))
            _stop_on_signal(server)
            loader = asyncio.create_task(start_embedders(services), name="load embedders")
            worker = asyncio.create_task(run_worker(services), name="worker") if settings.worker else None
            announcer = asyncio.create_task(_when_started(server, lambda: announce(settings, welcomed)))
            try:
                await server.serve(sockets=[listener])
            finally:
                announcer.cancel()
                loader.cancel()
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
        loader = asyncio.create_task(start_embedders(services), name="load embedders")
        worker = asyncio.create_task(run_worker(services), name="worker")
        announce()
        await stop.wait()
        loader.cancel()
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: it would raise the signal again before we have cleaned up."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        http=partial(  # pyright: ignore[reportArgumentType]  a class, as far as uvicorn calls it
            BoundedProtocol, connections=Connections(settings.max_connections, settings.request_seconds)
        ),
        ws="none",
        proxy_headers=bool(settings.trusted_proxies),
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
            f"Keepstone can't listen on {settings.host} port {settings.port} ({fault.strerror}): stop what is there, "
            "or set KEEPSTONE_PORT."
        ) from None
    return listener
