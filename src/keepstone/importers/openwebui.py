"""Open WebUI's export of chats, a list of them in one JSON file, each a tree of messages; and the list of memories that
its API gives.

Read is the branch that ends in `currentId`. What a model thought stands in the text between tags and is left out.
"""

from collections.abc import Iterator
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
    titled,
)

_OPENS, _CLOSES = '<details type="', "</details>"
_HIDDEN = {"reasoning": "reasoning", "tool_calls": "said to a tool", "code_interpreter": "said to a tool"}


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        names = bundle.named(".json")
        reading.gauge.total = bundle.size(names)
        found = False
        for name in names:
            with bundle.open(name) as file:
                for number, element in enumerate(elements(file, name, reading.gauge)):
                    entry = fields(element)
                    if is_chat(entry):
                        yield from _chat(entry, reading)
                    elif is_memory(entry):
                        yield _memory(entry)
                    else:
                        yield LeftOut(reason="neither a chat nor a memory", what=f"{name}[{number}]")
                        continue
                    found = True
        if not found:
            raise Invalid(f"There is no chat in {reading.file.name}: is it Open WebUI's export?")


def is_chat(entry: dict[str, Any]) -> bool:
    chat = fields(entry.get("chat")) or entry
    return bool(fields(fields(chat.get("history")).get("messages"))) or (
        "chat" in entry and isinstance(chat.get("messages"), list)
    )


def is_memory(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("content"), str) and {"id", "user_id", "created_at"} <= entry.keys()


def _memory(entry: dict[str, Any]) -> Item:
    text = entry["content"]
    if not text.strip():
        return LeftOut(reason="without a text", what=str(entry.get("id")))
    return Note(
        id=f"memory:{entry['id']}", title=titled(first_line(text), "Memory"), content_md=clean(text), kind="memory",
        tags=["openwebui"], created_at=moment(entry.get("created_at")), updated_at=moment(entry.get("updated_at")),
        metadata={"source": "openwebui", "id": clean(str(entry["id"]))},
    )  # fmt: skip


def _chat(entry: dict[str, Any], reading: Reading) -> Iterator[Item]:
    chat = fields(entry.get("chat")) or entry
    title = titled(str(entry.get("title") or chat.get("title") or ""), "New chat")
    key = str(entry.get("id") or digest(title, str(entry.get("created_at")), str(chat.get("timestamp"))))
    place = f"{title} ({key})"
    branch, others = _branch(chat)
    if others:
        yield LeftOut(reason="on a branch that was not gone on with", what=place, count=others)
    tags = labels(*elements_of(chat.get("tags")), *elements_of(fields(entry.get("meta")).get("tags")))
    at = moment(entry.get("created_at")) or moment(chat.get("timestamp"))
    turns: list[ImportedTurn] = []
    for number, message in enumerate(branch):
        at = moment(message.get("timestamp")) or at
        role = str(message.get("role") or "")
        text, hidden = _said(_content(message), tools=reading.tools)
        yield from (LeftOut(reason=reason, what=place) for reason in hidden)
        files = [str(file.get("name") or file.get("type") or "file") for file in objects_of(message.get("files"))]
        yield from (LeftOut(reason="attachment", what=f"{name} in {place}") for name in files)
        if role == "system":
            yield LeftOut(reason="system message", what=place)
        elif not text.strip():
            if not hidden and not files:
                yield LeftOut(reason="empty message", what=place)
        else:
            model = str(message.get("modelName") or message.get("model") or "")
            turns.append(
                ImportedTurn(
                    id=f"openwebui:{key}:{message.get('id') or number}"[:255],
                    speaker=(reading.me or "user") if role == "user" else named(model, "assistant"),
                    text=clean(text), at=at, reply_to=turns[-1].id if turns else None,
                    metadata={"source": "openwebui", "role": role, "session_id": key, "title": title}
                    | ({"model": clean(str(message.get("model")))} if message.get("model") else {})
                    | ({"tags": tags} if tags else {}) | ({"attachments": labels(*files)} if files else {}),
                )
            )  # fmt: skip
    if turns:
        yield Conversation(id=key, title=title, turns=turns)
    else:
        yield LeftOut(reason="conversation without a message", what=place)


def _branch(chat: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """What is shown, and how many messages are not. Chats of former times are a list."""
    history = fields(chat.get("history"))
    messages = {key: fields(value) for key, value in fields(history.get("messages")).items()}
    if not messages:
        return objects_of(chat.get("messages")), 0
    current = history.get("currentId")
    if current not in messages:
        leaves = [key for key, message in messages.items() if not elements_of(message.get("childrenIds"))]
        current = max(leaves or messages, key=lambda key: _time(messages[key]))
    branch: dict[str, dict[str, Any]] = {}
    while isinstance(current, str) and current in messages and current not in branch:
        branch[current] = messages[current]
        current = messages[current].get("parentId")
    return list(reversed(branch.values())), len(messages) - len(branch)


def _time(message: dict[str, Any]) -> float:
    at = moment(message.get("timestamp"))
    return at.timestamp() if at else 0.0


def _content(message: dict[str, Any]) -> str:
    """A text, or the texts among the parts of one."""
    content = message.get("content")
    texts = [part["text"] for part in objects_of(content) if isinstance(part.get("text"), str)]
    return content if isinstance(content, str) else "\n\n".join(texts)


def _said(text: str, *, tools: bool) -> tuple[str, list[str]]:
    """Without what the model thought, and said to tools, and the reasons why. A fold of the author's own stays."""
    said: list[str] = []
    hidden: list[str] = []
    done = begin = 0
    while (begin := text.find(_OPENS, begin)) >= 0:
        kind = text[begin + len(_OPENS) : begin + len(_OPENS) + 40].partition('"')[0]
        reason = _HIDDEN.get(kind)
        if reason is None or (tools and kind != "reasoning"):
            begin += len(_OPENS)
            continue
        end = text.find(_CLOSES, begin)
        end = len(text) if end < 0 else end + len(_CLOSES)
        said.append(text[done:begin])
        hidden.append(reason)
        done = begin = end
    said.append(text[done:])
    return ("".join(said).strip("\n") if hidden else text), hidden
