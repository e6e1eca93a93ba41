"""Looking at background jobs."""

import typer

from cairn.cli.run import show_all, with_services
from cairn.errors import NotFound
from cairn.services import Services
from cairn.store.queue import JobRow


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
        raise NotFound(f"There is no failed job {job_id}. `cairn jobs --status failed` shows them.")
    typer.echo(f"Job {job_id} will run again.")
