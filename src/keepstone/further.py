"""A further process of a server: serves as the first does, and asks that one for what only one can know.

It starts no Postgres, migrates nothing, runs no job and loads no model.
"""

import asyncio
import os
import signal
import socket
import sys
from functools import partial
from typing import Any

from keepstone import __version__
from keepstone.app import HandedServer, make_app
from keepstone.errors import KeepstoneError, Misconfigured
from keepstone.footprint import stay_small
from keepstone.link import Link
from keepstone.observe.logs import configure_logs
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from keepstone.processes import Doorway, Ends, Greeting, set_pace
from keepstone.providers.remote import RemoteEmbedders
from keepstone.runtime import Seat, follow_providers, hear_outage, in_loop, open_migrated
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.tallies import SharedMemory
from keepstone.throttle import SHARED_SIZE


async def serve_further(ends: Ends) -> None:
    """Until the first says so, or is gone: then at once."""
    process = _Further()
    await process.link.open(ends.link)
    orphaned = asyncio.create_task(_end_with(process.link))
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, process.link.tell, "leaving")
    loop.add_signal_handler(signal.SIGINT, lambda: None)  # a terminal sends it to all: the first decides
    greeting = await process.greeted
    configure_logs(greeting.settings.log_level, greeting.settings.log_format)
    try:
        if greeting.version != __version__:
            raise Misconfigured(f"version {__version__} was installed over {greeting.version}: restart the server.")
        seat = Seat(of=greeting.processes, memory=ends.memory, first=process.link)
        async with open_migrated(greeting.settings, _conninfo(greeting.settings), seat=seat) as services:
            await process.serve(services, ends.door)
    except Exception as fault:
        process.link.tell("failed", fault.message if isinstance(fault, KeepstoneError) else type(fault).__name__)
        raise
    finally:
        orphaned.cancel()
        process.link.close()  # sends what is left to say


class _Further:
    """What it hears from the first may come at any time: what is not there yet is kept until it is."""

    def __init__(self) -> None:
        self.link = Link(self._answer)
        self.greeted: asyncio.Future[Greeting] = asyncio.get_running_loop().create_future()
        self._embedders: Any = None
        self._services: Services | None = None
        self._server: HandedServer | None = None
        self._draining = False
        self._to_stop: bool | None = None  # and whether at once
        self._closed = 0

    async def serve(self, services: Services, door: socket.socket) -> None:
        self._services = services
        if isinstance(services.embedders, RemoteEmbedders):
            services.embedders.become(self._embedders)
        follow_providers(services, partial(self.link.tell, "outage"))
        app = make_app(services, measure=partial(self.link.ask, "measure"))
        server = self._server = HandedServer(app, services.settings)
        server.connections.closed = self._note_closed
        doorway = Doorway(door, server.take)
        server.began, server.ends = lambda: (doorway.open(), self.link.tell("ready")), doorway.close
        if self._draining:
            server.drain()
        if self._to_stop is not None:
            server.stop(at_once=self._to_stop)
        await server.serve()
        self.link.tell("metrics", services.metrics.collect())

    async def _answer(self, kind: str, value: Any) -> Any:
        match kind:
            case "go":
                self._embedders = value.embedders
                self.greeted.set_result(value)
            case "embedders":
                self._embedders = value
                if self._services is not None and isinstance(self._services.embedders, RemoteEmbedders):
                    self._services.embedders.become(value)
            case "outage":
                if self._services is not None:
                    hear_outage(self._services, value)
            case "drain":
                self._draining = True
                if self._server is not None:
                    self._server.drain()
            case "stop":
                self._to_stop = value
                if self._server is not None:
                    self._server.stop(at_once=value)
            case _:
                return self._services.metrics.collect() if self._services is not None else []
        return None

    def _note_closed(self) -> None:
        self._closed += 1
        self.link.tell("closed", self._closed)


def _conninfo(settings: Settings) -> str:
    return settings.database_url or Supervisor(open_cluster(settings.home)).conninfo


async def _end_with(link: Link) -> None:
    await link.gone.wait()
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """In place of a process that has ended: the arguments are what it has of the first's."""
    set_pace()
    stay_small()
    link, door, memory = map(int, sys.argv[1:])
    ends = Ends(socket.socket(fileno=link), socket.socket(fileno=door), SharedMemory(SHARED_SIZE, memory))
    in_loop(serve_further(ends))


if __name__ == "__main__":
    main()
