"""What messages say of people, with the message each was taken from."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from keepstone.store.db import Connection, fetch_all, fetch_column, insert_new_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    seq: int
    id: str
    speaker: str
    text: str
    at: datetime
    visibility: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A statement as it is stored. `part` tells those of one message apart."""

    message_id: str
    part: int
    subject: str
    kind: str
    key: str
    text: str
    at: datetime
    visibility: str


async def unread(conn: Connection, space: int, *, limit: int) -> list[Unread]:
    """Messages of the space that nobody has read for statements yet, in the order in which they came."""
    return await fetch_all(
        conn,
        Unread,
        """
        SELECT m.seq, m.id, m.speaker, m.text, m.at, m.visibility
          FROM messages m JOIN spaces s USING (account, space)
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.seq > s.people_read AND m.role IS NULL
         ORDER BY m.seq LIMIT %(limit)s
        """,
        {"space": space, "limit": limit},
    )


async def speakers(conn: Connection, space: int) -> list[str]:
    """Who speaks in the space; of very many, those of the latest thousand turns."""
    return await fetch_column(
        conn,
        """
        SELECT DISTINCT speaker FROM (
            SELECT speaker FROM messages WHERE account = %(account)s AND space = %(space)s
             ORDER BY at DESC LIMIT 1000) m
        """,
        {"space": space},
    )


async def subjects(conn: Connection, space: int, *, limit: int = 1000) -> list[str]:
    """Whom anything is known of. Steps from one to the next through the index: there may be many statements of each."""
    return await fetch_column(
        conn,
        """
        WITH RECURSIVE known (subject) AS (
            (SELECT subject FROM statements WHERE account = %(account)s AND space = %(space)s
              ORDER BY subject LIMIT 1)
            UNION ALL
            SELECT (SELECT s.subject FROM statements s
                     WHERE s.account = %(account)s AND s.space = %(space)s AND s.subject > known.subject
                     ORDER BY s.subject LIMIT 1)
              FROM known WHERE known.subject IS NOT NULL
        )
        SELECT subject FROM known WHERE subject IS NOT NULL LIMIT %(limit)s
        """,
        {"space": space, "limit": limit},
    )


async def insert(conn: Connection, space: int, noted: Sequence[Noted], *, read_up_to: int) -> None:
    """Keep them and remember how far was read. Done twice it changes nothing."""
    await insert_new_rows(conn, "statements", [{"space": space, **asdict(statement)} for statement in noted])
    await conn.execute(
        """
        UPDATE spaces SET people_read = greatest(people_read, %(seq)s)
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"seq": read_up_to, "space": space},
    )


async def current(
    conn: Connection, space: int, subjects: Sequence[str], *, until: datetime | None, limit: int
) -> list[Noted]:
    """Of each subject and key what was said last, the newest first."""
    return await fetch_all(
        conn,
        Noted,
        """
        SELECT * FROM (
            SELECT DISTINCT ON (subject, key) message_id, part, subject, kind, key, text, at, visibility
              FROM statements
             WHERE account = %(account)s AND space = %(space)s AND subject = ANY(%(subjects)s)
               AND (%(until)s::timestamptz IS NULL OR at <= %(until)s)
             ORDER BY subject, key, at DESC, message_id DESC
        ) newest ORDER BY at DESC LIMIT %(limit)s
        """,
        {"space": space, "subjects": list(subjects), "until": until, "limit": limit},
    )
