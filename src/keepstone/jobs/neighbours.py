"""Says every few seconds that this server is there, and looks whether the others at the database fit it: those with
another secret refuse its tokens and can't check the codes of its users.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from keepstone.errors import KeepstoneError
from keepstone.home import fingerprint
from keepstone.model.ids import random_text
from keepstone.observe.logs import describe
from keepstone.services import Services
from keepstone.store import servers

log = logging.getLogger(__name__)

_EVERY = 5.0  # seconds


@asynccontextmanager
async def among_neighbours(services: Services, *, serves: bool) -> AsyncGenerator[None]:
    """The others know of this one as long as it lasts. It works without a Redis that does not answer, and says so."""
    if services.working is not None and not await services.working.answers():
        log.warning("Redis does not answer; until it does, Postgres and each server by itself do its work")
    telling = asyncio.create_task(_tell(services, random_text(24), serves=serves), name="tell the neighbours")
    try:
        yield
    finally:
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling


async def _tell(services: Services, server_id: str, *, serves: bool) -> None:
    own, agreed = fingerprint(services.jwt_secret), True
    try:
        while True:
            try:
                async with services.queue.connection() as conn:
                    redis = services.working is not None
                    await servers.note(conn, server_id, serves=serves, secret=own, redis=redis)
                    agree = (await servers.neighbours(conn, own)).agree
                if agreed and not agree:
                    log.warning("a server at this database has another secret: give all the same KEEPSTONE_JWT_SECRET")
                agreed = agree
            except KeepstoneError:
                pass  # a database that is away is told of elsewhere
            except Exception as fault:
                log.warning("the other servers can't be told", extra=describe(fault))
            await asyncio.sleep(_EVERY)
    finally:
        with suppress(KeepstoneError, TimeoutError):
            async with asyncio.timeout(1), services.queue.connection() as conn:
                await servers.forget(conn, server_id)
