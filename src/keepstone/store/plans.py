"""The plans of this server. They name no account; every transaction may read them."""

from dataclasses import asdict
from typing import LiteralString

from keepstone.model.plan import Capacity, Plan
from keepstone.store.db import Connection, fetch_all, fetch_one

# That of an account `a`; whoever is on one that does not exist is on `free`.
ITS_PLAN: LiteralString = (
    "LATERAL (SELECT * FROM plans n WHERE n.name IN (a.plan, 'free') ORDER BY n.name = a.plan DESC LIMIT 1) p"
)


async def every(conn: Connection) -> list[Plan]:
    return await fetch_all(conn, Plan, "SELECT * FROM plans ORDER BY position, name")


async def named(conn: Connection, name: str) -> Plan | None:
    return await fetch_one(conn, Plan, "SELECT * FROM plans WHERE name = %(name)s", {"name": name})


async def of_account(conn: Connection) -> Plan | None:
    """That of the transaction's account, which is `free` where its name is not known."""
    return await fetch_one(
        conn, Plan, f"SELECT p.* FROM accounts a CROSS JOIN {ITS_PLAN} WHERE a.account = %(account)s"
    )


async def room_of(conn: Connection, user_id: str) -> Capacity | None:
    return await fetch_one(conn, Capacity, "SELECT * FROM room_of(%(account)s, %(user)s)", {"user": user_id})


async def put(conn: Connection, plan: Plan) -> None:
    """Make it, or make it what is given. Needs no scope."""
    await conn.execute(
        """
        SELECT put_plan(%(name)s, %(capacity_bytes)s, %(monthly_queries)s, %(monthly_credits)s, %(monthly_tokens)s,
                        %(key_per_minute)s, %(account_per_minute)s, %(position)s, %(price)s)
        """,
        asdict(plan),
    )
