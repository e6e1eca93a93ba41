"""What was said last in each room, in Redis: near at hand, and never the only copy.

It is right if it ends with the message that the room's row says came last; else it is thrown away, and whoever asked
reads the store. A Redis that is away, slow, empty or full of nonsense costs time and nothing else.
"""

import logging
from collections.abc import Awaitable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any, cast

from pydantic import TypeAdapter

from keepstone.model.room import WORKING, Utterance

log = logging.getLogger(__name__)

_SECONDS = 0.5  # after which Postgres has answered anyway
_KEPT = 7 * 24 * 3600
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UTTERANCE = TypeAdapter(Utterance)

# What ends the list: the message that came last, and the latest time. Only behind that message, and only in the order
# of time, something is added; else all of it is forgotten. A full Redis throws single keys away: the list has to be
# there.
_APPEND = """
local seq, at = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+) (-?%d+)$')
if seq == ARGV[1] and tonumber(at) <= tonumber(ARGV[3]) and redis.call('EXISTS', KEYS[1]) == 1 then
    redis.call('RPUSH', KEYS[1], ARGV[4])
    redis.call('LTRIM', KEYS[1], -tonumber(ARGV[5]), -1)
    redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. ARGV[3], 'EX', ARGV[6])
    redis.call('EXPIRE', KEYS[1], ARGV[6])
else
    redis.call('DEL', KEYS[1], KEYS[2])
end
"""


class RedisWorking:
    def __init__(self, url: str) -> None:
        client: Any = import_module("redis.asyncio")
        self._redis: Any = client.Redis.from_url(
            url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS, decode_responses=True
        )
        self._faults: tuple[type[Exception], ...] = (
            import_module("redis.exceptions").RedisError, OSError, TimeoutError, ValueError, TypeError, KeyError,
        )  # fmt: skip

    async def read(self, account: int, space: int, last_seq: int) -> list[Utterance] | None:
        """None when it is not there, or not the latest."""
        keys = _keys(account, space)
        with self._faults_noted():
            pipeline = self._redis.pipeline(transaction=True)
            pipeline.lrange(keys[0], 0, -1)
            pipeline.get(keys[1])
            messages, end = await cast("Awaitable[Any]", pipeline.execute())
            known = bool(messages) and end is not None and end.startswith(f"{last_seq} ")
            return [_UTTERANCE.validate_json(message, strict=True) for message in messages] if known else None
        return None

    async def append(self, account: int, space: int, before: int, message: Utterance) -> None:
        """Said after the message at `before`."""
        with self._faults_noted():
            await self._redis.eval(
                _APPEND, 2, *_keys(account, space), before, message.seq, _micros(message.ts), _written(message),
                WORKING, _KEPT,
            )  # fmt: skip

    async def fill(self, account: int, space: int, last_seq: int, messages: Sequence[Utterance]) -> None:
        """All of it anew."""
        keys = _keys(account, space)
        with self._faults_noted():
            pipeline = self._redis.pipeline(transaction=True)
            pipeline.delete(*keys)
            if messages:
                pipeline.rpush(keys[0], *(_written(message) for message in messages))
                pipeline.expire(keys[0], _KEPT)
                pipeline.set(keys[1], f"{last_seq} {max(_micros(message.ts) for message in messages)}", ex=_KEPT)
            await cast("Awaitable[Any]", pipeline.execute())

    async def drop(self, account: int, space: int) -> None:
        """What was said in one room: it was corrected. Where Redis does not answer, it is no longer the latest."""
        with self._faults_noted():
            await self._redis.delete(*_keys(account, space))

    async def forget(self, account: int) -> bool:
        """Whatever there is of the account's rooms, also of those that are gone. False when Redis did not answer."""
        with self._faults_noted():
            async for key in self._redis.scan_iter(match=f"keepstone:working:{{{account}:*", count=1000):
                await self._redis.delete(key)
            return True
        return False

    async def answers(self) -> bool:
        try:
            return bool(await self._redis.ping())
        except self._faults:
            return False

    async def close(self) -> None:
        await self._redis.aclose()

    @contextmanager
    def _faults_noted(self) -> Generator[None]:
        try:
            yield
        except self._faults as fault:
            log.warning("Redis did not answer", extra={"error": type(fault).__name__})


def _keys(account: int, space: int) -> tuple[str, str]:
    base = f"keepstone:working:{{{account}:{space}}}"  # the braces keep the two together in a cluster
    return base, f"{base}:end"


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def _written(message: Utterance) -> bytes:
    return _UTTERANCE.dump_json(message)
