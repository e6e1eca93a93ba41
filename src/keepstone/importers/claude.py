"""Claude's export: `conversations.json` with `chat_messages`, `projects.json` with documents, and `memories.json`; or a
zip for each, with a file a project and a file an account.

An artifact is written and edited by tools, and in older talks stands in the text between tags; as it was in the end it
becomes a note.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.drafts import Drafts
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Note, Reading, SourceProject
from keepstone.importers.stream import elements
from keepstone.importers.text import clean, digest, fields, labels, moment, named, objects_of, titled

CONVERSATIONS = r"conversations(?:[-_]\d+)?\.json"
PROJECTS = r"projects\.json|projects/[^/]+\.json"
MEMORIES = r"memories\.json|memories/[^/]+\.json"
_TOOLS = {"tool_use", "tool_result"}
_OPENS, _CLOSES = "<antArtifact", "</antArtifact>"
_THINKS, _THOUGHT = "<antThinking>", "</antThinking>"
_ATTRIBUTE = re.compile(r'(\w{1,20})="([^"<>]{0,500})"')
_SHOWN = "/outputs/"  # where the files lie that Claude hands out; elsewhere it tries things
_PROGRAMS = {"application/vnd.ant.react": "jsx", "application/vnd.ant.mermaid": "mermaid", "image/svg+xml": "svg",
             "text/html": "html"}  # fmt: skip
_TEXTS = {".md", ".txt", ""}


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        talks, projects, memories = (bundle.find(pattern) for pattern in (CONVERSATIONS, PROJECTS, MEMORIES))
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
            if "chat_messages" not in entry and entry.keys() & {"conversations_memory", "memory_files"}:
                yield from _memories(entry, names)  # a file that was taken out of the zip
            else:
                yield from _conversation(entry, me, names, tools=reading.tools)


def _each(bundle: Bundle, reading: Reading, names: list[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        with bundle.open(name) as file:
            yield from (fields(element) for element in elements(file, name, reading.gauge))


def _name_of(bundle: Bundle) -> str:
    for name in bundle.find(r"users\.json"):
        with bundle.open(name) as file:
            return named(fields(next(elements(file, name), None)).get("full_name"), "user")
    return "user"


def _conversation(conversation: dict[str, Any], me: str, projects: dict[str, str], *, tools: bool) -> Iterator[Item]:
    messages = objects_of(conversation.get("chat_messages"))
    if "chat_messages" not in conversation:
        yield LeftOut(reason="no conversation", what=str(conversation.get("uuid") or "?"))
        return
    talk = str(conversation.get("uuid") or digest(str(conversation.get("created_at"))))
    title = titled(str(conversation.get("name") or ""), "New chat")
    place = f"{title} ({talk})"
    project = _project_of(conversation, projects)
    artifacts = Drafts()
    branch = _branch(messages, conversation.get("current_leaf_message_uuid"))
    if len(branch) < len(messages):
        reason = "on a branch that was not gone on with"
        yield LeftOut(reason=reason, what=place, count=len(messages) - len(branch))
    turns: list[ImportedTurn] = []
    at = moment(conversation.get("created_at"))
    for number, message in enumerate(branch):
        name = f"claude:{message.get('uuid') or f'{talk}:{number}'}"[:200]
        at = moment(message.get("created_at")) or at
        human = message.get("sender") in {"human", "user"}
        text, lost = _text(message, artifacts, at, tools=tools)
        if not human:
            text, thoughts = _without_tags(text, artifacts, at)
            lost += ["reasoning"] * thoughts
        yield from (LeftOut(reason=reason, what=place) for reason in lost)
        about = {"source": "claude", "role": "user" if human else "assistant", "session_id": talk, "title": title}
        about |= {"project": project.name} if project else {}
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
        yield Conversation(id=talk, title=title, turns=turns, project=project)
    else:
        yield LeftOut(reason="conversation without a message", what=place)
    yield from artifacts.notes("claude", "artifact", talk, place, project)


def _project_of(conversation: dict[str, Any], projects: dict[str, str]) -> SourceProject | None:
    """Only some exports say it."""
    told = fields(conversation.get("project"))
    key = str(told.get("uuid") or conversation.get("project_uuid") or "")
    return SourceProject(id=key, name=named(told.get("name") or projects.get(key), "Claude project")) if key else None


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


def _text(message: dict[str, Any], artifacts: Drafts, at: datetime | None, *, tools: bool) -> tuple[str, list[str]]:
    """By its blocks: the old field `text` has a placeholder for those it can't show. What is written into an artifact
    is put there.
    """
    blocks = objects_of(message.get("content"))
    if not blocks:
        return str(message.get("text") or ""), []
    texts: list[str] = []
    lost: list[str] = []
    for block in blocks:
        kind = str(block.get("type") or "")
        if isinstance(block.get("text"), str) and kind not in _TOOLS:
            texts.append(block["text"])
        elif kind == "tool_use" and _drawn(artifacts, block, at):
            continue
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


def _drawn(artifacts: Drafts, block: dict[str, Any], at: datetime | None) -> bool:
    """Whether it was for an artifact, or a file that Claude handed out."""
    tool, given = str(block.get("name") or ""), fields(block.get("input"))
    text = {name: value for name, value in given.items() if isinstance(value, str)}
    path = text.get("path", "")
    if tool == "artifacts":
        name, title = text.get("id", ""), text.get("title", "")
        if "content" in text and text.get("command") in {"create", "rewrite", None}:
            language = _language(text.get("type", ""), text.get("language", ""))
            artifacts.write(name, title, text["content"], at, language=language)
        elif text.get("command") == "update":
            artifacts.replace(name, text.get("old_str", ""), text.get("new_str", ""), at)
        return bool(name)
    if _SHOWN not in path or tool not in {"create_file", "str_replace"}:
        return False
    if tool == "create_file":
        suffix = PurePosixPath(path).suffix.lower()
        language = "" if suffix in _TEXTS else suffix[1:]
        artifacts.write(path, PurePosixPath(path).name, text.get("file_text", ""), at, language=language)
    else:
        artifacts.replace(path, text.get("old_str", ""), text.get("new_str", ""), at)
    return True


def _language(kind: str, language: str) -> str:
    return (language or "text") if kind == "application/vnd.ant.code" else _PROGRAMS.get(kind, "")


def _without_tags(text: str, artifacts: Drafts, at: datetime | None) -> tuple[str, int]:
    """A text of former times without the artifacts that stand in it, each named in its place; and how often Claude
    thought aloud.
    """
    said: list[str] = []
    done = thoughts = 0
    while (begin := text.find("<ant", done)) >= 0:
        said.append(text[done:begin])
        if text.startswith(_THINKS, begin) and (end := text.find(_THOUGHT, begin)) >= 0:
            thoughts, done = thoughts + 1, end + len(_THOUGHT)
        elif text.startswith(_OPENS, begin) and (end := text.find(_CLOSES, begin)) >= 0:
            head, _, body = text[begin:end].partition(">")
            about = dict(_ATTRIBUTE.findall(head))
            title = about.get("title") or "Artifact"
            language = _language(about.get("type", ""), about.get("language", ""))
            artifacts.write(about.get("identifier") or title, title, body.strip("\n"), at, language=language)
            said.append(f"[{title}]")
            done = end + len(_CLOSES)
        elif text.startswith((_THINKS, _OPENS), begin):  # it was cut off: what follows is all of the same
            break
        else:
            said.append("<ant")
            done = begin + len("<ant")
    else:
        begin = done
    return ("".join(said) + text[begin:]).strip("\n") if said else text, thoughts


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
    here = SourceProject(id=project, name=named(name, "Claude project"))
    for part, kind in (("description", "note"), ("prompt_template", "instruction")):
        text = str(exported.get(part) or "")
        if text.strip():
            yield Note(
                id=f"project:{project}:{part}", title=titled(f"{name}: {part.replace('_', ' ')}", name),
                content_md=clean(text), kind=kind, tags=labels("claude", name), created_at=begun, updated_at=changed,
                metadata={"source": "claude", "project": clean(name)}, project=here,
            )  # fmt: skip
    for number, doc in enumerate(objects_of(exported.get("docs"))):
        title, content = str(doc.get("filename") or f"Document {number + 1}"), doc.get("content")
        if not isinstance(content, str) or not content.strip():
            yield LeftOut(reason="document without a text", what=f"{title} in {name}")
            continue
        yield Note(
            id=f"doc:{doc.get('uuid') or digest(project, title)}", title=titled(title, name), content_md=clean(content),
            kind="document", tags=labels("claude", name), created_at=moment(doc.get("created_at")) or begun,
            metadata={"source": "claude", "project": clean(name), "file_name": clean(title)}, project=here,
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
            here = SourceProject(id=project, name=named(names[project], project)) if names.get(project) else None
            yield Note(
                id=f"memory:{account}:{project}", title=titled(f"What Claude remembered of {name}", name),
                content_md=clean(text), kind="memory", tags=labels("claude", names.get(project)),
                metadata={"source": "claude", "project": clean(name)}, project=here,
            )  # fmt: skip
    for file in objects_of(remembered.get("memory_files")):
        path, text = str(file.get("path") or "memory"), file.get("content")
        if isinstance(text, str) and text.strip():
            yield Note(
                id=f"memory:{account}:file:{path}", title=titled(PurePosixPath(path).stem, "Memory"),
                content_md=clean(text), kind="memory", tags=["claude"], updated_at=moment(file.get("updated_at")),
                metadata={"source": "claude", "path": clean(path)},
            )  # fmt: skip
