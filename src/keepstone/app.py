"""The composition root: services → one ASGI app of all surfaces, and how uvicorn is to run it."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, cast

import uvicorn
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from keepstone import __version__
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.surfaces.chat import routes as chat
from keepstone.surfaces.http.bodies import LimitedBody
from keepstone.surfaces.http.caller import BROWSER, SECURITY_SCHEMES, LinkOver, SignIn
from keepstone.surfaces.http.connections import BoundedProtocol, Connections
from keepstone.surfaces.http.errors import ErrorOut, install_error_handlers
from keepstone.surfaces.http.guards import Observed, OwnHost
from keepstone.surfaces.http.presence import CancelledWithClient
from keepstone.surfaces.mcp import endpoint as mcp
from keepstone.surfaces.mem0 import routes as mem0
from keepstone.surfaces.openai import endpoint as openai
from keepstone.surfaces.openai import pass_through
from keepstone.surfaces.rest import (
    agents,
    auth,
    capsule_batches,
    capsules,
    console,
    everything,
    everywhere,
    exports,
    facts,
    graph_views,
    graphs,
    health,
    imports,
    invitations,
    invite_links,
    keys,
    people,
    projects,
    room_corrections,
    rooms,
    scopes,
    stores,
    traces,
    usage,
    users,
)
from keepstone.surfaces.rest import settings as server_settings
from keepstone.surfaces.web import dashboard, join, pages

# What a client has sent on an open connection when the server ends is answered; who is silent is hung up on.
_ON_ITS_WAY_SECONDS = 0.1

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
        everywhere,
        scopes,
        people,
        capsule_batches,
        capsules,
        everything,
        projects,
        agents,
        rooms,
        room_corrections,
        invitations,
        invite_links,
        exports,
        facts,
        graph_views,
        graphs,
        stores,
        traces,
        imports,
        usage,
        console,
        server_settings,
        chat,
        mcp,
        openai,
        pass_through,
        mem0,
        pages,
        join,
        dashboard,
    ):
        app.include_router(part.router)
    return list(app.router.routes)


class _Described(FastAPI):
    def openapi(self) -> dict[str, Any]:
        schema = super().openapi()
        schema["components"]["securitySchemes"] = dict(SECURITY_SCHEMES)
        return schema


def _bare() -> FastAPI:
    return _Described(
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


def make_app(services: Services, *, measure: Callable[[], Awaitable[bytes]] | None = None) -> FastAPI:
    """`measure` makes the metrics of the whole server, where it has more than this process."""
    app = make_routes()
    app.state.followed = services.standing.follow(services)
    app.state.measure = measure
    app.state.draining = False
    settings = services.settings
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=settings.cors_origins, allow_methods=["*"], allow_headers=["*"],
            expose_headers=["Retry-After", "X-Request-Id", "X-Keepstone-Injected"],
        )  # fmt: skip
    app.add_middleware(LimitedBody, settings=settings)
    app.add_middleware(CancelledWithClient)
    app.add_middleware(OwnHost, settings=settings)
    app.add_middleware(Observed, metrics=services.metrics, tracer=services.tracer)
    return app


def server_config(app: FastAPI, settings: Settings, connections: Connections | None = None) -> uvicorn.Config:
    connections = connections or Connections(settings.max_connections, settings.request_seconds)
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        # A class, as far as uvicorn calls it.
        http=partial(BoundedProtocol, connections=connections),  # pyright: ignore[reportArgumentType]
        ws="none",
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=settings.shutdown_seconds,
        timeout_keep_alive=75,
    )


class HandedServer(uvicorn.Server):
    """uvicorn without its signal handlers, which would raise the signal again before we have cleaned up, and without a
    listener: connections are handed to it. `began` is called when it can take them, `ends` when it may take no more.
    """

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        self.connections = Connections(settings.max_connections, settings.request_seconds)
        super().__init__(server_config(app, settings, self.connections))
        self.began: Callable[[], object] = lambda: None
        self.ends: Callable[[], object] = lambda: None
        self._app = app
        self._joining: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: ARG002
        self.servers = []
        self.started = True
        self.began()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ends()
        if self._joining:
            await asyncio.wait(self._joining)
        await asyncio.sleep(_ON_ITS_WAY_SECONDS)
        await super().shutdown(sockets)

    def drain(self) -> None:
        """Not ready any more, and serving as before; who is answered is told not to come back on this connection."""
        self._app.state.draining = True
        self.connections.leave()

    def stop(self, *, at_once: bool = False) -> None:
        self.drain()
        self.force_exit = self.force_exit or at_once
        self.should_exit = True

    def take(self, connection: socket.socket) -> None:
        task = asyncio.get_running_loop().create_task(self._join(connection))
        self._joining.add(task)
        task.add_done_callback(self._joining.discard)

    async def _join(self, connection: socket.socket) -> None:
        kind = cast("Callable[..., asyncio.Protocol]", self.config.http_protocol_class)
        make = partial(kind, config=self.config, server_state=self.server_state, app_state={})
        try:
            await asyncio.get_running_loop().connect_accepted_socket(make, connection)
        except OSError:  # it has gone again
            connection.close()
            self.connections.closed()
