"""A payment system tells what was paid for: a signed event sets plan and credits of an account, once."""

import hashlib
import hmac
from dataclasses import dataclass

from keepstone.access import plans
from keepstone.access.audit import record
from keepstone.access.meter import month_of
from keepstone.access.principals import biller_of
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_found
from keepstone.errors import Invalid, NotFound, Unauthenticated
from keepstone.model.ids import is_id
from keepstone.services import Services
from keepstone.store import accounts, ledger

TOLERANCE = 300  # seconds that the sender's clock, and the way of the event, may be off


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountUpdated:
    """`credits` is what there is from now on, `add_credits` comes on top of what there is."""

    id: str
    account_id: str
    plan: str | None = None
    credits: int | None = None
    add_credits: int | None = None


def sign(secret: str, timestamp: int, body: bytes) -> str:
    """The value of `Keepstone-Signature` for a body that is sent at this time."""
    return f"t={timestamp},v1={_digest(secret, str(timestamp), body)}"


def check_signature(services: Services, header: str, body: bytes) -> None:
    """Raises unless whoever sent this knew the secret a moment ago. Several `v1` are good for a change of secret."""
    secret = services.settings.billing_secret
    if secret is None:
        raise NotFound("There is nothing at this address.")
    parts = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    given = [value.encode() for name, _, value in parts if name == "v1"]
    # `isdecimal` takes digits of other scripts too, which `int` reads; the signature is over what was sent.
    if len(times) != 1 or not times[0].isdecimal() or len(times[0]) > 12 or not given:
        raise Unauthenticated("Sign the event: Keepstone-Signature: t=<seconds since 1970>,v1=<HMAC-SHA256 in hex>.")
    wanted = _digest(secret, times[0], body).encode()
    if not any(hmac.compare_digest(signature, wanted) for signature in given):
        raise Unauthenticated("This signature is not good: it has to be made over `t`, a dot and the body as sent.")
    if abs(services.clock().timestamp() - int(times[0])) > TOLERANCE:
        raise Unauthenticated("This signature is too old, or a clock is wrong: sign the event anew when sending it.")


async def apply(services: Services, event: AccountUpdated) -> bool:
    """Do what it says, all of it or nothing. False if it was done before."""
    if event.credits is not None and event.add_credits is not None:
        raise Invalid("credits and add_credits can't be in one event: say which it is.")
    async with services.db.unscoped() as conn:
        known = is_id("acct", event.account_id)
        number = await accounts.account_of(conn, "account", event.account_id) if known else None
    account = require_found(number, "There is no such account.")
    month = month_of(services.clock())
    async with services.db.transaction(account_scope(account)) as conn:
        if not await ledger.note_event(conn, event.id):
            return False
        if event.plan is not None:
            await plans.find(conn, event.plan)
        await accounts.allow(conn, month, plan=event.plan, credit_count=event.credits, more_credits=event.add_credits)
        principal = biller_of(account, account_id=event.account_id)
        await record(
            conn, principal, "account.billing", event.account_id, event=event.id, plan=event.plan,
            credits=event.credits, add_credits=event.add_credits,
        )  # fmt: skip
    return True


def _digest(secret: str, timestamp: str, body: bytes) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
