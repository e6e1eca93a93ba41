"""The log of traces: they wait here until a task writes them, a few at a time, after the answers they are of.

A trace is no acknowledged write: where more come than can be written, the rest is dropped and counted. What waits holds
on to what was found, so little of it does.
"""

import asyncio
import logging
from collections import defaultdict
from typing import Protocol

from keepstone.disk import Disk
from keepstone.model.principal import ReadScope
from keepstone.model.trace import StoredTrace
from keepstone.observe.logs import describe
from keepstone.observe.metrics import Metrics
from keepstone.store import traces
from keepstone.store.db import Database

log = logging.getLogger(__name__)

MOST_WAITING = 256
AT_ONCE = 32
SECONDS = 0.5  # until what came is written, so that several are written together


class TraceInWaiting(Protocol):
    @property
    def account_scope(self) -> ReadScope:
        """Of the account that it is of."""
        ...

    def row(self) -> StoredTrace:
        """As it is stored. Made in a thread: it is work, and nobody waits for it."""
        ...


class TraceLog:
    """Of one process; `several`: others of the same server have theirs, and what they hold is not here yet."""

    def __init__(self, db: Database, disk: Disk, metrics: Metrics, *, several: bool = False) -> None:
        self.several = several
        self._db, self._disk, self._metrics = db, disk, metrics
        self._waiting: list[TraceInWaiting] = []
        self._enough = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def put(self, trace: TraceInWaiting) -> None:
        """Never waits."""
        if len(self._waiting) >= MOST_WAITING:
            self._metrics.traces.labels("dropped").inc()
            return
        self._waiting.append(trace)
        if len(self._waiting) >= AT_ONCE:
            self._enough.set()
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="write traces")

    async def flush(self) -> None:
        """All that came until now is written, or dropped."""
        async with self._writing:
            while self._waiting:
                some, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
                await self._keep(some)

    async def close(self) -> None:
        """What waits is written first."""
        self._enough.set()
        if self._writer is not None:
            await asyncio.wait({self._writer})
        await self.flush()

    async def _write(self) -> None:
        while self._waiting:
            try:
                async with asyncio.timeout(SECONDS):
                    await self._enough.wait()
            except TimeoutError:
                pass
            self._enough.clear()
            await self.flush()

    async def _keep(self, some: list[TraceInWaiting]) -> None:
        kept = 0
        try:
            self._disk.require_room()
            by_account: dict[ReadScope, list[StoredTrace]] = defaultdict(list)
            for trace, row in zip(some, await asyncio.to_thread(_rows, some), strict=True):
                by_account[trace.account_scope].append(row)
            for scope, rows in by_account.items():
                async with self._db.transaction(scope) as conn:
                    written = await traces.insert(conn, rows)
                kept += written
        except Exception as fault:  # the top of a loop: whatever it is, the next ones are tried
            log.warning("traces not kept", extra=describe(fault))
        self._metrics.traces.labels("kept").inc(kept)
        self._metrics.traces.labels("dropped").inc(len(some) - kept)


def _rows(some: list[TraceInWaiting]) -> list[StoredTrace]:
    return [trace.row() for trace in some]
