"""One turn of a conversation with a model: what is remembered is put before it, what was said is kept where there is a
chat, and what its tools did is read for more afterwards.

Without a chat nothing is kept but what a tool saves. What was injected is marked, and is never kept as something said.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstone.access.readscope import account_scope, inside, space_scope
from keepstone.engine import lookup
from keepstone.engine.gather import SearchPlace
from keepstone.engine.pack import remembered
from keepstone.engine.quotation import own_words
from keepstone.errors import Malformed
from keepstone.memory import workspaces
from keepstone.memory.chats import find_chat, hold_chat
from keepstone.memory.workspace_search import recall_asked
from keepstone.model.chat import LARGEST, ChatMemory, ChatMessage
from keepstone.model.ids import new_id
from keepstone.model.memory import Recalled
from keepstone.model.principal import Principal
from keepstone.model.workspace import Workspace
from keepstone.relay.calls import AnsweredCall
from keepstone.services import Services
from keepstone.store import candidates, distillations, tool_calls
from keepstone.store import chats as store
from keepstone.store.db import Connection

MOST_INJECTED = 8
_LONGEST_CALL_ID = 255  # characters: a model's own, and longer ones are no key to be looked up by


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """`context` is what is put before the model, quoted and marked; empty when nothing is relevant enough.
    `message_id` is what the user said, kept; None without a chat, or while a turn goes on.
    """

    workspace_id: str
    chat_id: str | None
    message_id: str | None = None
    injected: tuple[Recalled[ChatMemory], ...] = ()
    context: str = ""
    mode: str = "chat"


@dataclass(frozen=True, slots=True, kw_only=True)
class _TurnPlace(SearchPlace):
    """A workspace in which something is said, and the message as it was kept, if it is a chat."""

    workspace: Workspace
    message: ChatMessage | None


async def open_turn(
    services: Services,
    principal: Principal,
    *,
    workspace_id: str | None,
    chat_id: str | None,
    said: str,
    inject: bool = True,
    but: Sequence[str] = (),
    mode: str = "chat",
) -> ModelTurn:
    """Before the model is asked. What the user said is kept first, so that nothing is lost when the model is away; said
    again after that, it is not kept twice. `but` are memories that the user does not want to see injected.
    """
    survey = _place(services, principal, workspace_id, chat_id, said)
    memories: list[Recalled[ChatMemory]] = []
    if said and inject:
        question = lookup.question(own_words(said), asked_at=services.clock())
        asked = await lookup.ask(services, question, survey)
        place = asked.place
        memories = await recall_asked(
            services, asked, limit=MOST_INJECTED + len(but), floor=services.settings.inject_relevance
        )
    else:
        place = await survey
    memories = [recalled for recalled in memories if recalled.memory.id not in but][:MOST_INJECTED]
    context, kept = remembered(
        [(recalled.memory.created_at, recalled.memory.category, recalled.memory.content) for recalled in memories],
        max_tokens=services.settings.inject_tokens,
    )
    return ModelTurn(
        workspace_id=place.workspace.id,
        chat_id=chat_id,
        message_id=place.message.id if place.message else None,
        injected=tuple(memories[number] for number in kept),
        context=context,
        mode=mode,
    )


async def _place(
    services: Services, principal: Principal, workspace_id: str | None, chat_id: str | None, said: str
) -> _TurnPlace:
    """Where the turn takes place, and how much is remembered there; with what the user said, kept, if it is a chat."""
    async with services.db.transaction(account_scope(principal)) as conn:
        message: ChatMessage | None = None
        if chat_id is None:
            workspace = await workspaces.find(conn, principal, workspace_id)
        else:
            if said:  # held, so that nothing is said where the chat no longer is
                chat, workspace = await hold_chat(conn, principal, chat_id, needs="member")
            else:
                chat, workspace = await find_chat(conn, principal, chat_id)
            if workspace_id not in {None, chat.workspace_id}:
                raise Malformed(
                    "This chat is in another workspace: name that one or none, or move the chat.",
                    fields={"workspace_id": "not the chat's"},
                )
            message = await _say(conn, services, principal, workspace.space, chat_id, said) if said else None
        return _TurnPlace(
            scope=space_scope(principal, workspace.space), size=await candidates.survey(conn, [workspace.space]),
            workspace=workspace, message=message,
        )  # fmt: skip


async def close_turn(
    services: Services,
    principal: Principal,
    turn: ModelTurn,
    *,
    reply: str,
    model: str | None,
    tools: Sequence[str],
) -> str | None:
    """After the model has answered. Returns the id of the reply, where there is a chat to keep it in."""
    if turn.chat_id is None:
        return None
    reply_id: str | None = None
    async with inside(services, principal, hold_chat, turn.chat_id, needs="member") as (conn, (_, workspace)):
        if reply:
            metadata = {"tools": list(tools)} if tools else {}
            metadata |= {"injected": [recalled.memory.id for recalled in turn.injected]} if turn.injected else {}
            metadata |= {"mode": turn.mode} if turn.mode != "chat" else {}
            message = ChatMessage(
                id=new_id("msg"), seq=0, role="assistant", content=reply, user_id=None, model=model,
                created_at=services.clock(), metadata=metadata,
            )  # fmt: skip
            await store.say(
                conn, workspace.space, turn.chat_id, message, speaker="assistant", sent_by=principal.user_id
            )
            reply_id = message.id
        last = turn.message_id or await store.last_said(conn, turn.chat_id)
        if tools and last is not None:
            await schedule_distillation(conn, services, principal, workspace.space, "tool", turn.chat_id, last)
    return reply_id


async def schedule_distillation(
    conn: Connection,
    services: Services,
    principal: Principal,
    space: int,
    kind: str,
    chat_id: str,
    source_id: str,
    *,
    in_seconds: int | None = None,
) -> int | None:
    """Let a job read this for memories. The same is read once; then None is returned."""
    number = await distillations.insert(
        conn, space, kind=kind, chat_id=chat_id, source_id=source_id, user_id=principal.user_id
    )
    if number is not None:
        await services.queue.add(
            conn, "distil", account=principal.account, in_seconds=in_seconds, space=space, distillation=number
        )
    return number


async def keep_calls(
    services: Services, principal: Principal, turn: ModelTurn, client_calls: Sequence[str], own: Sequence[AnsweredCall]
) -> None:
    """Ours that stood beside the client's, until it comes back with its results."""
    kept = [
        tool_calls.ToolCall(
            client_call=client_call, id=call.id, position=position, name=call.name, arguments=call.arguments,
            memory_id=call.memory_id,
        )
        for client_call in client_calls
        for position, call in enumerate(own)
        if max(len(client_call), len(call.id)) <= _LONGEST_CALL_ID
    ]  # fmt: skip
    async with workspaces.inside(services, principal, turn.workspace_id) as (conn, workspace):
        await tool_calls.insert(conn, workspace.space, kept, principal.user_id)


async def calls_beside(
    services: Services, principal: Principal, turn: ModelTurn, client_calls: Sequence[str]
) -> list[tool_calls.ToolCall]:
    """Ours that stood beside these."""
    async with workspaces.inside(services, principal, turn.workspace_id) as (conn, workspace):
        return await tool_calls.beside(conn, workspace.space, client_calls)


async def _say(
    conn: Connection, services: Services, principal: Principal, space: int, chat_id: str, said: str
) -> ChatMessage:
    """The chat is held."""
    services.disk.require_room()
    if len(said.encode()) > LARGEST:
        message = "has more than 256 KB: upload long texts as files"
        raise Malformed(f"The message {message}.", fields={"content": message})
    last = await store.last_message(conn, chat_id)
    if last is not None and last.role == "user" and last.content == said and last.user_id == principal.user_id:
        return last  # never answered: sent again
    message = ChatMessage(
        id=new_id("msg"), seq=0, role="user", content=said, user_id=principal.user_id, model=None,
        created_at=services.clock(),
    )  # fmt: skip
    await store.say(conn, space, chat_id, message, speaker="user")
    return message
