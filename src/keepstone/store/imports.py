"""Imports, the bytes that were uploaded for them, and what has arrived."""

from collections.abc import Iterable, Mapping
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.importing import Import
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import (
    Connection,
    delete_rows,
    fetch_dict,
    fetch_one,
    fetch_page,
    fetch_value,
    insert_row,
)

_IMPORT: LiteralString = """
    SELECT id, user_id, source, name, size_bytes, options, dry_run, state, report, read_bytes, total_bytes, error_code,
           error, created_at, started_at, finished_at
      FROM imports WHERE account = %(account)s AND user_id = %(user)s
"""


async def insert(conn: Connection, import_id: str, *, options: Mapping[str, Any], **columns: Any) -> None:
    await insert_row(conn, "imports", {"id": import_id, "options": Jsonb(dict(options)), **columns})


async def add_part(conn: Connection, import_id: str, part: int, data: bytes) -> None:
    await insert_row(conn, "import_parts", {"import_id": import_id, "part": part, "data": data})


async def part(conn: Connection, import_id: str, number: int) -> bytes | None:
    return await fetch_value(
        conn,
        "SELECT data FROM import_parts WHERE account = %(account)s AND import_id = %(id)s AND part = %(part)s",
        {"id": import_id, "part": number},
    )


async def get(conn: Connection, user_id: str, import_id: str) -> Import | None:
    return await fetch_one(conn, Import, f"{_IMPORT} AND id = %(id)s", {"user": user_id, "id": import_id})


async def page(conn: Connection, user_id: str, page: PageRequest) -> Page[Import]:
    """The newest first."""
    return await fetch_page(conn, Import, _IMPORT, {"user": user_id}, page)


async def unfinished(conn: Connection, user_id: str) -> int:
    """How many of theirs wait or run."""
    return await fetch_value(
        conn,
        """
        SELECT count(*) FROM imports
         WHERE account = %(account)s AND user_id = %(user)s AND state IN ('waiting', 'running')
        """,
        {"user": user_id},
    )


async def begin(conn: Connection, import_id: str, user_id: str) -> Import | None:
    """None when it is over already. One that was cut off begins again."""
    return await fetch_one(
        conn,
        Import,
        """
        UPDATE imports SET state = 'running', started_at = least(started_at, now())
         WHERE account = %(account)s AND user_id = %(user)s AND id = %(id)s AND state IN ('waiting', 'running')
        RETURNING id, user_id, source, name, size_bytes, options, dry_run, state, report, read_bytes, total_bytes,
                  error_code, error, created_at, started_at, finished_at
        """,
        {"id": import_id, "user": user_id},
    )


async def tell(conn: Connection, import_id: str, report: Mapping[str, Any], read: int, total: int) -> bool:
    """How far it is. False when it was cancelled meanwhile."""
    changed = await conn.execute(
        """
        UPDATE imports SET report = %(report)s, read_bytes = %(read)s, total_bytes = %(total)s
         WHERE account = %(account)s AND id = %(id)s AND state = 'running'
        """,
        {"id": import_id, "report": Jsonb(dict(report)), "read": read, "total": total},
    )
    return changed.rowcount > 0


async def finish(
    conn: Connection, import_id: str, state: str, *, code: str | None = None, error: str | None = None,
    report: Mapping[str, Any] | None = None,
) -> bool:  # fmt: skip
    """It is over, and its bytes go. One that is over stays as it is, but for what it is told to have done until then.
    Whether it was not over yet.
    """
    await delete_rows(conn, "import_parts", {"import_id": import_id})
    changed = await conn.execute(
        """
        UPDATE imports SET state = %(state)s, error_code = %(code)s, error = %(error)s, finished_at = now()
         WHERE account = %(account)s AND id = %(id)s AND state IN ('waiting', 'running')
        """,
        {"id": import_id, "state": state, "code": code, "error": error},
    )
    if report is not None:
        await conn.execute(
            "UPDATE imports SET report = %(report)s WHERE account = %(account)s AND id = %(id)s",
            {"id": import_id, "report": Jsonb(dict(report))},
        )
    return changed.rowcount > 0


async def arrivals(conn: Connection, user_id: str, journal: bytes) -> dict[bytes, bytes]:
    """Everything that has arrived, by its hash: 32 bytes each."""
    return await fetch_dict(
        conn,
        """
        SELECT key, digest FROM import_arrivals
         WHERE account = %(account)s AND user_id = %(user)s AND journal = %(journal)s
        """,
        {"user": user_id, "journal": journal},
        binary=True,
    )


async def note_arrivals(
    conn: Connection, user_id: str, journal: bytes, arrived: Iterable[tuple[bytes, bytes]]
) -> None:  # fmt: skip
    rows = list(arrived)
    await conn.execute(
        """
        INSERT INTO import_arrivals (account, user_id, journal, key, digest)
        SELECT %(account)s, %(user)s, %(journal)s, new.key, new.digest
          FROM unnest(%(keys)s::bytea[], %(digests)s::bytea[]) AS new (key, digest)
        ON CONFLICT (account, user_id, journal, key) DO UPDATE SET digest = excluded.digest
        """,
        {"user": user_id, "journal": journal, "keys": [key for key, _ in rows], "digests": [seal for _, seal in rows]},
    )


async def expire(conn: Connection) -> int:
    """Uploads that nobody could bring in within a week, and what was told about those of long ago; of all accounts.
    Needs no scope.
    """
    return await fetch_value(conn, "SELECT expire_imports()")
