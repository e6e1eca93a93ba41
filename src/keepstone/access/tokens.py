"""JWTs: our own, signed with the server's secret, and those of one foreign issuer, checked against its JWKS.

Algorithms are pinned on both sides, and a token has to be meant for us. Ours die with the key or session they were
minted with.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from keepstone.access.audit import record, record_sign_in
from keepstone.access.emails import plain_email
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found
from keepstone.access.secrets import account_in, mark_of
from keepstone.errors import Invalid, KeepstoneError, Malformed, NotFound, Unauthenticated, Unavailable
from keepstone.model.account import User
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import holders, users
from keepstone.store.holders import Holder, VouchedHolder

_ISSUER = _AUDIENCE = "keepstone"
_OWN_ALGORITHM = "HS256"
_LONGEST_SUBJECT = 255  # as OpenID Connect has it
_FOREIGN_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    text: str
    expires_at: datetime
    expires_in: int


async def mint_token(services: Services, principal: Principal) -> Token:
    """A JWT for this caller, good for `KEEPSTONE_JWT_MINUTES`, and no longer than what it was asked for with: a token
    does not renew itself.
    """
    if principal.user_id is None:
        raise Invalid("A token is a user's: name one of the account's users in X-Keepstone-User.")
    if principal.credential_id is None:
        raise Invalid("A foreign token can't be exchanged: sign in, or use an API key.")
    now = services.clock()
    expires_at = now + timedelta(minutes=services.settings.jwt_minutes)
    if principal.credential_expires_at is not None:
        expires_at = min(expires_at, principal.credential_expires_at)
    claims = {
        "iss": _ISSUER,
        "aud": _AUDIENCE,
        "sub": principal.user_id,
        "cid": principal.credential_id,
        "acc": mark_of(principal.account),
        "iat": now,
        "exp": expires_at,
    }
    async with services.db.transaction(account_scope(principal)) as conn:
        await record(conn, principal, "token.mint", principal.user_id)
    text = jwt.encode(claims, services.jwt_secret, algorithm=_OWN_ALGORITHM)
    return Token(text=text, expires_at=expires_at, expires_in=round((expires_at - now).total_seconds()))


async def token_holder(services: Services, text: str) -> Holder:
    """Whose a JWT is, whoever signed it."""
    try:
        issuer = jwt.decode(text, options={"verify_signature": False}).get("iss")
        if issuer == _ISSUER:
            return await _own(services, text)
        if issuer is not None and issuer == services.settings.oidc_issuer:
            return await _foreign(services, text)
    except jwt.PyJWTError as fault:
        raise _refused(fault) from None
    except (Malformed, RecursionError):  # what the database can't look for, such as NUL, or nobody can read
        pass
    raise Unauthenticated("This token is not good here.")


def _claims(
    text: str, key: jwt.PyJWK | str, algorithms: list[str], *, audience: str | None, issuer: str | None
) -> dict[str, Any]:
    return jwt.decode(
        text, key, algorithms=algorithms, audience=audience, issuer=issuer,
        options={"require": ["exp", "iss", "aud", "sub"]},
    )  # fmt: skip


def _end(claims: dict[str, Any]) -> datetime:
    """Whatever is made with a token ends with it: keys, and other tokens."""
    try:
        return datetime.fromtimestamp(int(claims["exp"]), UTC)
    except (OverflowError, ValueError, OSError):
        raise Unauthenticated("This token is not good here.") from None


async def _own(services: Services, text: str) -> Holder:
    claims = _claims(text, services.jwt_secret, [_OWN_ALGORITHM], audience=_AUDIENCE, issuer=_ISSUER)
    async with services.db.one_statement() as conn:
        account = account_in(str(claims.get("acc", "")))
        holder = await holders.of_token(conn, str(claims["sub"]), str(claims.get("cid")), account)
    if holder is None:
        raise Unauthenticated("The key or session behind this token is no longer good: sign in again.")
    return replace(holder, expires_at=min(filter(None, (_end(claims), holder.expires_at))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Vouched:
    """Whom the foreign issuer's token is about. `email` is empty unless the issuer says that it is verified."""

    issuer: str
    subject: str
    email: str
    until: datetime


async def accept_invitation(services: Services, authorization: str | None, account_id: str) -> User:
    """Take the place that somebody made for this address, with a foreign issuer's token for it: from now on the
    token's subject, and no other, is that user.
    """
    vouched = await _vouched(services, (authorization or "").strip().partition(" ")[2].strip())
    holder = await _holder(services, vouched)
    if holder is None or holder.by_subject or holder.account_id != account_id:
        raise NotFound("Nobody has made a place for you in such an account, or it is yours already.")
    await _bind(services, holder, vouched, accepted_at=services.clock())
    async with services.db.transaction(account_scope(holder.account)) as conn:
        return require_found(await users.get(conn, holder.user_id), "There is no such user.")


async def _foreign(services: Services, text: str) -> Holder:
    """By the token's subject. By an e-mail address that the issuer says it has verified, as long as no subject is
    noted and the place is theirs; then the subject is noted, and from then on the only one.
    """
    vouched = await _vouched(services, text)
    holder = await _holder(services, vouched)
    if holder is None:
        raise Unauthenticated("Nobody here is known under this token's subject.")
    if not holder.by_subject and not holder.accepted:
        raise Unauthenticated(
            f"An owner of the account {holder.account_id} made a place for you and could read what you keep there. To "
            f'take it, send this token with {{"account_id": "{holder.account_id}"}} to POST /auth/accept.'
        )
    if not holder.bound:
        await _bind(services, holder, vouched)
    return replace(holder, expires_at=vouched.until)


async def _vouched(services: Services, text: str) -> _Vouched:
    settings = services.settings
    if services.jwks is None or settings.oidc_issuer is None:
        raise Unauthenticated("This token is not good here.")
    try:
        key = await asyncio.to_thread(services.jwks.get_signing_key_from_jwt, text)
        claims = _claims(text, key, _FOREIGN_ALGORITHMS, audience=settings.oidc_audience, issuer=settings.oidc_issuer)
    except jwt.PyJWTError as fault:
        raise _refused(fault) from None
    subject, verified = str(claims["sub"]), claims.get("email_verified") is True
    email = plain_email(str(claims.get("email", ""))) if verified else ""
    if not 0 < len(subject) <= _LONGEST_SUBJECT or "\0" in subject + email:
        raise Unauthenticated("This token is not good here.")
    return _Vouched(issuer=settings.oidc_issuer, subject=subject, email=email, until=_end(claims))


async def _holder(services: Services, vouched: _Vouched) -> VouchedHolder | None:
    async with services.db.unscoped() as conn:
        return await holders.of_subject(conn, vouched.issuer, vouched.subject, vouched.email)


async def _bind(services: Services, holder: VouchedHolder, vouched: _Vouched, **accepted: datetime) -> None:
    async with services.db.transaction(account_scope(holder.account)) as conn:
        await users.lock_name(conn, "subject", vouched.subject)
        if not await users.bind(conn, holder.user_id, vouched.issuer, vouched.subject, **accepted):
            raise Unauthenticated("Somebody else has just signed in with this address.")
        action = "user.accept" if accepted else "user.bind"
        await record_sign_in(conn, holder.user_id, action, via="jwt")


def _refused(fault: jwt.PyJWTError) -> KeepstoneError:
    match fault:
        case jwt.PyJWKClientConnectionError():
            return Unavailable("The issuer's signing keys can't be fetched. Try again.", retry_after=5)
        case jwt.ExpiredSignatureError():
            return Unauthenticated("This token has expired: get a new one.")
        case _:
            return Unauthenticated("This token is not good here.")
