"""What is left of a space when all that could be found in it has gone at once: postings and vectors of no passage.

Nobody sees them: a space without passages is not searched, and whoever holds a space to add to it clears it first
(`store/spaces.py: lock`). A job does so in slices, usually long before that.
"""

from keepstone.store.db import Connection, fetch_value, take_time

SLICE = 50_000  # postings


async def leave(conn: Connection, space: int) -> None:
    """Delete every passage of the space, and leave the rest of them for later. The caller holds the space's row."""
    await take_time(conn)
    await conn.execute(
        """
        WITH gone AS (
            DELETE FROM passages WHERE account = %(account)s AND space = %(space)s RETURNING passage
        ), emptied AS (
            UPDATE spaces SET passages = 0, term_total = 0, leftover = true, version = version + 1
             WHERE account = %(account)s AND space = %(space)s RETURNING version
        )
        INSERT INTO space_changes (account, space, version, passages)
        SELECT %(account)s, %(space)s, version, ARRAY(SELECT passage FROM gone) FROM emptied
        RETURNING 1
        """,
        {"space": space},
    )


async def clear_slice(conn: Connection, space: int) -> bool:
    """Whether more is left, after some of it was removed."""
    return await fetch_value(
        conn,
        """
        WITH held AS MATERIALIZED (
            SELECT space FROM spaces WHERE account = %(account)s AND space = %(space)s AND leftover FOR NO KEY UPDATE
        ), postings AS (
            DELETE FROM terms WHERE account = %(account)s AND ctid = ANY (ARRAY(
                SELECT t.ctid FROM terms t WHERE t.account = %(account)s AND t.space = (SELECT space FROM held)
                 LIMIT %(most)s))
            RETURNING 1
        ), without_vectors AS (
            DELETE FROM vectors WHERE account = %(account)s AND space = (SELECT space FROM held)
        ), without_tokens AS (
            DELETE FROM token_vectors WHERE account = %(account)s AND space = (SELECT space FROM held)
        ), left_over AS (
            SELECT count(*) = %(most)s AS more FROM postings
        ), cleared AS (
            UPDATE spaces SET leftover = false
             WHERE account = %(account)s AND space = (SELECT space FROM held) AND NOT (SELECT more FROM left_over)
        )
        SELECT more FROM left_over
        """,
        {"space": space, "most": SLICE},
    )


async def clear(conn: Connection, space: int) -> None:
    """All of it. The caller holds the space's row, and reaches what is in it."""
    await take_time(conn)
    while await clear_slice(conn, space):
        pass
