"""Turns at the database: one account has at most so many transactions under way, so that others find a connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from keepstone.errors import RateLimited


class AccountTurns:
    """In this process. Whoever comes when all turns of their account are taken waits, and not for ever."""

    def __init__(self, at_once: int, patience: float) -> None:
        self._at_once = at_once
        self._patience = patience
        self._turns: dict[int, asyncio.Semaphore] = {}
        self._using: dict[int, int] = {}

    @asynccontextmanager
    async def of(self, account: int) -> AsyncGenerator[None]:
        turns = self._turns.setdefault(account, asyncio.Semaphore(self._at_once))
        self._using[account] = self._using.get(account, 0) + 1
        try:
            try:
                async with asyncio.timeout(self._patience):
                    await turns.acquire()
            except TimeoutError:
                raise RateLimited(
                    f"This account has {self._at_once} requests at the database already, and as many as it answers in "
                    "time are waiting: send fewer at once.",
                    code="too_many_at_once",
                    retry_after=2,
                ) from None
            try:
                yield
            finally:
                turns.release()
        finally:
            self._using[account] -= 1
            if not self._using[account]:
                del self._using[account], self._turns[account]
