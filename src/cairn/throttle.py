"""Slows down whoever keeps failing: the more failures in a row, the longer until the next try counts.

Kept in memory and bounded; a restart forgives everybody.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Throttle:
    """Failures by key. `free` of them cost nothing; each further one doubles the wait, up to `longest` seconds."""

    def __init__(
        self, *, longest: float = 300, forget_after: float = 900, capacity: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._longest = longest
        self._forget_after = forget_after
        self._capacity = capacity
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def wait(self, key: str, *, free: int) -> float:
        """Seconds until a try under this key is looked at again; 0 is now."""
        found = self._current(key)
        if found is None or found.count < free:
            return 0
        return max(0.0, found.last + min(self._longest, 2.0 ** (found.count - free)) - self._clock())

    def failed(self, key: str) -> None:
        found = self._current(key) or _Failures(0, 0)
        found.count += 1
        found.last = self._clock()
        self._failures[key] = found
        self._failures.move_to_end(key)
        if len(self._failures) > self._capacity:
            self._failures.popitem(last=False)

    def forgive(self, key: str, *, all_of_them: bool = False) -> None:
        """Take the last failure back, or all."""
        found = self._current(key)
        if found is None:
            return
        found.count = 0 if all_of_them else found.count - 1
        if found.count <= 0:
            del self._failures[key]

    def _current(self, key: str) -> _Failures | None:
        found = self._failures.get(key)
        if found is not None and self._clock() - found.last > self._forget_after:
            del self._failures[key]
            return None
        return found
