"""Letta's agent files (`.af`): the blocks of core memory, archival passages and files as notes, messages as talk."""

import json
import re
from collections.abc import Iterator
from typing import Any

from keepstone.errors import Invalid, NotFound
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Note, Reading
from keepstone.importers.stream import elements
from keepstone.importers.text import clean, digest, elements_of, fields, first_line, labels, moment, named, titled

_PASSAGES = ("archival_memory", "archival_passages", "passages", "archival")


def read(reading: Reading) -> Iterator[Item]:
    path = reading.file
    if not path.exists():
        raise NotFound(f"There is no {path}.")
    files = sorted(path.rglob("*.af")) if path.is_dir() else [path]
    if not files:
        raise Invalid(f"There is no .af file in {path}.")
    reading.gauge.total = sum(file.stat().st_size for file in files)
    for file in files:
        with file.open("rb") as opened:
            document = fields(next(elements(opened, file.name, reading.gauge), None))
        if not document.keys() & {"agents", "core_memory", "messages"}:
            raise Invalid(f"{file.name} is no agent file: it has neither agents nor messages.")
        yield from _agents(document, reading)


def _agents(document: dict[str, Any], reading: Reading) -> Iterator[Item]:
    # Before the present form, a file was one agent and had its blocks in `core_memory`.
    agents = [fields(agent) for agent in elements_of(document.get("agents"))] or [document]
    blocks = {str(fields(block).get("id")): fields(block) for block in elements_of(document.get("blocks"))}
    owners: dict[str, list[str]] = {}
    for agent in agents:
        for block in elements_of(agent.get("block_ids")):
            owners.setdefault(str(block), []).append(_name(agent))
    for key, block in blocks.items():
        yield from _block(block, owners.get(key, []))
    for agent in agents:
        for block in elements_of(agent.get("core_memory")) + elements_of(agent.get("memory_blocks")):
            yield from _block(fields(block), [_name(agent)])
        for passage in (fields(element) for name in _PASSAGES for element in elements_of(agent.get(name))):
            yield from _passage(passage, [_name(agent)])
        if str(agent.get("system") or "").strip():
            yield LeftOut(reason="system prompt", what=_name(agent))
        yield from _talk(agent, reading)
    if document not in agents:
        for passage in (fields(element) for name in _PASSAGES for element in elements_of(document.get(name))):
            yield from _passage(passage, [])
    for file in (fields(element) for element in elements_of(document.get("files"))):
        yield from _file(file)
    for name, reason in (("tools", "tool"), ("mcp_servers", "MCP server"), ("groups", "group of agents")):
        if elements_of(document.get(name)):
            yield LeftOut(reason=reason, what=name, count=len(elements_of(document.get(name))))


def _name(agent: dict[str, Any]) -> str:
    return named(agent.get("name"), "agent")


def _block(block: dict[str, Any], agents: list[str]) -> Iterator[Item]:
    label, value = str(block.get("label") or "block"), str(block.get("value") or "")
    if not value.strip():
        yield LeftOut(reason="empty memory block", what=label)
        return
    of = ", ".join(agents)
    yield Note(
        id=f"block:{of}:{label}:{digest(str(block.get('description')))[:12]}",
        title=titled(f"{label} ({of})" if of else label, label),
        content_md=clean(value),
        kind="memory",
        tags=labels("letta", label, *agents),
        created_at=moment(block.get("created_at")),
        metadata={"source": "letta", "label": clean(label), "description": clean(str(block.get("description") or ""))},
    )


def _passage(passage: dict[str, Any], agents: list[str]) -> Iterator[Item]:
    text = str(passage.get("text") or passage.get("content") or "")
    if not text.strip():
        yield LeftOut(reason="empty passage", what=str(passage.get("id") or "passage"))
        return
    yield Note(
        id=f"passage:{','.join(agents)}:{digest(text)}",
        title=titled(first_line(text), "Passage"),
        content_md=clean(text),
        kind="memory",
        tags=labels("letta", "archival", *agents, *elements_of(passage.get("tags"))),
        created_at=moment(passage.get("created_at")),
        metadata={"source": "letta"},
    )


def _file(file: dict[str, Any]) -> Iterator[Item]:
    name, text = str(file.get("original_file_name") or file.get("file_name") or "file"), str(file.get("content") or "")
    if not text.strip():
        yield LeftOut(reason="file without a text", what=name)
        return
    yield Note(
        id=f"file:{name}:{digest(text)}",
        title=titled(name, "File"),
        content_md=clean(text),
        kind="document",
        tags=["letta"],
        created_at=moment(file.get("file_creation_date")),
        metadata={"source": "letta", "file_name": clean(name)},
    )


def _talk(agent: dict[str, Any], reading: Reading) -> Iterator[Item]:
    name = _name(agent)
    turns: list[ImportedTurn] = []
    for number, message in enumerate(fields(element) for element in elements_of(agent.get("messages"))):
        role = str(message.get("role") or "")
        text, reason = _said(message, role, tools=reading.tools)
        if reason or not text.strip():
            yield LeftOut(reason=reason or "empty message", what=f"{message.get('id') or number} of {name}")
            continue
        # An id in the file is no more than a number, so the text is part of ours.
        key = digest(name, str(message.get("id") or number), str(message.get("created_at")), text)
        turns.append(
            ImportedTurn(
                id=f"letta:{key[:48]}",
                speaker=(reading.me or named(message.get("name"), "user")) if role == "user" else name,
                text=clean(text),
                at=moment(message.get("created_at")),
                reply_to=turns[-1].id if turns else None,
                metadata={"source": "letta", "role": role, "agent": name},
            )
        )
    if turns:
        yield Conversation(id=f"{name}:{turns[0].id}", title=name, turns=turns)


def _said(message: dict[str, Any], role: str, *, tools: bool) -> tuple[str, str | None]:
    """What it says, or why it says nothing."""
    content = message.get("content") if message.get("content") is not None else message.get("text")
    parts = [fields(part) for part in elements_of(content)]
    text = (
        str(content)
        if isinstance(content, str)
        else "\n\n".join(str(part["text"]) for part in parts if part.get("type") == "text" and part.get("text"))
    )
    packed = _packed(text) if role == "user" else {}
    if role == "system" or packed.get("type") in {"heartbeat", "login", "system_alert"}:
        return "", "system message"
    if role == "tool":
        return (text, None) if tools else ("", "said by a tool")
    if packed:
        return str(packed.get("message") or text), None
    sent = [_sent(fields(call)) for call in elements_of(message.get("tool_calls"))]
    spoken = [text for text in sent if text]
    if spoken:  # what stands beside it is what the agent thought
        return "\n\n".join(spoken), None
    if sent:
        return (json.dumps(message.get("tool_calls"), ensure_ascii=False), None) if tools else ("", "said to a tool")
    return text, None


def _packed(text: str) -> dict[str, Any]:
    """Letta packs what its user says, with the time, into JSON."""
    if not re.match(r"\s*\{", text):
        return {}
    try:
        return fields(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _sent(call: dict[str, Any]) -> str:
    """What an agent says it says by a tool."""
    function = fields(call.get("function"))
    if function.get("name") != "send_message":
        return ""
    return str(_packed(str(function.get("arguments") or "")).get("message") or "")
