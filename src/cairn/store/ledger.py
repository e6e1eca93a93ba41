"""The usage ledger, and the credits of the transaction's account."""

from cairn.store.db import Connection, fetch_value


async def credits_left(conn: Connection) -> int | None:
    """None: not counted."""
    return await fetch_value(conn, "SELECT credits FROM accounts")


async def insert_and_take(
    conn: Connection, call_id: str, *, user_id: str | None, credential_id: str | None, action: str, credit_count: int
) -> bool:
    """One line a call, and its credits. False when there are too few; the caller then gives up the transaction.

    A call that has its line already takes nothing, and an account without a count always has enough.
    """
    return await fetch_value(
        conn,
        """
        WITH line AS (
            INSERT INTO usage_ledger (call_id, user_id, credential_id, action, credits)
            VALUES (%(call)s, %(user)s, %(credential)s, %(action)s, %(credits)s)
            ON CONFLICT (account, call_id) DO NOTHING
            RETURNING true
        ), taken AS (
            UPDATE accounts SET credits = credits - %(credits)s
             WHERE credits >= %(credits)s AND EXISTS (SELECT FROM line)
            RETURNING true
        )
        SELECT NOT EXISTS (SELECT FROM line) OR EXISTS (SELECT FROM taken) OR a.credits IS NULL FROM accounts a
        """,
        {
            "call": call_id,
            "user": user_id,
            "credential": credential_id,
            "action": action,
            "credits": credit_count,
        },
    )
