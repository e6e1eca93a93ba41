"""ChatGPT's export: `conversations.json`, or several `conversations-000.json`, each conversation a tree of messages.

What is on the screen is the branch that ends in `current_node`. That one is brought over; what was on other branches,
what the system said and what tools were told is counted and left out. Of the tools, `bio` was told what to remember,
and `canmore` what to write into the canvas: those become notes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.drafts import Drafts
from keepstone.importers.items import Conversation, ImportedTurn, Item, LeftOut, Note, Reading, SourceProject
from keepstone.importers.marks import unmarked
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
)

CONVERSATIONS = r"conversations(?:[-_]\d+)?\.json"
_KINDS = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "sound or video",
    "real_time_user_audio_video_asset_pointer": "sound or video",
    "video_container_asset_pointer": "sound or video",
}
_REASONING = {"thoughts", "reasoning_recap"}
_CONTEXTS = {
    "user_editable_context": ("instruction", "Custom instructions", ("user_profile", "user_instructions")),
    "model_editable_context": ("memory", "What ChatGPT remembered", ("model_set_context",)),
}
_INSTRUCTED = ("about_user_message", "about_model_message")  # the same as its owner wrote it, where it is told
_PROJECT = "g-p-"  # how the id of a project begins; that of a GPT begins with g- alone
_CREATE, _UPDATE = "canmore.create_textdoc", "canmore.update_textdoc"


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        names = bundle.find(CONVERSATIONS) or (bundle.find(r".*\.json") if reading.file.is_file() else [])
        if not names:
            raise Invalid(f"There is no conversations.json in {reading.file.name}: is it ChatGPT's export?")
        reading.gauge.total = bundle.size(names)
        me = reading.me or _name_of(bundle)
        for name in names:
            with bundle.open(name) as file:
                for number, element in enumerate(elements(file, name, reading.gauge)):
                    if not fields(element).get("mapping"):
                        yield LeftOut(reason="no conversation", what=f"{name}[{number}]")
                        continue
                    yield from _conversation(element, me, tools=reading.tools)
        others = [name for name in bundle.sizes if name not in names and not name.endswith((".json", ".html"))]
        yield from (LeftOut(reason="attached file", what=name) for name in sorted(others))


def _name_of(bundle: Bundle) -> str:
    """`user.json` has an address and rarely a name."""
    for name in bundle.find(r"user\.json"):
        with bundle.open(name) as file:
            user = fields(next(elements(file, name), None))
        if user.get("name"):
            return named(user["name"], "user")
    return "user"


@dataclass(slots=True)
class _Chat:
    """One conversation on the way: its turns, and what does not become one."""

    id: str
    title: str
    project: SourceProject | None = None
    turns: list[ImportedTurn] = field(default_factory=list[ImportedTurn])
    notes: list[Note] = field(default_factory=list[Note])
    canvas: Drafts = field(default_factory=Drafts)
    left: dict[str, int] = field(default_factory=dict[str, int])

    def leave(self, reason: str, count: int = 1) -> None:
        self.left[reason] = self.left.get(reason, 0) + count


def _conversation(conversation: dict[str, Any], me: str, *, tools: bool) -> Iterator[Item]:
    mapping = fields(conversation["mapping"])
    chat = _Chat(
        id=str(conversation.get("conversation_id") or conversation.get("id") or digest(str(sorted(mapping)))),
        title=titled(str(conversation.get("title") or ""), "New chat"),
        project=_project(conversation),
    )
    begun = moment(conversation.get("create_time")) or moment(conversation.get("update_time"))
    branch = _branch(mapping, conversation.get("current_node"))
    last: str | None = None
    at = begun
    for number, node in enumerate(branch):
        message = fields(fields(mapping[node]).get("message"))
        if _for_notes(message) and message.get("recipient") != "bio":
            after = fields(mapping[branch[number + 1]]) if number + 1 < len(branch) else {}
            _draw(chat, message, fields(fields(fields(after.get("message")).get("metadata")).get("canvas")))
        turn = _turn(chat, message, me, tools=tools, otherwise=at, reply_to=last) if message else None
        if turn is not None:
            chat.turns.append(turn)
            last, at = turn.id, turn.at
    elsewhere = [_said(fields(fields(mapping[node]).get("message"))) for node in mapping.keys() - set(branch)]
    if any(elsewhere):
        chat.leave("on a branch that was not gone on with", sum(elsewhere))
    if chat.turns:
        yield Conversation(id=chat.id, title=chat.title, turns=chat.turns, project=chat.project)
    else:
        chat.leave("conversation without a message")
    yield from (replace(note, created_at=begun) for note in chat.notes)
    for node in mapping.values():  # what was said on other branches was remembered too
        yield from _remembered(chat, fields(fields(node).get("message")))
    yield from chat.canvas.notes("chatgpt", "canvas", chat.id, f"{chat.title} ({chat.id})", chat.project)
    for reason, count in chat.left.items():
        yield LeftOut(reason=reason, what=f"{chat.title} ({chat.id})", count=count)


def _project(conversation: dict[str, Any]) -> SourceProject | None:
    """The export has its id, and no name."""
    for name in ("conversation_template_id", "gizmo_id"):
        key = str(conversation.get(name) or "")
        if key.startswith(_PROJECT):
            return SourceProject(id=key, name=f"ChatGPT project {clean(key.removeprefix(_PROJECT))[:8]}")
    return None


def _branch(mapping: dict[str, Any], current: Any) -> list[str]:
    """From the first message to the one that is shown last. Without a good `current_node`, to the newest leaf."""
    if current not in mapping:
        leaves = [node for node, node_fields in mapping.items() if not elements_of(fields(node_fields).get("children"))]
        current = max(leaves, key=lambda node: _time(mapping[node]), default=None)
    branch: dict[str, None] = {}
    while isinstance(current, str) and current in mapping and current not in branch:
        branch[current] = None
        current = fields(mapping[current]).get("parent")
    return list(reversed(branch))


def _time(node: Any) -> float:
    at = moment(fields(fields(node).get("message")).get("create_time"))
    return at.timestamp() if at else 0.0


def _said(message: dict[str, Any]) -> bool:
    """Whether somebody reading along would have seen it."""
    role = fields(message.get("author")).get("role")
    if _for_notes(message):
        return False
    return role in {"user", "assistant"} and bool(_text(fields(message.get("content")))[0].strip())


def _turn(
    chat: _Chat, message: dict[str, Any], me: str, *, tools: bool, otherwise: datetime | None, reply_to: str | None
) -> ImportedTurn | None:
    author, content, about = (fields(message.get(name)) for name in ("author", "content", "metadata"))
    role, kind = str(author.get("role") or ""), str(content.get("content_type") or "")
    if kind in _CONTEXTS:
        chat.notes += _context(kind, content, fields(about.get("user_context_message_data")))
        return None
    if _for_notes(message):
        return None
    text, lost = _text(content)
    for reason in lost:
        chat.leave(reason)
    to = str(message.get("recipient") or "all")
    if kind in _REASONING:
        chat.leave("reasoning")
    elif not text.strip():
        if not lost and role in {"user", "assistant"}:
            chat.leave("empty message")
    elif role == "system" or about.get("is_user_system_message"):
        chat.leave("system message")
    elif about.get("is_visually_hidden_from_conversation"):
        chat.leave("hidden message")
    elif (role == "tool" or to != "all") and not tools:
        chat.leave("said to a tool" if role == "assistant" else "said by a tool")
    else:
        attached = [str(fields(element).get("name") or "") for element in elements_of(about.get("attachments"))]
        if attached:
            chat.leave("attachment", len(attached))
        assistant = "ChatGPT" if role == "assistant" else named(author.get("name"), "tool")
        model = about.get("model_slug")
        return ImportedTurn(
            id=f"chatgpt:{message.get('id') or digest(chat.id, text)[:32]}"[:255],
            speaker=me if role == "user" else assistant,
            text=clean(unmarked(text)),
            at=moment(message.get("create_time")) or otherwise,
            reply_to=reply_to,
            metadata={
                "source": "chatgpt",
                "role": role,
                "session_id": chat.id,
                "title": chat.title,
                **({"model": clean(str(model))} if model else {}),
                **({"project": chat.project.name} if chat.project else {}),
                **({"attachments": labels(*attached)} if attached else {}),
            },
        )
    return None


def _text(content: dict[str, Any]) -> tuple[str, list[str]]:
    """What a content says, and the reasons why parts of it say nothing to us."""
    kind = content.get("content_type")
    if kind == "code":
        language = content.get("language")
        text = str(content.get("text") or "")
        return (f"```{'' if language in (None, 'unknown') else language}\n{text}\n```" if text else ""), []
    if kind == "tether_quote":
        return "\n".join(str(content[name]) for name in ("title", "url", "text") if content.get(name)), []
    parts = elements_of(content.get("parts"))
    if not parts:
        return str(content.get("text") or content.get("result") or ""), []
    texts: list[str] = []
    lost: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        piece = fields(part)
        if isinstance(piece.get("text"), str):  # what was said aloud, among others
            texts.append(piece["text"])
        elif piece:
            lost.append(_KINDS.get(str(piece.get("content_type")), "part of an unknown kind"))
    return "\n\n".join(text for text in texts if text), lost


def _context(kind: str, content: dict[str, Any], written: dict[str, Any]) -> list[Note]:
    """What its owner told ChatGPT of themselves. It stands in every conversation and is kept once."""
    sort, title, names = _CONTEXTS[kind]
    told = [written[name] for name in _INSTRUCTED if isinstance(written.get(name), str) and written[name].strip()]
    told = told or [content[name] for name in names if isinstance(content.get(name), str) and content[name]]
    text = "\n\n".join(told)
    if not text.strip():
        return []
    return [
        Note(
            id=f"{kind}:{digest(text)}", title=title, content_md=clean(text), kind=sort, tags=["chatgpt"],
            metadata={"source": "chatgpt"},
        )
    ]  # fmt: skip


def _for_notes(message: dict[str, Any]) -> bool:
    """What was told to `bio`, or written into the canvas."""
    role, to = fields(message.get("author")).get("role"), str(message.get("recipient") or "")
    return role == "assistant" and to in {"bio", _CREATE, _UPDATE}


def _remembered(chat: _Chat, message: dict[str, Any]) -> Iterator[Note]:
    """A memory that ChatGPT kept, word for word; the same again is the same."""
    if not _for_notes(message) or message.get("recipient") != "bio":
        return
    text = unmarked(_text(fields(message.get("content")))[0]).strip()
    if text:
        yield Note(
            id=f"bio:{digest(text)}", title=titled(first_line(text), "Memory"), content_md=clean(text), kind="memory",
            tags=labels("chatgpt", chat.project.name if chat.project else None),
            created_at=moment(message.get("create_time")), project=chat.project,
            metadata={"source": "chatgpt", "conversation_id": chat.id},
        )  # fmt: skip


def _draw(chat: _Chat, message: dict[str, Any], answer: dict[str, Any]) -> None:
    """Into the canvas. Which document it was, the tool says in its answer; else it is the latest."""
    content, at = fields(message.get("content")), moment(message.get("create_time"))
    parts = [part for part in elements_of(content.get("parts")) if isinstance(part, str)]
    told = packed_fields(content["text"] if isinstance(content.get("text"), str) else "".join(parts))
    name = str(answer.get("textdoc_id") or "")
    if answer.get("is_failure"):
        return
    if message.get("recipient") == _CREATE and isinstance(told.get("content"), str):
        sort, _, language = str(told.get("type") or "document").partition("/")
        chat.canvas.write(
            name or str(message.get("id") or len(chat.canvas.held)), str(told.get("name") or ""),
            unmarked(told["content"]), at, language=(language or "text") if sort == "code" else "",
        )  # fmt: skip
    elif message.get("recipient") == _UPDATE and "updates" in told:
        for update in objects_of(told.get("updates")):
            chat.canvas.edit(
                name if name in chat.canvas.held else chat.canvas.latest, str(update.get("pattern") or ""),
                unmarked(str(update.get("replacement") or "")), at, every=bool(update.get("multiple")),
            )  # fmt: skip
    else:
        chat.leave("canvas that can't be read")
