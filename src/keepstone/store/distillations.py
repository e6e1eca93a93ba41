"""What is still to be read for memories, and what came of it."""

from collections.abc import Sequence
from typing import Any, LiteralString

from keepstone.model.chat import Distillation
from keepstone.store.db import NOW, Connection, fetch_all, fetch_one, insert_returning, select_column, update_rows

_COLUMNS: LiteralString = """
    distillation, kind, chat_id, source_id, user_id, state, attempts, memory_ids, created_at, done_at
"""


async def insert(conn: Connection, space: int, **columns: Any) -> int | None:
    """Its number; None when the same is known already."""
    return await insert_returning(conn, "distillations", {"space": space, **columns}, "distillation")


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
    waiting = {"distillation": distillation, "state": "waiting"}
    done = {"state": "done", "done_at": NOW, "memory_ids": list(memory_ids)}
    return await update_rows(conn, "distillations", waiting, done) > 0


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
    return await select_column(conn, "distillations", "distillation", {"chat_id": chat_id, "state": "waiting"})
