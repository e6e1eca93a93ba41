"""The queue of background jobs: adding to it inside a write's own transaction, and looking at it.

What a job does is in `jobs/`. Tables and worker are procrastinate's.
"""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import AlreadyEnqueued, ProcrastinateException
from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout

from keepstone.errors import Unavailable
from keepstone.store.db import Connection, fetch_all, fetch_dict, fetch_rows, fetch_value
from keepstone.store.faults import named_faults
from keepstone.store.lanes import LANES, Lane, lane_of
from keepstone.store.pool import make_pool

# What the queue raises while the database does not answer.
QUEUE_AWAY = (ProcrastinateException, psycopg.Error, PoolTimeout, PoolClosed, Unavailable)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """`error` is the class of the exception that it ended with last, if it did."""

    id: int
    task: str
    lane: str
    status: str
    attempts: int
    scheduled_at: datetime | None
    changed_at: datetime | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCount:
    task: str
    todo: int
    doing: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCount:
    lane: str
    todo: int
    doing: int
    failed: int


class _JobManager(JobManager):
    """procrastinate's, except that no periodic job is added while one like it still waits.

    Its own way to say this, a `queueing_lock`, fails here: it reads the duplicate key out of the database's error,
    which under row-level security does not say it. And a job that has one can't be put back beside its successor.
    """

    async def defer_periodic_job(self, job: Job, periodic_id: str, defer_timestamp: int) -> int | None:
        answer = await self.connector.execute_query_one_async(
            "SELECT EXISTS (SELECT 1 FROM procrastinate_jobs WHERE task_name = %(task)s AND status = 'todo') AS waits",
            task=job.task_name,
        )
        if answer["waits"]:
            raise AlreadyEnqueued
        return await super().defer_periodic_job(job, periodic_id, defer_timestamp)


class Queue:
    """Connects as keepstone_worker. `app` is procrastinate's; `jobs/` registers the tasks on it and runs them."""

    hears = True  # of jobs that are added; not at a pooler, where nobody can listen

    def __init__(self, conninfo: str, *, size: int = 3) -> None:
        self._pool: AsyncConnectionPool[Connection] = make_pool(conninfo, size=size)
        self.app = procrastinate.App(connector=procrastinate.PsycopgConnector())
        self.app.job_manager = _JobManager(self.app.connector)

    async def open(self) -> None:
        await self._pool.open(wait=True, timeout=30)
        async with self.connection() as conn:
            self.hears = not conn.pooled
        await self.app.open_async(self._pool)

    async def close(self) -> None:
        try:
            await self.app.close_async()
        finally:
            await self._pool.close()

    async def add(
        self,
        conn: Connection,
        task: str,
        *,
        account: int,
        one_by_one: str | None = None,
        in_seconds: int | None = None,
        unless_waiting: bool = False,
        lane: Lane | None = None,
        **args: Any,
    ) -> None:
        """Enqueue within the caller's transaction: the job exists if and only if the write does.

        Jobs with the same `one_by_one` never run side by side; without, those of one task with the same arguments. With
        `in_seconds` it waits that long; with `unless_waiting` it is not added beside one like it that has not begun.
        Not with procrastinate's queueing_lock: it reads the duplicate key out of the database's error, which under
        row-level security does not say it. The lane is the task's own unless another is named.
        """
        lock = one_by_one or " ".join([task, *(str(value) for value in (account, *args.values()))])
        where: dict[str, Any] = {"queue": lane.name, "priority": lane.priority} if lane else {}
        if unless_waiting and await self._waits(conn, lock, where.get("queue")):
            return
        wait = None if in_seconds is None else {"seconds": in_seconds}
        task_to_do = self.app.configure_task(task, connection=conn, lock=lock, schedule_in=wait, **where)
        await task_to_do.defer_async(account=account, **args)

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[Connection]:
        """As keepstone_worker, who sees the queue and which servers are there."""
        with named_faults():
            async with self._pool.connection() as conn:
                yield conn

    async def _waits(self, conn: Connection, lock: str, queue: str | None) -> bool:
        """In this queue, or in any."""
        return await fetch_value(
            conn,
            """
            SELECT EXISTS (SELECT 1 FROM procrastinate_jobs
                            WHERE (args ->> 'account')::int = %(account)s AND lock = %(lock)s AND status = 'todo'
                              AND (%(queue)s::text IS NULL OR queue_name = %(queue)s))
            """,
            {"lock": lock, "queue": queue},
        )

    async def anybody_waits(self, lane: Lane) -> bool:
        """Whether a job of this lane could begin now."""
        async with self.connection() as conn:
            return await fetch_value(
                conn,
                """
                SELECT EXISTS (SELECT 1 FROM procrastinate_jobs
                                WHERE status = 'todo' AND queue_name = %(queue)s AND priority >= %(priority)s
                                  AND (scheduled_at IS NULL OR scheduled_at <= now()))
                """,
                {"queue": lane.name, "priority": lane.priority},
            )

    async def add_anywhere(self, task: str, **args: Any) -> None:
        """Enqueue a task of the whole server, outside of any write."""
        await self.app.configure_task(task).defer_async(**args)

    async def counts(self) -> dict[str, int]:
        """Jobs by status: todo, doing, failed."""
        async with self.connection() as conn:
            counted = await fetch_dict(
                conn,
                "SELECT status::text, count(*) FROM procrastinate_jobs"
                " WHERE status IN ('todo', 'doing', 'failed') GROUP BY status",
            )
        return {"todo": 0, "doing": 0, "failed": 0} | counted

    async def counts_by_task(self) -> list[TaskCount]:
        """The same by what is to be done."""
        async with self.connection() as conn:
            return await fetch_all(
                conn,
                TaskCount,
                """
                SELECT task_name AS task, count(*) FILTER (WHERE status = 'todo') AS todo,
                       count(*) FILTER (WHERE status = 'doing') AS doing,
                       count(*) FILTER (WHERE status = 'failed') AS failed
                  FROM procrastinate_jobs WHERE status IN ('todo', 'doing', 'failed')
                 GROUP BY 1 ORDER BY 1
                """,
            )

    async def counts_by_lane(self) -> list[LaneCount]:
        """The same by lane, in the order in which they are served."""
        async with self.connection() as conn:
            counted = await fetch_rows(
                conn,
                """
                SELECT queue_name, status::text, count(*) FROM procrastinate_jobs
                 WHERE status IN ('todo', 'doing', 'failed') GROUP BY 1, 2
                """,
            )
        totals: Counter[tuple[str, str]] = Counter()
        for queue, status, count in counted:
            totals[lane_of(queue).name, status] += count
        statuses = ("todo", "doing", "failed")
        return [LaneCount(lane=lane.name, **{name: totals[lane.name, name] for name in statuses}) for lane in LANES]

    async def live_workers(self, within_seconds: float = 30) -> int:
        """Workers that gave a sign of life lately, in any process."""
        async with self.connection() as conn:
            return await fetch_value(
                conn,
                "SELECT count(*) FROM procrastinate_workers"
                " WHERE last_heartbeat > now() - make_interval(secs => %(seconds)s)",
                {"seconds": within_seconds},
            )

    async def latest(self, *, status: str | None, limit: int) -> list[JobRow]:
        """The newest jobs first. Arguments are left out: ids are nobody's business here."""
        async with self.connection() as conn:
            return await fetch_all(
                conn,
                JobRow,
                """
                SELECT j.id, j.task_name AS task, j.queue_name AS lane, j.status::text, j.attempts, j.scheduled_at,
                       (SELECT max(e.at) FROM procrastinate_events e WHERE e.job_id = j.id) AS changed_at,
                       f.error
                  FROM procrastinate_jobs j LEFT JOIN job_faults f ON f.job = j.id
                 WHERE %(status)s::text IS NULL OR j.status::text = %(status)s
                 ORDER BY j.id DESC
                 LIMIT %(limit)s
                """,
                {"status": status, "limit": limit},
            )

    async def note_fault(self, job_id: int, error: str) -> None:
        """What a job ended with: the name of a class, nothing that anybody wrote."""
        async with self.connection() as conn:
            await conn.execute(
                """
                INSERT INTO job_faults (job, error) VALUES (%(job)s, %(error)s)
                ON CONFLICT (job) DO UPDATE SET error = excluded.error, at = now()
                """,
                {"job": job_id, "error": error[:100]},
            )

    async def forget_faults(self) -> None:
        """Those of jobs that are gone."""
        async with self.connection() as conn:
            await conn.execute(
                "DELETE FROM job_faults f WHERE NOT EXISTS (SELECT 1 FROM procrastinate_jobs j WHERE j.id = f.job)"
            )

    async def retry(self, job_id: int) -> bool:
        """Put a failed job back. False when there is no failed job of this number."""
        async with self.connection() as conn:
            failed = await fetch_value(
                conn,
                "SELECT true FROM procrastinate_jobs WHERE id = %(id)s AND status = 'failed'",
                {"id": job_id},
            )
        if failed:
            with named_faults():
                await self.app.job_manager.retry_job_by_id_async(job_id, retry_at=datetime.now(UTC))
        return bool(failed)
