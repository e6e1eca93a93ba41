"""The `keepstone` command. This module only declares it: what a command does is imported when it runs.

So `keepstone --help` answers at once, and importing this costs nothing but typer.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from keepstone import __version__
from keepstone.errors import KeepstoneError

app = typer.Typer(
    name="keepstone", help="Long-term memory for AI chats and agents.", no_args_is_help=True, add_completion=False,
    pretty_exceptions_enable=False,
)  # fmt: skip
users = typer.Typer(help="The people on this server.", no_args_is_help=True)
keys = typer.Typer(help="API keys.", no_args_is_help=True)
plans = typer.Typer(help="What accounts may use.", no_args_is_help=True)
jobs = typer.Typer(help="Background jobs: what waits, what runs, what failed.", invoke_without_command=True)
app.add_typer(users, name="users")
app.add_typer(keys, name="keys")
app.add_typer(plans, name="plans")
app.add_typer(jobs, name="jobs")

Mode = Literal["literal", "semantic", "hybrid"]
Json = Annotated[bool, typer.Option("--json", help="For machines.")]
Email = Annotated[str, typer.Argument(metavar="EMAIL")]
Text = Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Left out, or -: from standard input.")]
Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="Which conversation.")]
Url = Annotated[str | None, typer.Option("--url", help="Of the server, instead of KEEPSTONE_URL.")]
ApiKey = Annotated[str | None, typer.Option("--key", help="Instead of KEEPSTONE_API_KEY, or of the owner's key.")]
OnBehalfOf = Annotated[str | None, typer.Option("--user", help="With a service key: for whom, by id or e-mail.")]


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


def _end(code: int | None) -> None:
    """What a command returns is its exit code; nothing is success."""
    if code:
        raise typer.Exit(code)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"keepstone {__version__}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Instead of KEEPSTONE_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Instead of KEEPSTONE_PORT.", min=0, max=65535)] = None,
) -> None:
    """Start the server, with the embedded Postgres and the background worker."""
    from keepstone.cli.server import serve

    serve(host=host, port=port)


@app.command()
def worker() -> None:
    """Run background jobs, beside a server that was started with KEEPSTONE_WORKER=off."""
    from keepstone.cli.server import worker

    worker()


@app.command()
def migrate(json: Json = False) -> None:
    """Bring the database to the schema of this version. `keepstone serve` does it by itself."""
    from keepstone.cli.server import migrate

    migrate(as_json=json)


@app.command()
def doctor(json: Json = False) -> None:
    """Check the installation and say what is wrong and what to do."""
    from keepstone.cli.doctor import doctor

    _end(doctor(as_json=json))


@app.command()
def models(json: Json = False) -> None:
    """Fetch the weights of the built-in embedders, and check them. `keepstone serve` does it by itself."""
    from keepstone.cli.models import models

    models(as_json=json)


@app.command()
def reembed(json: Json = False) -> None:
    """Make vectors of the embedder that the settings name now, for everything that has none. The server goes on."""
    from keepstone.cli.models import reembed

    reembed(as_json=json)


@app.command()
def mcp() -> None:
    """Speak MCP on standard input and output, for the key KEEPSTONE_API_KEY to the server at KEEPSTONE_URL."""
    from keepstone.cli.mcp import mcp

    mcp()


@app.command("import")
def import_(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="chatgpt, claude, mem0, openmemory, letta, markdown, jsonl, keepstone."),
    ],
    path: Annotated[str, typer.Argument(metavar="PATH", help="A file, a folder, an address or a connection string.")],
    into: Annotated[
        str | None, typer.Option(metavar="PLACE", help="scope[:NAME], capsules or workspace[:NAME].")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count, write nothing.")] = False,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="What was left out and why, as JSON.")] = None,
    me: Annotated[str | None, typer.Option(metavar="NAME", help="How the person who talked is called.")] = None,
    tools: Annotated[bool, typer.Option("--tools", help="Also what was said to tools and by them.")] = False,
    project: Annotated[str | None, typer.Option(metavar="PROJ", help="Put capsules into this project.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Send everything once more; nothing comes twice.")] = False,
    of: Annotated[str | None, typer.Option(metavar="USER", help="Only this user of mem0 or OpenMemory.")] = None,
    table: Annotated[str | None, typer.Option(metavar="T", help="The table of mem0 in its Postgres.")] = None,
    token: Annotated[str | None, typer.Option(metavar="T", envvar="MEM0_API_KEY", help="For mem0's API.")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Instead of KEEPSTONE_URL.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Instead of KEEPSTONE_API_KEY.")] = None,
) -> None:
    """Bring over what another system remembers. Cut off, it goes on where it was; run twice, nothing comes twice."""
    reading = {"path": path, "me": me, "tools": tools, "token": token, "of": of, "table": table}
    from keepstone.cli.transfer import import_from

    code = import_from(
        source=source, reading=reading, into=into, dry_run=dry_run, again=again, project=project, report_path=report,
        url=url, key=key,
    )  # fmt: skip
    _end(code)


@app.command(
    help="Take all capsules out, with their history, the trash and the cold tier. "
    "`keepstone import` reads both forms back."
)
def export(
    path: Annotated[Path, typer.Argument(metavar="PATH")],
    format: Annotated[str, typer.Option(metavar="F", help="json, one file; or markdown, a folder.")] = "json",  # noqa: A002
    url: Annotated[str | None, typer.Option(metavar="URL", help="Instead of KEEPSTONE_URL.")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="Instead of KEEPSTONE_API_KEY.")] = None,
) -> None:
    from keepstone.cli.transfer import export_to

    _end(export_to(path=path, format=format, url=url, key=key))


@app.command()
def query(query_id: Annotated[str, typer.Argument(metavar="QUERY_ID")], json: Json = False) -> None:
    """What a recall from a graph did: who asked, which filters, how many were found. Never a text."""
    from keepstone.cli.graphs import query

    query(query_id=query_id, as_json=json)


@app.command()
def save(
    text: Text = None,
    title: Annotated[str | None, typer.Option(help="Left out, one is made.")] = None,
    kind: Annotated[str, typer.Option(help="decision, thought, answer, note, or your own.")] = "note",
    tag: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    url: Url = None,
    key: ApiKey = None,
    user: OnBehalfOf = None,
    json: Json = False,
) -> None:
    """Keep a text as a capsule, on a running server."""
    from keepstone.cli import remote

    remote.save(server=(url, key, user), text=text, title=title, kind=kind, tags=tag or [], as_json=json)


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY")],
    mode: Annotated[Mode, typer.Option(help="By words, by meaning, or both.")] = "hybrid",
    limit: Annotated[int, typer.Option(min=1, max=200)] = 10,
    url: Url = None,
    key: ApiKey = None,
    user: OnBehalfOf = None,
    json: Json = False,
) -> None:
    """Search your capsules, on a running server."""
    from keepstone.cli import remote

    remote.search(server=(url, key, user), query=query, mode=mode, limit=limit, as_json=json)


@app.command()
def recall(
    scope: Scope,
    text: Text = None,
    speaker: Annotated[str, typer.Option(help="Who says it.")] = "user",
    limit: Annotated[int, typer.Option(min=1, max=100)] = 10,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="At most so long.")] = None,
    url: Url = None,
    key: ApiKey = None,
    user: OnBehalfOf = None,
    json: Json = False,
) -> None:
    """Print what of a scope bears on a message, ready to put into a prompt."""
    from keepstone.cli import remote

    remote.recall(
        server=(url, key, user), scope_id=scope, text=text, speaker=speaker, limit=limit, max_tokens=max_tokens,
        as_json=json,
    )  # fmt: skip


@app.command()
def ask(
    scope: Scope, question: Text = None, url: Url = None, key: ApiKey = None, user: OnBehalfOf = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Answer a question from what was said in a scope, with the evidence."""
    from keepstone.cli import remote

    remote.ask(server=(url, key, user), scope_id=scope, question=question, as_json=json)


@app.command("login-link")
def login_link(email: Annotated[str, typer.Argument(metavar="[EMAIL]")] = "owner@localhost") -> None:
    """Print a one-time link that signs somebody in. It is good for a day."""
    from keepstone.cli.people import login_link

    login_link(email=email)


@users.command("create")
def users_create(
    email: Email,
    account: Annotated[str | None, typer.Option(metavar="ACCT", help="In this account, not in a new one.")] = None,
    name: Annotated[str, typer.Option(help="How they are called.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="May operate this server.")] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read a password from standard input.")
    ] = False,
    json: Json = False,
) -> None:
    """Add somebody: the owner of a new account, or a member of one that exists."""
    from keepstone.cli.people import create_user

    create_user(
        email=email, account_id=account, name=name, admin=admin,
        password_stdin=password_stdin, as_json=json,
    )  # fmt: skip


@users.command("set")
def users_set(
    email: Email,
    plan: Annotated[str | None, typer.Option(metavar="P", help="Plan of their account.")] = None,
    credits: Annotated[int | None, typer.Option(metavar="N", min=0, help="Credits of their account.")] = None,  # noqa: A002
    quota_bytes: Annotated[
        int | None, typer.Option(metavar="B", min=-1, help="Their capacity; -1: as the plan says.")
    ] = None,
    admin: Annotated[bool | None, typer.Option("--admin/--no-admin", help="May operate this server.")] = None,
    subject: Annotated[str | None, typer.Option(help="Who they are to the issuer in KEEPSTONE_OIDC_ISSUER.")] = None,
    json: Json = False,
) -> None:
    """Change what somebody may use."""
    from keepstone.cli.people import set_user

    set_user(
        email=email, plan=plan, credit_count=credits, quota_bytes=quota_bytes, admin=admin,
        subject=subject, as_json=json,
    )  # fmt: skip


@users.command("list")
def users_list(json: Json = False) -> None:
    """Who is on this server."""
    from keepstone.cli.people import list_users

    list_users(as_json=json)


@users.command("erase")
def users_erase(email: Email, yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False) -> None:
    """Erase somebody and all that is theirs, for good."""
    from keepstone.cli.people import erase_user

    erase_user(email=email, yes=yes)


@keys.command("create")
def keys_create(
    user: Annotated[str, typer.Option(metavar="EMAIL", help="Whose key it is, or of whose account.")],
    name: Annotated[str, typer.Option(metavar="N", help="What it is for.")],
    service: Annotated[
        bool, typer.Option("--service", help="A key of the account, which names a user with each call.")
    ] = False,
    days: Annotated[int | None, typer.Option(min=1, help="Expires after so many days.")] = None,
) -> None:
    """Make a key and print it, and nothing else. It is shown this once."""
    from keepstone.cli.people import create_key

    create_key(email=user, name=name, service=service, days=days)


@keys.command("list")
def keys_list(user: Annotated[str, typer.Option(metavar="EMAIL")], json: Json = False) -> None:
    """Somebody's keys, without their secrets."""
    from keepstone.cli.people import list_keys

    list_keys(email=user, as_json=json)


@keys.command("revoke")
def keys_revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID")],
    user: Annotated[str, typer.Option(metavar="EMAIL")],
) -> None:
    """Make a key useless from now on."""
    from keepstone.cli.people import revoke_key

    revoke_key(email=user, key_id=key_id)


@plans.command("list")
def plans_list(json: Json = False) -> None:
    """The plans of this server."""
    from keepstone.cli.plans import list_plans

    list_plans(as_json=json)


@plans.command("set")
def plans_set(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    capacity_mb: Annotated[str | None, typer.Option(metavar="N", help="Capacity of each user, in MB.")] = None,
    queries: Annotated[str | None, typer.Option(metavar="N", help="Queries a month.")] = None,
    credits: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="N", help="What the credits are raised to each month.")
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="N", help="Requests a minute with one key.")] = None,
    account_rate: Annotated[
        str | None, typer.Option(metavar="N", help="Requests a minute of the whole account.")
    ] = None,
    price: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What it costs, as it is shown; `none`: not on the price page.")
    ] = None,
    position: Annotated[int | None, typer.Option(metavar="N", min=0, help="Where it stands in lists.")] = None,
    json: Json = False,
) -> None:
    """Change a plan, or make one. Each limit takes a number, or `none` for no limit."""
    from keepstone.cli.plans import set_plan

    set_plan(
        name=name, capacity_mb=capacity_mb, queries=queries, credit_count=credits, rate=rate,
        account_rate=account_rate, price=price, position=position, as_json=json,
    )  # fmt: skip


@jobs.callback()
def jobs_list(
    context: typer.Context,
    status: Annotated[str | None, typer.Option(help="todo, doing, failed, aborted or cancelled.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    json: Json = False,
) -> None:
    """Background jobs: the newest first. Those that succeeded are gone."""
    if context.invoked_subcommand is None:
        from keepstone.cli.queue import list_jobs

        list_jobs(status=status, limit=limit, as_json=json)


@jobs.command("retry")
def jobs_retry(job_id: Annotated[int, typer.Argument(metavar="JOB_ID")]) -> None:
    """Run a failed job again."""
    from keepstone.cli.queue import retry_job

    retry_job(job_id=job_id)
