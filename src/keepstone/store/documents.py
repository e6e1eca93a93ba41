"""Files and artifacts of a workspace, with their versions. They lie in its library."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString

from psycopg.types.json import Jsonb

from keepstone.model.document import Chunk, Contents, Document, DocumentVersion, Kind
from keepstone.model.page import Page, PageRequest
from keepstone.store.db import Connection, fetch_all, fetch_one, fetch_page, insert_row, select_rows, update_rows

_DOCUMENT: LiteralString = """
    SELECT d.id, d.kind, d.name, d.media_type, d.version, d.size_bytes, s.name AS workspace_id, d.created_by,
           d.created_at, d.updated_at, d.deleted_at, d.metadata,
           (SELECT count(*) FROM passages p
             WHERE p.account = %(account)s AND p.source_kind = 'document' AND p.source_id = d.id)::int AS chunks
      FROM documents d JOIN spaces s USING (account, space)
     WHERE d.account = %(account)s
"""


_HERE: LiteralString = "AND d.space = %(space)s AND d.kind = %(kind)s"


async def insert(
    conn: Connection, space: int, document: Document, content: str, original: bytes | None, sha256: bytes
) -> None:
    """With its first version."""
    of_it = {name: value for name, value in asdict(document).items() if name not in {"workspace_id", "chunks"}}
    text = {"content": content, "sha256": sha256, "metadata": Jsonb(document.metadata)}
    await insert_row(conn, "documents", {**of_it, **text, "space": space})
    await add_version(conn, document.id, "created", document.created_by, original)


async def add_version(
    conn: Connection, document_id: str, change: str, changed_by: str | None, original: bytes | None
) -> None:
    """The row as it is now, under its present version."""
    await conn.execute(
        """
        INSERT INTO document_versions (account, space, document_id, version, change, name, media_type, content,
                                       original, size_bytes, changed_by)
        SELECT d.account, d.space, d.id, d.version, %(change)s, d.name, d.media_type, d.content, %(original)s,
               d.size_bytes, %(by)s
          FROM documents d WHERE d.account = %(account)s AND d.id = %(id)s
        RETURNING 1
        """,
        {"id": document_id, "change": change, "by": changed_by, "original": original},
    )


async def get(conn: Connection, document_id: str) -> Document | None:
    """Of the libraries that the transaction reaches, whatever its state."""
    return await fetch_one(conn, Document, f"{_DOCUMENT} AND d.id = %(id)s", {"id": document_id})


async def by_ids(conn: Connection, ids: Sequence[str]) -> dict[str, Document]:
    """Those of them that are there."""
    query: LiteralString = f"{_DOCUMENT} AND d.id = ANY(%(ids)s) AND d.deleted_at IS NULL"
    return {document.id: document for document in await fetch_all(conn, Document, query, {"ids": list(ids)})}


async def by_hash(conn: Connection, space: int, name: str, sha256: bytes) -> Document | None:
    """A file of this name with these very bytes."""
    return await fetch_one(
        conn,
        Document,
        f"""{_DOCUMENT} AND d.space = %(space)s AND d.kind = 'file' AND d.name = %(name)s AND d.sha256 = %(sha256)s
               AND d.deleted_at IS NULL LIMIT 1""",
        {"space": space, "name": name, "sha256": sha256},
    )


async def by_name(conn: Connection, space: int, name: str) -> Document | None:
    """The file of this name; of several, kept before names had versions, the one that changed last."""
    return await fetch_one(
        conn,
        Document,
        f"""{_DOCUMENT} AND d.space = %(space)s AND d.kind = 'file' AND d.name = %(name)s AND d.deleted_at IS NULL
             ORDER BY d.updated_at DESC, d.id DESC LIMIT 1""",
        {"space": space, "name": name},
    )


async def page(conn: Connection, space: int, kind: Kind, page: PageRequest) -> Page[Document]:
    """The newest first."""
    query: LiteralString = f"{_DOCUMENT} {_HERE} AND d.deleted_at IS NULL"
    return await fetch_page(
        conn, Document, query, {"space": space, "kind": kind}, page, when="d.created_at", key="d.id"
    )  # fmt: skip


async def trash(
    conn: Connection, space: int, kind: Kind, page: PageRequest, *, since: datetime, made_by: str | None
) -> Page[Document]:
    """What was deleted since then, everybody's or what one user made."""
    query: LiteralString = f"""{_DOCUMENT} {_HERE} AND d.deleted_at >= %(since)s
           AND (%(made_by)s::text IS NULL OR d.created_by = %(made_by)s)"""
    params = {"space": space, "kind": kind, "since": since, "made_by": made_by}
    return await fetch_page(conn, Document, query, params, page, when="d.created_at", key="d.id")


async def update(conn: Connection, document_id: str, changes: Mapping[str, Any]) -> None:
    await update_rows(conn, "documents", {"id": document_id}, changes)


async def versions(conn: Connection, document_id: str) -> list[DocumentVersion]:
    """The latest first."""
    of_it = {"document_id": document_id}
    return (await select_rows(conn, DocumentVersion, "document_versions", of_it, order=("version",)))[::-1]


async def contents(conn: Connection, document_id: str, version: int | None = None) -> Contents | None:
    """Of this version, or of the present one. The bytes are those of the last version that brought any."""
    return await fetch_one(
        conn,
        Contents,
        """
        SELECT v.version, v.name, v.media_type, v.content,
               (SELECT o.original FROM document_versions o
                 WHERE o.account = %(account)s AND o.document_id = v.document_id AND o.version <= v.version
                   AND o.original IS NOT NULL
                 ORDER BY o.version DESC LIMIT 1) AS original
          FROM document_versions v
         WHERE v.account = %(account)s AND v.document_id = %(id)s
           AND (%(version)s::int IS NULL OR v.version = %(version)s)
         ORDER BY v.version DESC LIMIT 1
        """,
        {"id": document_id, "version": version},
    )


async def chunks(conn: Connection, document_id: str, *, beyond: int, limit: int) -> list[Chunk]:
    """The parts behind this one, in order."""
    return await fetch_all(
        conn,
        Chunk,
        """
        SELECT part, text, place FROM passages
         WHERE account = %(account)s AND source_kind = 'document' AND source_id = %(id)s AND part > %(beyond)s
         ORDER BY part LIMIT %(limit)s
        """,
        {"id": document_id, "beyond": beyond, "limit": limit},
    )
