"""What a workspace remembers: saved by a model, a person or a job. What says nothing new is not kept twice, what no
longer holds is superseded. Looking for memories is in `workspace_search`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from keepstone.access.meter import metered
from keepstone.access.readscope import account_scope, inside
from keepstone.engine.extract import memories as extract
from keepstone.engine.standing import standing_wish
from keepstone.engine.titles import title_by_model
from keepstone.errors import Malformed
from keepstone.memory import members, shelf, workspaces
from keepstone.memory.again import add_to
from keepstone.memory.chats import CHAT_MEMORIES, find_chat, find_message, hold_chat
from keepstone.memory.shelf import Finder
from keepstone.memory.superseding import AUTO, SupersedeWish, still_there, supersede, weigh
from keepstone.memory.superseding import revive as hold_again
from keepstone.model.chat import ChatMemory, Distillation, SourceType
from keepstone.model.memory import Version, restorable_since
from keepstone.model.page import Page, PageRequest, cut_page, number_in
from keepstone.model.principal import Principal
from keepstone.model.workspace import Workspace
from keepstone.services import Services
from keepstone.store import chat_memories as store
from keepstone.store import distillations, memories, spaces
from keepstone.store.db import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """`synthesize`: keep the essence, and the text itself beside it. `summary` is for what a job extracted. `worded_by`
    is whose words it is, where that does not follow from the source: a user's own, or nobody's (""). `at` is when it
    was first kept, for what comes from elsewhere.
    """

    content: str
    category: str | None = None
    source_type: SourceType = "user"
    source_message_id: str | None = None
    summary: str | None = None
    synthesize: bool = False
    worded_by: str | None = None
    at: datetime | None = None
    wish: SupersedeWish = AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """`existing`: it was known already, and this is the memory that says so. `superseded` are older ones that no longer
    hold, `may_supersede` those that it may take the place of and that still hold. `added` is what came new with
    one that was known.
    """

    memory: ChatMemory
    existing: bool
    superseded: tuple[str, ...] = ()
    may_supersede: tuple[str, ...] = ()
    added: dict[str, Any] = field(default_factory=dict[str, Any])


async def remember(
    services: Services,
    principal: Principal,
    chat_id: str,
    *,
    message_id: str | None,
    content: str | None,
    category: str | None,
    synthesize: bool,
    wish: SupersedeWish = AUTO,
) -> Saved:
    """A memory out of a chat: from one of its messages, or from a text; from both, the text with the message as its
    source.
    """
    if message_id is None and content is None:
        message = "give messageId or content: at least one of the two"
        raise Malformed(f"body: {message}. Nothing was stored.", details=[{"path": "body", "message": message}])
    async with inside(services, principal, find_chat, chat_id, needs="member") as (conn, (chat, _)):
        said = await find_message(conn, chat.id, message_id) if message_id is not None else None
    new = NewMemory(
        content=content if content is not None else said.content if said else "",
        category=category,
        source_message_id=message_id,
        synthesize=synthesize,
        worded_by=(said.user_id or "") if said and content is None and said.user_id != principal.user_id else None,
        wish=wish,
    )
    return await save(services, principal, new, workspace_id=chat.workspace_id, chat_id=chat.id)


async def save(
    services: Services, principal: Principal, new: NewMemory, *, workspace_id: str | None, chat_id: str | None = None
) -> Saved:
    """Keep it in the workspace, or give back the memory that says it already. What comes from a chat is kept where that
    is, should it have moved meanwhile.
    """
    text = CHAT_MEMORIES.check_text(new.content)
    content = await _essence(services, principal, text) if new.synthesize else text
    memory = CHAT_MEMORIES.new(
        new.at or services.clock(), content=content, type=new.category or "", source_type=new.source_type,
        summary=extract.summary(content) if new.source_type == "user" else new.summary, source_chat_id=chat_id,
        source_message_id=new.source_message_id, user_id=principal.user_id,
        metadata=({"synthesized": True, "verbatim": text} if new.synthesize else {}) | _origin(content, new.worded_by),
    )  # fmt: skip
    prepared = await shelf.prepare(services, CHAT_MEMORIES, memory)

    async def find_workspace(conn: Connection, *, hold: bool) -> Workspace:
        if chat_id is None:
            return await workspaces.find(conn, principal, workspace_id, needs="member")
        find = hold_chat if hold else find_chat
        _, workspace = await find(conn, principal, chat_id, needs="member")
        return workspace

    async with services.db.transaction(account_scope(principal)) as conn:
        space = (await find_workspace(conn, hold=False)).space
        others = await shelf.alike(conn, CHAT_MEMORIES, prepared.moved(space=space))
    weighed = await weigh(services, memory, others, mode=new.wish.mode)
    async with services.db.transaction(account_scope(principal)) as conn:
        workspace = await find_workspace(conn, hold=True)
        await spaces.lock(conn, [workspace.space])
        prepared = prepared.moved(space=workspace.space, place=workspace.id)
        known = await shelf.find_known(conn, CHAT_MEMORIES, prepared)  # also what was kept meanwhile
        known = known or next(iter(await still_there(conn, CHAT_MEMORIES, workspace.space, weighed.known)), None)
        if known is not None and "standing" in memory.metadata and known.user_id != memory.user_id:
            known = None  # the same wish of another's is not this one's
        old = {older.id: older for older in [await _named(conn, principal, workspace, each) for each in new.wish.named]}
        perhaps: list[str] = []
        if known is None:
            outdated = await still_there(conn, CHAT_MEMORIES, workspace.space, weighed.outdated)
            old |= {each.id: each for each in outdated if members.may_change(principal, workspace, each.user_id)}
            perhaps = [each.id for each in (*outdated, *weighed.perhaps) if each.id not in old]
            await shelf.keep(conn, services, principal, CHAT_MEMORIES, prepared, source=memory.source_type)
        added: dict[str, Any] = {}
        if known is not None and members.may_change(principal, workspace, known.user_id):
            known, added = await add_to(
                conn, services, principal, CHAT_MEMORIES, known, _beside(memory, known), type_name="category", usual=""
            )
        kept = known or prepared.memory
        old = {older.id: older for older in old.values() if older.superseded_by is None and older.id != kept.id}
        for older in old.values():
            await supersede(conn, services, principal, CHAT_MEMORIES, older, kept.id, memory.created_at)
    return Saved(
        memory=kept, existing=known is not None, superseded=tuple(old), may_supersede=tuple(dict.fromkeys(perhaps)),
        added=added,
    )  # fmt: skip


def _beside(memory: ChatMemory, known: ChatMemory) -> ChatMemory:
    """What a text that is known says besides: what it is called, where nobody called it anything, and where somebody
    kept it from. What was made of it stays as it is.
    """
    named = replace(memory, metadata={}, type="" if known.type else memory.type)
    return named if memory.source_type == "user" else replace(named, source_chat_id=None, source_message_id=None)


async def list_of_chat(services: Services, principal: Principal, chat_id: str) -> Sequence[ChatMemory]:
    """What was remembered from this chat, the newest first."""
    async with inside(services, principal, find_chat, chat_id) as (conn, (chat, _)):
        return await store.of_chat(conn, chat.id)


async def list_of_workspace(
    services: Services, principal: Principal, workspace_id: str, page: PageRequest, *, deleted: bool = False,
    superseded: bool = False,
) -> Page[ChatMemory]:  # fmt: skip
    """Those that hold, or also those that are superseded, the newest first; or what the caller can bring back out of
    the trash, what went there last first.
    """
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        if deleted:
            return await memories.trash(
                conn, store.SHAPE, [workspace.space], page, since=restorable_since(services.clock()),
                made_by=members.changeable(principal, workspace),
            )  # fmt: skip
        where = memories.LIVE if superseded else memories.HOLDS
        return await memories.page(conn, store.SHAPE, [workspace.space], page, where=where)


async def get(services: Services, principal: Principal, place: str, memory_id: str) -> ChatMemory:
    return await shelf.get(services, principal, CHAT_MEMORIES, _finder(principal, place, memory_id))


async def update(services: Services, principal: Principal, place: str, memory_id: str, *, content: str) -> ChatMemory:
    """Another text: found by what it says now. Category and origin stay; what it said is in its history. The same text
    is no change.
    """
    text = CHAT_MEMORIES.check_text(content)
    metadata = _origin(text, principal.user_id)
    return await _rewrite(services, principal, place, memory_id, content=text, metadata=metadata)


async def rerun_extraction(services: Services, principal: Principal, place: str, memory_id: str) -> ChatMemory:
    """Make summary and, where it was synthesised, content anew from what it was made from."""
    find = _finder(principal, place, memory_id, to_change=True)
    memory = await shelf.get(services, principal, CHAT_MEMORIES, find)
    again = memory.metadata.get("synthesized")
    content = await _essence(services, principal, memory.verbatim) if again else memory.content
    summary = await _summary(services, principal, content)
    return await _rewrite(
        services, principal, place, memory_id, content=content, metadata=memory.metadata, summary=summary
    )


async def delete(services: Services, principal: Principal, place: str, memory_id: str) -> None:
    """Into the trash, for 30 days."""
    await shelf.trash(services, principal, CHAT_MEMORIES, _finder(principal, place, memory_id, to_change=True))


async def restore(services: Services, principal: Principal, place: str, memory_id: str) -> ChatMemory:
    find = _finder(principal, place, memory_id, to_change=True)
    return await shelf.restore(services, principal, CHAT_MEMORIES, find)


async def revive(services: Services, principal: Principal, place: str, memory_id: str) -> ChatMemory:
    """What was superseded holds again, beside what had taken its place."""
    return await hold_again(
        services, principal, CHAT_MEMORIES, _finder(principal, place, memory_id, to_change=True)
    )  # fmt: skip


async def history(services: Services, principal: Principal, place: str, memory_id: str) -> Sequence[Version]:
    """Every version, the latest first; also of what is in the trash."""
    _, versions = await shelf.history(services, principal, _finder(principal, place, memory_id))
    return versions


async def list_extractions(
    services: Services, principal: Principal, workspace_id: str, page: PageRequest
) -> Page[Distillation]:
    """What was or is still to be read for memories in this workspace, the newest first."""
    async with workspaces.inside(services, principal, workspace_id) as (conn, workspace):
        rows = await distillations.page(conn, workspace.space, before=number_in(page), limit=page.limit + 1)
    return cut_page(rows, page, lambda row: (row.created_at, str(row.distillation)))


async def _rewrite(
    services: Services, principal: Principal, place: str, memory_id: str, *, content: str, metadata: dict[str, Any],
    summary: str | None = None,
) -> ChatMemory:  # fmt: skip
    def edit(memory: ChatMemory) -> ChatMemory:
        if summary is None and content == memory.content:
            return memory
        made = summary or (extract.summary(content) if memory.summary else None)
        return replace(memory, content=content, summary=made, metadata=metadata)

    find = _finder(principal, place, memory_id, to_change=True)
    return await shelf.change(services, principal, CHAT_MEMORIES, find, edit)


def _origin(content: str, worded_by: str | None) -> dict[str, Any]:
    """Whose words it is, where that is said; and whether it is a standing wish, to be found among many by that."""
    origin: dict[str, Any] = {} if worded_by is None else {"worded_by": worded_by}
    return origin | ({"standing": True} if standing_wish(content) else {})


async def _named(conn: Connection, principal: Principal, workspace: Workspace, memory_id: str) -> ChatMemory:
    """One that the caller wants superseded, and may."""
    memory = await memories.get(conn, store.SHAPE, memory_id)
    if memory is None or memory.space != workspace.space:
        raise CHAT_MEMORIES.not_found()
    members.require_change(principal, workspace, memory.user_id)
    return CHAT_MEMORIES.live(memory)


def _finder(principal: Principal, place: str, memory_id: str, *, to_change: bool = False) -> Finder[ChatMemory]:
    """A memory of this workspace or chat, whichever `place` is the id of; or for whoever may change it."""

    async def find(conn: Connection) -> Sequence[ChatMemory]:
        chat_id = None
        if place.startswith("chat_"):
            chat, workspace = await find_chat(conn, principal, place)
            chat_id = chat.id
        else:
            workspace = await workspaces.find(conn, principal, place)
        memory = await memories.get(conn, store.SHAPE, memory_id)
        if memory is None or memory.space != workspace.space or chat_id not in (None, memory.source_chat_id):
            raise CHAT_MEMORIES.not_found()
        if to_change:
            members.require_change(principal, workspace, memory.user_id)
        return [memory]

    return find


async def _essence(services: Services, principal: Principal, text: str) -> str:
    model = await metered(services, principal)
    if model is not None:
        return await extract.synthesize_by_model(model, text)
    return await services.offload.run(len(text), extract.synthesize, text)


async def _summary(services: Services, principal: Principal, text: str) -> str | None:
    """By the language model when there is one, else from the text."""
    model = await metered(services, principal)
    if model is not None:
        return await title_by_model(model, text)
    return extract.summary(text)
