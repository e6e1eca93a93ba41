"""What messages say of people, with the message each was taken from."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from keepstone.store.db import Connection, fetch_all, fetch_column, insert_new_rows, update_rows

SURE = 0.9  # that a message took the place of another


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
    """A statement as it is stored. `part` tells those of one message apart, `ended_by` is a later message that says
    otherwise in other words.
    """

    message_id: str
    part: int
    subject: str
    kind: str
    key: str
    text: str
    at: datetime
    visibility: str
    ended_by: str | None = None


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


async def end(conn: Connection, ended: Sequence[Noted]) -> None:
    """Statements that were kept before hold no longer, now that these messages are there."""
    for statement in ended:
        this = {"message_id": statement.message_id, "part": statement.part}
        await update_rows(conn, "statements", this, {"ended_by": statement.ended_by})


async def current(
    conn: Connection, space: int, subjects: Sequence[str], *, until: datetime | None, limit: int
) -> list[Noted]:
    """Of each subject and key what was said last and was not ended since, the newest first. What a later message surely
    took the place of is left out, unless it says several things of them: perhaps another of those was meant.
    """
    return await fetch_all(
        conn,
        Noted,
        """
        SELECT * FROM (
            SELECT DISTINCT ON (subject, key) message_id, part, subject, kind, key, text, at, visibility, ended_by
              FROM statements
             WHERE account = %(account)s AND space = %(space)s AND subject = ANY(%(subjects)s)
               AND (%(until)s::timestamptz IS NULL OR at <= %(until)s)
             ORDER BY subject, key, at DESC, message_id DESC
        ) newest
         WHERE NOT EXISTS (
            SELECT FROM messages m WHERE m.account = %(account)s AND m.id = newest.ended_by
               AND (%(until)s::timestamptz IS NULL OR m.at <= %(until)s))
           AND NOT EXISTS (
            SELECT FROM passages older
              JOIN revisions r ON r.account = %(account)s AND r.space = %(space)s AND r.older = older.passage
              JOIN passages newer ON newer.account = %(account)s AND newer.space = %(space)s
                                 AND newer.passage = r.newer
             WHERE older.account = %(account)s AND older.source_kind = 'message'
               AND older.source_id = newest.message_id AND older.part = 0 AND r.certainty >= %(sure)s
               AND (%(until)s::timestamptz IS NULL OR newer.at <= %(until)s)
               AND NOT EXISTS (SELECT FROM statements other
                                WHERE other.account = %(account)s AND other.message_id = newest.message_id
                                  AND other.part <> newest.part))
         ORDER BY at DESC LIMIT %(limit)s
        """,
        {"space": space, "subjects": list(subjects), "until": until, "limit": limit, "sure": SURE},
    )
