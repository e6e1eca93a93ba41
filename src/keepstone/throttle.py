"""Slows down whoever keeps failing, and whoever asks more often than they may.

Kept in memory and bounded, and shared by the processes of a server; a restart forgives everybody. Who guesses passwords
and codes is counted for all servers (`access/guesses.py`).
"""

import ipaddress
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from keepstone.tallies import SharedMemory, Tallies

_FEW, _MANY = 10_000, 100_000
_MOST_DOUBLINGS = 60  # no wait is longer, and beyond a thousand a float has no room
# What the tables of a throttle and of the plans' buckets need.
SHARED_SIZE = Tallies.size(_FEW) + Tallies.size(_MANY)


def network_of(address: str) -> str:
    """What one subscriber has of addresses: one of IPv4, a /64 of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((parsed, 64), strict=False))


class Throttle:
    """Failures by key: the more in a row, the longer until the next try counts. `free` of them cost nothing; each
    further one doubles the wait, up to `longest` seconds.
    """

    def __init__(
        self, *, longest: float = 300, forget_after: float = 900, capacity: int = _FEW,
        clock: Callable[[], float] = time.monotonic, memory: SharedMemory | None = None,
    ) -> None:  # fmt: skip
        self._longest = longest
        self._forget_after = forget_after
        self._clock = clock
        self._failures = Tallies(capacity, memory)

    def wait(self, key: str, *, free: int) -> float:
        """Seconds until a try under this key is looked at again; 0 is now."""
        with self._failures.locked():
            count, last = self._current(key)
        if count < max(free, 1):
            return 0
        return max(0.0, last + min(self._longest, 2.0 ** min(count - free, _MOST_DOUBLINGS)) - self._clock())

    def failed(self, key: str) -> None:
        with self._failures.locked():
            self._failures.put(key, self._current(key)[0] + 1, self._clock())

    def _current(self, key: str) -> tuple[float, float]:
        """How many failures, and when the last was; those of long ago are none."""
        count, last = self._failures.get(key) or (0.0, 0.0)
        return (0.0, 0.0) if self._clock() - last > self._forget_after else (count, last)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """So many a minute under this name, all of them at once or one after the other."""

    name: str
    per_minute: int


class Buckets:
    """Token buckets, each kept as the time at which it will be full again."""

    def __init__(
        self, *, capacity: int = _MANY, clock: Callable[[], float] = time.monotonic, memory: SharedMemory | None = None
    ) -> None:
        self._clock = clock
        self._full_at = Tallies(capacity, memory)

    def take(self, limits: Sequence[Limit]) -> float:
        """One token of each, or none of any: then the seconds until there is one."""
        now = self._clock()
        with self._full_at.locked():
            full_at = {limit: max(self._at(limit), now) for limit in limits}
            wait = max((at - now - 60 + 60 / limit.per_minute for limit, at in full_at.items()), default=0.0)
            if wait > 1e-9:
                return wait
            for limit, at in full_at.items():
                self._full_at.put(limit.name, 0.0, at + 60 / limit.per_minute)
        return 0.0

    def _at(self, limit: Limit) -> float:
        return (self._full_at.get(limit.name) or (0.0, 0.0))[1]
