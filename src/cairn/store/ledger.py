"""The usage ledger, and the credits of the transaction's account."""

from cairn.store.db import Connection, fetch_value


async def credits_left(conn: Connection) -> int | None:
    """None: not counted."""
    return await fetch_value(conn, "SELECT credits FROM accounts")


async def insert(
    conn: Connection, call_id: str, *, user_id: str | None, credential_id: str | None, action: str, credit_count: int
) -> bool:
    """One line a call; False when this call has its line already."""
    done = await conn.execute(
        """
        INSERT INTO usage_ledger (call_id, user_id, credential_id, action, credits) VALUES (%s, %s, %s, %s, %s)
        ON CONFLICT (account, call_id) DO NOTHING
        """,
        [call_id, user_id, credential_id, action, credit_count],
    )
    return done.rowcount > 0


async def take(conn: Connection, credit_count: int) -> bool:
    """Take the credits if there are enough; accounts without a count have enough, and are not written to."""
    done = await conn.execute(
        "UPDATE accounts SET credits = credits - %(n)s WHERE credits >= %(n)s", {"n": credit_count}
    )
    return done.rowcount > 0 or await credits_left(conn) is None
