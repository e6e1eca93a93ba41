"""serve, worker, migrate."""

import sys
from dataclasses import replace
from typing import Annotated

import typer

from keepstone.access.firstrun import Welcome
from keepstone.cli.notify import tell_systemd_ready
from keepstone.cli.options import Json
from keepstone.cli.run import in_loop, quiet_settings
from keepstone.footprint import stay_small
from keepstone.home import keep_secret
from keepstone.observe.logs import configure_logs
from keepstone.runtime import open_postgres
from keepstone.serve import run as run_server
from keepstone.serve import work as run_worker
from keepstone.settings import Settings, read_settings
from keepstone.store.migrate import migrate as run_migrations

app = typer.Typer()

LINK_FILE = "login-link"


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Instead of KEEPSTONE_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Instead of KEEPSTONE_PORT.", min=0, max=65535)] = None,
) -> None:
    settings = read_settings()
    settings = replace(
        settings, host=settings.host if host is None else host, port=settings.port if port is None else port
    )
    configure_logs(settings.log_level, settings.log_format)
    stay_small()
    run_server(settings, announce)


@app.command()
def worker() -> None:
    settings = read_settings()
    configure_logs(settings.log_level, settings.log_format)
    stay_small()
    in_loop(run_worker(settings, announce_worker))


@app.command()
def migrate(
    finish: Annotated[
        bool, typer.Option("--finish", help="Also remove what only servers of the version before need.")
    ] = False,
    as_json: Json = False,
) -> None:
    settings = quiet_settings()

    async def run() -> list[str]:
        async with open_postgres(settings) as (conninfo, _):
            return await run_migrations(conninfo, roles_url=settings.app_database_url, finish=finish)

    applied = in_loop(run())
    if as_json:
        typer.echo(f'{{"applied": {len(applied)}}}')
    else:
        typer.echo(f"{len(applied)} applied." if applied else "The database is up to date.")


def announce(settings: Settings, welcome: Welcome) -> None:
    """Where to click. On standard output; the log goes to standard error.

    The link opens everything to whoever reads it, so only somebody at a terminal sees it: elsewhere the output is kept.
    """
    lines = [f"\nKeepstone is running at {settings.base_url}"]
    if welcome.link and sys.stdout.isatty():
        lines.append(f"  Sign in, once:   {welcome.link}")
    elif welcome.link:
        lines.append(f"  Sign in, once:   the link in {keep_secret(settings.home, LINK_FILE, welcome.link)}")
    else:
        (settings.home / LINK_FILE).unlink(missing_ok=True)
    if welcome.key_file:
        lines.append(f"  First API key:   {welcome.key_file}")
    lines += [
        f"  API reference:   {settings.base_url}/docs",
        f"  Data:            {(settings.database_url and 'the database of KEEPSTONE_DATABASE_URL') or settings.home}",
        "Stop it with Ctrl-C.\n",
    ]
    typer.echo("\n".join(lines))
    tell_systemd_ready()


def announce_worker() -> None:
    typer.echo("The worker is running. Stop it with Ctrl-C.")
    tell_systemd_ready()
