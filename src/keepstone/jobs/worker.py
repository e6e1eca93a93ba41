"""Runs the queue's jobs until told to stop: then no new one starts, and those under way may finish.

A worker that loses the database begins anew. The jobs of one that was killed are put back by the next that looks.
"""

import asyncio
import logging
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from procrastinate import JobContext
from procrastinate.jobs import DeleteJobCondition
from procrastinate.middleware import AsyncCallNext
from procrastinate.worker import Worker

from keepstone.jobs.patience import require_disk
from keepstone.observe.logs import describe
from keepstone.services import Services
from keepstone.store.lanes import open_queues
from keepstone.store.queue import QUEUE_AWAY

log = logging.getLogger(__name__)

_HEARTBEAT = 5.0
_LOOK_AGAIN = {True: 5.0, False: 1.0}  # seconds, by whether the worker hears of new jobs
STALLED_AFTER = 20.0
# Of a job whose task is not known here: a newer server that works beside this one has added it, and does it.
_LEFT_FOR = timedelta(seconds=30)
LEFT_AT_MOST = 120  # times; an upgrade is over by then, and it fails


async def run_worker(services: Services) -> None:
    """Work until cancelled; then drain, for at most `KEEPSTONE_SHUTDOWN_SECONDS`."""
    rescuer = asyncio.create_task(_rescue(services), name="rescue stalled jobs")
    try:
        while True:
            description: dict[str, Any] = {}
            try:
                await _worker(services).run()
            except Exception as fault:
                description = describe(fault.__cause__ or fault)
            log.warning("the worker stopped and begins anew", extra=description)
            await asyncio.sleep(1)
    finally:
        rescuer.cancel()


async def run_until_empty(services: Services) -> None:
    """Do what is waiting, then return. Nothing is scheduled meanwhile."""
    await _worker(services, _EmptyingWorker, wait=False).run()


async def rescue_stalled(services: Services) -> int:
    """Put back the jobs of workers that no longer give a sign of life. Returns how many."""
    manager = services.queue.app.job_manager
    await manager.prune_stalled_workers(STALLED_AFTER)
    count = 0
    for job in await manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_AFTER):
        await manager.retry_job(job, retry_at=datetime.now(UTC))
        log.warning("a job was left behind and runs again", extra={"task": job.task_name, "job": job.id})
        count += 1
    return count


async def _rescue(services: Services) -> None:
    while True:
        with suppress(*QUEUE_AWAY):
            await rescue_stalled(services)
        await asyncio.sleep(STALLED_AFTER / 2)


class _LaneWorker(Worker):
    """Takes jobs from the lanes that have a free slot, and looks again whenever one has become free."""

    _freed = False

    @property
    def queues(self) -> list[str]:
        return open_queues((context.job.queue for context in self._running_jobs.values()), self.concurrency)

    @queues.setter
    def queues(self, queues: object) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """procrastinate sets it once, to what it was given."""

    async def _process_job(self, context: JobContext) -> None:
        job = context.job
        try:
            if job.task_name in self.app.tasks or job.attempts >= LEFT_AT_MOST:  # pyright: ignore[reportUnknownMemberType]
                await super()._process_job(context)
            else:
                await self.app.job_manager.retry_job(job, retry_at=datetime.now(UTC) + _LEFT_FOR)
        finally:
            self._freed = True
            self._new_job_event.set()

    async def _fetch_and_process_jobs(self) -> None:
        while not self._stop_event.is_set():
            self._freed = False
            await super()._fetch_and_process_jobs()
            if not self._freed:
                return


class _EmptyingWorker(_LaneWorker):
    """Adds no periodic jobs to those that are there, and stays until what its jobs add is done too."""

    async def _periodic_deferrer(self) -> None:
        pass

    async def _fetch_and_process_jobs(self) -> None:
        await super()._fetch_and_process_jobs()
        while self._running_jobs:
            await asyncio.wait(self._running_jobs, return_when=asyncio.FIRST_COMPLETED)
            await super()._fetch_and_process_jobs()


def _worker(services: Services, kind: type[Worker] = _LaneWorker, *, wait: bool = True) -> Worker:
    async def observe(call_next: AsyncCallNext, context: JobContext, worker: Worker) -> Any:  # noqa: ARG001
        return await _observed(services, call_next, context)

    return kind(
        services.queue.app,
        concurrency=services.settings.worker_concurrency,
        wait=wait,
        shutdown_graceful_timeout=services.settings.shutdown_seconds,
        delete_jobs=DeleteJobCondition.SUCCESSFUL,
        install_signal_handlers=False,
        listen_notify=services.queue.hears,
        fetch_job_polling_interval=_LOOK_AGAIN[services.queue.hears],
        update_heartbeat_interval=_HEARTBEAT,
        stalled_worker_timeout=STALLED_AFTER,
        worker_middleware=[observe],
    )


async def _observed(services: Services, call_next: AsyncCallNext, context: JobContext) -> Any:
    """One log line and one count a job, without its arguments."""
    job = context.job
    begun = time.perf_counter()
    outcome = "failed"
    description: dict[str, Any] = {}
    try:
        with services.tracer.span(f"job {job.task_name}", {"keepstone.job.attempts": job.attempts}):
            require_disk(services.disk, job.task_name)
            result = await call_next()
    except BaseException as fault:
        description = describe(fault)
        if job.id is not None and isinstance(fault, Exception):
            with suppress(*QUEUE_AWAY):
                await services.queue.note_fault(job.id, description["error"])
        raise
    else:
        outcome = "succeeded"
        return result
    finally:
        seconds = time.perf_counter() - begun
        services.metrics.jobs.labels(job.task_name, outcome).inc()
        log.log(
            logging.INFO if outcome == "succeeded" else logging.WARNING,
            "job",
            extra={"task": job.task_name, "job": job.id, "outcome": outcome, "ms": round(seconds * 1000, 1)}
            | description,
        )
