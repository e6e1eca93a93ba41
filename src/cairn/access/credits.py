"""Credits and the ledger: a billable call is paid once, when it has succeeded, and never twice."""

from cairn.errors import PaymentRequired
from cairn.model.principal import Principal
from cairn.store import ledger
from cairn.store.db import Connection

COST = {"recall": 1, "ask": 5}


async def require_credits(conn: Connection, action: str) -> None:
    """Before the work is done: is there enough? Nothing is taken yet."""
    left = await ledger.credits_left(conn)
    if left is not None and left < COST[action]:
        raise _refusal(action, left)


async def charge(conn: Connection, principal: Principal, action: str, call_id: str) -> int:
    """Take the credits and write the line, together; the same call again takes nothing. Returns what it cost."""
    paid = await ledger.insert_and_take(
        conn, call_id, user_id=principal.user_id, credential_id=principal.credential_id, action=action,
        credit_count=COST[action],
    )  # fmt: skip
    if not paid:
        raise _refusal(action, 0)
    return COST[action]


def _refusal(action: str, left: int) -> PaymentRequired:
    return PaymentRequired(
        f"This {action} costs {COST[action]} credits and {left} are left: ask the operator of this server for more. "
        "You were not charged."
    )
