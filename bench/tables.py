"""What the bench asks of the database past the API, as its owner: sizes, vectors, and whether an index is there."""

import time
from typing import Any, LiteralString

import numpy as np
import numpy.typing as npt
import psycopg

from bench.floor import Server
from keepstone.engine.embed import LARGE
from keepstone.providers.manifest import BUILTIN, read_manifest

Connection = psycopg.Connection[Any]
Vectors = npt.NDArray[np.float32]
KEPT = ("messages", "passages", "terms", "vectors", "token_vectors", "statements")


def connect(server: Server) -> Connection:
    return psycopg.connect(server.conninfo, autocommit=True, options="-c search_path=keepstone,public,extensions")


def prepare_large_space(server: Server, space: int, patience: float = 1800) -> None:
    """SEAM. What a large space gets from the background once it has grown: its own indexes of vectors.

    Called after a space was filled and before it is measured. One more message makes the job look at the space; where
    the schema has no such indexes, or the space is too small for one, nothing is waited for.
    """
    with connect(server) as conn:
        name = (conn.execute("SELECT name FROM spaces WHERE space = %s", [space]).fetchone() or ("",))[0]
        client = server.client()
        client.post("/v1/ingest", {"scope_id": name, "transcript": [{"speaker": "Anna", "text": "One more."}]})
        client.close()
        server.settle()
        known = "SELECT 1 FROM information_schema.columns WHERE table_name = 'spaces' AND column_name = 'indexed_sets'"
        if conn.execute(known).fetchone() is None:
            return
        missing: LiteralString = (
            "SELECT 1 FROM spaces WHERE space = %s AND passages >= %s"
            " AND cardinality(indexed_sets) < (SELECT count(*) FROM vector_sets)"
        )
        end = time.monotonic() + patience
        while conn.execute(missing, [space, LARGE]).fetchone():
            if time.monotonic() > end:
                raise RuntimeError(f"a large space has no index yet:\n{server.complaints()}")
            time.sleep(0.5)


def settle(conn: Connection) -> None:
    """As autovacuum would leave it after a while."""
    for table in KEPT:
        conn.execute(f"VACUUM (ANALYZE) {table}")  # pyright: ignore[reportArgumentType, reportCallIssue]


def space_of(conn: Connection, scope_id: str) -> tuple[int, int]:
    """Account and space of a scope."""
    found = conn.execute("SELECT account, space FROM spaces WHERE kind = 'scope' AND name = %s", [scope_id]).fetchone()
    assert found is not None, f"nobody ever spoke in {scope_id}"
    return found


def disk(conn: Connection) -> int:
    """Bytes of everything that is kept for search, indexes included."""
    query = "SELECT sum(pg_total_relation_size(i.name::regclass)) FROM unnest(%s::text[]) AS i (name)"
    return int((conn.execute(query, [list(KEPT)]).fetchone() or (0,))[0])


def export(conn: Connection, scope_id: str) -> tuple[list[str], Vectors]:
    """Texts and English vectors of a scope: what the floor is filled with."""
    account, space = space_of(conn, scope_id)
    texts: list[str] = []
    vectors: list[bytes] = []
    with conn.transaction(), conn.cursor(name="export", binary=True) as cursor:
        cursor.itersize = 10_000
        cursor.execute(
            """
            SELECT concat_ws(': ', p.speaker, p.text), halfvec_send(v.embedding)
              FROM passages p
              JOIN vectors v USING (account, space, passage)
              JOIN vector_sets s USING (account, vector_set)
             WHERE p.account = %s AND p.space = %s AND s.model = %s
             ORDER BY p.passage
            """,
            [account, space, read_manifest(BUILTIN).name],
        )
        for text, vector in cursor:
            texts.append(text)
            vectors.append(vector[4:])  # after the dimensions: halves, the high byte first
    return texts, np.frombuffer(b"".join(vectors), dtype=">f2").reshape(len(texts), -1).astype(np.float32)
