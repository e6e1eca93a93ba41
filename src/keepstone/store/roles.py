"""The two roles that the server logs in as. They own nothing, and neither can become the other or the owner.

Their passwords are derived from the owner's, so that several servers on one database agree and nothing has to be kept.
Where the owner has none in the connection string (peer, trust, a password file), only the user's name is changed. A
pooler, or a database whose owner may not make roles, is told apart by a connection string of its own (`roles_url`).
"""

import hashlib
import hmac
from contextlib import suppress
from typing import LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from keepstone.errors import Misconfigured
from keepstone.store.db import APP_ROLE, SEARCH_PATH, WORKER_ROLE, AnyConnection, Connection, fetch_rows, fetch_value
from keepstone.store.inspect import role_is_held

ROLES: tuple[LiteralString, ...] = (APP_ROLE, WORKER_ROLE)

_BY_HAND = (
    "make them yourself, as a superuser: "
    + " ".join(
        f"CREATE ROLE {role} LOGIN PASSWORD '...'; ALTER ROLE {role} SET search_path = {SEARCH_PATH}; "
        f"ALTER ROLE {role} SET timezone = 'UTC';"
        for role in ROLES
    )
    + f" (the same password twice), and set KEEPSTONE_APP_DATABASE_URL to the connection string of {APP_ROLE}."
)


def role_conninfo(conninfo: str, role: str, roles_url: str | None = None) -> str:
    """How `role` connects to the owner's database. `roles_url` is that of keepstone_app, where it is given; without a
    password in it, the role has the one that is derived.
    """
    password = role_password(conninfo, role)
    derived = {"password": password} if password else {}
    if roles_url is None:
        return make_conninfo(conninfo, user=role, **derived)
    given = conninfo_to_dict(roles_url)
    user = str(given.get("user") or APP_ROLE).replace(APP_ROLE, role, 1)
    return make_conninfo(roles_url, user=user, **({} if {"password", "passfile"} & given.keys() else derived))


def role_password(conninfo: str, role: str) -> str | None:
    owners = conninfo_to_dict(conninfo).get("password")
    if not owners:
        return None
    return hmac.new(str(owners).encode(), f"keepstone role {role}".encode(), hashlib.sha256).hexdigest()


async def ensure_roles(owner: Connection, conninfo: str) -> None:
    """What policies and rights name is there. Whether it can log in is asked when the schema is done."""
    for role in ROLES:
        if not await fetch_value(owner, "SELECT 1 FROM pg_roles WHERE rolname = %(role)s", {"role": role}):
            await _equip(owner, role, role_password(conninfo, role))


async def ensure_logins(owner: Connection, conninfo: str, roles_url: str | None = None) -> None:
    """Both can log in; where they can't, because the owner has another password than before, they can afterwards.
    Whoever logs in as somebody whom no policy holds to an account is refused.
    """
    for role in ROLES:
        own = role_conninfo(conninfo, role, roles_url)
        if await login_fault(own, role) is None:
            continue
        if roles_url is None:
            await _equip(owner, role, role_password(conninfo, role))
        fault = await login_fault(own, role)
        if fault is not None:
            raise Misconfigured(f"The database role {role} can't work: {fault}. Either fix that, or {_BY_HAND}")


async def login_fault(conninfo: str, role: str) -> str | None:
    """Why the server can't work as this role with this connection string; None if it can."""
    try:
        async with await Connection.connect(conninfo, connect_timeout=10) as conn:
            ((path, *names),) = await fetch_rows(
                conn, "SELECT current_setting('search_path'), session_user::text, current_user::text"
            )
            held = await role_is_held(conn, role)
    except psycopg.OperationalError as fault:
        return f"it can't log in. Postgres said: {str(fault).strip().splitlines()[-1]}"
    other = next((name for name in names if name != role), None)
    if other is not None:
        return (
            f"whoever logs in as it is {other}, whom row-level security does not hold to an account. Put {APP_ROLE} "
            "into KEEPSTONE_APP_DATABASE_URL, and let a pooler log in to Postgres as whoever asks it"
        )
    if not held:
        return (
            "row-level security does not hold it. It may not be a superuser, have BYPASSRLS, own tables of Keepstone's "
            "or be a member of another role"
        )
    return None if path == SEARCH_PATH else f"its search_path is {path}"


async def _equip(owner: AnyConnection, role: LiteralString, password: str | None) -> None:
    """Made if need be. Roles belong to the whole server, which another database's migration may be changing now."""
    name = sql.Identifier(role)
    try:
        with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            async with owner.transaction():
                await owner.execute(sql.SQL("CREATE ROLE {}").format(name))
        async with owner.transaction():
            await owner.execute(sql.SQL("ALTER ROLE {} LOGIN").format(name))
            await owner.execute(sql.SQL("ALTER ROLE {} SET search_path = {}").format(name, sql.SQL(SEARCH_PATH)))
            await owner.execute(sql.SQL("ALTER ROLE {} SET timezone = 'UTC'").format(name))
            if password is not None:
                # Encrypted here, so that no log of statements can show it.
                secret = owner.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256")
                await owner.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(secret.decode())))
    except psycopg.errors.InsufficientPrivilege:
        raise Misconfigured(
            "The database user may not make the two roles that Keepstone logs in as. Either let it, as a superuser: "
            f"ALTER ROLE the user of KEEPSTONE_DATABASE_URL CREATEROLE; or {_BY_HAND}"
        ) from None
