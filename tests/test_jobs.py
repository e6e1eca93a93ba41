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
from psycopg.types.json import Jsonb

from conftest import World
from keepstone.access.readscope import account_scope
from keepstone.engine.embed import SLICE
from keepstone.errors import UpstreamError
from keepstone.jobs.tasks import RETRY, RETRY_SOON, embed_pending
from keepstone.jobs.worker import LEFT_AT_MOST, rescue_stalled, run_until_empty, run_worker
from keepstone.memory.scopes import ingest
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.providers.embedder import Embedding
from keepstone.services import Services
from keepstone.store import passages
from keepstone.store.lanes import READING, open_queues


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


async def test_a_job_of_a_newer_version_is_left_to_its_own_worker(
    services: Services, world: World, database: str
) -> None:
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        await services.queue.add(conn, "erase_user", account=world.owner.user.account, user_id="usr_nobody")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("UPDATE keepstone.procrastinate_jobs SET task_name = 'of_a_newer_version'")
        await run_until_empty(services)
        assert await jobs_of(services, "of_a_newer_version") == ["todo"]
        await conn.execute("UPDATE keepstone.procrastinate_jobs SET scheduled_at = NULL")
        await run_until_empty(services)
        left = await conn.execute("SELECT attempts, scheduled_at > now() FROM keepstone.procrastinate_jobs")
        assert await left.fetchone() == (2, True), "and is looked at again later"
        given_up = "UPDATE keepstone.procrastinate_jobs SET scheduled_at = NULL, attempts = %s"
        await conn.execute(given_up, [LEFT_AT_MOST])
        await run_until_empty(services)
        assert await jobs_of(services, "of_a_newer_version") == ["failed"], "where nobody comes who knows it"


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
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
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
    "delete_retired_vectors", "drop_unused_indexes", "embed_pending", "expire_imports", "forget_expired_logins",
    "forget_space_changes", "index_chats",
    "purge_expired_items", "purge_memories", "remove_old_jobs", "send_digests", "sum_up_rooms",
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


class Slow:
    """An embedder that notes what it was given, and goes on when it is let."""

    name, dimension, multilingual, context = "slow/1", 4, True, 0

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.at_once = self.most_at_once = 0
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    def cut(self, text: str) -> list[tuple[int, int]]:
        return [(0, len(text))]

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        if any("bad" in text for text in texts):
            raise UpstreamError("Not this one.")
        self.batches.append(list(texts))
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        self.begun.set()
        await self.go_on.wait()
        self.at_once -= 1
        return [Embedding(pooled=np.ones(4, dtype=np.float32), tokens=None) for _ in texts]

    async def embed_question(self, text: str) -> Embedding:
        return (await self.embed([text]))[0]

    def close(self) -> None:
        pass


async def say(services: Services, world: World, scope: str, *texts: str) -> None:
    turns = [Message(id=new_id("msg"), speaker="Ben", text=text, at=services.clock()) for text in texts]
    await ingest(services, world.owner.principal, scope, turns)


async def still_pending(services: Services) -> int:
    async with services.db.of_server() as conn:
        return len(await passages.pending_spaces(conn))


async def test_nobody_waits_for_a_backlog_of_vectors(services: Services, world: World) -> None:
    """Six spaces wait for vectors, more than there are slots: erasure and reading go on beside them."""
    embedder = Slow()
    services.embedders.active = (embedder,)
    for number in range(6):
        await say(services, world, f"scope {number}", "The ferry leaves on the 14th of June.")
    read = asyncio.Event()

    async def distil_something(account: int) -> None:
        read.set()

    services.queue.app.task(name="distil_something", queue=READING.name)(distil_something)
    worker = asyncio.create_task(run_worker(services))
    try:
        await asyncio.wait_for(embedder.begun.wait(), 10)
        await embed_pending(services)
        account = world.owner.user.account
        async with services.db.transaction(account_scope(account)) as conn:
            await services.queue.add(conn, "erase_user", account=account, user_id="usr_nobody")
            await services.queue.add(conn, "distil_something", account=account)

        async def erased() -> bool:
            return await jobs_of(services, "erase_user") == []

        await until(erased)
        await asyncio.wait_for(read.wait(), 10)
        assert await still_pending(services) == 6, "the embedder has not answered yet"
        embedder.go_on.set()

        async def embedded() -> bool:
            return await still_pending(services) == 0

        await until(embedded)
        assert embedder.most_at_once == 1
        assert len(embedder.batches) == 6, "no passage was read twice"
    finally:
        embedder.go_on.set()
        worker.cancel()
        with suppress(asyncio.CancelledError):
            await worker
        services.embedders.active = ()


async def test_a_long_text_is_embedded_in_slices_between_which_others_have_their_turn(
    services: Services, world: World
) -> None:
    embedder = Slow()
    embedder.go_on.set()
    await say(services, world, "long", *(f"long {number}" for number in range(3 * SLICE)))
    await say(services, world, "short", "short")
    services.embedders.active = (embedder,)
    await run_until_empty(services)
    services.embedders.active = ()
    assert [len(batch) for batch in embedder.batches].count(SLICE) == 3
    assert max(map(len, embedder.batches)) == SLICE
    assert ["Ben: short"] in embedder.batches[:2]
    assert await still_pending(services) == 0


async def test_a_space_has_one_job_for_its_vectors_however_often_it_is_asked_for(
    services: Services, world: World, database: str
) -> None:
    await say(services, world, "team", "The ferry leaves on the 14th of June.")
    services.embedders.active = (Slow(),)
    for _ in range(3):
        await embed_pending(services)
    assert await jobs_of(services, "embed_space") == ["todo"]
    services.embedders.active = ()


async def test_a_space_that_cant_be_read_does_not_keep_the_others_waiting(services: Services, world: World) -> None:
    for scope, text in (("a", "bad"), ("b", "good"), ("c", "bad")):
        await say(services, world, scope, text)
    embedder = Slow()
    embedder.go_on.set()
    services.embedders.active = (embedder,)
    await run_until_empty(services)
    services.embedders.active = ()
    assert await still_pending(services) == 2


async def test_jobs_of_an_older_version_still_run(services: Services, world: World, database: str) -> None:
    await say(services, world, "team", "The ferry leaves on the 14th of June.")
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone")
        await conn.execute("UPDATE procrastinate_jobs SET queue_name = 'default', priority = 0")
        await conn.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args) VALUES"
            " ('default', 'embed_pending', 0, '{\"timestamp\": 0}'), ('default', 'erase_user', 0, %s)",
            [Jsonb({"account": world.owner.user.account, "user_id": "usr_nobody"})],
        )
    (reading,) = [lane for lane in await services.queue.counts_by_lane() if lane.lane == "reading"]
    assert reading.todo == 3
    embedder = Slow()
    embedder.go_on.set()
    services.embedders.active = (embedder,)
    await run_until_empty(services)
    services.embedders.active = ()
    assert await services.queue.counts() == {"todo": 0, "doing": 0, "failed": 0}
    assert await still_pending(services) == 0


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 8])
def test_no_lane_takes_what_another_needs(slots: int) -> None:
    """Whatever is added, as long as anything may begin, a slot stays for what is done first; and nothing starves."""
    assert open_queues([], slots) == ["first", "reading", "embedding", "importing", "housekeeping", "default"]
    for lane in ("reading", "embedding", "importing", "housekeeping"):
        running: list[str] = []
        while lane in open_queues(running, slots):
            running.append(lane)
        assert running, "it runs at all"
        if slots > 1:
            assert len(running) < slots
            assert open_queues(running, slots)[0] == "first"
        if slots > 2:
            assert set(open_queues(running, slots)) >= {"reading", "embedding", "importing", "housekeeping"} - {lane}
    full: list[str] = []
    for lane in ("reading", "embedding", "importing", "housekeeping"):
        while lane in open_queues(full, slots):
            full.append(lane)
    assert open_queues(full, slots) == ["first"]
