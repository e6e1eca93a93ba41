"""The `keepstone` command: which commands there are. Each is declared where it is written, in a module of its own.

That module is imported when its command is asked for. So `keepstone --help` answers at once, and importing this costs
nothing but typer.
"""

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keepstone import __version__
from keepstone.errors import KeepstoneError

COMMANDS = {
    "serve": "Start the server, with the embedded Postgres and the background worker.",
    "worker": "Run background jobs, beside a server that was started with KEEPSTONE_WORKER=off.",
    "migrate": "Bring the database to the schema of this version. `keepstone serve` does it by itself.",
    "backup": "Write all that there is to a file, while the server runs.",
    "restore": "Bring back what a backup holds, into a database with nothing in it; or check that it can be.",
    "upgrade-postgres": "Bring the data of an older embedded Postgres to this version's. `keepstone serve` does it by "
    "itself.",
    "distribute": "Spread the accounts over the machines of a Citus cluster. It can be run again.",
    "accounts": "On a Citus cluster: which accounts are large, and giving one a place of its own.",
    "doctor": "Check the installation and say what is wrong and what to do.",
    "models": "Fetch the weights of the built-in embedders, and check them. `keepstone serve` does it by itself.",
    "reembed": "Make vectors of the embedder that the settings name now, for everything that has none. The server "
    "goes on.",
    "mcp": "Speak MCP on standard input and output, for the key KEEPSTONE_API_KEY to the server at KEEPSTONE_URL.",
    "import": "Bring over what another system remembers. Cut off, it goes on where it was; run twice, nothing comes "
    "twice.",
    "export": "Take all capsules out, with their history, the trash and the cold tier. `keepstone import` reads both "
    "forms back.",
    "query": "What a recall from a graph did: who asked, which filters, how many were found. Never a text.",
    "save": "Keep a text as a capsule, on a running server.",
    "search": "Search your capsules, on a running server.",
    "recall": "Print what of a scope bears on a message, ready to put into a prompt.",
    "ask": "Answer a question from what was said in a scope, with the evidence.",
    "login-link": "Print a one-time link that signs somebody in. It is good for a day.",
    "users": "The people on this server.",
    "keys": "API keys.",
    "plans": "What accounts may use.",
    "audit": "Who did what on this server, in all accounts or one. Never a text.",
    "jobs": "Background jobs: what waits, what runs, what failed.",
}


class Commands(TyperGroup):
    """Knows of each command what its help says, and imports the one that runs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        if name is None or listed is None:
            return name, listed, rest
        command = typer.main.get_group(_declared(name)).commands[name]
        command.help = listed.help
        return name, command, rest


app = typer.Typer(
    name="keepstone", cls=Commands, help="Long-term memory for AI chats and agents.", no_args_is_help=True,
    add_completion=False, pretty_exceptions_enable=False,
)  # fmt: skip


def _declared(name: str) -> typer.Typer:  # noqa: PLR0912  a line for each
    """What declares this command."""
    match name:
        case "serve" | "worker" | "migrate":
            from keepstone.cli.server import app
        case "backup" | "restore":
            from keepstone.cli.backup import app
        case "upgrade-postgres":
            from keepstone.cli.upgrade import app
        case "distribute" | "accounts":
            from keepstone.cli.cluster import app
        case "doctor":
            from keepstone.cli.doctor import app
        case "models" | "reembed":
            from keepstone.cli.models import app
        case "mcp":
            from keepstone.cli.mcp import app
        case "import" | "export":
            from keepstone.cli.transfer import app
        case "query":
            from keepstone.cli.graphs import app
        case "save" | "search" | "recall" | "ask":
            from keepstone.cli.remote import app
        case "plans":
            from keepstone.cli.plans import app
        case "audit":
            from keepstone.cli.audit import app
        case "jobs":
            from keepstone.cli.queue import app
        case _:
            from keepstone.cli.people import app
    return app


def main() -> None:
    # numpy's BLAS would start a thread a core for products that take microseconds; it reads this when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except KeepstoneError as fault:
        typer.secho(f"keepstone: {fault.message}", err=True, fg="red")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keepstone {__version__}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


def _listed() -> None:
    """Stands for a command until it is asked for."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_listed)
