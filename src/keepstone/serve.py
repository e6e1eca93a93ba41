"""Runs the server: binds its port, makes its processes, and in each of them opens what it serves on.

The first process starts Postgres and migrates, accepts connections, loads the models, runs the jobs, and serves as the
others do. They ask it for what only one can know. It ends last; whichever other ends is replaced.
"""

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import uvicorn

from keepstone import __version__
from keepstone.access.firstrun import Welcome, welcome
from keepstone.app import HandedServer, make_app, make_routes
from keepstone.errors import KeepstoneError, Misconfigured
from keepstone.further import serve_further
from keepstone.home import ensure_home
from keepstone.jobs.neighbours import among_neighbours
from keepstone.jobs.worker import run_worker
from keepstone.link import Link
from keepstone.machine import fitting_processes
from keepstone.processes import Acceptor, Family, Greeting, Sibling, copies, set_pace
from keepstone.providers.embedders import Embedders
from keepstone.providers.remote import ask_model, describe_embedders
from keepstone.replies import Replies
from keepstone.runtime import (
    Seat,
    embedders_opened,
    follow_providers,
    hear_outage,
    in_loop,
    open_all,
    open_postgres,
    open_services,
    space_files,
)
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.surfaces.rest.health import measure_server
from keepstone.tallies import SharedMemory
from keepstone.throttle import SHARED_SIZE

_LAST_SECONDS = 5  # for a process to close what it has open, after its requests

Announce = Callable[[Settings, Welcome], None]


def run(settings: Settings, announce: Announce) -> None:
    """Run the server until it is told to stop; then it says that it is not ready any more, closes its port, and ends
    requests, jobs, connections and Postgres, in that order.
    """
    set_pace()
    with _bound(settings) as listener:
        settings = replace(settings, port=listener.getsockname()[1])
        number = settings.processes or fitting_processes()
        memory = SharedMemory(SHARED_SIZE)
        make_routes()  # once for all
        gc.freeze()  # what is there stays: nothing looks through it again, and so its pages stay shared
        files = space_files(settings)
        files.clear()
        siblings = copies(number - 1, memory, lambda ends: in_loop(serve_further(ends)), listener)
        try:
            in_loop(_serve_first(settings, announce, listener, siblings, memory))
        finally:
            files.clear()


async def _serve_first(
    settings: Settings, announce: Announce, listener: socket.socket, siblings: list[Sibling], memory: SharedMemory
) -> None:
    ensure_home(settings.home)
    embedders = Embedders()
    embedders.begin(settings)
    seat = Seat(of=1 + len(siblings), memory=memory, embedders=embedders)
    async with (
        open_postgres(settings, upgrading=True) as (conninfo, supervisor),
        open_services(settings, conninfo, seat=seat) as services,
        among_neighbours(services, serves=True),
    ):
        welcomed = await welcome(services)

        async def answer(sibling: Sibling, kind: str, value: Any) -> Any:
            if kind == "outage":
                hear_outage(services, value)
                family.tell(kind, value)
                return None
            return await _answer(services, sibling, kind, value, measure)

        followed = services.standing.follow(services)

        async def measure() -> bytes:
            return await _measure(followed.services, family, supervisor.restarts if supervisor else 0)

        family = Family(siblings, memory, answer)
        server = HandedServer(make_app(services, measure=measure), services.settings)
        acceptor = Acceptor(listener, server.take, family)
        server.connections.closed = acceptor.closed
        server.began, server.ends = acceptor.open, lambda: (acceptor.close(), family.stop())
        _stop_on_signal(server, family, settings.drain_seconds)
        services.embedders.changed = lambda: family.tell("embedders", describe_embedders(services.embedders))
        family.start(
            lambda: Greeting(
                version=__version__,
                settings=settings,
                processes=seat.of,
                embedders=describe_embedders(services.embedders),
            ),
            lambda sibling: _abandon(services, sibling),
        )
        follow_providers(services, partial(family.tell, "outage"))
        worker = asyncio.create_task(run_worker(services), name="worker") if settings.worker else None
        announcer = asyncio.create_task(_when_started(server, lambda: announce(settings, welcomed)))
        family.failed.add_done_callback(lambda _: server.stop())
        try:
            await embedders_opened(services)  # whoever comes first finds by meaning
            await server.serve()
            await family.end(settings.shutdown_seconds + _LAST_SECONDS)
            if family.failed.done():
                family.failed.result()
        finally:
            await family.end(0)
            announcer.cancel()
            if worker is not None:
                worker.cancel()
                with suppress(asyncio.CancelledError):
                    await worker


async def _answer(services: Services, sibling: Sibling, kind: str, value: Any, measure: Callable[[], Any]) -> Any:
    """What another process asks of the first."""
    match kind:
        case "embed" | "embed_question" | "judge":
            return await ask_model(services.embedders, services.judge, kind, value)
        case "claim":
            which, key = value
            known = await _replies(services, which).claim(key)
            if known is None:
                sibling.claims.add((which, key))
            return known
        case "measure":
            return await measure()
        case _:
            _note(services, sibling, kind, value)
            return None


def _note(services: Services, sibling: Sibling, kind: str, value: Any) -> None:
    """What another process tells the first."""
    match kind:
        case "ready":
            sibling.started = sibling.ready = True
        case "failed":
            sibling.problem = value
        case "leaving":
            sibling.ready = False
            if sibling.link is not None:
                sibling.link.tell("stop", False)
        case "closed":
            sibling.closed = value
        case "need":
            services.embedders.need()
        case "settle":
            which, key, made, keep = value
            sibling.claims.discard((which, key))
            _replies(services, which).settle(key, made, keep=keep)
        case _:
            sibling.metrics = value


def _replies(services: Services, which: str) -> Replies:
    return services.replies if which == "replies" else services.notes


def _abandon(services: Services, sibling: Sibling) -> None:
    """What it was working on, others may."""
    for which, key in sibling.claims:
        _replies(services, which).settle(key, None, keep=False)
    sibling.claims.clear()


async def _measure(services: Services, family: Family, restarts: int) -> bytes:
    async def ask(sibling: Sibling, link: Link) -> None:
        with suppress(KeepstoneError, TimeoutError):
            async with asyncio.timeout(1):
                sibling.metrics = await link.ask("metrics")

    asked = [(sibling, sibling.link) for sibling in family.siblings if sibling.ready]
    await asyncio.gather(*(ask(sibling, link) for sibling, link in asked if link is not None))
    others = [sibling.metrics for sibling in family.siblings if sibling.metrics]
    return await measure_server(services, others, family.ended, processes=1 + len(asked), restarts=restarts)


def _stop_on_signal(server: HandedServer, family: Family, drain_seconds: int) -> None:
    """SIGTERM comes from what runs servers, beside others and behind a balancer; Ctrl-C from somebody who waits."""
    loop, told = asyncio.get_running_loop(), False

    def stop(drain_seconds: int) -> None:
        nonlocal told
        if told:  # the second time, at once
            server.stop(at_once=True)
            family.stop(at_once=True)
            return
        told = True
        server.drain()
        family.drain()
        if drain_seconds:
            loop.call_later(drain_seconds, server.stop)
        else:
            server.stop()

    loop.add_signal_handler(signal.SIGINT, stop, 0)
    loop.add_signal_handler(signal.SIGTERM, stop, drain_seconds)


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


# --- jobs alone -------------------------------------------------------------------------------------------------------


async def work(settings: Settings, announce: Callable[[], None]) -> None:
    """Run background jobs alone, until told to stop; then drain them."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_all(settings) as services, among_neighbours(services, serves=False):
        follow_providers(services)
        worker = asyncio.create_task(run_worker(services), name="worker")
        announce()
        await stop.wait()
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker
