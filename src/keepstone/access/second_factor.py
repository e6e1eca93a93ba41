"""A second step at sign-in: codes of an authenticator app (TOTP, RFC 6238), and recovery codes for when it is gone.

The secret is encrypted with a key made from the server's own secret, so that a copy of the database does not open it. A
code counts once, and guesses are slowed down by user, whoever makes them.
"""

import base64
import hashlib
import hmac
import secrets
import struct
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote, urlencode

import jwt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from keepstone.access import guesses
from keepstone.access.audit import record
from keepstone.access.passwords import verify_password
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found, require_self, require_user
from keepstone.errors import Conflict, Invalid, Unauthenticated
from keepstone.model.account import User
from keepstone.model.ids import random_text
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import accounts, users
from keepstone.store import second_factors as store
from keepstone.store.db import Connection
from keepstone.store.second_factors import SecondFactor

STEP_SECONDS = 30
DIGITS = 6
RECOVERY_CODES = 10
_EITHER_SIDE = 1  # steps that a clock may be wrong by
_FREE_GUESSES = 5
_TICKET_AUDIENCE = "keepstone-second-step"
_TICKET_LIFETIME = timedelta(minutes=5)
_WRONG = "This code is not right: take the one that the app shows now, or a recovery code."


class CodeRequired(Unauthenticated):
    """The password was right; `ticket` says so for a few minutes, and opens nothing without a code."""

    def __init__(self, ticket: str) -> None:
        super().__init__(
            "This account has a second factor: send the code that your app shows, or a recovery code, in `code`.",
            code="totp_required",
        )
        self.ticket = ticket


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """What an app needs to know; shown once. Nothing asks for codes before one is confirmed."""

    secret: str
    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorState:
    enabled: bool
    recovery_codes_left: int


async def state(services: Services, principal: Principal) -> FactorState:
    async with services.db.transaction(account_scope(principal)) as conn:
        factor = await store.get(conn, require_user(principal))
    enabled = factor is not None and factor.confirmed_at is not None
    return FactorState(enabled=enabled, recovery_codes_left=len(factor.recovery) if factor and enabled else 0)


async def enrol(services: Services, principal: Principal, *, password: str | None) -> Enrolment:
    """A new secret for an app. The password has to be shown first, if there is one."""
    user = await _with_password(services, principal, password)
    raw = secrets.token_bytes(20)
    async with services.db.transaction(account_scope(principal)) as conn:
        factor = await store.get(conn, user.id)
        if factor is not None and factor.confirmed_at is not None:
            raise Conflict("There is a second factor already: turn it off first, then set up another.")
        await store.put(conn, user.id, _sealed(services, user.id, raw))
        await record(conn, principal, "totp.enrol", user.id)
    secret = base64.b32encode(raw).decode()
    label = quote(f"Keepstone:{user.email}", safe=":")
    return Enrolment(
        secret=secret, uri=f"otpauth://totp/{label}?{urlencode({'secret': secret, 'issuer': 'Keepstone'})}"
    )


async def confirm(services: Services, principal: Principal, *, code: str) -> list[str]:
    """Turn it on with a first code. Gives the recovery codes, this once."""
    require_self(principal)
    user_id = require_user(principal)
    codes = ["-".join(random_text(4) for _ in range(4)) for _ in range(RECOVERY_CODES)]
    async with _guess(services, user_id), services.db.transaction(account_scope(principal)) as conn:
        factor = require_found(await store.get(conn, user_id), "Nothing is being set up: begin anew.")
        if factor.confirmed_at is not None:
            raise Conflict("There is a second factor already.")
        if not await _is_right(services, conn, user_id, factor, code):
            raise Invalid(_WRONG)
        await store.confirm(conn, user_id, [_hash(recovery) for recovery in codes])
        await record(conn, principal, "totp.confirm", user_id)
    return codes


async def disable(services: Services, principal: Principal, *, password: str | None, code: str) -> None:
    user = await _with_password(services, principal, password)
    async with _guess(services, user.id), services.db.transaction(account_scope(principal)) as conn:
        factor = require_found(await store.get(conn, user.id), "There is no second factor.")
        if not await _is_right(services, conn, user.id, factor, code):
            raise Invalid(_WRONG)
        await store.remove(conn, user.id)
        await record(conn, principal, "totp.disable", user.id)


async def reset(services: Services, principal: Principal, user_id: str) -> None:
    """By the operator, for somebody whose app and recovery codes are gone."""
    async with services.db.transaction(account_scope(principal)) as conn:
        await store.remove(conn, user_id)
        await record(conn, principal, "totp.reset", user_id)


async def check_second_step(services: Services, user: User, code: str | None) -> None:
    """Pass whoever has no second factor, or shows a right code; raises `CodeRequired` where there is none."""
    async with services.db.transaction(account_scope(user.account)) as conn:
        factor = await store.get(conn, user.id)
    if factor is None or factor.confirmed_at is None:
        return
    if not code:
        raise CodeRequired(_ticket(services, user))
    async with _guess(services, user.id), services.db.transaction(account_scope(user.account)) as conn:
        if not await _is_right(services, conn, user.id, factor, code):
            raise Unauthenticated(_WRONG, code="totp_wrong")


async def of_ticket(services: Services, ticket: str) -> User:
    """Whose password was right a few minutes ago."""
    try:
        claims = jwt.decode(
            ticket, services.jwt_secret, algorithms=["HS256"], audience=_TICKET_AUDIENCE,
            options={"require": ["exp", "sub", "aud"]},
        )  # fmt: skip
    except jwt.PyJWTError:
        raise Unauthenticated("That took too long: sign in again.") from None
    async with services.db.unscoped() as conn:
        account = await accounts.account_of(conn, "user", str(claims["sub"]))
    if account is not None:
        async with services.db.transaction(account_scope(account)) as conn:
            user = await users.get(conn, str(claims["sub"]))
        if user is not None:
            return user
    raise Unauthenticated("That took too long: sign in again.")


def code_at(secret: bytes, step: int) -> str:
    """RFC 6238 with HMAC-SHA-1 and six digits, which every app knows."""
    digest = hmac.new(secret, struct.pack(">Q", step), hashlib.sha1).digest()
    offset = digest[-1] & 0xF
    number = struct.unpack(">I", digest[offset : offset + 4])[0] & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}d}"


def _ticket(services: Services, user: User) -> str:
    claims = {"aud": _TICKET_AUDIENCE, "sub": user.id, "exp": services.clock() + _TICKET_LIFETIME}
    return jwt.encode(claims, services.jwt_secret, algorithm="HS256")


async def _is_right(services: Services, conn: Connection, user_id: str, factor: SecondFactor, code: str) -> bool:
    """Whether it is a code of now that was not used yet, or a recovery code that is left. It is used up by this."""
    given = "".join(code.split()).lower()
    if len(given) != DIGITS or not given.isascii() or not given.isdigit():
        return await store.take_recovery(conn, user_id, _hash(given))
    secret = _opened(services, user_id, factor.secret)
    now = int(services.clock().timestamp()) // STEP_SECONDS
    for step in range(now - _EITHER_SIDE, now + _EITHER_SIDE + 1):
        if hmac.compare_digest(code_at(secret, step), given):
            return await store.take_step(conn, user_id, step)
    return False


async def _with_password(services: Services, principal: Principal, password: str | None) -> User:
    require_self(principal)
    user_id = require_user(principal)
    async with services.db.transaction(account_scope(principal)) as conn:
        user = require_found(await users.get(conn, user_id), "There is no such user.")
        stored = await users.password_hash(conn, user_id)
    async with _guess(services, f"password:{user_id}"):
        if stored is not None and not await verify_password(services.hasher, stored, password or ""):
            raise Invalid("The password is not right.")
    return user


def _guess(services: Services, what: str) -> AbstractAsyncContextManager[None]:
    refusal = "Too many wrong codes. Wait, then try again."
    return guesses.guess(services, f"second-step:{what}", free=_FREE_GUESSES, refusal=refusal)


def _hash(recovery: str) -> bytes:
    """They are random, 82 bits: no slow hash."""
    return hashlib.sha256(recovery.replace("-", "").encode()).digest()


def _key(services: Services) -> AESGCM:
    return AESGCM(hmac.new(services.jwt_secret.encode(), b"second factors", hashlib.sha256).digest())


def _sealed(services: Services, user_id: str, secret: bytes) -> bytes:
    nonce = secrets.token_bytes(12)
    return nonce + _key(services).encrypt(nonce, secret, user_id.encode())


def _opened(services: Services, user_id: str, sealed: bytes) -> bytes:
    try:
        return _key(services).decrypt(sealed[:12], sealed[12:], user_id.encode())
    except InvalidTag:
        raise Unauthenticated(
            "This server's secret was changed, and codes can't be checked any more: use a recovery code, or have the "
            "operator run `keepstone users set EMAIL --reset-totp`."
        ) from None
