"""Background jobs: committed with their write, retried, rescued, visible."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import psycopg
import pytest
from procrastinate.periodic import PeriodicDeferrer

from conftest import World
from keepstone.access.readscope import account_scope
from keepstone.errors import UpstreamError
from keepstone.jobs.tasks import RETRY, RETRY_SOON, embed_pending
from keepstone.jobs.worker import rescue_stalled, run_until_empty, run_worker
from keepstone.memory.scopes import ingest
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.providers.embedder import Embedding
from keepstone.services import Services
from keepstone.store import passages


async def until(condition, seconds: float = 10) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not happen"
        await asyncio.sleep(0.02)


async def jobs_of(services: Services, task: str) -> list[str]:
    """The states of this task's jobs; a worker may have added scheduled ones beside them."""
    return [job.status for job in await services.queue.latest(status=None, limit=100) if job.task == task]


@asynccontextmanager
async def fetching(database: str) -> AsyncGenerator[Callable[[], Awaitable[int | None]]]:
    """What a worker does that is about to be killed: takes the next job and gives no further sign of life."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone")

        async def fetch() -> int | None:
            worker = await conn.execute(
                "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 minute') RETURNING id"
            )
            job = await conn.execute("SELECT id FROM procrastinate_fetch_job_v2(NULL, %s)", await worker.fetchone())
            row = await job.fetchone()
            return row[0] if row else None

        yield fetch


async def test_a_job_exists_if_and_only_if_its_write_does(services: Services, world: World) -> None:
    class Oops(Exception):
        pass

    async def write_and_fail() -> None:
        async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
            await services.queue.add(conn, "erase_user", account=world.owner.user.account, user_id="x")
            raise Oops

    with pytest.raises(Oops):
        await write_and_fail()
    assert (await services.queue.counts())["todo"] == 0
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "erase_user", account=world.owner.user.account, user_id="x")
    assert (await services.queue.counts())["todo"] == 1


async def test_a_finished_job_leaves_nothing_behind(services: Services, world: World, database: str) -> None:
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "erase_user", account=world.owner.user.account, user_id="usr_nobody")
    await run_until_empty(services)
    async with await psycopg.AsyncConnection.connect(database) as conn:
        rows = await (await conn.execute("SELECT * FROM keepstone.procrastinate_jobs")).fetchall()
    assert [row for row in rows if "usr_nobody" in str(row)] == []


async def test_a_job_that_fails_is_tried_again_later(services: Services, world: World, database: str) -> None:
    async def break_down(account: int) -> None:
        raise RuntimeError("some text of a person's")

    services.queue.app.task(name="break_down", retry=RETRY)(break_down)
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "break_down", account=world.owner.user.account)
    await run_until_empty(services)
    job = next(job for job in await services.queue.latest(status="todo", limit=10) if job.task == "break_down")
    assert job.attempts == 1
    assert job.scheduled_at is not None
    assert job.scheduled_at > datetime.now(UTC)


async def test_a_job_that_keeps_failing_is_shown_and_can_be_tried_again(services: Services, world: World) -> None:
    healed = False

    async def flaky(account: int) -> None:
        if not healed:
            raise RuntimeError

    services.queue.app.task(name="flaky")(flaky)
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "flaky", account=world.owner.user.account)
    await run_until_empty(services)
    (job,) = await services.queue.latest(status="failed", limit=10)
    assert job.task == "flaky"
    assert (await services.queue.counts())["failed"] == 1
    healed = True
    assert await services.queue.retry(job.id)
    assert not await services.queue.retry(job.id), "it waits, it has not failed"
    await run_until_empty(services)
    assert (await services.queue.counts())["failed"] == 0
    assert await services.queue.latest(status="failed", limit=10) == []


async def test_the_jobs_of_a_killed_worker_run_again(services: Services, world: World, database: str) -> None:
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "erase_user", account=world.owner.user.account, user_id="usr_nobody")
    async with fetching(database) as fetch:
        assert await fetch() is not None
        assert (await services.queue.counts())["doing"] == 1
        assert await rescue_stalled(services) == 1
        assert (await services.queue.counts()) == {"todo": 1, "doing": 0, "failed": 0}
    await run_until_empty(services)
    assert (await services.queue.counts())["todo"] == 0


async def test_a_live_workers_jobs_are_left_alone(services: Services, world: World) -> None:
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slow(account: int) -> None:
        started.set()
        await go_on.wait()

    services.queue.app.task(name="slow")(slow)
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "slow", account=world.owner.user.account)
    worker = asyncio.create_task(run_worker(services))
    await asyncio.wait_for(started.wait(), 10)
    assert await rescue_stalled(services) == 0
    assert await services.queue.live_workers() == 1
    go_on.set()
    worker.cancel()
    with suppress(asyncio.CancelledError):
        await worker
    assert (await services.queue.counts())["doing"] == 0


async def test_stopping_lets_a_running_job_finish(services: Services, world: World) -> None:
    started, finished = asyncio.Event(), False

    async def slow(account: int) -> None:
        nonlocal finished
        started.set()
        await asyncio.sleep(0.3)
        finished = True

    services.queue.app.task(name="slow")(slow)
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "slow", account=world.owner.user.account)
    worker = asyncio.create_task(run_worker(services))
    await asyncio.wait_for(started.wait(), 10)
    worker.cancel()
    with suppress(asyncio.CancelledError):
        await worker
    assert finished
    assert await jobs_of(services, "slow") == []


async def test_a_job_too_slow_to_drain_is_put_back(services: Services, world: World) -> None:
    hasty = replace(services, settings=replace(services.settings, shutdown_seconds=0))
    started = asyncio.Event()

    async def endless(account: int) -> None:
        started.set()
        await asyncio.sleep(3600)

    services.queue.app.task(name="endless", retry=RETRY)(endless)
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "endless", account=world.owner.user.account)
    worker = asyncio.create_task(run_worker(hasty))
    await asyncio.wait_for(started.wait(), 10)
    worker.cancel()
    with suppress(asyncio.CancelledError):
        await worker
    assert await jobs_of(services, "endless") == ["todo"]


async def test_the_worker_survives_the_loss_of_its_connections(services: Services, world: World, database: str) -> None:
    worker = asyncio.create_task(run_worker(services))

    async def working() -> bool:
        return await services.queue.live_workers() > 0

    await until(working)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "erase_user", account=world.owner.user.account, user_id="usr_nobody")

    async def done() -> bool:
        return await jobs_of(services, "erase_user") == []

    await until(done, 30)
    worker.cancel()
    with suppress(asyncio.CancelledError):
        await worker


async def test_scheduled_jobs_are_registered_once_and_can_run(services: Services, world: World) -> None:
    names = {task for (task, _) in services.queue.app.periodic_registry.periodic_tasks}
    assert names == set(SCHEDULED)
    for name in names:
        await services.queue.app.configure_task(name).defer_async(timestamp=0)
    await run_until_empty(services)
    assert (await services.queue.counts()) == {"todo": 0, "doing": 0, "failed": 0}


SCHEDULED = (
    "drop_unused_indexes", "embed_pending", "forget_expired_logins", "purge_expired_items", "purge_memories",
    "remove_old_jobs", "send_digests", "sum_up_rooms",
)  # fmt: skip


@pytest.mark.parametrize("name", SCHEDULED)
async def test_a_scheduled_task_never_runs_twice_at_once(services: Services, database: str, name: str) -> None:
    for _ in range(2):
        await services.queue.add_anywhere(name, timestamp=0)
    async with fetching(database) as fetch:
        assert await fetch() is not None
        assert await fetch() is None, "the first still runs"


async def test_a_scheduled_task_is_added_only_if_none_like_it_waits(services: Services, database: str) -> None:
    scheduled = services.queue.app.periodic_registry.periodic_tasks["embed_pending", ""]
    deferrer = PeriodicDeferrer(services.queue.app.periodic_registry)
    await deferrer.defer_jobs([(scheduled, minute * 60) for minute in range(1, 5)])
    assert await jobs_of(services, "embed_pending") == ["todo"]
    async with fetching(database) as fetch:
        assert await fetch() is not None
        await deferrer.defer_jobs([(scheduled, minute * 60) for minute in range(5, 10)])
        assert sorted(await jobs_of(services, "embed_pending")) == ["doing", "todo"]


async def test_the_lock_of_a_killed_worker_is_free_again(services: Services, database: str) -> None:
    """Also when the next of its kind has come meanwhile."""
    scheduled = services.queue.app.periodic_registry.periodic_tasks["sum_up_rooms", ""]
    deferrer = PeriodicDeferrer(services.queue.app.periodic_registry)
    async with fetching(database) as fetch:
        await deferrer.defer_jobs([(scheduled, 60)])
        assert await fetch() is not None
        await deferrer.defer_jobs([(scheduled, 120)])
        assert await fetch() is None
    assert await rescue_stalled(services) == 1
    assert await jobs_of(services, "sum_up_rooms") == ["todo", "todo"]
    for _ in range(2):  # one after the other
        await run_until_empty(services)
    assert await jobs_of(services, "sum_up_rooms") == []


async def test_a_scheduled_task_that_fails_is_tried_again_within_the_minute(services: Services) -> None:
    async def gone() -> list[tuple[int, int]]:
        raise RuntimeError

    services.queue.app.task(name="fails_each_minute", retry=RETRY_SOON, lock="fails_each_minute")(gone)
    await services.queue.add_anywhere("fails_each_minute")
    await run_until_empty(services)
    (job,) = [job for job in await services.queue.latest(status="todo", limit=10) if job.task == "fails_each_minute"]
    assert job.scheduled_at is not None
    assert job.scheduled_at < datetime.now(UTC) + timedelta(seconds=61)


async def test_what_waits_for_vectors_is_left_to_the_job_that_reads_it(
    services: Services, world: World, database: str
) -> None:
    class Counting:
        name, dimension, multilingual = "counting/1", 4, True
        seen = 0

        def cut(self, text: str) -> list[tuple[int, int]]:
            return [(0, len(text))]

        async def embed(self, texts: Sequence[str]) -> list[Embedding]:
            self.seen += len(texts)
            return [Embedding(pooled=np.ones(4, dtype=np.float32), tokens=None) for _ in texts]

        def close(self) -> None:
            pass

    turn = Message(id=new_id("msg"), speaker="Ben", text="The ferry leaves on the 14th of June.", at=services.clock())
    await ingest(services, world.owner.principal, "team", [turn])
    embedder = Counting()
    services.embedders.active = (embedder,)
    async with fetching(database) as fetch:
        assert await fetch() is not None, "a worker reads the scope"
        await embed_pending(services)
        assert embedder.seen == 0
    await rescue_stalled(services)
    await embed_pending(services)
    assert embedder.seen == 1
    services.embedders.active = ()


async def test_a_space_that_cant_be_read_does_not_keep_the_others_waiting(services: Services, world: World) -> None:
    class Picky:
        name, dimension, multilingual = "picky/1", 4, True

        def cut(self, text: str) -> list[tuple[int, int]]:
            return [(0, len(text))]

        async def embed(self, texts: Sequence[str]) -> list[Embedding]:
            if any("bad" in text for text in texts):
                raise UpstreamError("Not this one.")
            return [Embedding(pooled=np.ones(4, dtype=np.float32), tokens=None) for _ in texts]

        def close(self) -> None:
            pass

    for scope, text in (("a", "bad"), ("b", "good"), ("c", "bad")):
        message = Message(id=new_id("msg"), speaker="Ben", text=text, at=services.clock())
        await ingest(services, world.owner.principal, scope, [message])
    services.embedders.active = (Picky(),)
    with pytest.raises(UpstreamError):
        await embed_pending(services)
    services.embedders.active = ()
    async with services.db.of_server() as conn:
        assert len(await passages.pending_spaces(conn)) == 2
