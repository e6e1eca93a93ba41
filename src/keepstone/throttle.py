"""Slows down whoever keeps failing, and whoever asks more often than they may.

Kept in memory and bounded; a restart forgives everybody.
"""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass


def network_of(address: str) -> str:
    """What one subscriber has of addresses: one of IPv4, a /64 of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    return str(parsed.ipv4_mapped or ipaddress.IPv6Network((parsed, 64), strict=False))


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Throttle:
    """Failures by key: the more in a row, the longer until the next try counts. `free` of them cost nothing; each
    further one doubles the wait, up to `longest` seconds. `turns` is for those who are to wait and not to be refused.
    """

    def __init__(
        self, *, longest: float = 300, forget_after: float = 900, capacity: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._longest = longest
        self._forget_after = forget_after
        self._capacity = capacity
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()
        self.turns = Buckets(capacity=capacity, clock=clock)

    def wait(self, key: str, *, free: int) -> float:
        """Seconds until a try under this key is looked at again; 0 is now."""
        failures = self._current(key)
        if failures is None or failures.count < free:
            return 0
        return max(0.0, failures.last + min(self._longest, 2.0 ** (failures.count - free)) - self._clock())

    def failed(self, key: str) -> None:
        failures = self._current(key) or _Failures(0, 0)
        failures.count += 1
        failures.last = self._clock()
        self._failures[key] = failures
        self._failures.move_to_end(key)
        if len(self._failures) > self._capacity:
            self._failures.popitem(last=False)

    def forgive(self, key: str, *, all_of_them: bool = False) -> None:
        """Take the last failure back, or all."""
        failures = self._current(key)
        if failures is None:
            return
        failures.count = 0 if all_of_them else failures.count - 1
        if failures.count <= 0:
            del self._failures[key]

    def _current(self, key: str) -> _Failures | None:
        failures = self._failures.get(key)
        if failures is not None and self._clock() - failures.last > self._forget_after:
            del self._failures[key]
            return None
        return failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """So many a minute under this name, all of them at once or one after the other."""

    name: str
    per_minute: int


class Buckets:
    """Token buckets, each kept as the time at which it will be full again."""

    def __init__(self, *, capacity: int = 100_000, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = capacity
        self._clock = clock
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, limits: Sequence[Limit]) -> float:
        """One token of each, or none of any: then the seconds until there is one."""
        now = self._clock()
        full_at = {limit: max(self._full_at.get(limit.name, now), now) for limit in limits}
        wait = max((at - now - 60 + 60 / limit.per_minute for limit, at in full_at.items()), default=0.0)
        if wait > 1e-9:
            return wait
        for limit, at in full_at.items():
            self._full_at[limit.name] = at + 60 / limit.per_minute
            self._full_at.move_to_end(limit.name)
        while len(self._full_at) > self._capacity:
            self._full_at.popitem(last=False)
        return 0.0

    def give_back(self, limit: Limit) -> None:
        """A token that was taken, and need not have been."""
        if limit.name in self._full_at:
            self._full_at[limit.name] -= 60 / limit.per_minute
