"""The tools that a model is offered beside the client's own: to save, to recall, to look into the workspace. They run
here; what they give back is for the model to read.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keepstone.engine.quotation import one_line
from keepstone.engine.standing import asked_for
from keepstone.errors import KeepstoneError, Unavailable
from keepstone.memory.again import told_as
from keepstone.memory.chat_memories import NewMemory, save
from keepstone.memory.workspace_search import MOST_RECALLED, RECALL, TYPES, Type, WorkspaceResult, find, recall
from keepstone.model.chat import ChatMemory
from keepstone.model.memory import Recalled
from keepstone.model.principal import Principal
from keepstone.relay.calls import AnsweredCall, Tool
from keepstone.relay.turn import ModelTurn, calls_beside
from keepstone.services import Services
from keepstone.store.arrays import storable

SAVE, RECALL_TOOL, SEARCH = "x_save_memory", "x_recall_memory", "x_workspace_search"
_LONGEST = 1_200  # characters of one result: the rest can be asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """`memory_id` is what was saved, `known_id` what said the same already, `found` which memories were looked up, with
    their relevance. A failure is told to the model, which can do better.
    """

    text: str
    memory_id: str | None = None
    known_id: str | None = None
    found: Mapping[str, float] = field(default_factory=dict[str, float])
    failed: bool = False


def _paged(what: str, **more: dict[str, Any]) -> dict[str, Any]:
    fields = {
        "query": {"type": "string", "description": what},
        "offset": {"type": "integer", "minimum": 0, "description": "How many results to skip, to read on."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_RECALLED,
            "description": f"How many results at most; {RECALL} if not given.",
        },
    }
    return {"type": "object", "properties": {**fields, **more}, "required": ["query"]}


TOOLS: tuple[Tool, ...] = (
    Tool(
        name=SAVE,
        description=(
            "Remember something for later chats of this workspace: a lasting fact, preference, instruction or "
            "decision. One statement that can be understood alone, in the user's words where possible, such as "
            '"User prefers responses in bullet-point format". Not for small talk, not for what is already remembered.'
        ),
        parameters={
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "What to remember."},
                "category": {
                    "type": "string",
                    "description": "A short label: preference, fact, instruction, decision, or your own.",
                },
            },
            "required": ["content"],
        },
    ),
    Tool(
        name=RECALL_TOOL,
        description=(
            "Look up what was remembered in earlier chats of this workspace. Ask in natural language, such as "
            '"What formatting preferences does the user have?". Use it before saying that you do not know something '
            "about the user or their work."
        ),
        parameters=_paged("What you want to know."),
    ),
    Tool(
        name=SEARCH,
        description=(
            "Search everything in this workspace at once: memories, uploaded documents, artifacts, and messages of its "
            "other chats. Each result says what and where it is, such as a page of a document. Example: "
            '"termination clause of the lease".'
        ),
        parameters=_paged(
            "What you are looking for.",
            type={
                "type": "array",
                "items": {"type": "string", "enum": list(TYPES)},
                "description": "Only results of these kinds; all if not given.",
            },
        ),
    ),
)


async def run_tool(services: Services, principal: Principal, turn: ModelTurn, name: str, arguments: str) -> ToolResult:
    """Whatever a model sends: what is wrong with it is the result. Only a server out of order is an error."""
    try:
        given = _object(arguments)
        if name == SAVE:
            return await _save(services, principal, turn, given)
        if name == RECALL_TOOL:
            query, offset, limit = _asked(given)
            memories = await recall(services, principal, turn.workspace_id, query, offset=offset, limit=limit)
            found = {one.memory.id: round(one.relevance, 4) for one in memories}
            return ToolResult(text=recalled(memories, offset), found=found)
        if name == SEARCH:
            query, offset, limit = _asked(given)
            types = _types(given)
            results = await find(
                services, principal, turn.workspace_id, query, offset=offset, limit=limit, types=types,
                but_chat=turn.chat_id,
            )  # fmt: skip
            found = {one.id: round(one.relevance, 4) for one in results.items if one.type == "memory"}
            return ToolResult(text=searched(results.items, offset), found=found)
    except Unavailable:
        raise
    except (KeepstoneError, ValueError) as fault:
        message = fault.message if isinstance(fault, KeepstoneError) else str(fault)
        return ToolResult(text=f"Error: {message}", failed=True)
    return ToolResult(text=f"Error: there is no tool {name}.", failed=True)


async def kept_calls(
    services: Services, principal: Principal, turn: ModelTurn, client_calls: Sequence[str]
) -> dict[str, list[AnsweredCall]]:
    """Ours that stood beside these of the client's, by the client's call. What was found is looked up anew: meanwhile
    it may have been changed or deleted.
    """
    kept: dict[str, list[AnsweredCall]] = {}
    results: dict[str, str] = {}
    for call in await calls_beside(services, principal, turn, client_calls):
        if call.id not in results:
            if call.memory_id is not None:
                results[call.id] = _saved(call.memory_id, existing=False)
            elif call.name == SAVE:
                results[call.id] = "Nothing new was saved."
            else:
                results[call.id] = (await run_tool(services, principal, turn, call.name, call.arguments)).text
        kept.setdefault(call.client_call, []).append(
            AnsweredCall(
                id=call.id, name=call.name, arguments=call.arguments, result=results[call.id], memory_id=call.memory_id
            )
        )
    return kept


def recalled(memories: Sequence[Recalled[ChatMemory]], offset: int = 0) -> str:
    """Memories as a model reads them."""
    entries = [
        f"**{item.memory.id}** ({one_line(item.memory.category or 'uncategorized')}, score {item.relevance:.2f})\n"
        f"{_shown(item.memory.content)}"
        for item in memories
    ]
    return _numbered("# Recalled memories", entries, offset)


def searched(results: Sequence[WorkspaceResult], offset: int = 0) -> str:
    """What is in a workspace as a model reads it."""
    entries = [
        f"**{item.id}** ({item.type}{_where(item)}, score {item.relevance:.2f})\n{_shown(item.text)}"
        for item in results
    ]
    return _numbered("# Workspace search results", entries, offset)


def _numbered(title: str, entries: Sequence[str], offset: int) -> str:
    if not entries:
        return f"{title}\n\nNothing{' more' if offset else ''} was found."
    return "\n".join([title, *(f"{number}. {entry}" for number, entry in enumerate(entries, offset + 1))])


def _where(result: WorkspaceResult) -> str:
    if result.type == "memory":
        return f", {one_line(result.category)}" if result.category else ""
    place = result.place or {}
    if result.type == "message":
        return f' of the {place["role"]} in chat "{one_line(result.title or "")}", {place["said_at"][:10]}'
    parts = [f' "{one_line(result.title or "")}"']
    parts += [f"page {place['page']}"] if "page" in place else []
    parts += [f'under "{one_line(place["heading"])}"'] if "heading" in place else []
    return ",".join([parts[0], *(f" {part}" for part in parts[1:])])


def _shown(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]} …"


async def _save(services: Services, principal: Principal, turn: ModelTurn, given: dict[str, Any]) -> ToolResult:
    content, category = given.get("content"), given.get("category")
    if not isinstance(content, str) or not content.strip():
        raise ValueError("give `content`, a text to remember.")
    if category is not None and not isinstance(category, str):
        raise ValueError("`category` is a short text, or left out.")
    label = storable(category or "")[:255]
    new = NewMemory(
        content=storable(content), category=label if label.strip() else None, source_type="model",
        source_message_id=turn.message_id,
        worded_by=principal.user_id if asked_for(content, turn.said) else None,
    )  # fmt: skip
    saved = await save(services, principal, new, workspace_id=turn.workspace_id, chat_id=turn.chat_id)
    return ToolResult(
        text=_saved(saved.memory.id, existing=saved.existing) + told_as(saved.added),
        memory_id=saved.memory.id if not saved.existing else None,
        known_id=saved.memory.id if saved.existing else None,
    )


def _saved(memory_id: str, *, existing: bool) -> str:
    return f"Already remembered as {memory_id}." if existing else f"Saved as {memory_id}."


def _object(arguments: str) -> dict[str, Any]:
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        raise ValueError("the arguments are not JSON.") from None
    if not isinstance(given, dict):
        raise ValueError("the arguments have to be a JSON object.")  # noqa: TRY004
    return given  # pyright: ignore[reportUnknownVariableType]


def _asked(given: dict[str, Any]) -> tuple[str, int, int]:
    query = given.get("query")
    if not isinstance(query, str) or not query.strip():
        raise ValueError("give `query`, what you want to know.")
    return (
        storable(query),
        _whole(given, "offset", 0, 0, 10_000),
        _whole(given, "limit", RECALL, 1, MOST_RECALLED),
    )


def _types(given: dict[str, Any]) -> list[Type]:
    value = given.get("type")
    named: list[Any] = value if isinstance(value, list) else [] if value is None else [value]  # pyright: ignore[reportUnknownVariableType]
    known: list[Type] = [one for one in TYPES if one in named]
    if named and not known:
        raise ValueError(f"`type` is any of {', '.join(TYPES)}, or left out.")
    return known


def _whole(given: dict[str, Any], name: str, default: int, least: int, most: int) -> int:
    value = given.get(name, default)
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        value = int(value)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"`{name}` is a number.")
    return max(least, min(most, int(value)))
