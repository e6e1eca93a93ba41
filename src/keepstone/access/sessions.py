"""Signing in with a browser: by password, or by a one-time link. A session can be seen and ended by its user."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from keepstone.access import guesses
from keepstone.access.audit import record, record_sign_in
from keepstone.access.devices import known_name, new_mark
from keepstone.access.emails import plain_email
from keepstone.access.passwords import hash_password, verify_password
from keepstone.access.principals import operator_in, principal_of
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_self, require_user
from keepstone.access.second_factor import check_second_step, of_ticket
from keepstone.access.secrets import new_secret, parse_secret
from keepstone.errors import Forbidden, Invalid, NotFound, Unauthenticated
from keepstone.model.account import User
from keepstone.model.credential import LoginSession
from keepstone.model.ids import new_id
from keepstone.model.page import Page, PageRequest
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import accounts, users
from keepstone.store import sessions as store
from keepstone.store.db import Connection
from keepstone.throttle import network_of

LINK_LIFETIME = timedelta(hours=24)
_FREE_BY_GUESSER = 5
_FREE_BY_NETWORK = 30
_STRANGERS_A_MINUTE = 10  # may try to be the same person; more of them wait for their turn
_TOO_MANY = "Too many wrong passwords. Wait, then try again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """Where a login comes from, for the user's own list of sessions."""

    address: str
    user_agent: str | None
    device: str | None = None  # the mark that it keeps, if somebody signed in there before


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """`expires_at` is when it ends however much it is used."""

    user: User
    token: str
    expires_at: datetime
    device: str


async def log_in(services: Services, *, email: str, password: str, browser: Browser, code: str | None = None) -> Login:
    """A new session for the right password and, where there is a second factor, the right code; whoever keeps guessing
    waits longer and longer.

    Guesses count against whoever makes them: a network, or a browser that was signed in before. Those of many networks
    on one address of somebody's take turns, and don't concern a browser that is known.
    """
    email = plain_email(email)
    network, device = network_of(browser.address), known_name(services, email, browser.device)
    guesser, crowd, turn = f"login:{email}:{device or network}", f"login-from:{network}", f"login:{email}"
    limits = {guesser: _FREE_BY_GUESSER} | ({crowd: _FREE_BY_NETWORK} if device is None else {})
    await guesses.begin(services, limits, _TOO_MANY)
    if device is None:
        refusal = "Too many try to sign in as this user. Wait, then try again."
        await guesses.wait_for_turn(services, turn, _STRANGERS_A_MINUTE, refusal)
    user, stored = await _by_email(services, email)
    if not await verify_password(services.hasher, stored, password) or user is None:
        if user is not None:
            await _note_refusal(services, user, browser)
        raise Unauthenticated("E-mail address or password is wrong.")
    await guesses.forgive(services, guesser, one_of=() if device else (crowd,))
    if device is None:
        await guesses.give_turn_back(services, turn, _STRANGERS_A_MINUTE)
    return await _second_step(services, user, code, browser)


async def log_in_with_code(services: Services, *, ticket: str, code: str, browser: Browser) -> Login:
    """The second step on its own: `ticket` is from the first."""
    return await _second_step(services, await of_ticket(services, ticket), code, browser)


async def _second_step(services: Services, user: User, code: str | None, browser: Browser) -> Login:
    try:
        await check_second_step(services, user, code)
    except Unauthenticated:
        if code is not None:
            await _note_refusal(services, user, browser)
        raise
    async with services.db.transaction(account_scope(user.account)) as conn:
        return await start_session(services, conn, user, browser, "session.login")


async def _note_refusal(services: Services, user: User, browser: Browser) -> None:
    async with services.db.transaction(account_scope(user.account)) as conn:
        await record_sign_in(conn, user.id, "session.refused", via="session", address=browser.address)


async def log_in_once(services: Services, *, token: str, browser: Browser) -> Login:
    """A new session for a one-time link, which is used up by it."""
    secret = parse_secret("cl", token)
    account = None
    if secret is not None:
        async with services.db.unscoped() as conn:
            account = await accounts.account_of(conn, "link", secret.prefix)
    if secret is not None and account is not None:
        async with services.db.transaction(account_scope(account)) as conn:
            user_id = await store.take_link(conn, secret.prefix, secret.hash)
            user = await users.get(conn, user_id) if user_id else None
            if user is not None:
                return await start_session(services, conn, user, browser, "session.login_once")
    raise NotFound("This link was used already or is too old. `keepstone login-link` prints a new one.")


async def make_link(services: Services, user: User) -> str:
    """The token of a one-time link for this user; the one before it stops working."""
    secret = new_secret("cl", user.account)
    async with services.db.transaction(account_scope(user.account)) as conn:
        await store.insert_link(
            conn,
            user_id=user.id,
            prefix=secret.prefix,
            secret_hash=secret.hash,
            expires_at=services.clock() + LINK_LIFETIME,
        )
        await record(conn, operator_in(user.account), "session.link", user.id)
    return secret.text


async def log_out(services: Services, principal: Principal) -> None:
    """End the session that this call came with. Other credentials are not touched."""
    if principal.via != "session" or principal.credential_id is None:
        return
    async with services.db.transaction(account_scope(principal)) as conn:
        await store.delete(conn, principal.credential_id)
        await record(conn, principal, "session.logout", principal.credential_id)


async def list_sessions(services: Services, principal: Principal, page: PageRequest) -> Page[LoginSession]:
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        return await store.page(conn, user_id, page)


async def end_session(services: Services, principal: Principal, session_id: str) -> None:
    require_self(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        session = await store.get(conn, session_id)
        if session is None or session.user_id != principal.user_id:
            raise NotFound("There is no such session.")
        await store.delete(conn, session_id)
        await record(conn, principal, "session.end", session_id)


async def end_other_sessions(services: Services, principal: Principal) -> None:
    """All of the user's, but for the one that this call came with."""
    require_self(principal)
    user_id = require_user(principal)
    keep = principal.credential_id if principal.via == "session" else None
    async with services.db.transaction(account_scope(principal)) as conn:
        await store.delete_others(conn, user_id, keep=keep)
        await record(conn, principal, "session.end_others", user_id)


async def change_password(services: Services, principal: Principal, *, current: str | None, new: str) -> None:
    """Set the password; every other session of the user ends. An existing password has to be shown first."""
    require_self(principal)
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        stored = await users.password_hash(conn, user_id)
    if stored is None and principal.via == "jwt":
        raise Forbidden("A token can't set the first password, which would outlive it: sign in, or use an API key.")
    if stored is not None:
        async with guesses.guess(services, f"password:{user_id}", free=_FREE_BY_GUESSER, refusal=_TOO_MANY):
            if not await verify_password(services.hasher, stored, current or ""):
                raise Invalid("The current password is not right.")
    password_hash = await hash_password(services.hasher, new)
    keep = principal.credential_id if principal.via == "session" else None
    async with services.db.transaction(account_scope(principal)) as conn:
        await users.update(conn, user_id, password_hash=password_hash)
        await store.delete_others(conn, user_id, keep=keep)
        await record(conn, principal, "user.password", user_id)


async def _by_email(services: Services, email: str) -> tuple[User | None, str | None]:
    async with services.db.unscoped() as conn:
        account = await accounts.account_of(conn, "email", email)
    if account is None:
        return None, None
    async with services.db.transaction(account_scope(account)) as conn:
        user = await users.by_email(conn, email)
        return user, await users.password_hash(conn, user.id) if user else None


async def start_session(services: Services, conn: Connection, user: User, browser: Browser, action: str) -> Login:
    """Somebody who has shown that they are this user is signed in."""
    secret = new_secret("cs", user.account)
    session_id = new_id("ses")
    now = services.clock()
    settings = services.settings
    ends_at = now + timedelta(days=settings.session_days)
    expires_at = min(ends_at, now + timedelta(days=settings.session_idle_days))
    await store.insert(
        conn, session_id, user_id=user.id, prefix=secret.prefix, secret_hash=secret.hash, expires_at=expires_at,
        address=browser.address, user_agent=browser.user_agent,
    )  # fmt: skip
    await users.update(conn, user.id, last_login_at=now)
    principal = principal_of(user, account_id="", via="session", credential_id=session_id)
    await record(conn, principal, action, session_id)
    device = browser.device
    if device is None or known_name(services, user.email, device) is None:
        device = new_mark(services, user.email)
    return Login(user=user, token=secret.text, expires_at=ends_at, device=device)
