"""What is written after an answer: names are gathered for a moment and put down at once, by nobody who waits for it.

Bounded, and lost with the process: for what may be a moment late, and whose loss nobody would notice.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable

log = logging.getLogger(__name__)

Write = Callable[[list[str]], Awaitable[object]]


class Afterwards:
    """Names by what they belong to. `seconds`: for how long more may come, so that it is one write for all."""

    def __init__(self, *, seconds: float = 1.0, most: int = 10_000) -> None:
        self._seconds = seconds
        self._most = most
        self._names: dict[Hashable, dict[str, None]] = {}
        self._tasks: dict[Hashable, asyncio.Task[None]] = {}
        self._closing = asyncio.Event()

    def note(self, key: Hashable, names: Iterable[str], write: Write) -> None:
        """These too: `write` gets them together with what else comes for the same in the next moment."""
        gathered = self._names.setdefault(key, {})
        gathered.update(dict.fromkeys(list(names)[: self._most - len(gathered)]))
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._later(key, write), name="write what was gathered")

    def take(self, key: Hashable) -> list[str]:
        """What was gathered and not written yet, for somebody who writes it now."""
        return list(self._names.pop(key, {}))

    async def settle(self) -> None:
        """Until all of it is written; from then on nothing is waited for."""
        self._closing.set()
        await asyncio.gather(*self._tasks.values())

    close = settle

    async def _later(self, key: Hashable, write: Write) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await self._closing.wait()
        except TimeoutError:
            pass
        del self._tasks[key]  # what comes from here on is another's
        names = self.take(key)
        if not names:
            return
        try:
            await write(names)
        except Exception as fault:  # nobody waits, and it is no loss
            log.warning("not written", extra={"error": type(fault).__name__})
