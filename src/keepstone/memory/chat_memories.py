"""What a workspace remembers: saved by a model, a person or a job, changed, put in the trash and brought back; each
change a version.

What says nothing new is not kept twice, also when two save it at the same moment. Looking for memories is in
`workspace_search`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from keepstone.access.audit import record
from keepstone.access.meter import metered
from keepstone.access.readscope import account_scope
from keepstone.engine import extract
from keepstone.engine.dedup import WORTH_COMPARING, content_hash, superfluous
from keepstone.engine.embed import FirstVector, embed_first_passage, store_first_vector
from keepstone.engine.index import Source, passages_of
from keepstone.engine.lookup import nearest
from keepstone.engine.pack import own_words
from keepstone.engine.titles import title_by_model
from keepstone.errors import Conflict, Invalid, Malformed, NotFound
from keepstone.memory import workspaces
from keepstone.memory.chats import find_chat, find_message, hold_chat
from keepstone.model.capsule import TRASH_DAYS
from keepstone.model.chat import LARGEST, ChatMemory, Distillation, MemoryVersion, SourceType
from keepstone.model.ids import new_id
from keepstone.model.message import NewPassage
from keepstone.model.page import Page, PageRequest, cut_page, number_in
from keepstone.model.principal import Principal
from keepstone.model.workspace import Workspace
from keepstone.services import Services
from keepstone.store import chat_memories as store
from keepstone.store import distillations, memories, passages
from keepstone.store import workspaces as workspace_store
from keepstone.store.db import Connection

VISIBILITY = "private"
_NEAREST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """`synthesize`: keep the essence, and the text itself beside it. `summary` is for what a job extracted."""

    content: str
    category: str | None = None
    source_type: SourceType = "user"
    source_message_id: str | None = None
    summary: str | None = None
    synthesize: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """`existing`: it was known already, and this is the memory that says so."""

    memory: ChatMemory
    existing: bool


async def remember(
    services: Services,
    principal: Principal,
    chat_id: str,
    *,
    message_id: str | None,
    content: str | None,
    category: str | None,
    synthesize: bool,
) -> Saved:
    """A memory out of a chat: from one of its messages, or from a text; from both, the text with the message as its
    source.
    """
    if message_id is None and content is None:
        message = "give messageId or content: at least one of the two"
        raise Malformed(f"body: {message}. Nothing was stored.", details=[{"path": "body", "message": message}])
    async with services.db.transaction(account_scope(principal.account)) as conn:
        chat, _ = await find_chat(conn, principal, chat_id, needs="member")
        said = await find_message(conn, chat.id, message_id) if message_id is not None else None
    new = NewMemory(
        content=content if content is not None else said.content if said else "",
        category=category,
        source_message_id=message_id,
        synthesize=synthesize,
    )
    return await save(services, principal, new, workspace_id=chat.workspace_id, chat_id=chat.id)


async def save(
    services: Services, principal: Principal, new: NewMemory, *, workspace_id: str | None, chat_id: str | None = None
) -> Saved:
    """Keep it in the workspace, or give back the memory that says it already. What comes from a chat is kept where that
    is, should it have moved meanwhile.
    """
    text = check_content(new.content)
    now = services.clock()
    content = await _essence(services, principal, text) if new.synthesize else text
    summary = extract.summary(content) if new.source_type == "user" else new.summary
    memory = ChatMemory(
        id=new_id("mem"), content=content, summary=summary, category=new.category or None,
        source_type=new.source_type, source_chat_id=chat_id, source_message_id=new.source_message_id,
        workspace_id=workspace_id or "", user_id=principal.user_id,
        metadata={"synthesized": True, "verbatim": text} if new.synthesize else {}, version=1, created_at=now,
        updated_at=now, deleted_at=None,
    )  # fmt: skip
    cut = await _cut(services, memory)
    first = await embed_first_passage(services, cut)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        if chat_id is not None:
            _, workspace = await hold_chat(conn, principal, chat_id, needs="member")
        else:
            workspace = await workspaces.find(conn, principal, workspace_id, needs="member")
        reading = await workspace_store.hold(conn, workspace.space)
        known = await _known(conn, workspace.space, content, first)
        if known is not None:
            return Saved(memory=known, existing=True)
        memory = replace(memory, workspace_id=workspace.id)
        await store.insert(conn, workspace.space, memory, content_hash(content))
        await passages.insert(conn, workspace.space, cut)
        await store_first_vector(conn, workspace.space, cut, first)
        await memories.add_version(conn, workspace.space, [memory.id], "created", principal.user_id)
        await memories.count_in(conn, workspace.space, memories=1, size=len(content.encode()))
        await record(conn, principal, "memory.create", memory.id, source=memory.source_type)
        await workspaces.await_reading(conn, services, principal, workspace.space, there=reading)
    return Saved(memory=memory, existing=False)


async def list_of_chat(services: Services, principal: Principal, chat_id: str) -> Sequence[ChatMemory]:
    """What was remembered from this chat, the newest first."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        chat, _ = await find_chat(conn, principal, chat_id)
        return await store.of_chat(conn, chat.id)


async def list_of_workspace(
    services: Services, principal: Principal, workspace_id: str, page: PageRequest, *, deleted: bool = False
) -> Page[ChatMemory]:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        workspace = await workspaces.find(conn, principal, workspace_id)
        found = await store.page(conn, workspace.space, after=page.after, limit=page.limit + 1, deleted=deleted)
    return cut_page(found, page, lambda one: ((one.deleted_at if deleted else None) or one.created_at, one.id))


async def get(services: Services, principal: Principal, place: str, memory_id: str) -> ChatMemory:
    async with services.db.transaction(account_scope(principal.account)) as conn:
        memory, _ = await _find(conn, principal, place, memory_id)
    return memory


async def update(services: Services, principal: Principal, place: str, memory_id: str, *, content: str) -> ChatMemory:
    """Another text: found by what it says now. Category and origin stay; what it said is in its history."""
    text = check_content(content)
    return await _rewrite(services, principal, place, memory_id, content=text, summary=None, metadata={})


async def rerun_extraction(services: Services, principal: Principal, place: str, memory_id: str) -> ChatMemory:
    """Make summary and, where it was synthesised, content anew from what it was made from."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        memory, workspace = await _find(conn, principal, place, memory_id)
        workspaces.require_change(principal, workspace, memory.user_id)
    again = memory.metadata.get("synthesized")
    content = await _essence(services, principal, memory.verbatim) if again else memory.content
    summary = await _summary(services, principal, content)
    return await _rewrite(
        services, principal, place, memory_id, content=content, summary=summary, metadata=memory.metadata
    )


async def delete(services: Services, principal: Principal, place: str, memory_id: str) -> None:
    """Into the trash, for 30 days."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        memory, workspace, _ = await _hold(conn, principal, place, memory_id)
        columns = {"deleted_at": services.clock(), "version": memory.version + 1}
        await store.update(conn, memory_id, columns)
        await memories.add_version(conn, workspace.space, [memory_id], "deleted", principal.user_id)
        await passages.delete(conn, workspace.space, "memory", [memory_id])
        await memories.count_in(conn, workspace.space, memories=-1, size=-len(memory.content.encode()))
        await record(conn, principal, "memory.delete", memory_id)


async def restore(services: Services, principal: Principal, place: str, memory_id: str) -> ChatMemory:
    """Back out of the trash."""
    oldest = services.clock() - timedelta(days=TRASH_DAYS)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        memory, _ = await _find(conn, principal, place, memory_id, deleted=True)
    if memory.deleted_at is None or memory.deleted_at < oldest:
        raise _not_found()
    cut = await _cut(services, memory)
    async with services.db.transaction(account_scope(principal.account)) as conn:
        memory, workspace, reading = await _hold(conn, principal, place, memory_id, deleted=True)
        if await store.by_hash(conn, workspace.space, content_hash(memory.content)) is not None:
            raise Conflict("The same was remembered again meanwhile: delete that memory first, or leave this one.")
        back = replace(memory, deleted_at=None, version=memory.version + 1)
        await store.update(conn, memory_id, {"deleted_at": None, "version": back.version})
        await memories.add_version(conn, workspace.space, [memory_id], "restored", principal.user_id)
        await passages.insert(conn, workspace.space, cut)
        await memories.count_in(conn, workspace.space, memories=1, size=len(memory.content.encode()))
        await record(conn, principal, "memory.restore", memory_id)
        await workspaces.await_reading(conn, services, principal, workspace.space, there=reading)
    return back


async def history(services: Services, principal: Principal, place: str, memory_id: str) -> Sequence[MemoryVersion]:
    """Every version, the latest first; also of what is in the trash."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        memory, _ = await _find(conn, principal, place, memory_id, any_state=True)
        return await store.versions(conn, memory.id)


async def list_extractions(
    services: Services, principal: Principal, workspace_id: str, page: PageRequest
) -> Page[Distillation]:
    """What was or is still to be read for memories in this workspace, the newest first."""
    async with services.db.transaction(account_scope(principal.account)) as conn:
        workspace = await workspaces.find(conn, principal, workspace_id)
        found = await distillations.page(conn, workspace.space, before=number_in(page), limit=page.limit + 1)
    return cut_page(found, page, lambda one: (one.created_at, str(one.distillation)))


def check_content(content: str) -> str:
    """What may be kept of it: what was recalled and quoted in it is nobody's own words."""
    text = own_words(content).strip()
    if not text:
        raise Invalid("There is nothing to remember in this: give a text of its own, not only what was recalled.")
    if len(text.encode()) > LARGEST:
        message = "has more than 256 KB: keep what matters, or upload it as a file"
        raise Malformed(
            f"content {message}. Nothing was stored.", details=[{"path": "body.content", "message": message}]
        )
    return text


async def _rewrite(
    services: Services,
    principal: Principal,
    place: str,
    memory_id: str,
    *,
    content: str,
    summary: str | None,
    metadata: dict[str, Any],
) -> ChatMemory:
    while True:
        async with services.db.transaction(account_scope(principal.account)) as conn:
            before, workspace = await _find(conn, principal, place, memory_id)
            workspaces.require_change(principal, workspace, before.user_id)
        summary = summary or (extract.summary(content) if before.summary else None)
        after = replace(
            before, content=content, summary=summary, metadata=metadata, version=before.version + 1,
            updated_at=services.clock(),
        )  # fmt: skip
        reworded = after.content != before.content
        cut = await _cut(services, after) if reworded else []
        async with services.db.transaction(account_scope(principal.account)) as conn:
            current, workspace, reading = await _hold(conn, principal, place, memory_id)
            if current.version != before.version:
                continue  # somebody was faster: what they changed stays in the history
            columns = {
                "content": content, "summary": summary, "metadata": metadata, "version": after.version,
                "updated_at": after.updated_at, "content_hash": content_hash(content),
                "size_bytes": len(content.encode()),
            }  # fmt: skip
            await store.update(conn, memory_id, columns)
            if reworded:
                await passages.delete(conn, workspace.space, "memory", [memory_id])
                await passages.insert(conn, workspace.space, cut)
                await workspaces.await_reading(conn, services, principal, workspace.space, there=reading)
            growth = len(content.encode()) - len(before.content.encode())
            await memories.count_in(conn, workspace.space, memories=0, size=growth)
            await memories.add_version(conn, workspace.space, [memory_id], "updated", principal.user_id)
            await record(conn, principal, "memory.update", memory_id)
        return after


async def _find(
    conn: Connection,
    principal: Principal,
    place: str,
    memory_id: str,
    *,
    deleted: bool = False,
    any_state: bool = False,
) -> tuple[ChatMemory, Workspace]:
    """A memory of this workspace or chat, whichever `place` is the id of."""
    if place.startswith("chat_"):
        chat, workspace = await find_chat(conn, principal, place)
        memory = await store.get(conn, memory_id)
        here = memory is not None and memory.source_chat_id == chat.id
    else:
        workspace = await workspaces.find(conn, principal, place)
        memory = await store.get(conn, memory_id)
        here = memory is not None and memory.workspace_id == workspace.id
    if memory is None or not here or not (any_state or deleted == (memory.deleted_at is not None)):
        raise _not_found()
    return memory, workspace


async def _hold(
    conn: Connection, principal: Principal, place: str, memory_id: str, *, deleted: bool = False
) -> tuple[ChatMemory, Workspace, bool]:
    """The same, for whoever may change it; until the transaction ends nobody else does. And whether a job that reads
    what is new is on its way.
    """
    _, workspace = await _find(conn, principal, place, memory_id, deleted=deleted)
    reading = await workspace_store.hold(conn, workspace.space)
    memory, _ = await _find(conn, principal, place, memory_id, deleted=deleted)
    if memory.workspace_id != workspace.id:
        raise _not_found()  # it has just moved with its chat
    workspaces.require_change(principal, workspace, memory.user_id)
    return memory, workspace, reading


async def _known(conn: Connection, space: int, content: str, first: FirstVector | None) -> ChatMemory | None:
    """The memory that says this already. The space is held, so nobody saves the same meanwhile."""
    same = await store.by_hash(conn, space, content_hash(content))
    if same is not None or first is None:
        return same
    near = await nearest(conn, space, first, above=WORTH_COMPARING, limit=_NEAREST)
    stored = await store.by_ids(conn, list(near))
    alike = (stored[memory_id] for memory_id in near if memory_id in stored)
    return next((memory for memory in alike if superfluous(content, memory.content)), None)


async def _cut(services: Services, memory: ChatMemory) -> list[NewPassage]:
    services.embedders.need()
    source = Source(kind="memory", id=memory.id, text=memory.content, at=memory.created_at, dated=False)
    return await passages_of([source], services.embedders.active, visibility=VISIBILITY)


async def _essence(services: Services, principal: Principal, text: str) -> str:
    model = metered(services, principal)
    if model is not None:
        return await extract.synthesize_by_model(model, text)
    return extract.synthesize(text)


async def _summary(services: Services, principal: Principal, text: str) -> str | None:
    """By the language model when there is one, else from the text."""
    model = metered(services, principal)
    if model is not None:
        return await title_by_model(model, text)
    return extract.summary(text)


def _not_found() -> NotFound:
    return NotFound("There is no such memory here.")
