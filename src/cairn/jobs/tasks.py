"""The tasks, by name. Each takes ids, never text, and works in the read scope of the account that it names."""

import asyncio
from collections.abc import Awaitable, Callable

import procrastinate

from cairn.access.readscope import account_scope, job_scope
from cairn.engine import embed, index
from cairn.services import Services
from cairn.store import accounts, passages, sessions, spaces, users, vectors

GATHERING = 0.1  # seconds in which more may be said: read together, it costs little more than alone
# Waits 2, 4, 8 … seconds, about a day in all; then the job has failed and `cairn jobs` shows it.
RETRY = procrastinate.RetryStrategy(max_attempts=15, exponential_wait=2)


def register_tasks(services: Services) -> None:
    """Make the tasks known to the queue. A process that only adds jobs does not need this."""
    app = services.queue.app

    def task(name: str, work: Callable[..., Awaitable[None]]) -> None:
        app.task(name=name, retry=RETRY)(work)

    def scheduled(name: str, cron: str, work: Callable[[int], Awaitable[None]]) -> None:
        app.periodic(cron=cron)(app.task(name=name, retry=RETRY)(work))

    async def erase_user(account: int, user_id: str) -> None:
        """Remove a user who was erased, with everything that hangs on them; with the last one, the account."""
        async with services.db.transaction(account_scope(account)) as conn:
            await users.delete_erased(conn, user_id)
            await accounts.delete_abandoned(conn)

    async def read_space(account: int, space: int) -> None:
        """Read what is new in a space: what it says of people, and its vectors. Without an embedder those wait."""
        scope = job_scope(account, space)
        await asyncio.sleep(GATHERING)
        async with services.db.transaction(scope) as conn:
            await spaces.await_reading(conn, space, awaited=False)
        await index.note_people(services, scope, space)
        if await embed.embed_space(services, scope, space) and await embed.lacks_index(services, scope, space):
            async with services.db.transaction(scope) as conn:
                await services.queue.add(conn, "index_space", account=account, space=space)

    async def index_space(account: int, space: int) -> None:
        """Make the index of meanings that a large space needs."""
        await embed.index_space(services, job_scope(account, space), space)

    async def drop_unused_indexes(timestamp: int) -> None:  # noqa: ARG001
        """Remove the indexes of spaces that are gone."""
        async with services.db.as_owner() as owner:
            await vectors.drop_unused_indexes(owner)

    async def embed_pending(timestamp: int) -> None:  # noqa: ARG001
        """What was left over: stored while no embedder was there."""
        async with services.db.unscoped() as conn:
            waiting = await passages.pending_spaces(conn)
        for account, space in waiting:
            await read_space(account, space)

    async def forget_expired_logins(timestamp: int) -> None:  # noqa: ARG001
        """Remove sessions and one-time links that are over."""
        async with services.db.unscoped() as conn:
            await sessions.forget_expired(conn)

    async def remove_old_jobs(timestamp: int) -> None:  # noqa: ARG001
        """Failed jobs are kept for a month to be looked at; their arguments go with them."""
        await app.job_manager.delete_old_jobs(
            nb_hours=30 * 24, include_failed=True, include_cancelled=True, include_aborted=True
        )

    task("erase_user", erase_user)
    task("read_space", read_space)
    task("index_space", index_space)
    scheduled("embed_pending", "* * * * *", embed_pending)
    scheduled("forget_expired_logins", "*/10 * * * *", forget_expired_logins)
    scheduled("drop_unused_indexes", "47 3 * * *", drop_unused_indexes)
    scheduled("remove_old_jobs", "17 3 * * *", remove_old_jobs)
