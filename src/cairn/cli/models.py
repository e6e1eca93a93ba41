"""The weights of the built-in embedders, and changing the embedder while the server runs."""

import json

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from cairn.access.readscope import job_scope
from cairn.cli.run import quiet_settings, with_services
from cairn.engine.embed import fill_space
from cairn.errors import Misconfigured
from cairn.home import ensure_home
from cairn.providers import models as store
from cairn.providers.embedders import models_folder
from cairn.services import Services
from cairn.store import passages


def models(*, as_json: bool) -> None:
    settings = quiet_settings()
    ensure_home(settings.home)
    folder = models_folder(settings)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, object] = {}

        def show(progress: store.Progress) -> None:
            task = tasks.setdefault(progress.model, bars.add_task(progress.model, total=progress.total))
            bars.update(task, completed=progress.done)  # pyright: ignore[reportArgumentType]

        fetched = store.fetch(folder, show, settings.models_from)
    here = sorted(store.installed(folder))
    if as_json:
        typer.echo(json.dumps({"installed": here, "fetched": fetched, "folder": str(folder)}))
    else:
        typer.echo(f"{', '.join(here)} in {folder}" + ("" if fetched else " (were there already)"))


def reembed(*, as_json: bool) -> None:
    async def run(services: Services) -> tuple[int, list[str]]:
        services.embedders.need()
        await services.embedders.load(services.settings)
        if not services.embedders.active:
            raise Misconfigured(f"There is no embedder: {services.embedders.status}.")
        async with services.db.unscoped() as conn:
            spaces = await passages.all_spaces(conn)
        done = 0
        with Progress(console=Console(stderr=True)) as bars:
            for account, space in bars.track(spaces, description="Spaces"):
                done += await fill_space(services, job_scope(account, space), space)
        return done, [embedder.name for embedder in services.embedders.active]

    done, names = with_services(run)
    if as_json:
        typer.echo(json.dumps({"passages": done, "models": names}))
    else:
        typer.echo(
            f"{done} vectors of {', '.join(names)} were made. A server that runs with other settings serves the "
            "old ones until it is restarted with these."
        )
