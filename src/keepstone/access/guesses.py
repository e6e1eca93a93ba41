"""Slows down whoever guesses what people choose or what is short: passwords and codes. Counted in the database, so that
more servers are no more guesses. What is random and long (keys, links) nobody guesses; `throttle.py` spares the server
those who try.
"""

import asyncio
import hmac
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from keepstone.errors import RateLimited
from keepstone.services import Services
from keepstone.store import guesses as store

_LONGEST_TURN = 10.0


async def begin(services: Services, free: Mapping[str, int], refusal: str) -> None:
    """A try counts as wrong under each of these names until it was right, so that trying in parallel gains nothing;
    too many raise `RateLimited`. So many are free.
    """
    names = [_digest(services, name) for name in free]
    async with services.db.one_statement() as conn:
        wait = await store.count(conn, names, list(free.values()), services.clock())
    if wait > 0:
        raise RateLimited(refusal, retry_after=wait)


async def forgive(services: Services, *names: str, one_of: tuple[str, ...] = ()) -> None:
    """It was right: nothing stands under these names any more, and one failure less under those."""
    async with services.db.one_statement() as conn:
        await store.forgive(
            conn, [_digest(services, name) for name in names], [_digest(services, name) for name in one_of]
        )


@asynccontextmanager
async def guess(services: Services, name: str, *, free: int, refusal: str) -> AsyncGenerator[None]:
    """What happens inside is right unless it raises."""
    await begin(services, {name: free}, refusal)
    yield
    await forgive(services, name)


async def wait_for_turn(services: Services, name: str, per_minute: int, refusal: str) -> None:
    """So many strangers a minute may try; more of them wait, and not for ever."""
    left, digest = _LONGEST_TURN, _digest(services, name)
    while True:
        async with services.db.one_statement() as conn:
            wait = await store.take_turn(conn, digest, per_minute, services.clock())
        if wait <= 0:
            return
        if wait > left:
            raise RateLimited(refusal, retry_after=wait)
        left -= wait
        await asyncio.sleep(wait)


async def give_turn_back(services: Services, name: str, per_minute: int) -> None:
    """It need not have been taken."""
    async with services.db.one_statement() as conn:
        await store.give_turn_back(conn, _digest(services, name), per_minute)


def _digest(services: Services, name: str) -> bytes:
    """What is stored names nobody: neither who was guessed at nor from where."""
    return hmac.digest(services.jwt_secret.encode(), f"guess {name}".encode(errors="surrogatepass"), "sha256")[:16]
