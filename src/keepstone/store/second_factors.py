"""Second factors: the encrypted secret of a user's app, which code came last, and the recovery codes that are left."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from keepstone.store.db import NOW, Connection, delete_rows, fetch_one, insert_row, update_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondFactor:
    secret: bytes
    confirmed_at: datetime | None
    recovery: list[bytes]


async def get(conn: Connection, user_id: str) -> SecondFactor | None:
    query: LiteralString = """
        SELECT secret, confirmed_at, recovery FROM second_factors WHERE account = %(account)s AND user_id = %(user)s
    """
    return await fetch_one(conn, SecondFactor, query, {"user": user_id})


async def put(conn: Connection, user_id: str, secret: bytes) -> None:
    """A new secret, not confirmed yet, in place of what was there."""
    await remove(conn, user_id)
    await insert_row(conn, "second_factors", {"user_id": user_id, "secret": secret})


async def confirm(conn: Connection, user_id: str, recovery: Sequence[bytes]) -> None:
    await update_rows(conn, "second_factors", {"user_id": user_id}, {"confirmed_at": NOW, "recovery": list(recovery)})


async def take_step(conn: Connection, user_id: str, step: int) -> bool:
    """Whether the code of this step is new; from now on neither it nor an older one is. Of two at once, one is."""
    taken = await conn.execute(
        """
        UPDATE second_factors SET last_step = %(step)s
         WHERE account = %(account)s AND user_id = %(user)s AND last_step < %(step)s
        """,
        {"user": user_id, "step": step},
    )
    return taken.rowcount > 0


async def take_recovery(conn: Connection, user_id: str, hashed: bytes) -> bool:
    """Whether this recovery code was left; it is used up by asking."""
    taken = await conn.execute(
        """
        UPDATE second_factors SET recovery = array_remove(recovery, %(hash)s)
         WHERE account = %(account)s AND user_id = %(user)s AND %(hash)s = ANY (recovery)
        """,
        {"user": user_id, "hash": hashed},
    )
    return taken.rowcount > 0


async def remove(conn: Connection, user_id: str) -> bool:
    return await delete_rows(conn, "second_factors", {"user_id": user_id}) > 0
