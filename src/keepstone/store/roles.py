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
from keepstone.store.db import APP_ROLE, SEARCH_PATH, WORKER_ROLE, AnyConnection, Connection, fetch_value

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
    """How `role` connects to the owner's database. `roles_url` is that of keepstone_app, where it is given."""
    if roles_url is not None:
        user = str(conninfo_to_dict(roles_url).get("user") or APP_ROLE)
        return make_conninfo(roles_url, user=user.replace(APP_ROLE, role, 1))
    password = role_password(conninfo, role)
    return make_conninfo(conninfo, user=role, **({"password": password} if password else {}))


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
    """Both can log in; where they can't, because the owner has another password than before, they can afterwards."""
    for role in ROLES:
        own = role_conninfo(conninfo, role, roles_url)
        if await login_fault(own) is None:
            continue
        if roles_url is None:
            await _equip(owner, role, role_password(conninfo, role))
        fault = await login_fault(own)
        if fault is not None:
            raise Misconfigured(
                f"The database role {role} can't log in. Postgres said: {fault}. Either fix that, or {_BY_HAND}"
            )


async def login_fault(conninfo: str) -> str | None:
    """Why a role can't work with this connection string; None if it can."""
    try:
        async with await Connection.connect(conninfo, autocommit=True, connect_timeout=10) as conn:
            path = await fetch_value(conn, "SHOW search_path")
    except psycopg.OperationalError as fault:
        return str(fault).strip().splitlines()[-1]
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
