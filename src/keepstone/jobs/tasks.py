"""The tasks, by name. Each takes ids, never text, and works in the read scope of the account that it names."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any

import procrastinate

from keepstone.access.readscope import account_scope, job_scope
from keepstone.engine import embed, index, revise
from keepstone.jobs import model_change
from keepstone.jobs.patience import RETRY, RETRY_SOON
from keepstone.memory import capsule_views, chat_index, erasure, imports, room_memories, room_summaries
from keepstone.memory.distil import distil
from keepstone.model.memory import TRASH_DAYS
from keepstone.services import Services
from keepstone.store import (
    audit,
    changes,
    chats,
    entities,
    items,
    leftovers,
    memories,
    passages,
    sessions,
    spaces,
    statements,
    traces,
    users,
    vectors,
    workspaces,
)
from keepstone.store import imports as import_store
from keepstone.store.lanes import EMBEDDING, FIRST, HOUSEKEEPING, IMPORTING, LATER_EMBEDDING, READING, Lane

_DAY = 24 * 60 * 60.0
GATHERING = 0.1  # seconds in which more may be said: read together, it costs little more than alone


def register_tasks(services: Services) -> None:
    """Make the tasks known to the queue. A process that only adds jobs does not need this."""
    app, followed = services.queue.app, services.standing.follow(services)

    def task(lane: Lane, work: Callable[..., Awaitable[object]], retry: procrastinate.RetryStrategy = RETRY) -> None:
        async def run(**arguments: Any) -> None:
            await work(followed.services, **arguments)

        app.task(name=work.__name__, retry=retry, queue=lane.name, priority=lane.priority)(run)

    def scheduled(
        lane: Lane,
        cron: str,
        work: Callable[[Services], Awaitable[None]],
        retry: procrastinate.RetryStrategy = RETRY,
    ) -> None:
        async def run(timestamp: int) -> None:  # noqa: ARG001
            await work(followed.services)

        # The lock holds in every process. A worker that is killed leaves its job as running, and so the lock taken,
        # until the next that looks puts the job back (`worker.rescue_stalled`).
        app.periodic(cron=cron)(
            app.task(
                name=work.__name__, retry=retry, lock=work.__name__, queue=lane.name, priority=lane.priority
            )(run)
        )  # fmt: skip

    task(FIRST, erase_user)
    for work in (read_space, read_room, distil, room_summaries.sum_up_thread, chat_index.index_chat):
        task(READING, work)
    task(EMBEDDING, embed_space, RETRY_SOON)
    for work in (renew_vectors, note_revisions):
        task(LATER_EMBEDDING, work, RETRY_SOON)
    task(IMPORTING, run_import)
    for work in (index_space, finish_renewal, map_vault, clear_space, capsule_views.send_digest):
        task(HOUSEKEEPING, work)
    scheduled(READING, "* * * * *", sum_up_rooms, RETRY_SOON)
    scheduled(READING, "* * * * *", index_chats, RETRY_SOON)
    scheduled(EMBEDDING, "* * * * *", embed_pending, RETRY_SOON)
    scheduled(HOUSEKEEPING, "*/10 * * * *", forget_expired_logins, RETRY_SOON)
    scheduled(HOUSEKEEPING, "*/10 * * * *", forget_space_changes, RETRY_SOON)
    scheduled(HOUSEKEEPING, "*/10 * * * *", purge_expired_items, RETRY_SOON)
    scheduled(HOUSEKEEPING, "*/10 * * * *", expire_imports, RETRY_SOON)
    scheduled(HOUSEKEEPING, "17 3 * * *", remove_old_jobs)
    scheduled(HOUSEKEEPING, "27 3 * * *", purge_memories)
    scheduled(HOUSEKEEPING, "47 3 * * *", drop_unused_indexes)
    scheduled(HOUSEKEEPING, "57 3 * * *", delete_retired_vectors)
    scheduled(HOUSEKEEPING, "0 7 * * 1", send_digests)


async def erase_user(services: Services, account: int, user_id: str) -> None:
    """Remove a user who was erased, with everything that hangs on them; with the last one, the account."""
    await erasure.erase(services, account, user_id)


async def run_import(services: Services, account: int, user_id: str, import_id: str) -> None:
    """Bring in what somebody uploaded. Cut off, it goes on where it was."""
    await imports.run(services, account, user_id, import_id)


async def read_space(services: Services, account: int, space: int) -> None:
    """Read what is new in a space: what it says of people. Its vectors are another job's."""
    scope = job_scope(account, space)
    await asyncio.sleep(GATHERING)
    async with services.db.transaction(scope) as conn:
        await spaces.mark_indexing_begun(conn, space)
        await services.queue.add(conn, "embed_space", account=account, space=space, unless_waiting=True)
    await index.note_people(services, scope, space)


async def embed_space(services: Services, account: int, space: int) -> None:
    """Vectors for some of what lacks them; the rest comes after what others wait for. Without an embedder all of it
    waits.
    """
    scope = job_scope(account, space)
    more = await embed.embed_slices(services, scope, space, partial(services.queue.anybody_waits, EMBEDDING))
    indexed = more or not await embed.lacks_index(services, scope, space)
    mapped = more or not await capsule_views.map_is_stale(services, scope, space)
    async with services.db.transaction(scope) as conn:
        if more:
            await services.queue.add(conn, "embed_space", account=account, space=space, unless_waiting=True)
        if not indexed:
            await services.queue.add(conn, "index_space", account=account, space=space, unless_waiting=True)
        if not mapped:
            await capsule_views.schedule_map(conn, services, account, space, HOUSEKEEPING)


async def note_revisions(services: Services, account: int, space: int, passages: Sequence[int]) -> None:
    """What these passages of the space say otherwise than what was said before them. Each takes longer than its
    vectors: the rest waits as soon as somebody waits for those.
    """
    scope, others_wait = job_scope(account, space), partial(services.queue.anybody_waits, EMBEDDING)
    left = await revise.note_revisions(services, scope, space, passages, others_wait)
    if left:
        async with services.db.transaction(scope) as conn:
            await services.queue.add(conn, "note_revisions", account=account, space=space, passages=left)


async def index_space(services: Services, account: int, space: int) -> None:
    """Make the index of meanings that a large space needs."""
    await embed.index_space(services, job_scope(account, space), space)


async def renew_vectors(services: Services, account: int) -> None:
    """A slice of the vectors that take the place of a former model's; the next comes after what anybody waits for."""
    more = await model_change.renew_slice(services, account)
    async with services.db.transaction(account_scope(account)) as conn:
        task = "renew_vectors" if more else "finish_renewal"
        await services.queue.add(conn, task, account=account, unless_waiting=True)


async def finish_renewal(services: Services, account: int) -> None:
    """Let the new vectors serve, if they are all there; else the rest is looked for within a minute. Run again after
    that, it deletes the old ones.
    """
    await model_change.finish(services, account)
    await model_change.delete_retired(services, account)


async def map_vault(services: Services, account: int, space: int) -> None:
    """Make the map of a vault."""
    await capsule_views.make_map(services, job_scope(account, space), space)


async def clear_space(services: Services, account: int, space: int) -> None:
    """Remove what is left of a space that was emptied. Who wants to add to it meanwhile waits for one slice."""
    more = True
    while more:
        async with services.db.transaction(job_scope(account, space)) as conn:
            more = await leftovers.clear_slice(conn, space)


async def read_room(services: Services, account: int, space: int) -> None:
    """Read what was said in a room for what its agents should remember. Its vectors are another job's."""
    await room_memories.read_room(services, account, space)
    async with services.db.transaction(job_scope(account, space)) as conn:
        await services.queue.add(conn, "embed_space", account=account, space=space, unless_waiting=True)


async def sum_up_rooms(services: Services) -> None:
    """Sessions, days and weeks that are over. One room that fails does not keep the others waiting."""
    await _each(await room_summaries.due_rooms(services), partial(room_summaries.sum_up, services))


async def index_chats(services: Services) -> None:
    """What was said in chats and no job followed: as in turns without an answer, or before chats could be found."""
    async with services.db.of_server() as conn:
        unfound = await chats.unfound_chats(conn)
    for account, space, chat_id in unfound:
        async with services.db.transaction(account_scope(account)) as conn:
            await chat_index.schedule(conn, services, account, space, chat_id)


async def embed_pending(services: Services) -> None:
    """What was left over, stored while no embedder was there: a job for each space that has none waiting. And one for
    each account that a former model serves.
    """
    async with services.db.of_server() as conn:
        pending = await passages.pending_spaces(conn)
    if pending:
        services.embedders.need()
    for account, space in pending if services.embedders.active else []:
        async with services.db.transaction(account_scope(account)) as conn:
            await services.queue.add(conn, "embed_space", account=account, space=space, unless_waiting=True)
    for account in await model_change.changing_accounts(services):
        async with services.db.transaction(account_scope(account)) as conn:
            await services.queue.add(conn, "renew_vectors", account=account, unless_waiting=True)


async def forget_expired_logins(services: Services) -> None:
    """Remove sessions and one-time links that are over."""
    async with services.db.of_server() as conn:
        await sessions.forget_expired(conn)


async def forget_space_changes(services: Services) -> None:
    """Remove the lines about what changed in spaces that whoever keeps numbers in memory has long read."""
    async with services.db.of_server() as conn:
        await changes.forget_old(conn)
    await asyncio.to_thread(services.resident.forget_old)


async def purge_expired_items(services: Services) -> None:
    """Remove the items of stores whose time is over."""
    async with services.db.of_server() as conn:
        expired = await items.expired(conn, services.clock())
    for account, space in expired:
        async with services.db.transaction(job_scope(account, space)) as conn:
            await items.purge(conn, space, services.clock())


async def expire_imports(services: Services) -> None:
    """Remove uploads that nobody could bring in, and what was told about imports of long ago."""
    async with services.db.of_server() as conn:
        await import_store.expire(conn)
    await asyncio.to_thread(imports.forget_files, services.settings.home, before=time.time() - _DAY)


async def remove_old_jobs(services: Services) -> None:
    """Failed jobs are kept for a month to be looked at; their arguments go with them."""
    await services.queue.app.job_manager.delete_old_jobs(
        nb_hours=30 * 24, include_failed=True, include_cancelled=True, include_aborted=True
    )
    await services.queue.forget_faults()


async def purge_memories(services: Services) -> None:
    """Remove what has been in the trash or the cold tier for 30 days, old lines of the audit trail, and old traces:
    these first, for they quote what goes.
    """
    for purge in (
        partial(traces.purge, days=services.settings.trace_days, trash_days=TRASH_DAYS),
        partial(memories.purge, days=TRASH_DAYS),
        partial(workspaces.purge, days=TRASH_DAYS),
        entities.purge,
        partial(statements.purge, days=TRASH_DAYS),
        partial(audit.purge, days=services.settings.audit_days),
    ):
        async with services.db.of_server() as conn:
            await purge(conn)


async def drop_unused_indexes(services: Services) -> None:
    """Remove the indexes of spaces that are gone."""
    async with services.db.of_server() as conn:
        names = await vectors.unused_indexes(conn)
    async with services.db.as_owner() as owner:
        await vectors.drop_indexes(owner, names)


async def delete_retired_vectors(services: Services) -> None:
    """Remove what former models left, where that was interrupted."""
    await model_change.delete_retired(services)


async def send_digests(services: Services) -> None:
    """One job for everybody who wants the week by e-mail, if there is a mail server."""
    if services.settings.smtp_url is None:
        return
    async with services.db.of_server() as conn:
        receivers = await users.digest_receivers(conn)
    for account, user_id in receivers:
        async with services.db.transaction(account_scope(account)) as conn:
            await services.queue.add(conn, "send_digest", account=account, user_id=user_id)


async def _each(places: Iterable[tuple[int, ...]], work: Callable[[int, int], Awaitable[None]]) -> None:
    """Do the work for each account and space, one after the other. A failure is raised when all have had their turn."""
    faults: list[Exception] = []
    for account, space in places:
        try:
            await work(account, space)
        except Exception as fault:
            faults.append(fault)
    if faults:
        raise faults[0]
