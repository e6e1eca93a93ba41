"""Users of the transaction's account. Those being erased are not there for anybody any more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, LiteralString

from keepstone.model.account import User
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import (
    NOW,
    Connection,
    delete_rows,
    fetch_all,
    fetch_one,
    fetch_page,
    fetch_rows,
    fetch_value,
    insert_row,
    select_value,
    update_rows,
)

_USER: LiteralString = """
    SELECT account, id, email, name, role, is_admin, quota_bytes, timezone, language, cold_tier, weekly_digest, subject,
           timezone_chosen, welcome,
           password_hash IS NOT NULL AS has_password, created_at, last_login_at,
           EXISTS (SELECT 1 FROM second_factors f
                    WHERE f.account = %(account)s AND f.user_id = users.id AND f.confirmed_at IS NOT NULL) AS has_totp
      FROM users WHERE account = %(account)s AND erased_at IS NULL
"""


async def lock_name(conn: Connection, kind: Literal["email", "subject"], name: str) -> None:
    """Until the transaction ends, nobody else can take this address or subject, in any account."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0))", {"name": f"{kind}:{name}"})


async def insert(conn: Connection, user_id: str, **columns: Any) -> None:
    await insert_row(conn, "users", {"id": user_id, **columns})


async def get(conn: Connection, user_id: str) -> User | None:
    return await fetch_one(conn, User, f"{_USER} AND id = %(id)s", {"id": user_id})


async def by_email(conn: Connection, email: str) -> User | None:
    return await fetch_one(conn, User, f"{_USER} AND email = %(email)s", {"email": email})


async def page(conn: Connection, page: PageRequest) -> Page[User]:
    """In the order in which they came, from after the given one on."""
    return await fetch_page(conn, User, _USER, {}, page, oldest_first=True)


async def digest_receivers(conn: Connection) -> list[tuple[int, str]]:
    """Account and id of whoever wants the week by e-mail. Needs no scope."""
    return await fetch_rows(conn, "SELECT * FROM digest_receivers()")


async def password_hash(conn: Connection, user_id: str) -> str | None:
    return await select_value(conn, "users", "password_hash", {"id": user_id, "erased_at": None})


async def update(conn: Connection, user_id: str, **changes: Any) -> None:
    await update_rows(conn, "users", {"id": user_id}, changes)


async def bind(
    conn: Connection, user_id: str, issuer: str, subject: str, *, accepted_at: datetime | None = None
) -> bool:
    """This is who they are to that issuer. False when another subject is noted already."""
    bound = await conn.execute(
        """
        UPDATE users
           SET subject = %(subject)s, subject_issuer = %(issuer)s,
               accepted_at = coalesce(accepted_at, %(accepted)s::timestamptz)
         WHERE account = %(account)s AND id = %(id)s AND erased_at IS NULL
           AND (subject IS NULL OR subject = %(subject)s AND subject_issuer IS NULL)
        """,
        {"id": user_id, "issuer": issuer, "subject": subject, "accepted": accepted_at},
    )
    return bound.rowcount > 0


async def count_owners(conn: Connection) -> int:
    """How many can run this account; locked until the transaction ends."""
    owners = await fetch_rows(
        conn,
        "SELECT id FROM users WHERE account = %(account)s AND role = 'owner' AND erased_at IS NULL FOR UPDATE",
    )
    return len(owners)


async def count(conn: Connection) -> int:
    """Everybody of the account who is still there."""
    return await fetch_value(conn, "SELECT count(*) FROM users WHERE account = %(account)s AND erased_at IS NULL")


async def mark_erased(conn: Connection, user_id: str) -> None:
    """From now on this user is not there for anybody, and nothing of theirs lets anybody in."""
    await update(conn, user_id, erased_at=NOW)
    await delete_rows(conn, "keys", {"user_id": user_id})
    await delete_rows(conn, "sessions", {"user_id": user_id})
    await delete_rows(conn, "one_time_links", {"user_id": user_id})
    await delete_rows(conn, "invite_links", {"created_by": user_id})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What is left to do of an erasure, at something in a space; `erase_traces` says what."""

    place: int
    what: str
    id: str


async def erase_traces(conn: Connection, user_id: str) -> list[Trace]:
    """Remove what they left in places that others share. Returns what the caller has to do yet."""
    return await fetch_all(conn, Trace, "SELECT * FROM erase_traces(%(account)s, %(id)s)", {"id": user_id})


async def forget_jobs(conn: Connection, user_id: str, places: Sequence[int]) -> None:
    """What was yet to be done for them, or at places that go with them."""
    await conn.execute(
        "SELECT forget_jobs(%(account)s, %(user)s, %(places)s)", {"user": user_id, "places": list(places)}
    )


async def delete_erased(conn: Connection, user_id: str) -> bool:
    """Remove the row; everything that is theirs goes with it. False when there is nothing to remove."""
    gone = await conn.execute(
        "DELETE FROM users WHERE account = %(account)s AND id = %(id)s AND erased_at IS NOT NULL", {"id": user_id}
    )
    return gone.rowcount > 0
