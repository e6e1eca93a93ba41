"""Messages: appended, never rewritten."""

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from keepstone.model.message import KeptMessage, Message
from keepstone.store.db import Connection, columns_of, fetch_column, fetch_dict, fetch_rows, fetch_value, select_rows


async def insert(conn: Connection, space: int, messages: Sequence[Message], *, visibility: str) -> set[str]:
    """Append them in their order; returns the ids of the new ones. A client's id that is there changes nothing."""
    new = await fetch_column(
        conn,
        """
        INSERT INTO messages (account, space, id, client_id, speaker, text, at, reply_to, metadata, visibility)
        SELECT %(account)s, %(space)s, *, %(visibility)s
          FROM unnest(%(id)s::text[], %(client_id)s::text[], %(speaker)s::text[], %(text)s::text[],
                      %(at)s::timestamptz[], %(reply_to)s::text[], %(metadata)s::jsonb[])
        ON CONFLICT (account, space, client_id) DO NOTHING
        RETURNING id
        """,
        columns_of(messages, "id", "client_id", "speaker", "text", "at", "reply_to")
        | {"metadata": [Jsonb(message.metadata) for message in messages]}
        | {"space": space, "visibility": visibility},
    )
    return set(new)


async def ids_of(conn: Connection, space: int, names: Sequence[str]) -> dict[str, str]:
    """The ids of messages by what their callers call them: an id of the caller's own, or ours."""
    if not names:
        return {}
    return await fetch_dict(
        conn,
        """
        SELECT id, id FROM messages
         WHERE account = %(account)s AND space = %(space)s AND id = ANY(%(names)s)
        UNION ALL
        SELECT client_id, id FROM messages
         WHERE account = %(account)s AND space = %(space)s AND client_id = ANY(%(names)s)
        """,
        {"space": space, "names": list(names)},
    )


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, KeptMessage]:
    messages = await select_rows(conn, KeptMessage, "messages", {"id": list(ids)})
    return {message.id: message for message in messages}


async def preceding(conn: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The message that each of these answers: the one it names, else what was said within the hour before. By id."""
    if not ids:
        return {}
    rows = await fetch_rows(
        conn,
        """
        SELECT m.id,
               coalesce((SELECT r.id FROM messages r
                          WHERE r.account = m.account AND r.space = m.space AND r.id = m.reply_to),
                        (SELECT r.id FROM messages r
                          WHERE r.account = m.account AND r.space = m.space AND r.client_id = m.reply_to),
                        (SELECT b.id FROM messages b
                          WHERE b.account = m.account AND b.space = m.space AND (b.at, b.seq) < (m.at, m.seq)
                            AND b.at >= m.at - interval '1 hour'
                          ORDER BY b.at DESC, b.seq DESC LIMIT 1))
          FROM messages m WHERE m.account = %(account)s AND m.id = ANY(%(ids)s)
        """,
        {"ids": list(ids)},
    )
    return {message: before for message, before in rows if before is not None}


async def still_there(conn: Connection, message_ids: Sequence[str]) -> bool:
    """Whether all of these are: what somebody said who was erased meanwhile is not."""
    return await fetch_value(
        conn,
        "SELECT count(*) = %(number)s FROM messages WHERE account = %(account)s AND id = ANY(%(ids)s)",
        {"ids": list(message_ids), "number": len(message_ids)},
    )
