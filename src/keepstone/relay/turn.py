"""One turn of a conversation with a model: what is remembered is put before it, what was said is kept where there is a
chat, and what its tools did is read for more afterwards.

A turn begins with what the user says and goes on while the client brings results of its own tools: the same memories
stand before the model all the while. What is wished of every answer is followed only in a person's own words: what
others, models or documents say is data. Without a chat nothing is kept but what a tool saves. What was injected is
marked, and is never kept as something said.
"""

import asyncio
import json
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal
from zoneinfo import ZoneInfo

from keepstone.access.meter import tokens_left
from keepstone.access.readscope import account_scope, inside, space_scope
from keepstone.engine import lookup, traced
from keepstone.engine.dates import zone_named
from keepstone.engine.gathered import SearchPlace
from keepstone.engine.injection import InjectionCandidate, choose, in_doubt, put
from keepstone.engine.quotation import own_words
from keepstone.engine.standing import standing_wish
from keepstone.errors import Malformed
from keepstone.memory import chat_index, workspaces
from keepstone.memory.branches import Instead
from keepstone.memory.chats import find_chat, hold_chat
from keepstone.memory.workspace_search import KnownMemories, MayMatter, known_memories, may_matter
from keepstone.model.chat import LARGEST, ChatMemory, ChatMessage
from keepstone.model.ids import new_id
from keepstone.model.memory import Recalled
from keepstone.model.principal import Principal, ReadScope
from keepstone.model.workspace import Workspace
from keepstone.observe.logs import describe
from keepstone.relay.calls import AnsweredCall
from keepstone.relay.turn_traces import injection_described
from keepstone.services import Services
from keepstone.store import branches, candidates, chat_memories, distillations, tool_calls
from keepstone.store import chats as store
from keepstone.store.db import Connection

log = logging.getLogger(__name__)

# Who broke an answer off: the model or what it runs on, a client that went, or somebody on the dashboard.
BrokenBy = Literal["model", "client", "stopped"]

_INJECTED = "injected"  # what stood before the model when it called a client's tool, kept beside that call
_LONGEST_CALL_ID = 255  # characters: a model's own, and longer ones are no key to be looked up by


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """`said` is what the user said, and `context` what is put before the model, quoted and marked; empty when nothing
    is relevant enough. `message_id` is what the user said, kept; None without a chat, or while a turn goes on.
    `tokens_left` is what models may still read and write this month; None for any number. `keeping` ends when what the
    user said is stored, and raises what kept it from that: before, no word of an answer may leave. `trace_id` is the
    trace of what was injected, where traces are kept. `instead` is what this turn is to stand in the place of.
    """

    workspace_id: str
    chat_id: str | None
    said: str = ""
    message_id: str | None = None
    injected: tuple[Recalled[ChatMemory], ...] = ()
    context: str = ""
    mode: str = "chat"
    tokens_left: int | None = None
    keeping: "asyncio.Task[None] | None" = None
    trace_id: str | None = None
    instead: Instead | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _TurnPlace(SearchPlace):
    """A workspace in which something is said, and the message as it is kept, if it is a chat. `injected` are the
    memories that stood before the model earlier in the turn with their relevance, None where that is not known; `known`
    is None where none are asked for.
    """

    workspace: Workspace
    message: ChatMessage | None
    zone: ZoneInfo
    tokens_left: int | None
    injected: dict[str, float] | None = None
    known: KnownMemories | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """What a turn is opened with. A turn that goes on brings results of the client's calls, `results_of`: then nothing
    new is said.
    """

    workspace_id: str | None
    chat_id: str | None
    said: str
    inject: bool
    results_of: Sequence[str] | None
    instead: Instead | None = None

    @property
    def asked_before(self) -> ChatMessage | None:
        """What is kept already, and answered anew."""
        return self.instead.question if self.instead else None

    @property
    def goes_on(self) -> bool:
        return self.results_of is not None

    @property
    def to_keep(self) -> str:
        return "" if self.goes_on or self.chat_id is None or self.asked_before else self.said


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
    results_of: Sequence[str] | None = None,
    stored: bool = True,
    instead: Instead | None = None,
) -> ModelTurn:
    """Before the model is asked. What the user said is kept, so that nothing is lost when the model is away; said again
    after that, or after an answer that broke off, it is not kept twice. `but` are memories that the user does not want
    to see injected. A turn that goes on brings results of these calls of the client's: then nothing new is said. Unless
    it is to be `stored` when this returns, whoever opens the turn waits for `keeping`, and may ask the model meanwhile.
    `instead` of a question, what is said begins another branch; of an answer, nothing new is said.
    """
    opening = _Opening(
        workspace_id=workspace_id, chat_id=chat_id, said=said, inject=inject, results_of=results_of, instead=instead
    )
    placed: asyncio.Future[_TurnPlace] = asyncio.get_running_loop().create_future()
    keeping = asyncio.create_task(_keep_said(services, principal, opening, placed), name="keep what was said")
    try:
        turn = await _prepared(services, principal, opening, _first_of(placed, keeping), but)
        if stored or not opening.to_keep:
            await keeping
    except BaseException as fault:
        await settle(keeping, fault)
        raise
    return replace(turn, mode=mode, keeping=None if keeping.done() else keeping, instead=instead)


async def settle(keeping: "asyncio.Task[None]", fault: BaseException) -> None:
    """After a fault what was said is kept all the same, unless nobody waits for it any more."""
    if isinstance(fault, asyncio.CancelledError):
        keeping.cancel()
    await asyncio.wait({keeping})
    own_fault = None if keeping.cancelled() else keeping.exception()
    if own_fault is not None and own_fault is not fault:
        log.warning("message not kept", extra=describe(own_fault))


async def _first_of(placed: "asyncio.Future[_TurnPlace]", keeping: "asyncio.Task[None]") -> _TurnPlace:
    await asyncio.wait({placed, keeping}, return_when=asyncio.FIRST_COMPLETED)
    if not placed.done():
        keeping.result()  # raises why there is no such place
    return placed.result()


async def _prepared(
    services: Services, principal: Principal, opening: _Opening, survey: Coroutine[Any, Any, _TurnPlace],
    but: Sequence[str],
) -> ModelTurn:  # fmt: skip
    """What is put before the model."""
    own = own_words(opening.said).strip()
    trace = traced.begin(services, principal, "injection", own, max_tokens=services.settings.inject_tokens)
    asked: lookup.AskedOf[_TurnPlace] | None = None
    question = lookup.question(own, asked_at=services.clock(), zone=principal.timezone)
    if opening.inject and own and not opening.goes_on:
        asked = await lookup.ask(services, question, survey)
    place = await survey if asked is None else asked.place
    trace.asked_of(place.scope, question=asked.question if asked is not None else None)
    trace.step("look up")
    found: MayMatter | None = None
    few = True
    given: list[InjectionCandidate] = []
    memories: list[Recalled[ChatMemory]] = []
    wishes: list[int] = []
    recalled: list[int] = []
    if opening.inject and place.injected is not None:
        memories = await _still_there(services, place.scope, place.injected)
        given = [_candidate(principal, item) for item in memories]
        wishes = [number for number, candidate in enumerate(given) if candidate.wish is not None]
        recalled = [number for number, candidate in enumerate(given) if candidate.wish is None]
    elif place.known is not None:
        if asked is None and own:
            asked = await lookup.ask(services, question, _there(place))
        few, found = place.known.few, await may_matter(services, place.known, asked)
        memories = [item for item in found.holding if item.memory.id not in but]
        trace.step("search")
        # Of many, wishes are known by the mark that they were kept with; to read each of them would take time.
        given = [_candidate(principal, item, read=few or "standing" in item.memory.metadata) for item in memories]
        given = await _judged(services, own, given, few=few)
        trace.step("judge")
        wishes, recalled = choose(own, given, floor=services.settings.inject_relevance, few=few)
    block = put(given, wishes, recalled, max_tokens=services.settings.inject_tokens, zone=place.zone)
    trace.step("pack")
    if opening.inject and (own or opening.goes_on):
        trace.question_id = place.message.id if place.message else None
        chosen = {*wishes, *recalled}
        trace.end(partial(injection_described, services, own, found, memories, given, chosen, block, few=few))
    else:
        trace.id = None  # nothing was looked for
    return ModelTurn(
        trace_id=trace.id,
        workspace_id=place.workspace.id,
        chat_id=opening.chat_id,
        said=opening.said,
        message_id=place.message.id if place.message else None,
        injected=(
            *(replace(memories[number], relevance=1.0) for number in block.wishes),
            *(replace(memories[number], relevance=round(given[number].worth, 4)) for number in block.recalled),
        ),
        context=block.text,
        tokens_left=place.tokens_left,
    )


def _candidate(principal: Principal, item: Recalled[ChatMemory], *, read: bool = True) -> InjectionCandidate:
    """A memory as it may stand before the model; only what is in the user's own words is followed as their wish."""
    memory = item.memory
    wish = standing_wish(memory.content) if read and _is_own(principal, memory) else None
    return InjectionCandidate(
        text=memory.content, at=memory.updated_at, category=memory.category, relevance=item.relevance, wish=wish
    )


async def _judged(
    services: Services, said: str, given: list[InjectionCandidate], *, few: bool
) -> list[InjectionCandidate]:
    """With what a judge thinks of those in doubt, where there is one and something is said."""
    places = in_doubt(said, given, few=few) if services.judge is not None and said else []
    if services.judge is None or not places:
        return given
    wanted = await services.judge.wanted(said, [given[place].text for place in places])
    judged = {place: replace(given[place], wanted=chance) for place, chance in zip(places, wanted, strict=True)}
    return [judged.get(place, candidate) for place, candidate in enumerate(given)]


def _is_own(principal: Principal, memory: ChatMemory) -> bool:
    """Whether they have kept it themselves, in their own words."""
    return principal.user_id is not None and principal.user_id == memory.user_id == memory.worded_by


async def _there(place: _TurnPlace) -> _TurnPlace:
    return place


async def _still_there(
    services: Services, scope: ReadScope, injected: Mapping[str, float]
) -> list[Recalled[ChatMemory]]:
    """What stood before the model, without what was deleted since."""
    async with services.db.transaction(scope) as conn:
        there = await chat_memories.by_ids(conn, list(injected))
    return [Recalled(memory=there[name], relevance=score) for name, score in injected.items() if name in there]


async def _keep_said(
    services: Services, principal: Principal, opening: _Opening, placed: "asyncio.Future[_TurnPlace]"
) -> None:
    """Find where the turn takes place, and how much is remembered there, which is told as soon as it is `placed`; then
    keep what the user said, if it is a chat. All in one transaction.
    """
    async with services.db.transaction(account_scope(principal)) as conn:
        chat_id, said = opening.chat_id, opening.to_keep
        last: ChatMessage | None = None
        if chat_id is None:
            workspace = await workspaces.find(conn, principal, opening.workspace_id)
        else:
            if said or opening.asked_before:  # held, so that nothing is said where the chat no longer is
                chat, workspace = await hold_chat(conn, principal, chat_id, needs="member")
            else:
                chat, workspace = await find_chat(conn, principal, chat_id)
            if opening.workspace_id not in {None, chat.workspace_id}:
                raise Malformed(
                    "This chat is in another workspace: name that one or none, or move the chat.",
                    fields={"workspace_id": "not the chat's"},
                )
            if said or opening.asked_before:
                _require_room(services, said)
            if said and opening.instead is None:
                last = await store.last_message(conn, chat_id, but_broken=True)
        # Said again, since it got no answer, or none to its end.
        again = last is not None and (last.role, last.content, last.user_id) == ("user", said, principal.user_id)
        message = last if again or not said else _new_message(services, principal, said)
        message = opening.asked_before or message
        injected = await _injected_before(conn, workspace.space, (opening.results_of or ()) if opening.inject else ())
        wanted = opening.inject and injected is None and bool(opening.said or opening.goes_on)
        placed.set_result(
            _TurnPlace(
                scope=space_scope(principal, workspace.space), size=await candidates.survey(conn, [workspace.space]),
                workspace=workspace, message=message, zone=zone_named(principal.timezone),
                tokens_left=await tokens_left(services, conn), injected=injected,
                known=await known_memories(conn, workspace) if wanted else None,
            )
        )  # fmt: skip
        if chat_id is not None and message is not None and said and not again:
            if opening.instead is not None:
                message = replace(message, follows=await branches.leave(conn, chat_id, opening.instead.message))
            await store.say(conn, workspace.space, chat_id, message, speaker="user")


async def _injected_before(conn: Connection, space: int, client_calls: Sequence[str]) -> dict[str, float] | None:
    """The memories that stood before the model when it made the last of these calls."""
    if not client_calls:
        return None
    beside = await tool_calls.beside(conn, space, client_calls)
    kept = {call.client_call: call for call in beside if call.name == _INJECTED}
    latest = next((kept[name] for name in reversed(client_calls) if name in kept), None)
    return None if latest is None else json.loads(latest.arguments)


async def close_turn(
    services: Services,
    principal: Principal,
    turn: ModelTurn,
    *,
    reply: str,
    model: str | None,
    tools: Sequence[str],
    broken_by: BrokenBy | None = None,
    notes: Mapping[str, Any] | None = None,
) -> str | None:
    """After the model has answered, or broke off: then what it had said is kept with a mark, and what its tools did is
    read all the same. `notes` are kept with it. Returns the id of the reply, where there is a chat to keep it in.
    """
    if turn.chat_id is None:
        return None
    reply_id: str | None = None
    async with inside(services, principal, hold_chat, turn.chat_id, needs="member") as (conn, (_, workspace)):
        if reply:
            metadata = {"tools": list(tools)} if tools else {}
            metadata |= {"injected": [recalled.memory.id for recalled in turn.injected]} if turn.injected else {}
            metadata |= {"mode": turn.mode} if turn.mode != "chat" else {}
            metadata |= {"trace_id": turn.trace_id} if turn.trace_id is not None else {}
            metadata |= {"incomplete": broken_by} if broken_by else {}
            follows, aside = await _place_of_reply(conn, turn, turn.chat_id)
            message = ChatMessage(
                id=new_id("msg"), seq=0, role="assistant", content=reply, user_id=None, model=model,
                created_at=services.clock(), metadata=metadata | dict(notes or {}), follows=follows, aside=aside,
            )  # fmt: skip
            await store.say(
                conn, workspace.space, turn.chat_id, message, speaker="assistant", sent_by=principal.user_id
            )
            reply_id = message.id
        await chat_index.schedule(conn, services, principal.account, workspace.space, turn.chat_id)
        last = turn.message_id or await store.last_said(conn, turn.chat_id)
        if tools and last is not None:
            await schedule_distillation(conn, services, principal, workspace.space, "tool", turn.chat_id, last)
    return reply_id


async def _place_of_reply(conn: Connection, turn: ModelTurn, chat_id: str) -> tuple[str | None, bool]:
    """What it follows, if that is not the end of the branch that is gone on with, and whether it stands aside: it does
    with its question, when that was worded anew meanwhile. An answer that it takes the place of is left.
    """
    question = await store.message(conn, chat_id, turn.message_id) if turn.message_id else None
    if question is not None and question.aside:
        return question.id, True
    if turn.instead is not None and turn.instead.question is not None:
        return await branches.leave(conn, chat_id, turn.instead.message), False
    return None, False


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
    await _keep_beside(services, principal, turn, client_calls, own)


async def keep_injected(services: Services, principal: Principal, turn: ModelTurn, client_calls: Sequence[str]) -> None:
    """What stands before the model, so that it does when the client comes back."""
    stood = json.dumps({recalled.memory.id: recalled.relevance for recalled in turn.injected})
    note = AnsweredCall(id=_INJECTED, name=_INJECTED, arguments=stood, result="")
    if turn.injected:
        await _keep_beside(services, principal, turn, client_calls, [note])


async def _keep_beside(
    services: Services, principal: Principal, turn: ModelTurn, client_calls: Sequence[str], own: Sequence[AnsweredCall]
) -> None:
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
        calls = await tool_calls.beside(conn, workspace.space, client_calls)
    return [call for call in calls if call.name != _INJECTED]


def _require_room(services: Services, said: str) -> None:
    services.disk.require_room()
    if len(said.encode()) > LARGEST:
        message = "has more than 256 KB: upload long texts as files"
        raise Malformed(f"The message {message}.", fields={"content": message})


def _new_message(services: Services, principal: Principal, said: str) -> ChatMessage:
    return ChatMessage(
        id=new_id("msg"), seq=0, role="user", content=said, user_id=principal.user_id, model=None,
        created_at=services.clock(),
    )  # fmt: skip
