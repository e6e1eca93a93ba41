"""The weights of the embedders, and changing the embedder while the server runs."""

import json
from functools import partial
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from keepstone.access.readscope import job_scope
from keepstone.cli.options import Json
from keepstone.cli.run import quiet_settings, with_services
from keepstone.engine.embed import fill_space
from keepstone.errors import Misconfigured
from keepstone.home import ensure_home
from keepstone.jobs import model_change
from keepstone.providers import models as store
from keepstone.providers.embedders import encoder_folder, models_folder, open_encoder
from keepstone.services import Services
from keepstone.store.passages import all_spaces

app = typer.Typer()


@app.command()
def models(as_json: Json = False) -> None:
    settings = quiet_settings()
    ensure_home(settings.home)
    folder = models_folder(settings)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def show(progress: store.Progress) -> None:
            if progress.model not in tasks:
                tasks[progress.model] = bars.add_task(progress.model, total=progress.total)
            bars.update(tasks[progress.model], completed=progress.done)

        encoder = encoder_folder(settings, show)
        fetched = store.fetch(folder, show, settings.models_from)
    name, here = open_encoder(encoder).name, sorted(store.installed(folder))
    if as_json:
        known = {"name": name, "folder": str(encoder)}
        typer.echo(json.dumps({"encoder": known, "installed": here, "fetched": fetched, "folder": str(folder)}))
    else:
        typer.echo(f"{name} in {encoder}")
        typer.echo(f"{', '.join(here)} in {folder}" + ("" if fetched else " (were there already)"))


@app.command()
def reembed(as_json: Json = False) -> None:
    async def run(services: Services) -> dict[str, Any]:
        services.embedders.need()
        await model_change.load_embedders(services)
        if not services.embedders.active:
            raise Misconfigured(f"There is no embedder: {services.embedders.status}.")
        async with services.db.of_server() as conn:
            spaces = await all_spaces(conn)
        done = 0
        with Progress(console=Console(stderr=True)) as bars:
            bar = bars.add_task("Passages", total=sum(passages for _, _, passages in spaces))
            for account, space, _ in spaces:
                done += await fill_space(services, job_scope(account, space), space, partial(bars.advance, bar))
        names = [embedder.name for embedder in services.embedders.active]
        return {"passages": done, "models": names, **await take_over(services)}

    done = with_services(run)
    if as_json:
        typer.echo(json.dumps(done))
        return
    made = f"{done['passages']} vectors of {', '.join(done['models'])} were made."
    if done["accounts_waiting"]:
        typer.echo(f"{made} A server that runs with these settings serves them within a minute; one with others serves "
                   "the old ones until it is restarted with these.")  # fmt: skip
    else:
        typer.echo(f"{made} They serve every search.")


async def take_over(services: Services) -> dict[str, int]:
    """Where a server runs, that is its own to do: it may have other settings, and serve what is old to these."""
    changing = await model_change.changing_accounts(services)
    taken = 0
    if not await services.queue.live_workers():
        taken = sum([await model_change.finish(services, account) for account in changing])
    return {"accounts_changed": taken, "accounts_waiting": len(changing) - taken}
