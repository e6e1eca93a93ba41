"""Claude's export: `conversations.json` with `chat_messages`, `projects.json` with documents, and `memories.json`."""

from collections.abc import Iterator
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Note, Reading
from keepstone.importers.stream import elements
from keepstone.importers.text import clean, digest, fields, labels, moment, named, objects_of, titled

_TOOLS = {"tool_use", "tool_result"}


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        talks = bundle.find(r"conversations(?:[-_]\d+)?\.json")
        projects = bundle.find(r"projects\.json") + bundle.find(r"projects/[^/]+\.json")
        memories = bundle.find(r"memories\.json") + bundle.find(r"memories/[^/]+\.json")
        if not talks + projects + memories and reading.file.is_file():
            talks = bundle.find(r".*\.json")
        if not talks + projects + memories:
            raise Invalid(f"There is no conversations.json in {reading.file.name}: is it Claude's export?")
        reading.gauge.total = bundle.size(talks + projects + memories)
        me = reading.me or _name_of(bundle)
        names: dict[str, str] = {}  # of the projects
        for entry in _each(bundle, reading, projects):
            names[str(entry.get("uuid"))] = str(entry.get("name") or "")
            yield from _project(entry)
        for entry in _each(bundle, reading, memories):
            yield from _memories(entry, names)
        for entry in _each(bundle, reading, talks):
            yield from _conversation(entry, me, tools=reading.tools)


def _each(bundle: Bundle, reading: Reading, names: list[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        with bundle.open(name) as file:
            yield from (fields(element) for element in elements(file, name, reading.gauge))


def _name_of(bundle: Bundle) -> str:
    for name in bundle.find(r"users\.json"):
        with bundle.open(name) as file:
            return named(fields(next(elements(file, name), None)).get("full_name"), "user")
    return "user"


def _conversation(conversation: dict[str, Any], me: str, *, tools: bool) -> Iterator[Item]:
    messages = objects_of(conversation.get("chat_messages"))
    if "chat_messages" not in conversation:
        yield LeftOut(reason="no conversation", what=str(conversation.get("uuid") or "?"))
        return
    talk = str(conversation.get("uuid") or digest(str(conversation.get("created_at"))))
    title = titled(str(conversation.get("name") or ""), "New chat")
    place = f"{title} ({talk})"
    branch = _branch(messages, conversation.get("current_leaf_message_uuid"))
    if len(branch) < len(messages):
        reason = "on a branch that was not gone on with"
        yield LeftOut(reason=reason, what=place, count=len(messages) - len(branch))
    turns: list[ImportedTurn] = []
    at = moment(conversation.get("created_at"))
    for number, message in enumerate(branch):
        name = f"claude:{message.get('uuid') or f'{talk}:{number}'}"[:200]
        text, lost = _text(message, tools=tools)
        yield from (LeftOut(reason=reason, what=place) for reason in lost)
        at = moment(message.get("created_at")) or at
        human = message.get("sender") in {"human", "user"}
        about = {"source": "claude", "role": "user" if human else "assistant", "session_id": talk, "title": title}
        said = [(name, text, about)] if text.strip() else []
        for place_of, attached in enumerate(objects_of(message.get("attachments"))):
            file_name, content = str(attached.get("file_name") or "attachment"), attached.get("extracted_content")
            if isinstance(content, str) and content.strip():
                more = about | {"attachment": clean(file_name)}
                said.append((f"{name}:attachment:{place_of}", f"{file_name}:\n\n{content}", more))
            else:
                yield LeftOut(reason="attachment", what=f"{file_name} in {place}")
        for attached in objects_of(message.get("files")):
            yield LeftOut(reason="attachment", what=f"{attached.get('file_name') or 'a file'} in {place}")
        if not said and not lost:
            yield LeftOut(reason="empty message", what=place)
        for key, words, facts in said:
            turns.append(
                ImportedTurn(
                    id=key, speaker=me if human else "Claude", text=clean(words), at=at,
                    reply_to=turns[-1].id if turns else None, metadata=facts,
                )
            )  # fmt: skip
    if turns:
        yield Conversation(id=talk, title=title, turns=turns)
    else:
        yield LeftOut(reason="conversation without a message", what=place)


def _branch(messages: list[dict[str, Any]], leaf: Any) -> list[dict[str, Any]]:
    """All of them, unless some have the same parent: then those that lead to the leaf; if none is told, to the last."""
    by_id = {message.get("uuid"): message for message in messages}
    parents = [message.get("parent_message_uuid") for message in messages]
    if None in parents or len(set(parents)) == len(parents):
        return messages
    current = by_id.get(leaf) or messages[-1]
    branch: dict[Any, dict[str, Any]] = {}
    while current is not None and current.get("uuid") not in branch:
        branch[current.get("uuid")] = current
        current = by_id.get(current.get("parent_message_uuid"))
    return list(reversed(branch.values()))


def _text(message: dict[str, Any], *, tools: bool) -> tuple[str, list[str]]:
    """By its blocks: the old field `text` has a placeholder for those it can't show."""
    blocks = objects_of(message.get("content"))
    if not blocks:
        return str(message.get("text") or ""), []
    texts: list[str] = []
    lost: list[str] = []
    for block in blocks:
        kind = str(block.get("type") or "")
        if isinstance(block.get("text"), str) and kind not in _TOOLS:
            texts.append(block["text"])
        elif kind in _TOOLS:
            if tools:
                texts.append(_tool(block))
            else:
                lost.append("said to a tool" if kind == "tool_use" else "said by a tool")
        elif kind in {"thinking", "redacted_thinking"}:
            lost.append("reasoning")
        elif kind != "token_budget":
            lost.append("image" if kind == "image" else "part of an unknown kind")
    return "\n\n".join(text for text in texts if text.strip()), lost


def _tool(block: dict[str, Any]) -> str:
    if block.get("type") == "tool_use":
        return f"{block.get('name')}: {block.get('input')}"
    content = block.get("content")
    parts = [part for part in objects_of(content) if isinstance(part.get("text"), str)]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in parts)


def _project(exported: dict[str, Any]) -> Iterator[Item]:
    project, name = str(exported.get("uuid") or ""), str(exported.get("name") or "Project")
    if exported.get("is_starter_project"):
        yield LeftOut(reason="example project", what=name)
        return
    begun, changed = moment(exported.get("created_at")), moment(exported.get("updated_at"))
    for part, kind in (("description", "note"), ("prompt_template", "instruction")):
        text = str(exported.get(part) or "")
        if text.strip():
            yield Note(
                id=f"project:{project}:{part}", title=titled(f"{name}: {part.replace('_', ' ')}", name),
                content_md=clean(text), kind=kind, tags=labels("claude", name), created_at=begun, updated_at=changed,
                metadata={"source": "claude", "project": clean(name)},
            )  # fmt: skip
    for number, doc in enumerate(objects_of(exported.get("docs"))):
        title, content = str(doc.get("filename") or f"Document {number + 1}"), doc.get("content")
        if not isinstance(content, str) or not content.strip():
            yield LeftOut(reason="document without a text", what=f"{title} in {name}")
            continue
        yield Note(
            id=f"doc:{doc.get('uuid') or digest(project, title)}", title=titled(title, name), content_md=clean(content),
            kind="document", tags=labels("claude", name), created_at=moment(doc.get("created_at")) or begun,
            metadata={"source": "claude", "project": clean(name), "file_name": clean(title)},
        )  # fmt: skip


def _memories(remembered: dict[str, Any], names: dict[str, str]) -> Iterator[Item]:
    account = str(remembered.get("account_uuid") or "")
    summary = remembered.get("conversations_memory")
    if isinstance(summary, str) and summary.strip():
        yield Note(
            id=f"memory:{account}", title="What Claude remembered", content_md=clean(summary), kind="memory",
            tags=["claude"], metadata={"source": "claude"},
        )  # fmt: skip
    for project, text in fields(remembered.get("project_memories")).items():
        if isinstance(text, str) and text.strip():
            name = names.get(project) or project
            yield Note(
                id=f"memory:{account}:{project}", title=titled(f"What Claude remembered of {name}", name),
                content_md=clean(text), kind="memory", tags=labels("claude", names.get(project)),
                metadata={"source": "claude", "project": clean(name)},
            )  # fmt: skip
