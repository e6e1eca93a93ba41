"""Users and keys, for whoever may run commands on this machine: that is the operator."""

import sys
from datetime import timedelta

import typer

from keepstone.access import keys, operator, sessions, users
from keepstone.access.emails import normal_email
from keepstone.cli.run import show, show_all, with_services
from keepstone.errors import Invalid
from keepstone.model.account import Resident
from keepstone.model.credential import ApiKey
from keepstone.model.page import PageRequest
from keepstone.services import Services


def create_user(
    *, email: str, account_id: str | None, name: str, admin: bool, password_stdin: bool, as_json: bool
) -> None:
    password = sys.stdin.readline().rstrip("\n") if password_stdin else None

    async def run(services: Services) -> Resident:
        account = await operator.account_number(services, account_id) if account_id else None
        await users.create_user(services, email=email, account=account, name=name, password=password, is_admin=admin)
        return await _resident(services, email)

    show(with_services(run), as_json=as_json)


def set_user(
    *, email: str, plan: str | None, credit_count: int | None, quota_bytes: int | None, admin: bool | None,
    subject: str | None, as_json: bool,
) -> None:  # fmt: skip
    if all(value is None for value in (plan, credit_count, quota_bytes, admin, subject)):
        raise Invalid("Say what to set: --plan, --credits, --quota-bytes, --admin, --no-admin or --subject.")

    async def run(services: Services) -> Resident:
        await operator.set_allowance(
            services, email, plan=plan, credit_count=credit_count, quota_bytes=quota_bytes, admin=admin,
            subject=subject,
        )  # fmt: skip
        return await _resident(services, email)

    show(with_services(run), as_json=as_json)


def list_users(*, as_json: bool) -> None:
    columns = ("email", "user_id", "account_id", "role", "is_admin", "plan", "last_login_at")
    show_all(with_services(operator.residents), columns, as_json=as_json)


def erase_user(*, email: str, yes: bool) -> None:
    if not yes:
        typer.confirm(f"Erase {email} and all that is theirs? This can't be undone.", abort=True)

    async def run(services: Services) -> None:
        principal, user = await operator.principal_for(services, email)
        await users.erase_user(services, principal, user.id)

    with_services(run)
    typer.echo(f"{email} is erased.")


def login_link(*, email: str) -> None:
    async def run(services: Services) -> str:
        _, user = await operator.principal_for(services, email)
        return f"{services.settings.base_url}/auth/once/{await sessions.make_link(services, user)}"

    typer.echo(with_services(run))


def create_key(*, email: str, name: str, service: bool, days: int | None) -> None:
    async def run(services: Services) -> str:
        principal, _ = await operator.principal_for(services, email)
        expires_at = services.clock() + timedelta(days=days) if days else None
        _, secret = await keys.create_key(services, principal, name=name, service=service, expires_at=expires_at)
        return secret

    typer.echo(with_services(run))


def list_keys(*, email: str, as_json: bool) -> None:
    async def run(services: Services) -> list[ApiKey]:
        principal, _ = await operator.principal_for(services, email)
        return list((await keys.list_keys(services, principal, PageRequest(limit=1000))).items)

    columns = ("id", "name", "prefix", "user_id", "created_at", "expires_at", "last_used_at", "revoked_at")
    show_all(with_services(run), columns, as_json=as_json)


def revoke_key(*, email: str, key_id: str) -> None:
    async def run(services: Services) -> None:
        principal, _ = await operator.principal_for(services, email)
        await keys.revoke_key(services, principal, key_id)

    with_services(run)
    typer.echo(f"{key_id} is revoked.")


async def _resident(services: Services, email: str) -> Resident:
    wanted = normal_email(email)
    return next(person for person in await operator.residents(services) if person.email == wanted)
