"""upgrade-postgres: the embedded Postgres from one major version to the next."""

from typing import Annotated

import typer

from keepstone.cli.run import in_loop, quiet_settings
from keepstone.errors import Misconfigured
from keepstone.postgres.cluster import data_folder, open_cluster
from keepstone.postgres.programs import MAJOR
from keepstone.postgres.upgrade import kept_data, remove_kept
from keepstone.runtime import open_postgres
from keepstone.settings import Settings

app = typer.Typer()


@app.command("upgrade-postgres")
def upgrade_postgres(
    remove_copy: Annotated[
        bool, typer.Option("--remove-copy", help="Remove what an upgrade before has left as it was.")
    ] = False,
) -> None:
    settings = quiet_settings()
    if settings.database_url:
        raise Misconfigured(
            "The Postgres of KEEPSTONE_DATABASE_URL is yours to upgrade; docs/operations.md says what to mind."
        )
    if not data_folder(settings.home).parent.exists():
        raise Misconfigured(f"There is no database in {settings.home} yet: `keepstone serve` makes it.")
    cluster = open_cluster(settings.home, upgrading=True)
    major = cluster.major
    in_loop(_open(settings))
    if major is not None and major != MAJOR:
        typer.echo(f"The data is of Postgres {MAJOR} now; that of {major} is in {kept_data(cluster.folder)[-1]}.")
    elif not remove_copy:
        typer.echo(f"The data is of Postgres {MAJOR} already.")
    if remove_copy:
        for path in remove_kept(cluster):
            typer.echo(f"{path} is removed.")


async def _open(settings: Settings) -> None:
    """It is brought over, or seen to open."""
    async with open_postgres(settings, upgrading=True):
        pass
