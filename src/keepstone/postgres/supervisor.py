"""Keeps the embedded Postgres running as a direct child of one Keepstone process, shared by all on the same home.

Who holds `postgres/lock` owns the server: starts it, restarts it, stops it. The others attach to its socket, and the
first to get the lock after the owner is gone takes over. The kernel releases the lock of a killed process and, on
Linux, tells its Postgres to shut down, so neither can outlive the other unnoticed.

Call `start` and `watch` from the main thread: the kernel ties the child to the life of the thread that started it.
"""

import asyncio
import fcntl
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg
from psycopg.conninfo import make_conninfo

from keepstone.errors import Misconfigured, Unavailable
from keepstone.postgres.cluster import OWNER, Cluster, create_data
from keepstone.postgres.processes import hold, is_held, processes_in, signal_all
from keepstone.postgres.spawn import LONGEST_SOCKET_PATH, spawn, through_handle
from keepstone.postgres.upgrade import UNFINISHED, find_data, upgrade

log = logging.getLogger(__name__)

DATABASE = "keepstone"


class Supervisor:
    """`start` until it answers, `watch` as long as Keepstone runs, `stop` at the end."""

    def __init__(self, cluster: Cluster, *, start_seconds: float = 60) -> None:
        self._cluster = cluster
        self._start_seconds = start_seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._lock: int | None = None
        self._folder = os.open(cluster.folder, os.O_RDONLY | os.O_DIRECTORY)
        self.restarts = 0

    @property
    def owner(self) -> bool:
        """Whether the server is this process's child."""
        return self._child is not None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    @property
    def conninfo(self) -> str:
        return self._conninfo(DATABASE)

    async def start(self) -> None:
        """Own the server or attach to another's; either way it answers when this returns."""
        deadline = time.monotonic() + self._start_seconds
        while True:
            if self._child is None and self._try_lock():
                await self._launch()
                deadline = time.monotonic() + self._start_seconds  # to bring the data over takes its own time
            if await self._answers():
                return
            self._fail_if_dead()
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"Postgres did not answer within {self._start_seconds:.0f} s; its log is {self._cluster.log}."
                )
            await asyncio.sleep(0.02)

    async def watch(self) -> None:
        """Bring the server back whenever it is gone. Runs until cancelled."""
        while True:
            await asyncio.sleep(0.2)
            if not self._gone():
                continue
            log.warning("postgres is gone, starting it", extra={"restarts": self.restarts})
            self._release()
            try:
                await self.start()
            except Exception as fault:
                log.error("postgres did not start", extra={"error": type(fault).__name__})
                await asyncio.sleep(1)
            else:
                self.restarts += 1

    async def stop(self, seconds: float = 30) -> None:
        """Shut the child down cleanly and let go of the lock. An attached server is left alone."""
        child = self._child
        if child is not None and child.poll() is None:
            child.send_signal(signal.SIGINT)
            if not await _within(seconds, lambda: child.poll() is not None):
                log.error("postgres did not stop in time")
                child.send_signal(signal.SIGQUIT)
                await _within(5, lambda: child.poll() is not None)
        self._release()

    def close(self) -> None:
        os.close(self._folder)

    # -- the pieces ---------------------------------------------------------------------------------------------

    def _gone(self) -> bool:
        if self._child is not None:
            return self._child.poll() is not None
        return self._try_lock()  # an owner that dies lets go of it

    def _try_lock(self) -> bool:
        if self._lock is not None:
            return True
        handle = self._cluster.open(self._cluster.folder / "lock", os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._lock = handle
        return True

    def _release(self) -> None:
        if self._child is not None:
            self._child.wait()
            self._child = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    async def _launch(self) -> None:
        """With the lock in hand: nobody else starts a server here, so whatever still runs is a leftover."""
        await self._clear_leftovers()
        handle = hold(self._cluster.folder)
        try:
            seen = self._seen_folder(handle)
            find_data(self._cluster)
            if self._cluster.is_older:
                upgrade(self._cluster, seen, handle)
            create_data(self._cluster, seen, handle)
            self._child = spawn(self._cluster, self._cluster.command(f"{seen}/data"), handle)
        finally:
            os.close(handle)

    async def _clear_leftovers(self) -> None:
        """Wait for a dying server's processes, press those that stay, and remove what they left behind.

        Its pid files would stop a new server whenever their number is in use again, by anything, or is still held
        by a zombie. They may go once no process works in the data folder any more.
        """
        data = self._cluster.data

        def at_work() -> list[int]:
            return [pid for name in ("data", UNFINISHED) for pid in processes_in(self._cluster.folder / name)]

        def empty() -> bool:
            return not is_held(self._cluster.folder) and not at_work()

        for number, patience in (
            (None, 10.0),
            (signal.SIGINT, 10.0),
            (signal.SIGQUIT, 5.0),
            (signal.SIGKILL, 5.0),
        ):
            if number is not None:
                signal_all(at_work(), number)
            if await _within(patience, empty):
                break
        else:
            raise Unavailable(f"A Postgres that can't be stopped is still using {data}.")
        (data / "postmaster.pid").unlink(missing_ok=True)
        self._cluster.socket.with_name(self._cluster.socket.name + ".lock").unlink(missing_ok=True)

    def _seen_folder(self, handle: int) -> str:
        """The path by which the server finds its folder.

        A uid that root dropped to may not pass the folders above (KEEPSTONE_HOME is 0700 and root's). It can pass an
        open directory that it inherited.
        """
        if self._cluster.uid is None:
            return str(self._cluster.folder)
        return through_handle(handle, self._cluster.folder)

    def _conninfo(self, database: str) -> str:
        host = str(self._cluster.folder)
        if len(os.fsencode(self._cluster.socket)) > LONGEST_SOCKET_PATH:
            host = through_handle(self._folder, self._cluster.folder)
        return make_conninfo(host=host, user=OWNER, password=self._cluster.password, dbname=database)

    async def _answers(self) -> bool:
        try:
            conn = await psycopg.AsyncConnection.connect(self.conninfo, connect_timeout=5)
        except psycopg.OperationalError as fault:
            if "password authentication failed" in str(fault):
                raise Misconfigured(
                    f"The password in {self._cluster.folder.parent / 'postgres-password'} is not the database's: "
                    "put the file back that belongs to this data folder."
                ) from None
            if self._child is not None and f'database "{DATABASE}" does not exist' in str(fault):
                await self._create_database()
            return False
        await conn.close()
        return True

    async def _create_database(self) -> None:
        """If it dies under our hands, the next look finds it dead."""
        with suppress(psycopg.OperationalError):
            async with await psycopg.AsyncConnection.connect(self._conninfo("postgres"), autocommit=True) as conn:
                await conn.execute(f"CREATE DATABASE {DATABASE}")

    def _fail_if_dead(self) -> None:
        if self._child is None or self._child.poll() is None:
            return
        self._release()
        tail = "\n".join(self._cluster.log.read_text(errors="replace").splitlines()[-5:])
        raise Unavailable(f"Postgres stopped while starting. The end of {self._cluster.log}:\n{tail}")


async def _within(seconds: float, done: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True
