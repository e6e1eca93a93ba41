"""Looking at background jobs."""

from typing import Annotated

import typer

from keepstone.cli.options import Json
from keepstone.cli.run import show_all, with_services
from keepstone.errors import NotFound
from keepstone.services import Services
from keepstone.store.queue import JobRow, LaneCount

app = typer.Typer()
jobs = typer.Typer(invoke_without_command=True)
app.add_typer(jobs, name="jobs")


@jobs.callback()
def list_jobs(
    context: typer.Context,
    status: Annotated[str | None, typer.Option(help="todo, doing, failed, aborted or cancelled.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: Json = False,
) -> None:
    """Background jobs: the newest first. Those that succeeded are gone."""
    if context.invoked_subcommand is not None:
        return

    async def run(services: Services) -> list[JobRow]:
        return await services.queue.latest(status=status, limit=limit)

    columns = ("id", "task", "lane", "status", "attempts", "scheduled_at", "changed_at")
    show_all(with_services(run), columns, as_json=as_json)


@jobs.command("lanes")
def list_lanes(as_json: Json = False) -> None:
    """How many jobs wait, run and have failed in each lane, in the order in which they are served."""

    async def run(services: Services) -> list[LaneCount]:
        return await services.queue.counts_by_lane()

    show_all(with_services(run), ("lane", "todo", "doing", "failed"), as_json=as_json)


@jobs.command("retry")
def retry_job(job_id: Annotated[int, typer.Argument(metavar="JOB_ID")]) -> None:
    """Run a failed job again."""

    async def run(services: Services) -> bool:
        return await services.queue.retry(job_id)

    if not with_services(run):
        raise NotFound(f"There is no failed job {job_id}. `keepstone jobs --status failed` shows them.")
    typer.echo(f"Job {job_id} will run again.")
