"""Requests a minute: counted by the processes of this server, or in Redis where several servers share what they count.

A Redis that is away or slow is left alone for a while; meanwhile each server counts for itself.
"""

import logging
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from keepstone.tallies import SharedMemory
from keepstone.throttle import Buckets, Limit

log = logging.getLogger(__name__)

_SECONDS = 0.25  # that a request may wait for it
_LEFT_ALONE = 5.0

# As `Buckets.take`, in microseconds of Redis's own clock. Its numbers are floating, so they are written out in full.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full_at, wait = {}, 0
for place, key in ipairs(KEYS) do
    full_at[place] = math.max(tonumber(redis.call('GET', key) or '0'), now)
    wait = math.max(wait, full_at[place] - now - 60000000 + 60000000 / ARGV[place])
end
if wait >= 1 then
    return math.ceil(wait)
end
for place, key in ipairs(KEYS) do
    local at = full_at[place] + 60000000 / ARGV[place]
    redis.call('SET', key, string.format('%.0f', at), 'PX', math.ceil((at - now) / 1000))
end
return 0
"""


class Rates:
    def __init__(self, redis_url: str | None = None, memory: SharedMemory | None = None) -> None:
        self._own = Buckets(memory=memory)
        self._redis: Any = None
        self._alone_until = 0.0
        if redis_url is not None:
            client: Any = import_module("redis.asyncio")
            self._redis = client.Redis.from_url(redis_url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS)
            self._faults: tuple[type[Exception], ...] = (
                import_module("redis.exceptions").RedisError, OSError, TimeoutError, ValueError, TypeError,
            )  # fmt: skip

    async def take(self, account: int, limits: Sequence[Limit]) -> float:
        """One request under each of them, all of the same account: 0, or the seconds until it is welcome."""
        if not limits:
            return 0.0
        if self._redis is not None and time.monotonic() >= self._alone_until:
            # What stands in braces keeps an account's keys together where there are several Redis servers.
            keys = [f"keepstone:rate:{{{account}}}:{limit.name}" for limit in limits]
            try:
                wait = await self._redis.eval(_TAKE, len(keys), *keys, *(limit.per_minute for limit in limits))
                return int(wait) / 1_000_000
            except self._faults as fault:
                self._alone_until = time.monotonic() + _LEFT_ALONE
                log.warning("Redis did not answer", extra={"error": type(fault).__name__})
        return self._own.take(limits)

    async def close(self) -> None:
        if self._redis is not None:
            await self._redis.aclose()
