"""Users and keys, for whoever may run commands on this machine: that is the operator."""

import re
import sys
from datetime import timedelta
from typing import Annotated, cast

import typer

from keepstone.access import keys, operator, second_factor, sessions, users
from keepstone.access.emails import normal_email
from keepstone.cli.options import Email, Json, Owner
from keepstone.cli.run import show, show_all, with_services
from keepstone.errors import Invalid
from keepstone.model.account import Resident
from keepstone.model.credential import ApiKey
from keepstone.model.page import PageRequest
from keepstone.model.principal import KEY_SURFACES, KeySurface
from keepstone.services import Services

app = typer.Typer()
user_commands = typer.Typer(no_args_is_help=True)
key_commands = typer.Typer(no_args_is_help=True)
app.add_typer(user_commands, name="users")
app.add_typer(key_commands, name="keys")


@user_commands.command("create")
def create_user(
    email: Email,
    account_id: Annotated[
        str | None, typer.Option("--account", metavar="ACCT", help="In this account, not in a new one.")
    ] = None,
    name: Annotated[str, typer.Option(help="How they are called.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="May operate this server.")] = False,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read a password from standard input.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Add somebody: the owner of a new account, or a member of one that exists."""
    password = sys.stdin.readline().rstrip("\n") if password_stdin else None

    async def run(services: Services) -> Resident:
        account = await operator.account_number(services, account_id) if account_id else None
        await users.create_user(services, email=email, account=account, name=name, password=password, is_admin=admin)
        return await _resident(services, email)

    show(with_services(run), as_json=as_json)


@user_commands.command("set")
def set_user(
    email: Email,
    plan: Annotated[str | None, typer.Option(metavar="P", help="Plan of their account.")] = None,
    credit_count: Annotated[
        int | None, typer.Option("--credits", metavar="N", min=0, help="Credits of their account.")
    ] = None,
    quota_bytes: Annotated[
        int | None, typer.Option(metavar="B", min=-1, help="Their capacity; -1: as the plan says.")
    ] = None,
    admin: Annotated[bool | None, typer.Option("--admin/--no-admin", help="May operate this server.")] = None,
    subject: Annotated[str | None, typer.Option(help="Who they are to the issuer in KEEPSTONE_OIDC_ISSUER.")] = None,
    reset_totp: Annotated[
        bool, typer.Option("--reset-totp", help="Remove their second factor: the app and the recovery codes are gone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Change what somebody may use."""
    allowed = any(value is not None for value in (plan, credit_count, quota_bytes, admin, subject))
    if not allowed and not reset_totp:
        raise Invalid(
            "Say what to set: --plan, --credits, --quota-bytes, --admin, --no-admin, --subject, --reset-totp."
        )

    async def run(services: Services) -> Resident:
        if allowed:
            await operator.set_allowance(
                services, email, plan=plan, credit_count=credit_count, quota_bytes=quota_bytes, admin=admin,
                subject=subject,
            )  # fmt: skip
        if reset_totp:
            principal, user = await operator.principal_for(services, email)
            await second_factor.reset(services, principal, user.id)
        return await _resident(services, email)

    show(with_services(run), as_json=as_json)


@user_commands.command("list")
def list_users(as_json: Json = False) -> None:
    """Who is on this server."""
    columns = ("email", "user_id", "account_id", "role", "is_admin", "plan", "last_login_at")
    show_all(with_services(operator.residents), columns, as_json=as_json)


@user_commands.command("erase")
def erase_user(email: Email, yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False) -> None:
    """Erase somebody and all that is theirs, for good."""
    if not yes:
        typer.confirm(f"Erase {email} and all that is theirs? This can't be undone.", abort=True)

    async def run(services: Services) -> None:
        principal, user = await operator.principal_for(services, email)
        await users.erase_user(services, principal, user.id)

    with_services(run)
    typer.echo(f"{email} is erased.")


@app.command("login-link")
def login_link(email: Annotated[str, typer.Argument(metavar="[EMAIL]")] = "owner@localhost") -> None:
    async def run(services: Services) -> str:
        _, user = await operator.principal_for(services, email)
        return f"{services.settings.base_url}/auth/once/{await sessions.make_link(services, user)}"

    typer.echo(with_services(run))


@key_commands.command("create")
def create_key(
    email: Annotated[str, typer.Option("--user", metavar="EMAIL", help="Whose key it is, or of whose account.")],
    name: Annotated[str, typer.Option(metavar="N", help="What it is for.")],
    service: Annotated[
        bool, typer.Option("--service", help="A key of the account, which names a user with each call.")
    ] = False,
    days: Annotated[int | None, typer.Option(min=1, help="Expires after so many days.")] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="90d", help="Expires after so many days (d), hours (h) or weeks (w).")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="It changes nothing.")] = False,
    surfaces: Annotated[
        list[str] | None,
        typer.Option("--surface", metavar="S", help=f"It opens this alone, of {', '.join(KEY_SURFACES)}; repeatable."),
    ] = None,
    spaces: Annotated[
        list[str] | None,
        typer.Option(
            "--space",
            metavar="ID",
            help="It reaches this alone: id of a workspace, room, graph or project, scope:NAME, store:NAME, capsules; "
            "repeatable.",
        ),
    ] = None,
) -> None:
    """Make a key and print it, and nothing else. It is shown this once."""

    lifetime = timedelta(days=days) if days else _lifetime(expires) if expires else None
    unknown = set(surfaces or ()) - set(KEY_SURFACES)
    if unknown:
        raise Invalid(f"{min(unknown)!r} is no surface: it is one of {', '.join(KEY_SURFACES)}.")

    async def run(services: Services) -> str:
        principal, _ = await operator.principal_for(services, email)
        _, secret = await keys.create_key(
            services, principal, name=name, service=service,
            expires_at=services.clock() + lifetime if lifetime else None,
            permission="read" if read_only else "write", surfaces=cast("list[KeySurface] | None", surfaces or None),
            spaces=spaces or None,
        )  # fmt: skip
        return secret

    typer.echo(with_services(run))


@key_commands.command("list")
def list_keys(email: Owner, as_json: Json = False) -> None:
    """Somebody's keys, without their secrets."""

    async def run(services: Services) -> list[ApiKey]:
        principal, _ = await operator.principal_for(services, email)
        return list((await keys.list_keys(services, principal, PageRequest(limit=1000))).items)

    columns = (
        "id", "name", "prefix", "user_id", "permission", "surfaces", "spaces", "created_at", "expires_at",
        "last_used_at", "revoked_at",
    )  # fmt: skip
    show_all(with_services(run), columns, as_json=as_json)


@key_commands.command("revoke")
def revoke_key(key_id: Annotated[str, typer.Argument(metavar="KEY_ID")], email: Owner) -> None:
    """Make a key useless from now on."""

    async def run(services: Services) -> None:
        principal, _ = await operator.principal_for(services, email)
        await keys.revoke_key(services, principal, key_id)

    with_services(run)
    typer.echo(f"{key_id} is revoked.")


def _lifetime(text: str) -> timedelta:
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text.strip().lower())
    if match is None:
        raise Invalid(f"--expires {text!r} is no time: write 90d, 12h or 4w.")
    return int(match[1]) * {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}[match[2]]


async def _resident(services: Services, email: str) -> Resident:
    wanted = normal_email(email)
    return next(person for person in await operator.residents(services) if person.email == wanted)
