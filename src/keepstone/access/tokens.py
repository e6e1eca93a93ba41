"""JWTs: our own, signed with the server's secret, and those of one foreign issuer, checked against its JWKS.

Algorithms are pinned on both sides, and a token has to be meant for us. Ours die with the key or session they were
minted with.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from keepstone.access.audit import record
from keepstone.access.emails import plain_email
from keepstone.access.readscope import account_scope
from keepstone.errors import Invalid, Malformed, Unauthenticated, Unavailable
from keepstone.model.principal import Principal
from keepstone.services import Services
from keepstone.store import holders
from keepstone.store.holders import Holder

_ISSUER = _AUDIENCE = "keepstone"
_OWN_ALGORITHM = "HS256"
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
    except jwt.PyJWKClientConnectionError:
        raise Unavailable("The issuer's signing keys can't be fetched. Try again.", retry_after=5) from None
    except jwt.ExpiredSignatureError:
        raise Unauthenticated("This token has expired: get a new one.") from None
    except (jwt.PyJWTError, Malformed, RecursionError):  # also what the database can't look for, such as NUL
        pass
    raise Unauthenticated("This token is not good here.")


def _claims(
    text: str, key: jwt.PyJWK | str, algorithms: list[str], *, audience: str | None, issuer: str | None
) -> dict[str, Any]:
    return jwt.decode(
        text, key, algorithms=algorithms, audience=audience, issuer=issuer,
        options={"require": ["exp", "iss", "aud", "sub"]},
    )  # fmt: skip


async def _own(services: Services, text: str) -> Holder:
    claims = _claims(text, services.jwt_secret, [_OWN_ALGORITHM], audience=_AUDIENCE, issuer=_ISSUER)
    async with services.db.unscoped() as conn:
        holder = await holders.of_token(conn, str(claims["sub"]), str(claims.get("cid")))
    if holder is None:
        raise Unauthenticated("The key or session behind this token is no longer good: sign in again.")
    return _until(holder, claims)


async def _foreign(services: Services, text: str) -> Holder:
    """By the token's subject, else by an e-mail address that the issuer says it has verified."""
    if services.jwks is None:
        raise Unauthenticated("This token is not good here.")
    key = await asyncio.to_thread(services.jwks.get_signing_key_from_jwt, text)
    settings = services.settings
    claims = _claims(text, key, _FOREIGN_ALGORITHMS, audience=settings.oidc_audience, issuer=settings.oidc_issuer)
    email = plain_email(str(claims.get("email", ""))) if claims.get("email_verified") is True else ""
    async with services.db.unscoped() as conn:
        holder = await holders.of_subject(conn, str(claims["sub"]), email)
    if holder is None:
        raise Unauthenticated("Nobody here is known under this token's subject.")
    return _until(holder, claims)


def _until(holder: Holder, claims: dict[str, Any]) -> Holder:
    """Whatever is made with a token ends with it: keys, and other tokens."""
    try:
        end = datetime.fromtimestamp(int(claims["exp"]), UTC)
    except (OverflowError, ValueError, OSError):
        raise Unauthenticated("This token is not good here.") from None
    return replace(holder, expires_at=min(filter(None, (end, holder.expires_at))))
