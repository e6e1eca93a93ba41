"""Looking at background jobs."""

import typer

from keepstone.cli.run import show_all, with_services
from keepstone.errors import NotFound
from keepstone.services import Services
from keepstone.store.queue import JobRow


def list_jobs(*, status: str | None, limit: int, as_json: bool) -> None:
    async def run(services: Services) -> list[JobRow]:
        return await services.queue.latest(status=status, limit=limit)

    show_all(
        with_services(run),
        ("id", "task", "status", "attempts", "scheduled_at", "changed_at"),
        as_json=as_json,
    )


def retry_job(*, job_id: int) -> None:
    async def run(services: Services) -> bool:
        return await services.queue.retry(job_id)

    if not with_services(run):
        raise NotFound(f"There is no failed job {job_id}. `keepstone jobs --status failed` shows them.")
    typer.echo(f"Job {job_id} will run again.")
