"""The usage ledger with its sums by month, and the credits of the transaction's account."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any

from psycopg.types.json import Jsonb

from keepstone.model.plan import AccountUsage, Spent, UsageRow
from keepstone.store.db import Connection, fetch_all, fetch_one, fetch_value, insert_new_row


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """One call: what it was, who made it with what, and what it cost."""

    call_id: str
    at: datetime
    month: date
    user_id: str | None
    credential_id: str | None
    action: str
    queries: int
    credits: int
    tokens_in: int
    tokens_out: int
    details: dict[str, Any]


_LINE = tuple(field.name for field in fields(LedgerLine))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStanding:
    """Where the account stands in a month, before anything is taken. `known`: the call was paid just before."""

    credits: int | None
    monthly_queries: int | None
    monthly_credits: int | None
    monthly_tokens: int | None
    refill_due: bool
    queries: int
    spent: int
    tokens_in: int
    tokens_out: int
    known: bool

    @property
    def tokens_left(self) -> int | None:
        if self.monthly_tokens is None:
            return None
        return max(0, self.monthly_tokens - self.tokens_in - self.tokens_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of a line. If it is new and not both of the others, the caller gives up the transaction."""

    new: bool
    paid: bool
    within: bool


async def standing(conn: Connection, month: date, call_ids: Sequence[str] = ()) -> AccountStanding | None:
    return await fetch_one(
        conn,
        AccountStanding,
        "SELECT * FROM account_standing(%(account)s, %(month)s, %(calls)s)",
        {"month": month, "calls": list(call_ids)},
    )


async def refill(conn: Connection, month: date) -> int | None:
    """Raise the credits to what the plan gives, once a month. Returns what there is now."""
    await conn.execute(
        """
        UPDATE accounts a SET credits = greatest(coalesce(a.credits, 0), p.monthly_credits), refilled_for = %(month)s
          FROM plans p
         WHERE a.account = %(account)s
           AND (p.name = a.plan OR p.name = 'free' AND NOT EXISTS (SELECT 1 FROM plans n WHERE n.name = a.plan))
           AND p.monthly_credits IS NOT NULL
           AND coalesce(a.refilled_for < %(month)s, true)
        """,
        {"month": month},
    )
    return await fetch_value(conn, "SELECT credits FROM accounts WHERE account = %(account)s")


async def take(conn: Connection, line: LedgerLine, *, unless: str = "") -> Taken | None:
    """Write the line, take its credits and add to the month, together. A call that has its line already, or has one by
    the name `unless`, does nothing, and an account without a count always has enough. None where there is no account.
    """
    return await fetch_one(
        conn,
        Taken,
        """
        SELECT * FROM charge(%(account)s, %(month)s, %(call_id)s, %(unless)s, %(at)s, %(user_id)s, %(credential_id)s,
                             %(action)s, %(queries)s, %(credits)s, %(tokens_in)s, %(tokens_out)s, %(details)s)
        """,
        {name: getattr(line, name) for name in _LINE} | {"details": Jsonb(line.details), "unless": unless},
    )


async def sums(
    conn: Connection, *, since: datetime, until: datetime, user_id: str | None, credential_id: str | None
) -> Spent:
    """Of what is in between: all of the account's, or one user's, or one credential's."""
    of_whom = {"user_id": user_id, "credential_id": credential_id}
    spent = await groups(conn, since=since, until=until, **of_whom, by=frozenset(), limit=1)
    return spent[0] if spent else Spent()


async def groups(
    conn: Connection, *, since: datetime, until: datetime, user_id: str | None, credential_id: str | None,
    by: frozenset[str], limit: int,
) -> list[UsageRow]:  # fmt: skip
    """The same, by day (UTC), action, key or room, or by several of them."""
    return await fetch_all(
        conn,
        UsageRow,
        """
        SELECT CASE WHEN %(by_day)s THEN (at AT TIME ZONE 'UTC')::date END AS day,
               CASE WHEN %(by_action)s THEN action END AS action,
               CASE WHEN %(by_key)s THEN credential_id END AS key,
               CASE WHEN %(by_room)s THEN details ->> 'room' END AS room,
               count(*) AS calls, sum(queries)::bigint AS queries, sum(credits)::bigint AS credits,
               sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out
          FROM usage_ledger
         WHERE account = %(account)s AND at >= %(since)s AND at < %(until)s
           AND (%(user)s::text IS NULL OR user_id = %(user)s)
           AND (%(credential)s::text IS NULL OR credential_id = %(credential)s)
         GROUP BY 1, 2, 3, 4
         ORDER BY 1, 2, 3, 4
         LIMIT %(limit)s
        """,
        {"since": since, "until": until, "user": user_id, "credential": credential_id, "limit": limit}
        | {f"by_{name}": name in by for name in ("day", "action", "key", "room")},
    )


async def of_accounts(conn: Connection, *, since: datetime, until: datetime) -> list[AccountUsage]:
    """Every account's, for the operator. Needs no scope."""
    return await fetch_all(
        conn,
        AccountUsage,
        "SELECT * FROM usage_of_accounts(%(since)s, %(until)s)",
        {"since": since, "until": until},
    )


async def note_event(conn: Connection, event_id: str) -> bool:
    """False if it was noted before."""
    return await insert_new_row(conn, "billing_events", {"id": event_id})
