"""Messages: appended, never rewritten."""

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from cairn.model.message import Message
from cairn.store.db import Connection, fetch_all


async def insert(conn: Connection, messages: Sequence[Message], *, visibility: str) -> set[str]:
    """Append them in their order; returns the ids of the new ones. A client's id that is there changes nothing."""
    rows = await (
        await conn.execute(
            """
            INSERT INTO messages (space, id, client_id, speaker, text, at, reply_to, metadata, visibility)
            SELECT * , %(visibility)s
              FROM unnest(%(spaces)s::bigint[], %(ids)s::text[], %(clients)s::text[], %(speakers)s::text[],
                          %(texts)s::text[], %(times)s::timestamptz[], %(replies)s::text[], %(metadata)s::jsonb[])
            ON CONFLICT (account, space, client_id) DO NOTHING
            RETURNING id
            """,
            {
                "spaces": [message.space for message in messages],
                "ids": [message.id for message in messages],
                "clients": [message.client_id for message in messages],
                "speakers": [message.speaker for message in messages],
                "texts": [message.text for message in messages],
                "times": [message.at for message in messages],
                "replies": [message.reply_to for message in messages],
                "metadata": [Jsonb(message.metadata) for message in messages],
                "visibility": visibility,
            },
        )
    ).fetchall()
    return {row[0] for row in rows}


async def ids_of_clients(conn: Connection, space: int, client_ids: Sequence[str]) -> dict[str, str]:
    """Our ids of messages by the ids that their callers gave them."""
    rows = await (
        await conn.execute(
            "SELECT client_id, id FROM messages WHERE space = %s AND client_id = ANY(%s)", [space, list(client_ids)]
        )
    ).fetchall()
    return dict(rows)


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, Message]:
    found = await fetch_all(
        conn,
        Message,
        "SELECT space, id, client_id, speaker, text, at, reply_to, metadata FROM messages WHERE id = ANY(%(ids)s)",
        {"ids": list(ids)},
    )
    return {message.id: message for message in found}
