"""Letta's agent files (`.af`): the blocks of core memory, archival passages and files as notes, messages as talk."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import open_bundle
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Note, Reading
from keepstone.importers.stream import elements
from keepstone.importers.text import (
    clean,
    digest,
    elements_of,
    fields,
    first_line,
    labels,
    moment,
    named,
    objects_of,
    packed_fields,
    titled,
)  # fmt: skip

_PASSAGES = ("archival_memory", "archival_passages", "passages", "archival")


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        names = bundle.named(".af")
        reading.gauge.total = bundle.size(names)
        for name in names:
            with bundle.open(name) as opened:
                document = fields(next(elements(opened, name, reading.gauge), None))
            if not document.keys() & {"agents", "core_memory", "messages"}:
                raise Invalid(f"{name} is no agent file: it has neither agents nor messages.")
            yield from _agents(document, reading)


def _agents(document: dict[str, Any], reading: Reading) -> Iterator[Item]:
    # Before the present form, a file was one agent and had its blocks in `core_memory`.
    agents = objects_of(document.get("agents")) or [document]
    blocks = {str(block.get("id")): block for block in objects_of(document.get("blocks"))}
    owners: dict[str, list[str]] = {}
    for agent in agents:
        for block in elements_of(agent.get("block_ids")):
            owners.setdefault(str(block), []).append(_name(agent))
    for key, block in blocks.items():
        yield _block(block, owners.get(key, []))
    for agent in agents:
        for block in objects_of(agent.get("core_memory")) + objects_of(agent.get("memory_blocks")):
            yield _block(block, [_name(agent)])
        yield from _passages(agent, [_name(agent)])
        if str(agent.get("system") or "").strip():
            yield LeftOut(reason="system prompt", what=_name(agent))
        yield from _talk(agent, reading)
    if document not in agents:
        yield from _passages(document, [])
    yield from map(_file, objects_of(document.get("files")))
    for name, reason in (("tools", "tool"), ("mcp_servers", "MCP server"), ("groups", "group of agents")):
        if elements_of(document.get(name)):
            yield LeftOut(reason=reason, what=name, count=len(elements_of(document.get(name))))


def _name(agent: dict[str, Any]) -> str:
    return named(agent.get("name"), "agent")


def _block(block: dict[str, Any], agents: list[str]) -> Item:
    label, value = str(block.get("label") or "block"), str(block.get("value") or "")
    if not value.strip():
        return LeftOut(reason="empty memory block", what=label)
    of, description = ", ".join(agents), block.get("description")
    return _note(
        f"block:{of}:{label}:{digest(str(description))[:12]}", titled(f"{label} ({of})" if of else label, label), value,
        at=block.get("created_at"), tags=[label, *agents], label=label, description=str(description or ""),
    )  # fmt: skip


def _passages(holder: dict[str, Any], agents: list[str]) -> Iterator[Item]:
    for passage in (passage for name in _PASSAGES for passage in objects_of(holder.get(name))):
        text = str(passage.get("text") or passage.get("content") or "")
        if text.strip():
            key, title = f"passage:{','.join(agents)}:{digest(text)}", titled(first_line(text), "Passage")
            tags = ["archival", *agents, *elements_of(passage.get("tags"))]
            yield _note(key, title, text, at=passage.get("created_at"), tags=tags)
        else:
            yield LeftOut(reason="empty passage", what=str(passage.get("id") or "passage"))


def _file(file: dict[str, Any]) -> Item:
    name, text = str(file.get("original_file_name") or file.get("file_name") or "file"), str(file.get("content") or "")
    if not text.strip():
        return LeftOut(reason="file without a text", what=name)
    key, at = f"file:{name}:{digest(text)}", file.get("file_creation_date")
    return _note(key, titled(name, "File"), text, at=at, kind="document", file_name=name)


def _note(
    key: str, title: str, text: str, *, at: Any, kind: str = "memory", tags: Iterable[Any] = (), **about: str
) -> Note:
    metadata = {"source": "letta"} | {name: clean(value) for name, value in about.items()}
    return Note(
        id=key, title=title, content_md=clean(text), kind=kind, tags=labels("letta", *tags), created_at=moment(at),
        metadata=metadata,
    )  # fmt: skip


def _talk(agent: dict[str, Any], reading: Reading) -> Iterator[Item]:
    name = _name(agent)
    turns: list[ImportedTurn] = []
    for number, message in enumerate(objects_of(agent.get("messages"))):
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
    parts = [part for part in objects_of(content) if part.get("type") == "text" and part.get("text")]
    text = content if isinstance(content, str) else "\n\n".join(str(part["text"]) for part in parts)
    packed = packed_fields(text) if role == "user" else {}  # what a user says, with the time
    if role == "system" or packed.get("type") in {"heartbeat", "login", "system_alert"}:
        return "", "system message"
    if role == "tool":
        return (text, None) if tools else ("", "said by a tool")
    if packed:
        return str(packed.get("message") or text), None
    sent = [_sent(call) for call in objects_of(message.get("tool_calls"))]
    spoken = [text for text in sent if text]
    if spoken:  # what stands beside it is what the agent thought
        return "\n\n".join(spoken), None
    if sent:
        return (json.dumps(message.get("tool_calls"), ensure_ascii=False), None) if tools else ("", "said to a tool")
    return text, None


def _sent(call: dict[str, Any]) -> str:
    """What an agent says it says by a tool."""
    function = fields(call.get("function"))
    if function.get("name") != "send_message":
        return ""
    return str(packed_fields(str(function.get("arguments") or "")).get("message") or "")
