"""A database of many machines: distributing it, and giving an account a place of its own."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

import typer

from keepstone.cli.options import Json
from keepstone.cli.run import quiet_settings, show, show_all
from keepstone.errors import Misconfigured
from keepstone.runtime import in_loop
from keepstone.store import distribute as cluster
from keepstone.store.db import Connection
from keepstone.store.distribute import AccountPlace
from keepstone.store.migrate import connect_as_owner, migrate

app = typer.Typer()
account_commands = typer.Typer(no_args_is_help=True)
app.add_typer(account_commands, name="accounts")

Result = TypeVar("Result")

_MOST_ACCOUNTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What was done, how many parts went to another machine, and what each holds now."""

    distributed: cluster.Distributed
    moved: int
    machines: list[cluster.Machine]


@app.command()
def distribute(
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=64_000, help="How many parts the accounts are spread over; else 32."),
    ] = None,
    as_json: Json = False,
) -> None:
    tell: Callable[[str], None] = (lambda _: None) if as_json else typer.echo
    roles_url = quiet_settings().app_database_url

    async def run(conn: Connection, conninfo: str) -> Spread:
        await cluster.check_cluster(conn)
        await migrate(conninfo, roles_url=roles_url)
        done = await cluster.distribute(conn, shards=shards, tell=tell)
        return Spread(
            distributed=done, moved=await cluster.balance(conn, tell=tell), machines=await cluster.machines(conn)
        )

    done = _on_cluster(run)
    if as_json:
        show(done, as_json=True)
        return
    if not (done.distributed.tables or done.distributed.everywhere or done.distributed.functions or done.moved):
        typer.echo("Everything is distributed, and in balance.")
    show_all(done.machines, ("name", "shards", "bytes"), as_json=False)


@account_commands.command("list")
def list_accounts(
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="At most so many.")] = _MOST_ACCOUNTS,
    as_json: Json = False,
) -> None:
    """The largest accounts, and on which machine each lies."""

    async def run(conn: Connection, _: str) -> list[AccountPlace]:
        return await cluster.largest(conn, limit)

    show_all(_on_cluster(run), ("account_id", "name", "bytes", "machine", "alone"), as_json=as_json)


@account_commands.command()
def isolate(
    account: Annotated[str, typer.Argument(metavar="ACCT", help="Its id: `keepstone accounts list` shows it.")],
    machine: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS:PORT", help="On this machine. Without it: where it is now."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Give an account parts of its own, which can be moved. Who writes to it waits until these are copied."""

    async def run(conn: Connection, _: str) -> AccountPlace:
        return await cluster.isolate(conn, account, machine=machine)

    place = _on_cluster(run)
    if as_json:
        show(place, as_json=True)
    else:
        typer.echo(f"{place.account_id} lies on {place.machine}, alone in its parts.")


def _on_cluster(work: Callable[[Connection, str], Awaitable[Result]]) -> Result:
    """As the owner of the tables, on the coordinator that KEEPSTONE_DATABASE_URL names."""
    conninfo = quiet_settings().database_url
    if conninfo is None:
        raise Misconfigured(
            "The embedded Postgres is one machine. Set KEEPSTONE_DATABASE_URL to the coordinator of a Citus cluster; "
            "docs/operations.md says how to make one, and how to bring over what you have."
        )

    async def run() -> Result:
        async with await connect_as_owner(conninfo) as conn:
            cluster.require_session(conn)
            with cluster.told_of_machines():
                return await work(conn, conninfo)

    return in_loop(run())
