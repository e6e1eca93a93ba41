"""Answers that are kept for a while, for whoever asks the very same again because the first answer got lost.

Kept in memory and bounded; a restart forgets them.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Reply:
    task: asyncio.Future[Any]
    begun: float


class Replies:
    """The work under a key is done once, also when several ask at once; a failure is not kept."""

    def __init__(
        self, *, seconds: float = 600, capacity: int = 200, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._capacity = capacity
        self._clock = clock
        self._replies: OrderedDict[str, _Reply] = OrderedDict()

    async def once(self, key: str, work: Callable[[], Awaitable[T]], *, keep: Callable[[T], bool]) -> T:
        """What the work came to, if it was done under this key within the last minutes; else do it. What is not to be
        kept is for those who are waiting for it already, and for nobody after them.
        """
        self._forget_old()
        reply = self._replies.get(key)
        if reply is None:
            reply = _Reply(asyncio.ensure_future(work()), self._clock())
            self._replies[key] = reply
            reply.task.add_done_callback(lambda task: self._forget_unkept(key, task, keep))
        # One who goes away does not take the answer from the others.
        return cast("T", await asyncio.shield(reply.task))

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
