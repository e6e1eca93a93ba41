"""The audit trail of the whole server, for whoever may run commands on this machine."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from keepstone.access import audit
from keepstone.access.operator import account_number, principal_for
from keepstone.access.principals import operator_in
from keepstone.cli.options import Json
from keepstone.cli.run import show_all, with_services
from keepstone.errors import Invalid
from keepstone.model.credential import AuditFilter, ServerAuditLine
from keepstone.model.page import PageRequest
from keepstone.services import Services

app = typer.Typer()
_COLUMNS = ("at", "account_id", "action", "user_id", "via", "credential_id", "object_id", "details")
_FORMATS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]


@app.command("audit")
def show_audit(
    account_id: Annotated[str | None, typer.Option("--account", metavar="ACCT", help="Of this account alone.")] = None,
    email: Annotated[str | None, typer.Option("--user", metavar="EMAIL", help="What this user did.")] = None,
    action: Annotated[
        str | None, typer.Option(metavar="A", help="One, such as key.create, or all of a noun: key.")
    ] = None,
    since: Annotated[datetime | None, typer.Option("--from", formats=_FORMATS, help="From then on, in UTC.")] = None,
    until: Annotated[datetime | None, typer.Option("--to", formats=_FORMATS, help="Before then, in UTC.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the newest first.")] = 50,
    export: Annotated[str | None, typer.Option(metavar="csv|jsonl", help="Print all of it in this form.")] = None,
    as_json: Json = False,
) -> None:
    if export not in {None, "csv", "jsonl"}:
        raise Invalid("--export takes csv or jsonl.")

    async def run(services: Services) -> Sequence[ServerAuditLine]:
        user_id = (await principal_for(services, email))[1].id if email else None
        home = await account_number(services, account_id) if account_id else await audit.home(services)
        principal = operator_in(home)
        wanted = AuditFilter(user_id=user_id, action=action, since=_utc(since), until=_utc(until))
        if export is None:
            page = PageRequest(limit=limit)
            return (await audit.list_of_server(services, principal, page, wanted=wanted, account_id=account_id)).items
        lines = audit.export_of_server(services, principal, wanted=wanted, account_id=account_id)
        async for piece in audit.written(lines, "csv" if export == "csv" else "jsonl"):
            typer.echo(piece, nl=False)
        return []

    lines = with_services(run)
    if export is None:
        show_all(lines, _COLUMNS, as_json=as_json)


def _utc(given: datetime | None) -> datetime | None:
    return given.replace(tzinfo=UTC) if given else None
