"""How the database and the queue are, in one look."""

from dataclasses import dataclass, field

from keepstone.errors import Unavailable
from keepstone.store.db import Database, fetch_value
from keepstone.store.migrate import pending
from keepstone.store.queue import QUEUE_AWAY, Queue
from keepstone.store.requirements import pgvector_version
from keepstone.store.vectors import Filling, filling


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """As found; the defaults are those of a database that does not answer."""

    answers: bool = False
    server_version: str | None = None
    pgvector: str | None = None
    pending_migrations: list[str] = field(default_factory=list[str])
    pending_embeddings: int | None = None
    filling: list[Filling] = field(default_factory=list[Filling])
    workers: int = 0
    jobs: dict[str, int] = field(default_factory=dict[str, int])


async def look(db: Database, queue: Queue) -> State:
    try:
        async with db.unscoped() as conn:
            pending_migrations = await pending(conn)
            return State(
                answers=True,
                server_version=await fetch_value(conn, "SHOW server_version"),
                pgvector=await pgvector_version(conn),
                pending_migrations=pending_migrations,
                pending_embeddings=(
                    None if pending_migrations else await fetch_value(conn, "SELECT pending_embeddings()")
                ),
                filling=[] if pending_migrations else await filling(conn),
                workers=await queue.live_workers(),
                jobs=await queue.counts(),
            )
    except (Unavailable, *QUEUE_AWAY):
        return State()
