"""The one place where a principal is made: from an API key, a JWT or the session cookie."""

import asyncio
from dataclasses import dataclass, replace
from typing import Literal

from cairn.access.readscope import account_scope
from cairn.access.secrets import parse_secret, same_hash
from cairn.access.tokens import principal_of, token_principal
from cairn.errors import Forbidden, NotFound, RateLimited, Unauthenticated
from cairn.model.ids import is_id
from cairn.model.principal import Principal
from cairn.services import Services
from cairn.store import holders, keys, sessions, users

_FREE_FAILURES = 20
_LONGEST_DELAY = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What came with a request. `on_behalf_of` is whom a service key speaks for: an id or an e-mail address."""

    authorization: str | None = None
    session: str | None = None
    on_behalf_of: str | None = None
    address: str = ""


async def authenticate(services: Services, credentials: Credentials) -> Principal:
    """Who is calling; raises `Unauthenticated` for everybody else, later and later for those who keep guessing."""
    guesser = f"guesses:{credentials.address}"
    try:
        principal = await _principal(services, credentials)
    except Unauthenticated:
        if credentials.authorization is None and credentials.session is None:
            raise
        services.throttle.failed(guesser)
        wait = services.throttle.wait(guesser, free=_FREE_FAILURES)
        if wait > 0:
            await asyncio.sleep(min(wait, _LONGEST_DELAY))
            raise RateLimited("Too many wrong credentials from this address.", retry_after=wait) from None
        raise
    if credentials.on_behalf_of is not None:
        return await act_for(services, principal, credentials.on_behalf_of)
    return principal


async def act_for(services: Services, principal: Principal, user: str) -> Principal:
    """The same caller as one of the account's users, named by id or e-mail address.

    Only a service key can be somebody else. To a user's credential anybody else does not exist.
    """
    async with services.db.transaction(account_scope(principal)) as conn:
        found = await (users.get(conn, user) if is_id("usr", user) else users.by_email(conn, user.strip().lower()))
    if found is None or principal.user_id not in {None, found.id}:
        raise NotFound("There is no such user in this account.")
    return replace(principal, user_id=found.id, role=found.role, is_admin=found.is_admin)


def require_user(principal: Principal) -> str:
    """The user behind the call, for what belongs to a person."""
    if principal.user_id is None:
        raise Forbidden("A service key has to name one of the account's users here, in X-Cairn-User.")
    return principal.user_id


def require_owner(principal: Principal) -> None:
    if principal.role != "owner":
        raise Forbidden("Only an owner of the account may do this.")


def require_admin(principal: Principal) -> None:
    if not principal.is_admin:
        raise Forbidden("Only the operator of this server may do this.")


async def _principal(services: Services, credentials: Credentials) -> Principal:
    if credentials.authorization is not None:
        scheme, _, text = credentials.authorization.strip().partition(" ")
        text = text.strip()
        if scheme.lower() not in {"bearer", "token"} or not text:
            raise Unauthenticated("Send the header 'Authorization: Bearer' with an API key or a token.")
        if text.startswith("ck_"):
            return await _of_secret(services, "key", text)
        return await token_principal(services, text)
    if credentials.session is not None:
        return await _of_secret(services, "session", credentials.session)
    raise Unauthenticated("Sign in, or send the header 'Authorization: Bearer' with an API key or a token.")


async def _of_secret(services: Services, kind: Literal["key", "session"], text: str) -> Principal:
    """Find the row by the public part, compare the secret, note the use."""
    secret = parse_secret("ck" if kind == "key" else "cs", text)
    holder = None
    if secret is not None:
        async with services.db.unscoped() as conn:
            holder = await holders.of_credential(conn, kind, secret.prefix)
    if secret is None or holder is None or not same_hash(holder.secret_hash, secret.hash):
        raise Unauthenticated(
            "This API key is not known, has expired or was revoked."
            if kind == "key"
            else "This session is over: sign in again."
        )
    principal = principal_of(holder, via=kind)
    if holder.stale:
        touch = keys.touch if kind == "key" else sessions.touch
        async with services.db.transaction(account_scope(principal)) as conn:
            await touch(conn, holder.credential_id)
    return principal
