"""Accounts: the tenant that leads every key. A number inside, an id outside."""

from datetime import date, datetime
from typing import Any

from keepstone.model.account import Account, Resident
from keepstone.store import ledger
from keepstone.store.db import Connection, fetch_all, fetch_value, insert_row, select_row, update_rows


async def account_of(conn: Connection, kind: str, value: str) -> int | None:
    """The account that a credential's public part, an e-mail address or an id belongs to. Needs no scope."""
    async with conn.transaction():
        return await fetch_value(conn, "SELECT account_of(%(kind)s, %(value)s)", {"kind": kind, "value": value})


async def new_number(conn: Connection) -> int:
    """The next account number; a transaction needs it as its scope before it can insert the account."""
    return await fetch_value(conn, "SELECT nextval('account_numbers')::int")


async def insert(conn: Connection, account_id: str, *, name: str, named_by: str, plan: str) -> None:
    """The transaction's own: its number is that of the scope."""
    await insert_row(conn, "accounts", {"id": account_id, "name": name, "named_by": named_by, "plan": plan})


async def get(conn: Connection) -> Account | None:
    """The account of this transaction."""
    return await select_row(conn, Account, "accounts", {})


async def delete_abandoned(conn: Connection) -> bool:
    """Remove the account and everything in it, if everybody in it was erased."""
    gone = await conn.execute(
        """
        DELETE FROM accounts WHERE account = %(account)s
           AND NOT EXISTS (SELECT 1 FROM users u WHERE u.account = %(account)s AND u.erased_at IS NULL)
        """
    )
    return gone.rowcount > 0


async def update(conn: Connection, **changes: Any) -> None:
    await update_rows(conn, "accounts", {}, changes)


async def allow(
    conn: Connection,
    month: date,
    *,
    plan: str | None = None,
    credit_count: int | None = None,
    more_credits: int | None = None,
) -> None:
    """Plan and credits, where given. What a plan gives for the month comes with it at once; credits that are set stay
    what they are until the next month. Credits that are not counted are not counted after more were added, either.
    """
    if plan is not None:
        await conn.execute(
            """
            UPDATE accounts SET plan = %(plan)s, refilled_for = NULL
             WHERE account = %(account)s AND plan <> %(plan)s
            """,
            {"plan": plan},
        )
    if credit_count is not None:
        await update(conn, credits=credit_count, refilled_for=month)
        return
    if plan is not None or more_credits is not None:
        await ledger.refill(conn, month)
    if more_credits is not None:
        await conn.execute(
            "UPDATE accounts SET credits = credits + %(more)s WHERE account = %(account)s", {"more": more_credits}
        )


async def lock_first_run(conn: Connection) -> None:
    """Until the transaction ends, no other process looks whether it is the first."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('first run', 0))")


async def has_users(conn: Connection) -> bool:
    """Whether anybody is on this server at all. Needs no scope."""
    return await fetch_value(conn, "SELECT has_users()")


async def everybody(
    conn: Connection,
    *,
    beginning: str | None = None,
    user_id: str | None = None,
    after: tuple[datetime, str] | None = None,
    limit: int | None = None,
) -> list[Resident]:
    """Users of every account in the order in which they came, for the operator: all, or those whose address begins so,
    or one. Needs no scope and shows no memory.
    """
    at, last = after or (None, None)
    return await fetch_all(
        conn,
        Resident,
        "SELECT * FROM all_users(%(beginning)s, %(user)s, %(at)s, %(last)s, %(limit)s)",
        {"beginning": beginning, "user": user_id, "at": at, "last": last, "limit": limit},
    )
