"""Rows as an archive has them: of one space, a page at a time; and written back as they were.

`COLUMNS` are those that travel, `LEFT_BEHIND` those that follow from the others, or mean nothing elsewhere. A column
is in one of the two: a test holds that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from keepstone.store.db import (
    Connection,
    fetch_all,
    fetch_dict,
    fetch_value,
    insert_new_row,
    insert_returning,
    select_value,
)

COLUMNS: Mapping[LiteralString, LiteralString] = {
    "memories": "id, kind, type, title, content, summary, tags, metadata, visibility, user_id, agent, run_id, "
                "project_id, source_type, source_chat_id, source_message_id, role, actor, immutable, path, key, "
                "version, superseded_by, valid_from, valid_to, created_at, updated_at, accessed_at, deleted_at, "
                "cold_at",
    "messages": "id, seq, client_id, speaker, role, user_id, agent, text, at, recorded_at, thread_id, reply_to, "
                "visibility, attachments, metadata, follows, aside",
    "threads": "id, title, message_count, opened_at, closed_at",
    "chats": "id, title, created_by, created_at, updated_at, deleted_at, kind, beside",
    "documents": "id, kind, name, media_type, version, content, visibility, metadata, created_by, created_at, "
                 "updated_at, deleted_at",
    "facts": "id, scope_kind, key, value, visibility, valid_from, valid_to, recorded_at, superseded_at, recorded_by, "
             "source_id",
    "edges": "id, from_id, to_id, type, metadata, valid_from, valid_to, created_at, deleted_at, created_by",
    "summaries": "id, tier, thread_id, content, starts_at, ends_at, message_count, source_ids, visibility, created_at, "
                 "superseded_at",
    "statements": "message_id, part, subject, kind, key, text, at, visibility, ended_by",
}  # fmt: skip
LEFT_BEHIND: Mapping[LiteralString, LiteralString] = {
    "memories": "account, space, address, content_hash, size_bytes, version_bytes, kept_bytes",
    "messages": "account, space, sent_by, version, edited_at, reread",  # the wording that it has now
    "threads": "account, space, named_by",
    "chats": "account, space, named_by, unfound, found_up_to",
    "documents": "account, space, size_bytes, sha256",
    "facts": "account, space, scope_id",
    "edges": "account, space",
    "summaries": "account, space",
    "statements": "account, space, id, version, deleted_at, purged",
}
# In the order in which they are told; what orders the rows of each, as a text or a number.
_ORDER: Mapping[LiteralString, LiteralString] = {
    "chats": "id", "threads": "id", "messages": "seq", "memories": "id", "edges": "id", "documents": "id",
    "facts": "id", "summaries": "id", "statements": "message_id || '/' || lpad(part::text, 9, '0')",
}  # fmt: skip
TABLES = tuple(_ORDER)
_LARGE = {"documents"}  # of which one is read at a time
_PAGE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSpace:
    """A space that is one user's. `entity` are the ids that it holds memories for."""

    space: int
    kind: str
    name: str
    title: str
    created_at: datetime
    entity: dict[str, str | None] | None


async def own_spaces(conn: Connection, user_id: str) -> list[OwnSpace]:
    """In the order in which they were made; workspaces are told elsewhere."""
    return await fetch_all(
        conn,
        OwnSpace,
        """
        SELECT s.space, s.kind, s.name, s.title, s.created_at,
               CASE WHEN e.space IS NOT NULL THEN jsonb_build_object('user_id', e.user_id, 'agent_id', e.agent_id,
                   'app_id', e.app_id, 'run_id', e.run_id) END AS entity
          FROM spaces s LEFT JOIN entities e USING (account, space)
         WHERE s.account = %(account)s AND s.owner = %(user)s AND s.deleted_at IS NULL AND s.part_of IS NULL
           AND s.kind <> 'workspace'
         ORDER BY s.space
        """,
        {"user": user_id},
    )


async def parts_of(conn: Connection, space: int) -> dict[str, int]:
    """The spaces that are part of it, by the agent whose they are, or whatever else stands behind the slash."""
    return await fetch_dict(
        conn,
        """
        SELECT split_part(name, '/', 2), space FROM spaces
         WHERE account = %(account)s AND part_of = %(space)s ORDER BY space
        """,
        {"space": space},
    )


async def deleted_at(conn: Connection, space: int) -> datetime | None:
    return await select_value(conn, "spaces", "deleted_at", {"space": space})


async def names(conn: Connection) -> dict[str, str]:
    """What people of the account are called, by their ids."""
    return await fetch_dict(
        conn,
        """
        SELECT id, coalesce(nullif(name, ''), split_part(email, '@', 1)) FROM users
         WHERE account = %(account)s AND erased_at IS NULL
        """,
    )


async def page(conn: Connection, table: LiteralString, space: int, after: Any) -> tuple[list[dict[str, Any]], Any]:
    """Some rows of a space that the transaction reaches, and behind which the next ones come; None: those were all."""
    order = _ORDER[table]
    kind: LiteralString = "bigint" if table == "messages" else "text"
    columns = COLUMNS[table].replace("value,", "value::text AS value,") if table == "facts" else COLUMNS[table]
    limit = 1 if table in _LARGE else _PAGE
    there: LiteralString = "AND deleted_at IS NULL" if table == "statements" else ""
    query: LiteralString = f"""
        SELECT {columns}, {order} AS place FROM {table}
         WHERE account = %(account)s AND space = %(space)s {there}
           AND (%(after)s::{kind} IS NULL OR {order} > %(after)s::{kind})
         ORDER BY {order} LIMIT %(limit)s
    """
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(query, {"space": space, "after": after, "limit": limit})
        rows = await cursor.fetchall()
    last = rows[-1]["place"] if len(rows) == limit else None
    for row in rows:
        del row["place"]
    return rows, last


async def document_versions(conn: Connection, document_id: str) -> list[dict[str, Any]]:
    """The first first, without the bytes: whether there are some is said instead."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(
            """
            SELECT version, change, name, media_type, content, size_bytes, changed_by, changed_at,
                   original IS NOT NULL AS has_file
              FROM document_versions WHERE account = %(account)s AND document_id = %(id)s ORDER BY version
            """,
            {"id": document_id},
        )
        return await cursor.fetchall()


async def original(conn: Connection, document_id: str, version: int) -> bytes | None:
    return await fetch_value(
        conn,
        """
        SELECT original FROM document_versions
         WHERE account = %(account)s AND document_id = %(id)s AND version = %(version)s
        """,
        {"id": document_id, "version": version},
    )


# -------------------------------------------------------------------------------------------------------- writing


async def put(conn: Connection, table: LiteralString, values: Mapping[str, Any]) -> bool:
    """False when a row of its id is there."""
    return await insert_new_row(conn, table, _stored(values))


async def put_fact(conn: Connection, values: Mapping[str, Any]) -> bool:
    """The same; its value is the text of JSON, and keeps all its digits."""
    made = await conn.execute(
        """
        INSERT INTO facts (account, space, id, scope_kind, scope_id, key, value, visibility, valid_from, valid_to,
                           recorded_at, superseded_at, recorded_by, source_id)
        VALUES (%(account)s, %(space)s, %(id)s, %(scope_kind)s, %(scope_id)s, %(key)s, %(value)s::jsonb,
                %(visibility)s, %(valid_from)s, %(valid_to)s, %(recorded_at)s, %(superseded_at)s, %(recorded_by)s,
                %(source_id)s)
        ON CONFLICT DO NOTHING
        """,
        values,
    )
    return made.rowcount > 0


async def put_message(conn: Connection, values: Mapping[str, Any]) -> int | None:
    """Its place; None when it is there."""
    return await insert_returning(conn, "messages", _stored(values), "seq")


async def known_fact(conn: Connection, space: int, key: str, *, but: str) -> bool:
    """Whether there is a fact of this key already, besides that one."""
    return await fetch_value(
        conn,
        """
        SELECT EXISTS (SELECT 1 FROM facts WHERE account = %(account)s AND space = %(space)s AND key = %(key)s
                                           AND id <> %(but)s AND superseded_at IS NULL)
        """,
        {"space": space, "key": key, "but": but},
    )


async def all_there(conn: Connection, ids: list[str]) -> bool:
    """Whether the memories of these ids are."""
    return await fetch_value(
        conn,
        "SELECT count(*) = %(number)s FROM memories WHERE account = %(account)s AND id = ANY(%(ids)s)",
        {"ids": ids, "number": len(set(ids))},
    )


async def have_heard(conn: Connection, space: int, seq: int, at: datetime) -> None:
    """What was said up to there was read, and summed up, where it comes from."""
    await conn.execute(
        """
        UPDATE rooms SET last_seq = greatest(last_seq, %(seq)s), takeaways_seq = greatest(takeaways_seq, %(seq)s),
                         last_at = greatest(last_at, %(at)s)
         WHERE account = %(account)s AND space = %(space)s
        """,
        {"space": space, "seq": seq, "at": at},
    )


async def date_space(conn: Connection, space: int, created_at: datetime, deleted_at: datetime | None) -> None:
    """When it was made and put in the trash, where it comes from, if it is new; with its parts."""
    await conn.execute(
        """
        UPDATE spaces SET created_at = %(created)s, deleted_at = %(deleted)s
         WHERE account = %(account)s AND (space = %(space)s OR part_of = %(space)s) AND created_at = now()
        """,
        {"space": space, "created": created_at, "deleted": deleted_at},
    )


def _stored(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: Jsonb(value) if name in {"metadata", "attachments"} else value for name, value in values.items()
    }  # fmt: skip
