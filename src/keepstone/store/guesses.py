"""How often somebody guessed wrong lately, on whichever server, by names that are digests. Nothing needs a scope."""

from collections.abc import Sequence
from datetime import datetime

from keepstone.store.db import Connection, fetch_value


async def count(conn: Connection, names: Sequence[bytes], free: Sequence[int], now: datetime) -> float:
    """One more failure under each of these names; or nothing is counted, and it says how many seconds one of them has
    to wait. `free` of them cost nothing.
    """
    given = {"names": list(names), "free": list(free), "now": now}
    return await fetch_value(conn, "SELECT count_guess(%(names)s::bytea[], %(free)s::int[], %(now)s)", given)


async def forgive(conn: Connection, names: Sequence[bytes], one_of: Sequence[bytes] = ()) -> None:
    """All failures under these names, and one under those."""
    given = {"names": list(names), "one_of": list(one_of)}
    await conn.execute("SELECT forgive_guesses(%(names)s::bytea[], %(one_of)s::bytea[])", given)


async def take_turn(conn: Connection, name: bytes, per_minute: int, now: datetime) -> float:
    """0, or the seconds until there is one."""
    given = {"name": name, "rate": per_minute, "now": now}
    return await fetch_value(conn, "SELECT take_turn(%(name)s, %(rate)s, %(now)s)", given)


async def give_turn_back(conn: Connection, name: bytes, per_minute: int) -> None:
    await conn.execute("SELECT give_turn_back(%(name)s, %(rate)s)", {"name": name, "rate": per_minute})
