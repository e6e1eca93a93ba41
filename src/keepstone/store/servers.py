"""Which servers and workers are at this database now. The queue's role sees them; nobody's account is in it."""

from dataclasses import dataclass

from keepstone.store.db import AnyConnection, Connection, fetch_one

GONE_SECONDS = 30  # without a sign of life


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """How many answer requests, and how many only work; whether all have the secret that was asked for, and how many of
    those that answer requests have no Redis.
    """

    serving: int = 0
    working: int = 0
    agree: bool = True
    without_redis: int = 0


async def note(conn: Connection, server_id: str, *, serves: bool, secret: bytes, redis: bool) -> None:
    """This one is there. Those that were not heard of for long are forgotten."""
    await conn.execute(
        """
        INSERT INTO servers (id, serves, secret, redis) VALUES (%(id)s, %(serves)s, %(secret)s, %(redis)s)
        ON CONFLICT (id) DO UPDATE SET seen_at = now()
        """,
        {"id": server_id, "serves": serves, "secret": secret, "redis": redis},
    )
    await conn.execute("DELETE FROM servers WHERE seen_at < now() - interval '1 day'")


async def forget(conn: Connection, server_id: str) -> None:
    await conn.execute("DELETE FROM servers WHERE id = %(id)s", {"id": server_id})


async def neighbours(conn: AnyConnection, secret: bytes | None) -> Neighbours:
    """`secret`: the fingerprint that they should have; None if that is not known, and they have to agree."""
    found = await fetch_one(
        conn,
        Neighbours,
        """
        SELECT count(*) FILTER (WHERE serves) AS serving, count(*) FILTER (WHERE NOT serves) AS working,
               coalesce(bool_and(secret = %(secret)s::bytea), count(DISTINCT secret) < 2) AS agree,
               count(*) FILTER (WHERE serves AND NOT redis) AS without_redis
          FROM keepstone.servers WHERE seen_at > now() - make_interval(secs => %(seconds)s)
        """,
        {"secret": secret, "seconds": GONE_SECONDS},
    )
    return found or Neighbours()
