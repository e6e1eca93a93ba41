"""Facts: exact typed values with their history. Never changed in place."""

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString

from keepstone.model.room import Fact, ScopeKind
from keepstone.store.db import Connection, fetch_all, fetch_one

# As text: a number keeps all its digits.
_FACT: LiteralString = """
    SELECT id, scope_kind, scope_id, key, value::text AS value, visibility, valid_from, valid_to, recorded_at,
           superseded_at, recorded_by
      FROM facts
     WHERE account = %(account)s
"""
_THIS: LiteralString = "AND scope_kind = %(kind)s AND scope_id = %(scope)s AND key = %(key)s"
_HOLDS: LiteralString = """
    AND CASE WHEN %(at)s::timestamptz IS NULL THEN superseded_at IS NULL
             ELSE recorded_at <= %(at)s AND (superseded_at IS NULL OR superseded_at > %(at)s) END
"""


async def put(
    conn: Connection, fact_id: str, scope_kind: ScopeKind, scope_id: str, key: str, value: str, *, visibility: str,
    at: datetime, by: str | None,
) -> None:  # fmt: skip
    """From now on this is the value; the one before stays in the history. The space in which it lies, and so its
    readers, follow from its scope.
    """
    await end(conn, scope_kind, scope_id, key, at)
    await conn.execute(
        """
        INSERT INTO facts (account, space, id, scope_kind, scope_id, key, value, visibility, valid_from, recorded_at,
                           recorded_by)
        SELECT %(account)s, s.space, %(id)s, %(kind)s, %(scope)s, %(key)s, %(value)s::jsonb, %(visibility)s, %(at)s,
               %(at)s, %(by)s
          FROM spaces s
         WHERE s.account = %(account)s AND s.kind = CASE %(kind)s WHEN 'user' THEN 'profile' ELSE %(kind)s END
           AND s.name = %(scope)s AND s.deleted_at IS NULL
        RETURNING 1
        """,
        _this(scope_kind, scope_id, key)
        | {"id": fact_id, "value": value, "visibility": visibility, "at": at, "by": by},
    )


def _this(scope_kind: ScopeKind, scope_id: str, key: str) -> dict[str, object]:
    return {"kind": scope_kind, "scope": scope_id, "key": key}


async def end(conn: Connection, scope_kind: ScopeKind, scope_id: str, key: str, at: datetime) -> bool:
    """It holds no longer. False when it did not hold."""
    ended = await conn.execute(
        f"""
        UPDATE facts SET superseded_at = %(at)s, valid_to = greatest(valid_from, %(at)s)
         WHERE account = %(account)s {_THIS} AND superseded_at IS NULL
        """,
        {"kind": scope_kind, "scope": scope_id, "key": key, "at": at},
    )
    return ended.rowcount > 0


async def get(
    conn: Connection, scope_kind: ScopeKind, scope_id: str, key: str, *, as_of: datetime | None = None
) -> Fact | None:
    """What holds, or held then."""
    query: LiteralString = f"{_FACT} {_THIS} {_HOLDS} ORDER BY recorded_at DESC LIMIT 1"
    return await fetch_one(conn, Fact, query, _this(scope_kind, scope_id, key) | {"at": as_of})


async def of_scopes(
    conn: Connection, scopes: Sequence[tuple[str, str]], *, as_of: datetime | None = None
) -> list[Fact]:
    """All that hold, or held then, in these scopes, by scope and key."""
    return await fetch_all(
        conn,
        Fact,
        # The newest alone: who inserts with SQL may leave more than one standing.
        f"""
        SELECT DISTINCT ON (scope_kind, scope_id, key) * FROM ({_FACT}
           AND (scope_kind, scope_id) IN (SELECT * FROM unnest(%(kinds)s::text[], %(ids)s::text[]))
           {_HOLDS}) AS fact
         ORDER BY scope_kind, scope_id, key, recorded_at DESC
        """,
        {"kinds": [kind for kind, _ in scopes], "ids": [scope for _, scope in scopes], "at": as_of},
    )


async def history(conn: Connection, scope_kind: ScopeKind, scope_id: str, key: str) -> list[Fact]:
    """The latest first."""
    query: LiteralString = f"{_FACT} {_THIS} ORDER BY recorded_at DESC, id DESC"
    return await fetch_all(conn, Fact, query, _this(scope_kind, scope_id, key))


async def lock(conn: Connection, scope_kind: ScopeKind, scope_id: str, key: str) -> None:
    """Until the transaction ends, nobody else changes this one."""
    await conn.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, %(account)s))",
        {"name": f"fact {scope_kind} {scope_id} {key}"},
    )
