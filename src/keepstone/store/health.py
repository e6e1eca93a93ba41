"""How the database and the queue are, in one look."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace

from keepstone.errors import Unavailable
from keepstone.store.db import Database, fetch_value
from keepstone.store.migrate import is_past, pending
from keepstone.store.queue import QUEUE_AWAY, Queue
from keepstone.store.requirements import pgvector_version
from keepstone.store.servers import Neighbours, neighbours
from keepstone.store.vectors import Filling, filling

_COUNTING_SECONDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """As found; the defaults are those of a database that does not answer."""

    answers: bool = False
    whole: bool = False  # a machine of a cluster may be away while the others go on
    server_version: str | None = None
    pgvector: str | None = None
    past: bool = False  # a newer Keepstone has removed what this one needs
    pending_migrations: list[str] = field(default_factory=list[str])
    pending_embeddings: int | None = None
    filling: list[Filling] = field(default_factory=list[Filling])
    workers: int = 0
    servers: Neighbours = field(default_factory=Neighbours)
    jobs: dict[str, int] = field(default_factory=dict[str, int])


async def look(db: Database, queue: Queue, secret: bytes | None = None) -> State:
    """`secret` is the fingerprint of the one that all servers should have."""
    try:
        async with db.unscoped() as conn:
            state = State(
                answers=True,
                server_version=await fetch_value(conn, "SHOW server_version"),
                pgvector=await pgvector_version(conn),
                past=await is_past(conn),
                pending_migrations=await pending(conn),
                workers=await queue.live_workers(),
                jobs=await queue.counts(),
            )
    except (Unavailable, *QUEUE_AWAY):
        return State()
    if state.past or state.pending_migrations:
        return state
    with suppress(*QUEUE_AWAY):
        async with queue.connection() as conn:
            state = replace(state, servers=await neighbours(conn, secret))
    return await _counted(db, state)


async def _counted(db: Database, state: State) -> State:
    """With what is asked of every machine: known only where all of them answer."""
    try:
        async with asyncio.timeout(_COUNTING_SECONDS), db.unscoped() as conn:
            embeddings = await fetch_value(conn, "SELECT pending_embeddings()")
            return replace(state, whole=True, pending_embeddings=embeddings, filling=await filling(conn))
    except (Unavailable, TimeoutError):
        return state
