"""Erasing somebody for good, out of the places that others share too. By which rules is in docs/operations.md.

Whose words stand where is the database's to know (`erase_traces`); this module does what needs more than that:
passages, texts that go back to what others wrote, summaries that are made anew, and what lies in Redis.
"""

from dataclasses import replace
from typing import Any

from keepstone.access.principals import worker_for
from keepstone.access.readscope import account_scope, job_scope
from keepstone.access.require import require_found
from keepstone.errors import Unavailable
from keepstone.memory import documents, shelf
from keepstone.memory.chats import CHAT_MEMORIES
from keepstone.memory.graphs import NODES
from keepstone.memory.kinds import Kind, Prepared, Written
from keepstone.memory.room_memories import LANDMARKS, ROOM_MEMORIES
from keepstone.model.memory import Version
from keepstone.services import Services
from keepstone.store import accounts, memories, passages, users
from keepstone.store.db import Connection, enter, take_time

_SOURCES = ("message", "memory", "summary", "document")
_SHARED: dict[str, Kind[Any]] = {kind.shape.kind: kind for kind in (CHAT_MEMORIES, NODES, LANDMARKS, ROOM_MEMORIES)}


async def erase(services: Services, account: int, user_id: str) -> None:
    """Remove a user who was marked so, with everything that hangs on them; with the last one, the account."""
    async with services.db.transaction(account_scope(account)) as conn:
        await take_time(conn)
        found = await users.erase_traces(conn, user_id)
        await users.forget_jobs(conn, user_id, [trace.place for trace in found if trace.what == "gone"])
        traces = [trace for trace in found if trace.what != "gone"]
        await enter(conn, job_scope(account, *{trace.place for trace in traces}))
        for source_kind in _SOURCES:
            await passages.delete(conn, source_kind, [trace.id for trace in traces if trace.what == source_kind])
        for place in {trace.place for trace in traces if trace.what == "message"}:  # who spoke next waits for vectors
            await services.queue.add(conn, "embed_space", account=account, space=place, unless_waiting=True)
        for trace in traces:
            if trace.what in _SOURCES:
                continue
            await enter(conn, job_scope(account, trace.place))
            if trace.what in _SHARED:
                await _put_right(conn, services, account, _SHARED[trace.what], trace.id)
            elif trace.what in ("file", "artifact"):
                await documents.put_right(conn, services, worker_for(account), trace.place, trace.id)
            elif trace.what == "thread":
                await services.queue.add(
                    conn, "sum_up_thread", account=account, one_by_one=f"room {trace.place}", space=trace.place,
                    thread_id=trace.id,
                )  # fmt: skip
        await users.delete_erased(conn, user_id)
        await accounts.delete_abandoned(conn)
    if services.working is not None and not await services.working.forget(account):
        raise Unavailable("Redis does not answer, and may hold what somebody said who is erased.", retry_after=60)


async def _put_right(conn: Connection, services: Services, account: int, kind: Kind[Any], memory_id: str) -> None:
    """A memory that somebody else made gets back the newest text that is left, as another version."""
    memory = require_found(await memories.get(conn, kind.shape, memory_id), kind.missing)
    [last] = await memories.versions(conn, Version, memory_id, limit=1)
    text = {name: getattr(last, name) for name in ("title", "content", "summary", "type", "tags", "metadata")}
    versions = {"version": memory.version + 1, "version_bytes": await memories.bytes_of_versions(conn, memory_id)}
    after = replace(memory, **text, **versions, updated_at=services.clock())
    prepared = await shelf.prepare(services, kind, after, embed=False)
    if not memory.live:
        prepared = Prepared(prepared.memory, None)
    await enter(conn, job_scope(account, *{memory.space, kind.found_in(memory)}))
    await memories.update(conn, memory, prepared.memory)
    await shelf.settle(conn, services, worker_for(account), kind, [Written("reverted", memory, prepared)])
