"""Which source a file is from, by what is in it: its name is only asked where its content could be several things. And
what it is, if somebody takes it for another.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers import openwebui, slack, whatsapp
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.chatgpt import CONVERSATIONS
from keepstone.importers.claude import MEMORIES, PROJECTS
from keepstone.importers.stream import begins_with, elements, members
from keepstone.importers.text import fields

# As they are spoken of; in the order in which they are told.
CALLED = {
    "chatgpt": "a ChatGPT export", "claude": "a Claude export", "openwebui": "an Open WebUI export",
    "slack": "a Slack export", "whatsapp": "a WhatsApp export", "mem0": "a list of mem0's memories",
    "openmemory": "a database of OpenMemory", "letta": "a Letta agent file", "markdown": "Markdown",
    "jsonl": "a transcript in JSON lines", "keepstone": "a Keepstone archive",
}  # fmt: skip
_UNKNOWN = (
    "What kind of file is this? It is no export that is known here. If it is one, say which with source=: "
    f"{', '.join(CALLED)}."
)
# How files begin that people take for an export, and what they are.
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "pdf", "a PDF"), (b"\x89PNG", "picture", "a picture"), (b"\xff\xd8\xff", "picture", "a picture"),
    (b"GIF8", "picture", "a picture"), (b"\xd0\xcf\x11\xe0", "office", "an Office document"),
    (b"<!DOCTYPE", "html", "a web page"), (b"<html", "html", "a web page"), (b"\x1f\x8b", "packed", "a packed file"),
    (b"7z\xbc\xaf", "packed", "a packed file"), (b"Rar!", "packed", "a packed file"),
)  # fmt: skip
_MARKDOWN = r".*\.(?:md|markdown|mdx)"
_LINE = 1024 * 1024
_UNREADABLE = (ValueError, TypeError, LookupError, OSError, EOFError, RecursionError)


def source_of(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(64)
    for sign, kind, called in _OTHERS:
        if head.lstrip().lower().startswith(sign.lower()):
            raise Invalid(
                f"This looks like {called}, not like an export of another system.", details={"looks_like": kind}
            )
    with open_bundle(path) as bundle:
        found = next(_guesses(bundle, head), None)
        office = bundle.is_zip and bool(bundle.find(r"\[Content_Types\]\.xml"))
    if office:
        raise Invalid(
            "This looks like an Office document, not like an export of another system.",
            details={"looks_like": "office"},
        )
    if found is None:
        raise Invalid(_UNKNOWN, details={"looks_like": "packed" if bundle.is_zip else _kind_of(head)})
    return found


def check_source(path: Path, source: str, *, use: str = "use source={}") -> None:
    """Refuse what is an export of another source, by its name. What is unknown is the reader's to judge."""
    try:
        head = b""
        if not path.exists():
            return
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(64)
        with open_bundle(path) as bundle:
            kinds = list(_guesses(bundle, head))
    except (Invalid, *_UNREADABLE):
        return  # and this, its reader tells better
    if kinds and source not in kinds:
        raise Invalid(f"This looks like {CALLED[kinds[0]]}: {use.format(kinds[0])}.", details={"looks_like": kinds[0]})


def _kind_of(head: bytes) -> str:
    if head.lstrip()[:1] in {b"{", b"["}:
        return "json"
    return "bytes" if b"\0" in head else "text"


def _guesses(bundle: Bundle, head: bytes) -> Iterator[str]:
    """All that it can be, the likeliest first."""
    if head.startswith(b"SQLite format 3\0"):
        yield "openmemory"
        return
    if bundle.find(r"archive\.json") and bundle.is_zip:
        yield "keepstone"
    for name in bundle.find(CONVERSATIONS)[:1]:
        first = _first(bundle, name)
        if "chat" in first or "history" in first:
            yield "openwebui"
        yield "claude" if "chat_messages" in first else "chatgpt"
    if bundle.find(slack.PLACES) and bundle.find(slack.DAYS):
        yield "slack"
    packed = bundle.is_zip or len(bundle.sizes) > 1
    if packed and any(_is_claudes(bundle, name) for name in bundle.find(f"{MEMORIES}|{PROJECTS}")[:1]):
        yield "claude"
    texts = whatsapp.chats(bundle) if packed else bundle.find(r".*\.txt")
    if any(whatsapp.is_chat(bundle, name, known=packed) for name in texts[:1]):
        yield "whatsapp"
    for ending, source in ((r".*\.af", "letta"), (r".*\.jsonl", "jsonl"), (_MARKDOWN, "markdown")):
        if bundle.find(ending):
            yield source
    for name in [*bundle.sizes][:1]:
        yield from _by_content(bundle, name)


def _is_claudes(bundle: Bundle, name: str) -> bool:
    """A project or what was remembered, and no notes of somebody's that are called so."""
    with suppress(Invalid), bundle.open(name) as file:
        first = fields(next(elements(file, name), None))
        return bool(first.keys() & {"prompt_template", "conversations_memory", "memory_files", "project_memories"})
    return False


def _by_content(bundle: Bundle, name: str) -> Iterator[str]:
    with bundle.open(name) as file:
        sign = begins_with(file)
    if sign not in {b"[", b"{"}:
        if not name.endswith((".txt", ".md", ".markdown", ".mdx")) and whatsapp.is_chat(bundle, name):
            yield "whatsapp"  # uploaded under another name
        return
    with bundle.open(name) as file:
        line = file.readline(_LINE)
    with suppress(ValueError, RecursionError):
        if line.endswith(b"\n") and len(line.strip()) > 2 and _says_something(fields(json.loads(line))):
            yield "jsonl"
    with suppress(Invalid):
        yield from _of_element(_first(bundle, name))
        if sign == b"{":
            yield from _of_object(bundle, name)
    if sign == b"[" and whatsapp.is_chat(bundle, name):  # a line begins so on some phones: [12.03.24, 14:05:33]
        yield "whatsapp"


def _of_element(first: dict[str, Any]) -> Iterator[str]:
    if "mapping" in first:
        yield "chatgpt"
    if "chat_messages" in first or first.keys() & {"conversations_memory", "memory_files"}:
        yield "claude"
    if openwebui.is_chat(first) or openwebui.is_memory(first):
        yield "openwebui"
    if {"ts", "type"} <= first.keys() and first["type"] == "message":
        yield "slack"
    if first.keys() & {"memory", "data"} and "id" in first:
        yield "mem0"


def _of_object(bundle: Bundle, name: str) -> Iterator[str]:
    """By the names of its first members."""
    with bundle.open(name) as file:
        for key, value in members(file, name, ("capsules", "results", "memories", "agents", "messages", "blocks")):
            if key == "format" and value == "keepstone-archive":
                yield "keepstone"
            elif key in {"conversations_memory", "memory_files", "project_memories", "chat_messages"}:
                yield "claude"
            elif key == "mapping":
                yield "chatgpt"
            elif key == "chat" and openwebui.is_chat({"chat": value}):
                yield "openwebui"
            elif key in {"results", "memories"}:
                yield "mem0"
            elif key in {"agents", "core_memory", "blocks", "messages"}:
                yield "letta"


def _first(bundle: Bundle, name: str) -> dict[str, Any]:
    """The first element of an array; of anything else nothing."""
    with bundle.open(name) as file:
        listed = begins_with(file) == b"["
    with bundle.open(name) as file:
        return fields(next(elements(file, name), None)) if listed else {}


def _says_something(line: dict[str, Any]) -> bool:
    return bool(line.keys() & {"text", "content", "message"}) and "mapping" not in line
