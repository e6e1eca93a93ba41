"""Answers that are kept: for a while, for whoever asks the very same again because the first answer got lost; and what
was made of much, as long as nothing of it has changed.

Kept in memory and bounded; a restart forgets them. Where a server has several processes, the first knows who works on
what: the others ask it before they begin, and leave it what they made.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Reply:
    task: asyncio.Future[Any]
    begun: float


class _Abandoned(Exception):
    """Another process had it and made nothing: whoever waits for it does it."""


class FirstProcess(Protocol):
    """Where the others ask: `None` is for them to do, else what was made, in a tuple."""

    async def claim(self, key: str) -> tuple[Any] | None: ...
    def settle(self, key: str, made: tuple[Any] | None, *, keep: bool) -> None: ...


class Replies:
    """The work under a key is done once, also when several ask at once; a failure is not kept."""

    def __init__(
        self, *, seconds: float = 600, capacity: int = 200, clock: Callable[[], float] = time.monotonic,
        first: FirstProcess | None = None,
    ) -> None:  # fmt: skip
        self._seconds = seconds
        self._capacity = capacity
        self._clock = clock
        self._first = first
        self._replies: OrderedDict[str, _Reply] = OrderedDict()
        self._lent: dict[str, list[asyncio.Future[Any]]] = {}  # what other processes are working on

    async def once(self, key: str, work: Callable[[], Awaitable[T]], *, keep: Callable[[T], bool]) -> T:
        """What the work came to, if it was done under this key within the last minutes; else do it. What is not to be
        kept is for those who are waiting for it already, and for nobody after them.
        """
        while True:
            self._forget_old()
            reply = self._replies.get(key)
            if reply is None:
                begun = work() if self._first is None else self._unless_done(self._first, key, work, keep)
                reply = self._begin(key, asyncio.ensure_future(begun), keep)
            try:
                # One who goes away does not take the answer from the others.
                return cast("T", await asyncio.shield(reply.task))
            except _Abandoned:
                continue

    async def claim(self, key: str) -> tuple[Any] | None:
        """For another process, in the first: what was made of it, when it is; or nothing, and it is theirs to do and to
        `settle`.
        """
        while True:
            self._forget_old()
            reply = self._replies.get(key)
            if reply is None:
                theirs: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                self._lent.setdefault(key, []).append(theirs)
                self._begin(key, theirs, lambda _: True)
                return None
            try:
                return (await asyncio.shield(reply.task),)
            except Exception:  # what went wrong here may go well there
                await asyncio.sleep(0)

    def settle(self, key: str, made: tuple[Any] | None, *, keep: bool) -> None:
        """What another process made of what it had claimed; nothing: it failed, or has ended."""
        for theirs in self._lent.pop(key, ()):
            if made is None:
                theirs.set_exception(_Abandoned())
            else:
                theirs.set_result(made[0])
        if made is None or not keep:
            self._replies.pop(key, None)

    async def _unless_done(
        self, first: FirstProcess, key: str, work: Callable[[], Awaitable[T]], keep: Callable[[T], bool]
    ) -> T:
        known = await first.claim(key)
        if known is not None:
            return known[0]
        made: tuple[T] | None = None
        try:
            made = (await work(),)
            return made[0]
        finally:
            first.settle(key, made, keep=made is not None and keep(made[0]))

    def _begin(self, key: str, task: asyncio.Future[Any], keep: Callable[[Any], bool]) -> _Reply:
        reply = self._replies[key] = _Reply(task, self._clock())
        task.add_done_callback(lambda task: self._forget_unkept(key, task, keep))
        return reply

    def _forget_old(self) -> None:
        while self._replies:
            key, oldest = next(iter(self._replies.items()))
            if len(self._replies) <= self._capacity and self._clock() - oldest.begun < self._seconds:
                return
            del self._replies[key]

    def _forget_unkept(self, key: str, task: asyncio.Future[Any], keep: Callable[[Any], bool]) -> None:
        kept = not task.cancelled() and task.exception() is None and keep(task.result())
        if not kept and key in self._replies and self._replies[key].task is task:
            del self._replies[key]


class Snapshots:
    """What was made of something at one version of it. For each key the latest that was asked for, up to so many bytes
    in all; what nobody asked for longest goes first.
    """

    def __init__(self, *, capacity: int = 32 * 1024 * 1024) -> None:
        self._capacity, self._size = capacity, 0
        self._made: OrderedDict[Hashable, tuple[Hashable, Any, int]] = OrderedDict()

    async def at(
        self, key: Hashable, version: Hashable, make: Callable[[], Awaitable[T]], *, size: Callable[[T], int]
    ) -> T:
        """What `make` gave at this version. The caller has read the version before, so what is made is never older."""
        known = self._made.get(key)
        if known is not None and known[0] == version:
            self._made.move_to_end(key)
            return cast("T", known[1])
        made = await make()
        self._forget(key)
        self._made[key] = (version, made, size(made))
        self._size += size(made)
        while self._size > self._capacity:
            self._forget(next(iter(self._made)))
        return made

    def _forget(self, key: Hashable) -> None:
        _, _, size = self._made.pop(key, (None, None, 0))
        self._size -= size
