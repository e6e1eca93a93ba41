"""What is still to be read for memories, and what came of it."""

from collections.abc import Sequence
from typing import LiteralString

from keepstone.model.chat import Distillation
from keepstone.store.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value

_COLUMNS: LiteralString = """
    distillation, kind, chat_id, source_id, user_id, state, attempts, memory_ids, created_at, done_at
"""


async def insert(
    conn: Connection, space: int, *, kind: str, chat_id: str, source_id: str, user_id: str | None
) -> int | None:
    """Its number; None when the same is known already."""
    return await fetch_value(
        conn,
        """
        INSERT INTO distillations (account, space, kind, chat_id, source_id, user_id)
        VALUES (%(account)s, %(space)s, %(kind)s, %(chat)s, %(source)s, %(user)s)
        ON CONFLICT DO NOTHING RETURNING distillation
        """,
        {"space": space, "kind": kind, "chat": chat_id, "source": source_id, "user": user_id},
    )


async def begin(conn: Connection, distillation: int) -> Distillation | None:
    """Another attempt, if it is not done; nobody else has it until the transaction ends."""
    return await fetch_one(
        conn,
        Distillation,
        f"""
        UPDATE distillations SET attempts = attempts + 1
         WHERE account = %(account)s AND distillation = %(number)s AND state = 'waiting'
        RETURNING {_COLUMNS}
        """,
        {"number": distillation},
    )


async def finish(conn: Connection, distillation: int, memory_ids: Sequence[str]) -> bool:
    """False when somebody else did so before."""
    finished = await conn.execute(
        """
        UPDATE distillations SET state = 'done', done_at = now(), memory_ids = %(memories)s
         WHERE account = %(account)s AND distillation = %(number)s AND state = 'waiting'
        """,
        {"memories": list(memory_ids), "number": distillation},
    )
    return finished.rowcount > 0


async def page(conn: Connection, space: int, *, before: int | None, limit: int) -> list[Distillation]:
    """The newest first; with `before` those that came before that one."""
    return await fetch_all(
        conn,
        Distillation,
        f"""
        SELECT {_COLUMNS} FROM distillations
         WHERE account = %(account)s AND space = %(space)s AND (%(before)s::bigint IS NULL OR distillation < %(before)s)
         ORDER BY distillation DESC
         LIMIT %(limit)s
        """,
        {"space": space, "before": before, "limit": limit},
    )


async def waiting(conn: Connection, chat_id: str) -> list[int]:
    """Of this chat, what is not done yet."""
    return await fetch_column(
        conn,
        """
        SELECT distillation FROM distillations
         WHERE account = %(account)s AND chat_id = %(chat)s AND state = 'waiting'
        """,
        {"chat": chat_id},
    )
