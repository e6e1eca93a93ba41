"""The one place where a principal is made: from an API key, a JWT or the session cookie."""

import asyncio
from dataclasses import dataclass, replace
from typing import Literal

from keepstone.access.audit import note
from keepstone.access.emails import plain_email
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found
from keepstone.access.secrets import account_in, parse_secret, same_hash
from keepstone.access.tokens import token_holder
from keepstone.errors import NotFound, RateLimited, Unauthenticated
from keepstone.model.account import User
from keepstone.model.ids import is_id
from keepstone.model.plan import Rate
from keepstone.model.principal import Principal, Reach, Via
from keepstone.services import Services
from keepstone.store import holders, keys, sessions, users
from keepstone.store.db import Connection
from keepstone.store.holders import Holder
from keepstone.throttle import network_of

_NO_USER = "There is no such user in this account."
_FREE_FAILURES = 20
_LONGEST_DELAY = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What came with a request. Of `sessions` the first that is good counts. `on_behalf_of` is whom a service key
    speaks for: an id or an e-mail address. `route` and `object_id` are what it asks for, as the audit trail tells it.
    """

    authorization: str | None = None
    sessions: tuple[str, ...] = ()
    on_behalf_of: str | None = None
    address: str = ""
    route: str = ""
    object_id: str | None = None


async def authenticate(services: Services, credentials: Credentials) -> Principal:
    """Who is calling; raises `Unauthenticated` for everybody else, later and later for those who keep guessing."""
    try:
        principal = await _principal(services, credentials)
    except Unauthenticated:
        if credentials.authorization is None:  # an old cookie is no guess
            raise
        guesser = f"guesses:{network_of(credentials.address)}"
        services.throttle.failed(guesser)
        wait = services.throttle.wait(guesser, free=_FREE_FAILURES)
        if wait > 0:
            await asyncio.sleep(min(wait, _LONGEST_DELAY))
            raise RateLimited("Too many wrong credentials from this address.", retry_after=wait) from None
        raise
    return await act_for(
        services, principal, credentials.on_behalf_of, route=credentials.route, object_id=credentials.object_id
    )


async def act_for(
    services: Services, principal: Principal, user: str | None, *, route: str = "", object_id: str | None = None
) -> Principal:
    """The same caller as one of the account's users, named by id or e-mail address; without a name as themselves.

    Only a service key can be somebody else, which stands in the audit trail, reads included. To a user's credential
    anybody else does not exist.
    """
    before = principal
    if user is not None:
        async with services.db.transaction(account_scope(principal)) as conn:
            acted_for = await find_user(conn, user)
        if principal.user_id not in {None, acted_for.id}:
            raise NotFound(_NO_USER)
        if principal.user_id is None:
            principal = _acting(principal, acted_for.id)
    if principal.acting and (route or not before.acting):
        await note(services, principal, "acting.use", object_id or principal.user_id, route=route or None)
    return principal


def _acting(principal: Principal, user_id: str | None) -> Principal:
    """Somebody else's name alone: what they may in the account and on the server does not come with it."""
    return replace(principal, user_id=user_id, role="member", is_admin=False, acting=True)


async def find_user(conn: Connection, user: str) -> User:
    """Somebody of the account, by id or e-mail address."""
    known = await (users.get(conn, user) if is_id("usr", user) else users.by_email(conn, plain_email(user)))
    return require_found(known, _NO_USER)


def principal_of(user: User, *, account_id: str, via: Via, credential_id: str | None = None) -> Principal:
    """Somebody whom we know already, such as whoever has just signed in."""
    return Principal(
        account=user.account,
        account_id=account_id,
        user_id=user.id,
        role=user.role,
        is_admin=user.is_admin,
        via=via,
        credential_id=credential_id,
    )


def operator_in(account: int, *, account_id: str = "", user_id: str | None = None) -> Principal:
    """The operator of the server, at work in an account from the command line."""
    return Principal(account=account, account_id=account_id, user_id=user_id, role="owner", is_admin=True, via="cli")


def worker_for(account: int, user_id: str | None = None) -> Principal:
    """A background job, at work for the user who caused it: it may what they may. Without one, for the account."""
    return Principal(account=account, account_id="", user_id=user_id, role="member", via="job")


def biller_of(account: int, *, account_id: str) -> Principal:
    """A payment system, which knew the secret that it shares with this server."""
    return Principal(account=account, account_id=account_id, user_id=None, role="owner", via="webhook")


async def _principal(services: Services, credentials: Credentials) -> Principal:
    if credentials.authorization is not None:
        scheme, _, text = credentials.authorization.strip().partition(" ")
        text = text.strip()
        if scheme.lower() not in {"bearer", "token"} or not text:
            raise Unauthenticated("Send the header 'Authorization: Bearer' with an API key or a token.")
        if text.startswith("ck_"):
            return await _of_secret(services, "key", text)
        return _of_holder(services, await token_holder(services, text), via="jwt")
    for session in credentials.sessions:
        try:
            return await _of_secret(services, "session", session)
        except Unauthenticated:
            if session == credentials.sessions[-1]:
                raise
    raise Unauthenticated("Sign in, or send the header 'Authorization: Bearer' with an API key or a token.")


async def _of_secret(services: Services, kind: Literal["key", "session"], text: str) -> Principal:
    """Find the row by the public part, compare the secret, note the use."""
    secret = parse_secret("ck" if kind == "key" else "cs", text)
    holder = None
    if secret is not None:
        async with services.db.one_statement() as conn:
            holder = await holders.of_credential(conn, kind, secret.prefix, account_in(secret.prefix))
    if secret is None or holder is None or not same_hash(holder.secret_hash, secret.hash):
        raise Unauthenticated(
            "This API key is not known, has expired or was revoked."
            if kind == "key"
            else "This session is over: sign in again."
        )
    principal = _of_holder(services, holder, via=kind)
    if holder.stale:
        settings = services.settings
        async with services.db.transaction(account_scope(principal)) as conn:
            if kind == "key":
                await keys.touch(conn, holder.credential_id)
            else:
                await sessions.touch(
                    conn, holder.credential_id, days=settings.session_days, idle_days=settings.session_idle_days
                )
    return principal


def _of_holder(services: Services, holder: Holder, *, via: Via) -> Principal:
    rate = Rate(by_key=holder.key_per_minute, by_account=holder.account_per_minute)
    reach = Reach(
        permission=holder.permission,
        surfaces=None if holder.surfaces is None else frozenset(holder.surfaces),
        spaces=None if holder.spaces is None else frozenset(holder.spaces),
    )
    if holder.lacks_factor and services.settings.require_totp:
        reach = Reach(surfaces=frozenset())
    principal = Principal(
        account=holder.account, account_id=holder.account_id, user_id=holder.user_id, role=holder.role,
        is_admin=holder.is_admin, via=via, credential_id=holder.credential_id, rate=rate, reach=reach,
        credential_expires_at=holder.expires_at, timezone=holder.timezone,
    )  # fmt: skip
    return _acting(principal, holder.user_id) if holder.acting else principal
