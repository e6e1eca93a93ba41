"""Chats: made in a workspace, named, moved to another, put in the trash and brought back; and what was said in them."""

from collections.abc import Sequence

from keepstone.access.audit import record
from keepstone.access.readscope import account_scope, inside, space_scope
from keepstone.access.require import require_user
from keepstone.errors import Malformed, NotFound
from keepstone.memory import chat_index, members, shelf, workspaces
from keepstone.memory.kinds import Kind
from keepstone.model.chat import Chat, ChatKind, ChatMessage, ChatOrder
from keepstone.model.ids import new_id
from keepstone.model.memory import restorable, restorable_since
from keepstone.model.page import Page, PageRequest, cut_page, number_in
from keepstone.model.principal import Principal
from keepstone.model.workspace import Role, Workspace
from keepstone.services import Services
from keepstone.store import branches, chat_memories, distillations, spaces
from keepstone.store import chats as store
from keepstone.store.db import Connection, enter

CHAT_MEMORIES = Kind(
    shape=chat_memories.SHAPE, noun="memory", prefix="mem", missing="There is no such memory here.",
    indexed=lambda memory: [memory.content] if memory.superseded_by is None else [],
)  # fmt: skip


async def create(
    services: Services, principal: Principal, *, title: str, workspace_id: str | None, kind: ChatKind = "chat",
    beside: str | None = None,
) -> Chat:  # fmt: skip
    """In this workspace; without one in the caller's default workspace. The second chat of a quorum is `beside` the
    first.
    """
    user_id = require_user(principal)
    now = services.clock()
    async with workspaces.inside(services, principal, workspace_id, needs="member") as (conn, workspace):
        if beside is not None and (kind != "quorum" or not await _is_first(conn, workspace, beside)):
            raise Malformed(
                "`beside` is the first chat of a quorum, in the same workspace.", fields={"beside": "not such a chat"}
            )
        chat = Chat(
            id=new_id("chat"), title=title, workspace_id=workspace.id, created_by=user_id, created_at=now,
            updated_at=now, deleted_at=None, kind=kind, beside=beside,
        )  # fmt: skip
        await store.insert(conn, workspace.space, chat)
        await record(conn, principal, "chat.create", chat.id)
    return chat


async def _is_first(conn: Connection, workspace: Workspace, chat_id: str) -> bool:
    chat = await store.get(conn, chat_id)
    if chat is None or chat.workspace_id != workspace.id or chat.deleted_at is not None:
        return False
    return chat.kind == "quorum" and chat.beside is None


async def list_chats(
    services: Services, principal: Principal, page: PageRequest, *, workspace_id: str | None, deleted: bool = False,
    kind: ChatKind | None = None, order: ChatOrder = "created", q: str = "",
) -> Page[Chat]:  # fmt: skip
    """Of this workspace, or of all that the caller is in; the newest first, or by their last activity. Or what the
    caller can bring back there. `q` is part of their titles.
    """
    async with services.db.transaction(account_scope(principal)) as conn:
        if workspace_id is None:
            places = list((await workspaces.all_of(conn, principal)).values())
        else:
            places = [await workspaces.find(conn, principal, workspace_id)]
        if not deleted:
            spaces_of = [workspace.space for workspace in places]
            return await store.page(conn, spaces_of, page, kind=kind, order=order, titled=q.strip())
        user_id = str(principal.user_id)
        whole = [place.space for place in places if members.may_change(principal, place, None)]
        own = [place.space for place in places if members.may_change(principal, place, user_id)]
        return await store.trash(conn, whole, own, user_id, page, since=restorable_since(services.clock()))


async def get(services: Services, principal: Principal, chat_id: str) -> Chat:
    async with inside(services, principal, find_chat, chat_id) as (_, (chat, _)):
        return chat


async def change(
    services: Services, principal: Principal, chat_id: str, *, title: str | None = None, branch: str | None = None,
    **elsewhere: str | None,
) -> Chat:  # fmt: skip
    """Another title; with `workspace_id`, even if that is None, another workspace; and the branch on which a message is
    is read and gone on with. All or nothing.
    """
    async with inside(services, principal, hold_chat, chat_id) as (conn, (chat, workspace)):
        if branch is None or title is not None or elsewhere:
            members.require_change(principal, workspace, chat.created_by)
        if branch is not None:
            members.require_role(workspace, "member")
            await find_message(conn, chat_id, branch)
            await branches.choose(conn, chat_id, path_through(await branches.links(conn, chat_id), branch))
            await record(conn, principal, "chat.branch", chat_id, message=branch)
        if title is not None:
            await store.update(conn, chat_id, title=title, named_by=principal.user_id)
            await record(conn, principal, "chat.rename", chat_id)
        if "workspace_id" in elsewhere:
            await _assign(conn, services, principal, chat, workspace, elsewhere["workspace_id"])
        return (await find_chat(conn, principal, chat_id))[0]


async def _assign(
    conn: Connection,
    services: Services,
    principal: Principal,
    chat: Chat,
    before: Workspace,
    workspace_id: str | None,
) -> None:
    """Move it, with what was said and remembered in it, to another workspace; without one, to the default workspace.
    Whoever is there sees it from now on, and whoever is not no longer does: so it is for who began it, or an owner of
    the workspace that loses it.
    """
    after = await workspaces.find(conn, principal, workspace_id, needs="member")
    if after.space == before.space:
        return
    await enter(conn, space_scope(principal, before.space, before.talk, after.space))
    if chat.created_by != principal.user_id:
        members.require_role(before, "owner")
    elif await store.others_in(conn, chat.id, str(principal.user_id)):
        members.require_role(before, "editor")  # it takes along what is not theirs
    await spaces.lock(conn, [before.space, before.talk, after.space])
    await chat_index.forget_chat(conn, before.talk, chat.id)
    await store.move(conn, chat.id, after.space)
    await chat_index.schedule(conn, services, principal.account, after.space, chat.id)
    moved = await chat_memories.of_chat(conn, chat.id, any_state=True)
    await shelf.move(conn, services, principal, CHAT_MEMORIES, moved, after.space)
    for number in await distillations.waiting(conn, chat.id):  # the job that is on its way looks in the old place
        await services.queue.add(conn, "distil", account=principal.account, space=after.space, distillation=number)
    await record(conn, principal, "chat.assign", chat.id, workspace=after.id)


async def delete(services: Services, principal: Principal, chat_id: str) -> None:
    """Into the trash, for 30 days. What was remembered from it stays the workspace's."""
    async with inside(services, principal, hold_chat, chat_id) as (conn, (chat, workspace)):
        members.require_change(principal, workspace, chat.created_by)
        await chat_index.forget_chat(conn, workspace.talk, chat_id)
        await store.update(conn, chat_id, deleted_at=services.clock())
        await record(conn, principal, "chat.delete", chat_id)


async def restore(services: Services, principal: Principal, chat_id: str) -> Chat:
    """Back out of the trash."""
    async with inside(services, principal, find_chat, chat_id, deleted=True) as (conn, (chat, workspace)):
        if not restorable(chat.deleted_at, services.clock()):
            raise _not_found()
        members.require_change(principal, workspace, chat.created_by)
        await store.update(conn, chat_id, deleted_at=None)
        await chat_index.schedule(conn, services, principal.account, workspace.space, chat_id)
        await record(conn, principal, "chat.restore", chat_id)
        return (await find_chat(conn, principal, chat_id))[0]


async def list_messages(services: Services, principal: Principal, chat_id: str, page: PageRequest) -> Page[ChatMessage]:
    """Those of the branch that is gone on with, in the order in which they were said."""
    async with services.db.transaction(account_scope(principal)) as conn:
        await find_chat(conn, principal, chat_id)
        said = await store.messages(conn, chat_id, beyond=number_in(page) or 0, limit=page.limit + 1)
        messages = await branches.with_siblings(conn, chat_id, said)
    return cut_page(messages, page, lambda message: (message.created_at, str(message.seq)))


# ------------------------------------------------------------------------------------ what other operations share


async def find_chat(
    conn: Connection, principal: Principal, chat_id: str, *, needs: Role = "viewer", deleted: bool = False
) -> tuple[Chat, Workspace]:
    """The chat and its workspace, if the caller is in it. From here on the transaction reaches what is in that."""
    places = await workspaces.all_of(conn, principal)
    chat = await store.get(conn, chat_id)
    if chat is None or (chat.deleted_at is not None) != deleted or chat.workspace_id not in places:
        raise _not_found()
    workspace = places[chat.workspace_id]
    members.require_role(workspace, needs)
    await enter(conn, workspaces.scope_of(principal, workspace))
    return chat, workspace


async def hold_chat(
    conn: Connection, principal: Principal, chat_id: str, *, needs: Role = "viewer"
) -> tuple[Chat, Workspace]:
    """The same; and until the transaction ends it stays where it is, and nobody else says anything in it."""
    while True:
        chat_and_workspace = await find_chat(conn, principal, chat_id, needs=needs)
        if await store.hold(conn, chat_id):
            return chat_and_workspace  # else it was moved meanwhile


async def find_message(conn: Connection, chat_id: str, message_id: str) -> ChatMessage:
    message = await store.message(conn, chat_id, message_id)
    if message is None:
        raise NotFound("There is no such message in this chat.")
    return message


def path_through(links: Sequence[tuple[str, str | None]], message_id: str) -> set[str]:
    """The branch on which this message is: all before it, and after it whatever was said last each time."""
    before = dict(links)
    after = {follows: name for name, follows in links if follows is not None}  # the last of each stays
    path: set[str] = set()
    place: str | None = message_id
    while place in before and place not in path:
        path.add(place)
        place = before[place]
    place = after.get(message_id)
    while place is not None and place not in path:
        path.add(place)
        place = after.get(place)
    return path


def _not_found() -> NotFound:
    return NotFound("There is no such chat.")
