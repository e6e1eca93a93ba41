"""Audit lines: written in the transaction of what they tell, never changed, and removed when they are old."""

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.credential import AuditFilter, AuditLine, ServerAuditLine
from keepstone.model.page import Page, PageRequest, cut_page
from keepstone.store.arrays import texts
from keepstone.store.db import Connection, fetch_all, fetch_dict, fetch_page, fetch_value, insert_row


async def insert(conn: Connection, line_id: str, *, details: dict[str, Any], **columns: str | None) -> None:
    await insert_row(conn, "audit", {"id": line_id, "details": Jsonb(details), **columns})


async def insert_each(
    conn: Connection, object_ids: Sequence[str], *, details: dict[str, Any], **columns: str | None
) -> None:
    """The same line about each of them: of tens of thousands in one statement."""
    await conn.execute(
        """
        INSERT INTO audit (account, id, user_id, via, credential_id, action, object_id, details)
        SELECT %(account)s, 'aud_' || substr(md5(gen_random_uuid()::text), 1, 24), %(user_id)s, %(via)s,
               %(credential_id)s, %(action)s, object_id, %(details)s
          FROM unnest(%(ids)s::text[]) AS object_id
        RETURNING 1
        """,
        {"ids": texts(object_ids), "details": Jsonb(details), **columns},
    )


async def page(conn: Connection, wanted: AuditFilter, page: PageRequest) -> Page[AuditLine]:
    """The account's, the newest first."""
    query: LiteralString = """
        SELECT account, id, at, user_id, via, credential_id, action, object_id, details FROM audit
         WHERE account = %(account)s AND (%(user)s::text IS NULL OR user_id = %(user)s)
           AND (%(action)s::text IS NULL OR action = %(action)s OR starts_with(action, %(action)s || '.'))
           AND (%(object)s::text IS NULL OR object_id = %(object)s)
           AND (%(since)s::timestamptz IS NULL OR at >= %(since)s)
           AND (%(until)s::timestamptz IS NULL OR at < %(until)s)
    """
    return await fetch_page(conn, AuditLine, query, _conditions(wanted), page, when="at")


async def names(conn: Connection, ids: Sequence[str], *, reader: str, owner: bool) -> dict[str, str]:
    """What people and keys are called: to an owner everybody of the account and the service keys, to everybody else
    they themselves and what is theirs.
    """
    return await fetch_dict(
        conn,
        """
        SELECT id, coalesce(nullif(name, ''), email) FROM users
         WHERE account = %(account)s AND id = ANY (%(ids)s) AND erased_at IS NULL AND (%(owner)s OR id = %(reader)s)
        UNION ALL
        SELECT id, name FROM keys
         WHERE account = %(account)s AND id = ANY (%(ids)s)
           AND (user_id = %(reader)s OR %(owner)s AND user_id IS NULL)
        """,
        {"ids": list(ids), "reader": reader, "owner": owner},
    )


async def place_names(conn: Connection, ids: Sequence[str], *, reader: str) -> dict[str, str]:
    """What places are called that this user is in, and the account's graphs."""
    return await fetch_dict(
        conn,
        """
        SELECT s.name, s.title FROM spaces s
         WHERE s.account = %(account)s AND s.name = ANY (%(ids)s) AND s.title <> ''
           AND s.kind IN ('workspace', 'project', 'room', 'graph')
           AND (s.kind = 'graph' OR EXISTS (SELECT 1 FROM members m
                 WHERE m.account = %(account)s AND m.space = s.space AND m.user_id = %(reader)s))
        """,
        {"ids": list(ids), "reader": reader},
    )


async def capsule_titles(conn: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Of those in the spaces that the transaction reaches, which is the reader's own vault."""
    return await fetch_dict(
        conn,
        """
        SELECT id, title FROM memories
         WHERE account = %(account)s AND space = ANY (current_setting('keepstone.spaces')::bigint[])
           AND id = ANY (%(ids)s) AND title <> ''
        """,
        {"ids": list(ids)},
    )


async def of_server(
    conn: Connection, wanted: AuditFilter, page: PageRequest, account_id: str | None
) -> Page[ServerAuditLine]:
    """Those of every account, or of one, for the operator; the newest first. Needs no scope."""
    at, last = page.after or (None, None)
    lines = await fetch_all(
        conn,
        ServerAuditLine,
        """
        SELECT * FROM all_audit(%(of)s, %(user)s, %(action)s, %(object)s, %(since)s, %(until)s, %(at)s, %(last)s,
                                %(limit)s)
        """,
        _conditions(wanted) | {"of": account_id, "at": at, "last": last, "limit": page.limit + 1},
    )
    return cut_page(lines, page, lambda line: (line.at, line.id))


async def purge(conn: Connection, days: int) -> int:
    """What is older goes, of every account. Needs no scope."""
    return await fetch_value(conn, "SELECT purge_audit(%(days)s)", {"days": days})


def _conditions(wanted: AuditFilter) -> dict[str, Any]:
    return {
        "user": wanted.user_id, "action": wanted.action, "object": wanted.object_id, "since": wanted.since,
        "until": wanted.until,
    }  # fmt: skip
