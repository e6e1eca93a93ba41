"""Whose is a credential? Asked before there is an account, so through functions that answer nothing else."""

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from keepstone.model.principal import KeySurface, Permission, Role
from keepstone.store.accounts import account_of
from keepstone.store.db import Connection, fetch_one


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    account: int
    account_id: str
    credential_id: str | None
    user_id: str | None
    role: Role
    is_admin: bool
    key_per_minute: int | None
    account_per_minute: int | None
    timezone: str
    permission: Permission = "write"
    surfaces: list[KeySurface] | None = None
    spaces: list[int] | None = None
    expires_at: datetime | None = None
    lacks_factor: bool = False
    acting: bool = False  # a token that a service key got for the user it named


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretHolder(Holder):
    """Still to be believed: the caller has to know the secret behind `secret_hash`."""

    credential_id: str
    secret_hash: bytes
    stale: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VouchedHolder(Holder):
    """`by_subject`: found by the subject that is noted, else by the address. `bound`: its issuer is noted too.
    `accepted`: the place in the account is theirs by their own word, or the operator's.
    """

    user_id: str
    by_subject: bool
    bound: bool
    accepted: bool


async def of_credential(conn: Connection, kind: str, prefix: str, account: int | None) -> SecretHolder | None:
    """Of an API key (`key`) or a browser session (`session`) that is good now; it is probably one of that account."""
    query: LiteralString = "SELECT * FROM credential_holder(%(of_account)s, %(kind)s, %(prefix)s)"

    async def of(account: int | None) -> SecretHolder | None:
        if account is None:
            return None
        return await fetch_one(conn, SecretHolder, query, {"of_account": account, "kind": kind, "prefix": prefix})

    return await of(account) or await of(await account_of(conn, kind, prefix))


async def of_token(conn: Connection, user_id: str, minted_with: str, account: int | None) -> Holder | None:
    query: LiteralString = "SELECT * FROM token_holder(%(of_account)s, %(user)s, %(credential)s)"

    async def of(account: int | None) -> Holder | None:
        if account is None:
            return None
        return await fetch_one(conn, Holder, query, {"of_account": account, "user": user_id, "credential": minted_with})

    return await of(account) or await of(await account_of(conn, "user", user_id))


async def of_subject(conn: Connection, issuer: str, subject: str, email: str) -> VouchedHolder | None:
    """Of somebody whom a foreign issuer vouches for, by their subject there or, while none is noted, their address."""
    query: LiteralString = "SELECT * FROM subject_holder(%(issuer)s, %(subject)s, %(email)s)"
    return await fetch_one(conn, VouchedHolder, query, {"issuer": issuer, "subject": subject, "email": email})
