"""The processes of a server beside the first: copies of it that were made before it had threads, or new ones in place
of those that have ended.

Each has two sockets to the first: a link, to talk by, and a door, through which it is handed connections. The first
accepts them all and gives each to whoever has fewest, because clients keep them open: the kernel would give one process
all of them. A process that loses its link ends at once, so none outlives the first; on Linux the kernel sees to it too.
"""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

from prometheus_client.metrics_core import Metric

from keepstone.errors import Unavailable
from keepstone.link import Link
from keepstone.observe.logs import describe
from keepstone.observe.metrics import counted
from keepstone.postgres.processes import die_with_parent
from keepstone.providers.remote import EmbeddersState
from keepstone.settings import Settings
from keepstone.tallies import SharedMemory

log = logging.getLogger(__name__)

_SWITCH_SECONDS = 0.001  # that a thread at work keeps the event loop waiting
_COLLECT = 20_000, 20, 50  # objects, and so on: a request makes thousands that go by themselves
_TRIES = 5  # at a start that fails, one after the other
_STEADY = 10.0  # seconds after which an end is not put down to the start
_LONGEST_PAUSE = 5.0
_BACKLOG = 2048
_ACCEPTED_AT_ONCE = 64


def set_pace() -> None:
    """Of the interpreter, for a process that answers requests."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(*_COLLECT)


@dataclass(frozen=True, slots=True)
class Ends:
    """What a process has of the first's: its end of the link and of the door, and the memory they share."""

    link: socket.socket
    door: socket.socket
    memory: SharedMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a process is told first."""

    version: str
    settings: Settings
    processes: int
    embedders: EmbeddersState


@dataclass(slots=True)
class Sibling:
    """A further process, as the first sees it. `open` are the connections that it has."""

    pid: int
    link_end: socket.socket
    door: socket.socket
    link: Link | None = None
    started: bool = False
    ready: bool = False  # for connections
    handed: int = 0
    closed: int = 0
    problem: str = ""
    metrics: Sequence[Metric] = ()
    claims: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    @property
    def open(self) -> int:
        return self.handed - self.closed

    def hand(self, connection: socket.socket) -> bool:
        """Whether it took the connection."""
        try:
            socket.send_fds(self.door, [b"c"], [connection.fileno()])
        except OSError:  # gone, or so busy that it takes none
            return False
        self.handed += 1
        connection.close()
        return True


def copies(number: int, memory: SharedMemory, run: Callable[[Ends], None], listener: socket.socket) -> list[Sibling]:
    """So many copies of this process, which has no thread yet; in each, `run` is called and never returned from."""
    made: list[Sibling] = []
    for _ in range(number):
        (link, link_end), (door, door_end) = socket.socketpair(), socket.socketpair()
        parent_tie = _tie()
        pid = os.fork()
        if pid == 0:
            listener.close()
            # What is the first's must be nobody else's: its end would seem to live on.
            for other in (link, door, *(end for sibling in made for end in (sibling.link_end, sibling.door))):
                other.close()
            _become(parent_tie, partial(run, Ends(link_end, door_end, memory)))
        link_end.close()
        door_end.close()
        made.append(Sibling(pid, link, door))
    return made


def _tie() -> Callable[[], None] | None:
    return die_with_parent(signal.SIGKILL) if sys.platform == "linux" else None


def _become(tie: Callable[[], None] | None, run: Callable[[], None]) -> NoReturn:
    """What is on the stack is the first process's: nothing of it may be unwound here."""
    code = 1
    try:
        if tie is not None:
            tie()
        run()
        code = 0
    except BaseException as fault:
        log.error("a process of the server broke down", extra=describe(fault))
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def replacement(memory: SharedMemory) -> Sibling:
    """A new process in place of one that ended. Not a copy: this one has threads by now."""
    (link, link_end), (door, door_end) = socket.socketpair(), socket.socketpair()
    passed = (link_end.fileno(), door_end.fileno(), memory.file)
    with link_end, door_end, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # preexec_fn makes one system call and no more
        child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", "keepstone.further", *map(str, passed)],
            stdin=subprocess.DEVNULL, pass_fds=passed, preexec_fn=_tie(),  # noqa: PLW1509
        )  # fmt: skip
    child.returncode = 0  # it is waited for as the copies are
    return Sibling(child.pid, link, door)


class Family:
    """All of them, in the first process. `answering` is given what one asks. `failed` is set when one can't start."""

    def __init__(
        self, siblings: list[Sibling], memory: SharedMemory, answering: Callable[[Sibling, str, Any], Awaitable[Any]]
    ) -> None:
        self.siblings = siblings
        self.ended: list[Metric] = []  # what those counted that are no more
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._memory = memory
        self._answering = answering
        self._draining = self._stopping = False
        self._keepers: list[asyncio.Task[None]] = []

    def start(self, greeting: Callable[[], Greeting], left: Callable[[Sibling], None]) -> None:
        """Let them serve, and replace whichever ends; `left` is told of each that does."""
        self._keepers = [
            asyncio.create_task(self._keep(place, greeting, left), name=f"process {place + 2}")
            for place in range(len(self.siblings))
        ]

    def tell(self, kind: str, value: Any = None) -> None:
        for sibling in self.siblings:
            if sibling.link is not None:
                sibling.link.tell(kind, value)

    def drain(self) -> None:
        """They go on, and say that they won't for long; so does whoever takes the place of one that ends now."""
        self._draining = True
        self.tell("drain")

    def stop(self, *, at_once: bool = False) -> None:
        """No more connections for them; what is under way may end."""
        self._stopping = True
        self.tell("stop", at_once)

    async def end(self, seconds: float) -> None:
        """Wait for them so long; then there is no more waiting."""
        self._stopping = True
        if self._keepers:
            await asyncio.wait(self._keepers, timeout=seconds)
        for sibling in self.siblings:
            with suppress(ProcessLookupError):
                os.kill(sibling.pid, signal.SIGKILL)
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

    async def _keep(self, place: int, greeting: Callable[[], Greeting], left: Callable[[Sibling], None]) -> None:
        failures, pause = 0, 0.0
        while True:
            sibling, begun = self.siblings[place], time.monotonic()
            await self._accompany(sibling, greeting)
            left(sibling)
            self.ended, sibling.metrics = counted([self.ended, sibling.metrics]), ()
            if self._stopping:
                return
            log.warning("a process of the server has ended, another takes its place", extra={"pid": sibling.pid})
            failures = 0 if sibling.started else failures + 1
            if failures == _TRIES:
                why = f": {sibling.problem}" if sibling.problem else "; the log may say why"
                self.failed.set_exception(
                    Unavailable(
                        f"A process of the server ended {_TRIES} times in a row while it started{why}. "
                        "KEEPSTONE_PROCESSES=1 serves from one alone."
                    )
                )
                return
            pause = 0.0 if time.monotonic() - begun > _STEADY else min(_LONGEST_PAUSE, pause * 2 or 0.1)
            await asyncio.sleep(pause)
            self.siblings[place] = await self._replacement()

    async def _replacement(self) -> Sibling:
        while True:
            try:
                return replacement(self._memory)
            except OSError as fault:  # no more processes, files or memory for now
                log.warning("no process can be started", extra={"error": errno.errorcode.get(fault.errno or 0)})
                await asyncio.sleep(_LONGEST_PAUSE)

    async def _accompany(self, sibling: Sibling, greeting: Callable[[], Greeting]) -> None:
        """As long as it lives."""

        async def answer(kind: str, value: Any) -> Any:
            return await self._answering(sibling, kind, value)

        sibling.link = Link(answer)
        try:
            sibling.door.setblocking(False)
            await sibling.link.open(sibling.link_end)
            sibling.link.tell("go", greeting())
            if self._draining:
                sibling.link.tell("drain")
            if self._stopping:
                sibling.link.tell("stop", True)
            await sibling.link.gone.wait()
        finally:
            sibling.ready = False
            sibling.link.close()
            sibling.door.close()
            with suppress(ProcessLookupError):
                os.kill(sibling.pid, signal.SIGKILL)  # without its link it is of no use
            await asyncio.to_thread(os.waitpid, sibling.pid, 0)


class Acceptor:
    """Takes the connections that come, and gives each to the process that has fewest; of several, to the one whose turn
    it is.
    """

    def __init__(self, listener: socket.socket, own: Callable[[socket.socket], None], family: Family | None) -> None:
        self._listener = listener
        self._own = own
        self._family = family
        self._open = 0
        self._turn = 0
        self._again: asyncio.TimerHandle | None = None

    def open(self) -> None:
        self._listener.setblocking(False)
        self._listener.listen(_BACKLOG)
        asyncio.get_running_loop().add_reader(self._listener.fileno(), self._accept)

    def close(self) -> None:
        if self._listener.fileno() >= 0:
            self._accept()  # those that the kernel has let in, and would cut off with it
            asyncio.get_running_loop().remove_reader(self._listener.fileno())
            self._listener.close()
        if self._again is not None:
            self._again.cancel()

    def closed(self) -> None:
        """One of this process's own has ended."""
        self._open -= 1

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as fault:
                if fault.errno in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
                    self._pause()
                    return
                continue  # it was given up before it was taken
            if connection.family != socket.AF_UNIX:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.setblocking(False)
            self._give(connection)

    def _give(self, connection: socket.socket) -> None:
        ready = [sibling for sibling in (self._family.siblings if self._family else ()) if sibling.ready]
        places = [None, *ready]
        self._turn += 1
        turns = [places[(self._turn + number) % len(places)] for number in range(len(places))]
        for sibling in sorted(turns, key=lambda sibling: self._open if sibling is None else sibling.open):
            if sibling is None:
                break
            if sibling.hand(connection):
                return
        self._open += 1
        self._own(connection)

    def _pause(self) -> None:
        """No more files can be open: what is there has to end first."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener.fileno())
        self._again = loop.call_later(0.1, self.open)


class Doorway:
    """The other end of a door: takes what is handed in."""

    def __init__(self, door: socket.socket, take: Callable[[socket.socket], None]) -> None:
        self._door = door
        self._take = take

    def open(self) -> None:
        self._door.setblocking(False)
        asyncio.get_running_loop().add_reader(self._door.fileno(), self._receive)

    def close(self) -> None:
        """After what was handed in before."""
        if self._door.fileno() >= 0:
            self._receive()
            asyncio.get_running_loop().remove_reader(self._door.fileno())
            self._door.close()

    def _receive(self) -> None:
        while True:
            try:
                said, handles, _, _ = socket.recv_fds(self._door, 1, 1)
            except (BlockingIOError, InterruptedError):
                return
            if not said:
                asyncio.get_running_loop().remove_reader(self._door.fileno())
                return
            for handle in handles:
                connection = socket.socket(fileno=handle)
                connection.setblocking(False)
                self._take(connection)
