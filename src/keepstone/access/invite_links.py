"""Invite links: an owner makes one, and whoever opens it within seven days chooses a name and a password and is in.

A link is good once. The secret in it is stored hashed; whoever tries links that are none waits longer and longer.
"""

from dataclasses import dataclass
from datetime import timedelta

from keepstone.access.audit import record, record_sign_in
from keepstone.access.emails import normal_email
from keepstone.access.passwords import hash_password
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found, require_owner, require_self, require_user
from keepstone.access.secrets import Secret, new_secret, parse_secret
from keepstone.access.sessions import Browser, Login, start_session
from keepstone.access.users import insert_user, require_free
from keepstone.errors import Conflict, NotFound, RateLimited
from keepstone.model.credential import InviteLink
from keepstone.model.ids import new_id
from keepstone.model.principal import Principal, Role
from keepstone.services import Services
from keepstone.store import accounts, users
from keepstone.store import invite_links as store
from keepstone.throttle import network_of

LIFETIME = timedelta(days=7)
_MOST = 100  # that wait in one account
_FREE_BY_NETWORK = 30  # links that are none
_OVER = "This invitation was used, taken back or is older than seven days: ask whoever sent it for a new one."


@dataclass(frozen=True, slots=True, kw_only=True)
class Invited:
    """What whoever opens a link is told: into whose account, by whom, and for which address if it is for one."""

    account_name: str
    invited_by: str
    email: str | None


async def create(
    services: Services, principal: Principal, *, email: str | None = None, role: Role = "member"
) -> tuple[InviteLink, str]:
    """The link, and the address to send to somebody: it is shown this once."""
    require_self(principal)
    require_owner(principal)
    made_by = require_user(principal)
    email = normal_email(email) if email else None
    secret, link_id = new_secret("ci", principal.account), new_id("lnk")
    async with services.db.transaction(account_scope(principal)) as conn:
        if email and await accounts.account_of(conn, "email", email) is not None:
            raise Conflict(f"There is a user {email} on this server already.")
        if len(await store.pending(conn)) >= _MOST:
            raise Conflict(f"{_MOST} invitations wait already: take some of them back.")
        await store.insert(
            conn, link_id, prefix=secret.prefix, secret_hash=secret.hash, email=email, role=role, created_by=made_by,
            expires_at=services.clock() + LIFETIME,
        )  # fmt: skip
        await record(conn, principal, "invite.create", link_id, role=role)
        link = require_found(await store.get(conn, link_id), "This invitation is gone.")
    return link, f"{services.settings.base_url}/join/{secret.text}"


async def pending(services: Services, principal: Principal) -> list[InviteLink]:
    require_owner(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.pending(conn)


async def revoke(services: Services, principal: Principal, link_id: str) -> None:
    if principal.role != "owner":
        raise NotFound("There is no such invitation.")
    async with services.db.transaction(account_scope(principal)) as conn:
        require_found(await store.get(conn, link_id), "There is no such invitation.")
        await store.delete(conn, link_id)
        await record(conn, principal, "invite.revoke", link_id)


async def look(services: Services, *, token: str, browser: Browser) -> Invited:
    """What is behind a link; it stays good."""
    secret, account = await _account_of(services, token, browser)
    async with services.db.transaction(account_scope(account)) as conn:
        link = require_found(await store.shown(conn, secret.prefix, secret.hash), _OVER)
        home = require_found(await accounts.get(conn), _OVER)
        maker = require_found(await users.get(conn, link.created_by), _OVER)
    return Invited(account_name=home.name, invited_by=maker.name or maker.email, email=link.email)


async def join(services: Services, *, token: str, browser: Browser, email: str, name: str, password: str) -> Login:
    """Be in the account from now on, signed in. The link is used up."""
    secret, account = await _account_of(services, token, browser)
    async with services.db.transaction(account_scope(account)) as conn:  # before the work of hashing a password
        require_found(await store.shown(conn, secret.prefix, secret.hash), _OVER)
    password_hash = await hash_password(services.hasher, password)
    user_id = new_id("usr")
    async with services.db.transaction(account_scope(account)) as conn:
        link = require_found(await store.shown(conn, secret.prefix, secret.hash), _OVER)
        address = link.email or normal_email(email)
        await require_free(conn, address)
        await insert_user(
            conn, user_id, email=address, name=name, role=link.role, is_admin=False, password_hash=password_hash,
            accepted_at=services.clock(),
        )  # fmt: skip
        await store.delete(conn, link.id)
        await record_sign_in(conn, user_id, "user.join", via="session", invited_by=link.created_by)
        user = require_found(await users.get(conn, user_id), _OVER)
        return await start_session(services, conn, user, browser, "session.login")


async def _account_of(services: Services, token: str, browser: Browser) -> tuple[Secret, int]:
    guesses = f"invite-from:{network_of(browser.address)}"
    wait = services.throttle.wait(guesses, free=_FREE_BY_NETWORK)
    if wait > 0:
        raise RateLimited("Too many invitations that are none. Wait, then try again.", retry_after=wait)
    secret, account = parse_secret("ci", token), None
    if secret is not None:
        async with services.db.unscoped() as conn:
            account = await accounts.account_of(conn, "invite", secret.prefix)
    if secret is None or account is None:
        services.throttle.failed(guesses)
        raise NotFound(_OVER)
    return secret, account
