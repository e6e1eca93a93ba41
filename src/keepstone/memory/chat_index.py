"""What was said in chats, as it is found: in a part of the workspace of its own, apart from what is remembered.

A job follows what is said. A chat in the trash is not found, and one that moves is found where it is.
"""

from collections.abc import Sequence
from dataclasses import replace

from keepstone.access.readscope import job_scope
from keepstone.engine.cutting import Source
from keepstone.engine.index import passages_of
from keepstone.memory.shelf import schedule_indexing
from keepstone.model.chat import ChatMessage
from keepstone.model.message import NewPassage
from keepstone.services import Services
from keepstone.store import chats, passages, spaces, workspaces
from keepstone.store.db import Connection, enter

_AT_ONCE = 200  # messages


async def schedule(conn: Connection, services: Services, account: int, space: int, chat_id: str) -> None:
    """Let a job make findable what is new in a chat of this workspace."""
    await services.queue.add(conn, "index_chat", account=account, space=space, chat_id=chat_id, unless_waiting=True)


async def index_chat(services: Services, account: int, space: int, chat_id: str) -> None:
    """What was said since the last time can be found from now on. Runs twice without harm; a chat that is no longer in
    this workspace has a job of its own.
    """
    more = True
    while more:
        async with services.db.transaction(job_scope(account, space)) as conn:
            unfound = await chats.unfound(conn, chat_id, limit=_AT_ONCE)
        cut = await _cut(services, chat_id, unfound)
        async with services.db.transaction(job_scope(account, space)) as conn:
            if not await chats.hold(conn, chat_id):
                return
            more = await _keep(conn, services, account, space, chat_id, unfound, cut)


async def _cut(services: Services, chat_id: str, said: Sequence[ChatMessage]) -> list[NewPassage]:
    services.embedders.need()
    sources = [Source(kind="message", id=one.id, text=one.content, at=one.created_at) for one in said]
    return [replace(part, session=chat_id) for part in await passages_of(services, sources, visibility="private")]


async def _keep(
    conn: Connection,
    services: Services,
    account: int,
    space: int,
    chat_id: str,
    said: Sequence[ChatMessage],
    cut: Sequence[NewPassage],
) -> bool:
    """Whether more is left. The chat is held: nobody says anything in it meanwhile, or is erased out of it."""
    now = await chats.unfound(conn, chat_id, limit=_AT_ONCE + 1)
    if [one.id for one in now[: len(said)]] != [one.id for one in said]:
        return True  # somebody else did so at the same moment, or some of it was erased
    if cut:
        talk = await workspaces.talk_of(conn, space)
        await enter(conn, job_scope(account, space, talk))
        await spaces.lock(conn, [talk])
        await passages.insert(conn, talk, cut)
        await schedule_indexing(conn, services, account, talk)
    left = len(now) > len(said)
    if said:
        await chats.mark_found(conn, chat_id, said[-1].seq)
    await chats.update(conn, chat_id, unfound=left)
    return left


async def forget_chat(conn: Connection, talk: int, chat_id: str) -> None:
    """Nothing of it is found any more, until a job has read it anew. The chat is held, and the transaction reaches the
    part of the workspace in which it was found.
    """
    await spaces.lock(conn, [talk])
    await passages.delete(conn, "message", await chats.message_ids(conn, chat_id))
    await chats.update(conn, chat_id, found_up_to=0, unfound=True)
