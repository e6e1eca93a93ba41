"""What changed in a space: its version, and the passages to look at again since another one.

Whoever writes passages, vectors or revisions notes it in the same transaction; the row of the space, which is held for
that, puts the versions in the order in which they can be seen.
"""

from collections.abc import Sequence

from keepstone.store.db import Connection, fetch_rows, fetch_value


async def note(conn: Connection, space: int, passages: Sequence[int]) -> None:
    """These have other vectors, or are revised by others."""
    await conn.execute(
        """
        WITH counted AS (
            UPDATE spaces SET version = version + 1 WHERE account = %(account)s AND space = %(space)s RETURNING version
        )
        INSERT INTO space_changes (account, space, version, passages)
        SELECT %(account)s, %(space)s, version, %(passages)s FROM counted
        RETURNING 1
        """,
        {"space": space, "passages": list(passages)},
    )


async def since(conn: Connection, space: int, version: int) -> tuple[int, list[int]] | None:
    """The version by now, and the passages that changed after that one; None where that is forgotten."""
    rows = await fetch_rows(
        conn,
        """
        SELECT s.version, c.passages FROM spaces s
          LEFT JOIN space_changes c ON c.account = s.account AND c.space = s.space AND c.version > %(version)s
         WHERE s.account = %(account)s AND s.space = %(space)s
        """,
        {"space": space, "version": version},
    )
    now, changed = rows[0][0] if rows else version, [passages for _, passages in rows if passages is not None]
    return (now, sorted(set[int]().union(*changed))) if len(changed) == now - version else None


async def forget_old(conn: Connection) -> int:
    """Returns how many lines went. Needs no scope."""
    return await fetch_value(conn, "SELECT forget_space_changes()")
