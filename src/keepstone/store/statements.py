"""What messages say of people, with the message each was taken from, and what became of it since: the only module that
writes either table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import LiteralString

from keepstone.model.page import Page, PageRequest
from keepstone.model.statement import LONGEST_STATEMENT, KnownStatement, StatementVersion
from keepstone.store.db import (
    Connection,
    fetch_all,
    fetch_column,
    fetch_one,
    fetch_page,
    fetch_value,
    insert_new_rows,
    select_column,
    update_rows,
)

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

    id: str
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
    """Messages of the space that nobody has read for statements yet, in the order in which they came. Only scopes are
    asked what is known of people.
    """
    return await fetch_all(
        conn,
        Unread,
        """
        SELECT m.seq, m.id, m.speaker, m.text, m.at, m.visibility
          FROM messages m
         WHERE m.account = %(account)s AND m.space = %(space)s AND m.role IS NULL
           AND m.seq > (SELECT s.people_read FROM spaces s
                         WHERE s.account = %(account)s AND s.space = %(space)s AND s.kind = 'scope')
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
    """Keep them and remember how far was read. Of a message that was read before nothing is kept again, whatever has
    become since of what it says: done twice it changes nothing.
    """
    await conn.execute(
        """
        UPDATE spaces SET people_read = greatest(people_read, %(seq)s)
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"seq": read_up_to, "space": space},
    )
    if not noted:
        return
    messages = list({statement.message_id for statement in noted})
    before = set(await select_column(conn, "statements", "message_id", {"message_id": messages}))
    new = [statement for statement in noted if statement.message_id not in before]
    await insert_new_rows(conn, "statements", [{"space": space, **asdict(statement)} for statement in new])


async def end(conn: Connection, ended: Sequence[Noted]) -> None:
    """Statements that were kept before hold no longer, now that these messages are there."""
    for statement in ended:
        this = {"message_id": statement.message_id, "part": statement.part}
        await update_rows(conn, "statements", this, {"ended_by": statement.ended_by})


# What was not ended since, and what no later message surely took the place of, unless it says several things of them:
# perhaps another of those was meant. What was taken back ends nothing.
_STANDS: LiteralString = """
    NOT EXISTS (
        SELECT 1 FROM messages m
          JOIN statements e ON e.account = %(account)s AND e.message_id = m.id AND e.subject = t.subject
                           AND e.deleted_at IS NULL
         WHERE m.account = %(account)s AND m.id = t.ended_by
           AND (%(until)s::timestamptz IS NULL OR m.at <= %(until)s))
    AND NOT EXISTS (
        SELECT 1 FROM passages older
          JOIN revisions r ON r.account = %(account)s AND r.space = %(space)s AND r.older = older.passage
          JOIN passages newer ON newer.account = %(account)s AND newer.space = %(space)s AND newer.passage = r.newer
         WHERE older.account = %(account)s AND older.source_kind = 'message'
           AND older.source_id = t.message_id AND older.part = 0 AND r.certainty >= %(sure)s
           AND (%(until)s::timestamptz IS NULL OR newer.at <= %(until)s)
           AND NOT EXISTS (SELECT 1 FROM statements other
                            WHERE other.account = %(account)s AND other.message_id = t.message_id
                              AND other.part <> t.part)
           AND NOT EXISTS (SELECT 1 FROM statements back
                            WHERE back.account = %(account)s AND back.message_id = newer.source_id
                              AND back.deleted_at IS NOT NULL))"""


async def current(
    conn: Connection, space: int, subjects: Sequence[str], *, until: datetime | None, limit: int
) -> list[Noted]:
    """Of each subject and key what was said last and still stands, the newest first."""
    return await fetch_all(
        conn,
        Noted,
        f"""
        SELECT * FROM (
            SELECT DISTINCT ON (subject, key) id, message_id, part, subject, kind, key, text, at, visibility, ended_by
              FROM statements
             WHERE account = %(account)s AND space = %(space)s AND subject = ANY(%(subjects)s) AND deleted_at IS NULL
               AND (%(until)s::timestamptz IS NULL OR at <= %(until)s)
             ORDER BY subject, key, at DESC, message_id DESC
        ) t
         WHERE {_STANDS}
         ORDER BY at DESC LIMIT %(limit)s
        """,
        {"space": space, "subjects": list(subjects), "until": until, "limit": limit, "sure": SURE},
    )


# ------------------------------------------------------------------------------------------- as people look at them

_HOLDS: LiteralString = f"""(
    t.deleted_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM statements n
                     WHERE n.account = %(account)s AND n.space = %(space)s AND n.subject = t.subject AND n.key = t.key
                       AND n.deleted_at IS NULL AND (n.at, n.message_id) > (t.at, t.message_id))
    AND {_STANDS})"""
_KNOWN: LiteralString = f"""
    SELECT t.id, t.subject, t.kind, t.key, t.text, t.at, t.version, t.deleted_at, {_HOLDS} AS holds,
           t.message_id, m.client_id, m.speaker AS said_by, left(m.text, %(longest)s) AS said_text
      FROM statements t JOIN messages m ON m.account = t.account AND m.id = t.message_id
     WHERE t.account = %(account)s AND t.space = %(space)s AND NOT t.purged"""


def _here(space: int) -> dict[str, object]:
    return {"space": space, "until": None, "sure": SURE, "longest": LONGEST_STATEMENT}


async def page(
    conn: Connection, space: int, request: PageRequest, *, subject: str | None, superseded: bool
) -> Page[KnownStatement]:
    """What is known of this person, or of everybody, said last first; also what no longer holds, if that is wanted."""
    return await fetch_page(
        conn,
        KnownStatement,
        f"""{_KNOWN} AND t.deleted_at IS NULL AND (%(subject)s::text IS NULL OR t.subject = %(subject)s)
            AND (%(superseded)s OR {_HOLDS})""",
        {**_here(space), "subject": subject, "superseded": superseded},
        request,
        when="t.at",
        key="t.id",
    )


async def trash(
    conn: Connection, space: int, request: PageRequest, *, subject: str | None, since: datetime
) -> Page[KnownStatement]:
    """What was taken back since then, the latest first."""
    return await fetch_page(
        conn,
        KnownStatement,
        f"""{_KNOWN} AND t.deleted_at >= %(since)s AND (%(subject)s::text IS NULL OR t.subject = %(subject)s)""",
        {**_here(space), "subject": subject, "since": since},
        request,
        when="t.deleted_at",
        key="t.id",
    )


async def get(conn: Connection, space: int, statement_id: str) -> KnownStatement | None:
    """Whatever its state, as long as its words are there."""
    return await fetch_one(
        conn, KnownStatement, f"{_KNOWN} AND t.id = %(id)s", {**_here(space), "id": statement_id}
    )  # fmt: skip


async def same(conn: Connection, space: int, statement: KnownStatement) -> list[str]:
    """This one, and those that said the same before it and are in the same state: taken back at the same moment, or
    there. Else what is corrected would come up again out of an older message.
    """
    return await fetch_column(
        conn,
        """
        SELECT id FROM statements
         WHERE account = %(account)s AND space = %(space)s AND subject = %(subject)s AND key = %(key)s
           AND text = %(text)s AND deleted_at IS NOT DISTINCT FROM %(deleted_at)s
           AND (at <= %(at)s OR deleted_at IS NOT NULL)
         ORDER BY at DESC, id DESC
        """,
        {
            "space": space, "subject": statement.subject, "key": statement.key, "text": statement.text,
            "deleted_at": statement.deleted_at, "at": statement.at,
        },
    )  # fmt: skip


async def rewrite(
    conn: Connection, ids: Sequence[str], change: str, changed_by: str | None, columns: Mapping[str, object]
) -> None:
    """Set these columns, as another version of each. What was read out of the message is the first."""
    these = {"ids": list(ids), "change": change, "by": changed_by}
    await conn.execute(
        """
        INSERT INTO statement_versions (account, space, statement_id, version, change, subject, text, visibility,
                                        changed_at)
        SELECT t.account, t.space, t.id, t.version, 'created', t.subject, t.text, t.visibility, m.recorded_at
          FROM statements t JOIN messages m ON m.account = t.account AND m.id = t.message_id
         WHERE t.account = %(account)s AND t.id = ANY(%(ids)s) AND t.version = 1
        ON CONFLICT DO NOTHING
        """,
        these,
    )
    await update_rows(conn, "statements", {"id": list(ids)}, columns)
    await conn.execute(
        """
        WITH counted AS (
            UPDATE statements SET version = version + 1 WHERE account = %(account)s AND id = ANY(%(ids)s)
            RETURNING account, space, id, version, subject, text, visibility)
        INSERT INTO statement_versions (account, space, statement_id, version, change, subject, text, visibility,
                                        changed_by)
        SELECT account, space, id, version, %(change)s, subject, text, visibility, %(by)s
          FROM counted WHERE account = %(account)s
        RETURNING 1
        """,
        these,
    )


async def versions(conn: Connection, statement_id: str) -> list[StatementVersion]:
    """The latest first. One that nobody changed is as it was read."""
    return await fetch_all(
        conn,
        StatementVersion,
        """
        SELECT version, change, subject, text, changed_by, changed_at FROM statement_versions
         WHERE account = %(account)s AND statement_id = %(id)s
        UNION ALL
        SELECT t.version, 'created', t.subject, t.text, NULL, m.recorded_at
          FROM statements t JOIN messages m ON m.account = %(account)s AND m.id = t.message_id
         WHERE t.account = %(account)s AND t.id = %(id)s AND t.version = 1
         ORDER BY version DESC
        """,
        {"id": statement_id},
    )


async def purge(conn: Connection, days: int) -> int:
    """The words of what was taken back that long ago, of all accounts. Needs no scope."""
    return await fetch_value(conn, "SELECT purge_statements(%(days)s)", {"days": days})
