"""How a call of a tool is answered, whatever it does: text for the model, the same as data for a program, and of what
goes wrong what to do about it.

Nothing heavy is imported here: `keepstone mcp` uses it too.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from keepstone.errors import KeepstoneError, Malformed
from keepstone.observe.logs import describe

log = logging.getLogger(__name__)

_TRY_AGAIN = "Try once more; if it fails again, tell the user."
ERROR: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    "required": ["code", "message"],
}


@dataclass(frozen=True, slots=True)
class Offer:
    """What an address offers: what it says of itself, and its tools, by their names, as they go over the wire."""

    instructions: str
    tools: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ToolRefusal:
    """The name of an error, and what to do about it beyond what its message says."""

    code: str
    advice: str = ""


def offer(instructions: str, tools: Sequence[Mapping[str, Any]]) -> Offer:
    return Offer(instructions, {tool["name"]: tool for tool in tools})


def together(*offers: Offer) -> Offer:
    """All of them in one place, for whoever has only one."""
    tools = {name: tool for one in offers for name, tool in one.tools.items()}
    return Offer("\n\n".join(one.instructions for one in offers), tools)


def result(text: str, structured: Mapping[str, Any]) -> dict[str, Any]:
    """What a call gives, as it goes over the wire."""
    return {"content": [{"type": "text", "text": text}], "structuredContent": dict(structured), "isError": False}


def failure(code: str, message: str, advice: str = "", **more: Any) -> dict[str, Any]:
    """A call that went wrong: the model reads what to do, a program reads the code."""
    error = {"code": code, "message": message, **{name: value for name, value in more.items() if value is not None}}
    return {**result(f"{message} {advice}".strip(), {"error": error}), "isError": True}


async def answered(
    work: Awaitable[dict[str, Any]], refuse: Callable[[KeepstoneError], ToolRefusal], *, request_id: str
) -> dict[str, Any]:
    """The result of the work, or of what went wrong with it."""
    try:
        return await work
    except KeepstoneError as fault:
        refusal = refuse(fault)
        details = [{"path": name, "message": wrong} for name, wrong in fault.fields.items()] or fault.details
        more = {"details": details, "upgrade_url": fault.upgrade_url, "retry_after": fault.retry_after}
        return failure(refusal.code, fault.message, refusal.advice, **more)
    except Exception as fault:  # the end of the line: above it is the SDK, which would quote the fault
        log.error("unhandled", extra={"request_id": request_id, **describe(fault)})
        return failure(
            "internal", f"Something went wrong in Keepstone; its log has the request {request_id}.", _TRY_AGAIN
        )


def explained(fault: ValidationError, messages: Mapping[str, str]) -> Malformed:
    """By our own words for a kind of fault or for a parameter, where there are any. What was sent is not repeated."""
    details: list[dict[str, str]] = []
    for item in fault.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join(map(str, item["loc"]))
        ours = messages.get(item["type"]) or (None if item["type"] == "value_error" else messages.get(path))
        message = ours or item["msg"].removeprefix("Value error, ")
        details.append({"path": path, "message": message})
    explanation = "; ".join(f"{detail['path']} {detail['message']}".strip() for detail in details)
    return Malformed(f"{explanation}. Nothing was done.", details=details)


def given(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Null and empty text count as left out: models like to name every parameter."""
    return {name: value for name, value in raw.items() if value is not None and not _blank(value)}


def _blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def shown(source: object, names: Iterable[str], **more: Any) -> dict[str, Any]:
    """Fields as the schema of a tool names them, when it was made and changed at the end; times as JSON has them."""
    ordered = sorted({**dict.fromkeys(names), **more}, key=("created_at", "updated_at").count)
    values = {name: more[name] if name in more else getattr(source, name) for name in ordered}
    return {name: _time(value) if isinstance(value, datetime) else value for name, value in values.items()}


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
