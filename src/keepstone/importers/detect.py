"""Which source a file is from, by what is in it: its name is only asked where its content could be several things."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import Bundle, open_bundle
from keepstone.importers.chatgpt import CONVERSATIONS
from keepstone.importers.stream import begins_with, elements, members
from keepstone.importers.text import fields

_UNKNOWN = (
    "What kind of file is this? Say it with source=: chatgpt, claude, mem0, openmemory, letta, markdown, jsonl or "
    "keepstone."
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


def source_of(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(b"SQLite format 3\0"):
        return "openmemory"
    for sign, kind, called in _OTHERS:
        if head.lstrip().lower().startswith(sign.lower()):
            raise Invalid(
                f"This looks like {called}, not like an export of another system.", details={"looks_like": kind}
            )
    with open_bundle(path) as bundle:
        found = next(_guesses(bundle), None)
        office = bundle.is_zip and bool(bundle.find(r"\[Content_Types\]\.xml"))
    if office:
        raise Invalid(
            "This looks like an Office document, not like an export of another system.",
            details={"looks_like": "office"},
        )
    if found is None:
        raise Invalid(_UNKNOWN, details={"looks_like": "packed" if bundle.is_zip else _kind_of(head)})
    return found


def _kind_of(head: bytes) -> str:
    if head.lstrip()[:1] in {b"{", b"["}:
        return "json"
    return "bytes" if b"\0" in head else "text"


def _guesses(bundle: Bundle) -> Iterator[str]:
    """The likeliest first."""
    if bundle.find(r"archive\.json") and bundle.is_zip:
        yield "keepstone"
    for name in bundle.find(CONVERSATIONS)[:1]:
        first = _first(bundle, name)
        yield "claude" if "chat_messages" in first else "chatgpt"
    if bundle.find(r"(?:memories|projects)\.json") and bundle.is_zip:
        yield "claude"
    for ending, source in ((r".*\.af", "letta"), (r".*\.jsonl", "jsonl"), (_MARKDOWN, "markdown")):
        if bundle.find(ending):
            yield source
    for name in [*bundle.sizes][:1]:
        yield from _by_content(bundle, name)


def _by_content(bundle: Bundle, name: str) -> Iterator[str]:
    with bundle.open(name) as file:
        sign = begins_with(file)
    if sign not in {b"[", b"{"}:
        return
    with bundle.open(name) as file:
        line = file.readline(_LINE)
    with suppress(ValueError, RecursionError):
        if line.endswith(b"\n") and len(line.strip()) > 2 and _says_something(fields(json.loads(line))):
            yield "jsonl"
    with suppress(Invalid):
        first = _first(bundle, name)
        if "mapping" in first:
            yield "chatgpt"
        if "chat_messages" in first:
            yield "claude"
        if first.keys() & {"memory", "data"} and "id" in first:
            yield "mem0"
        if sign == b"{":
            yield from _of_object(bundle, name)


def _of_object(bundle: Bundle, name: str) -> Iterator[str]:
    """By the names of its first members."""
    with bundle.open(name) as file:
        for key, value in members(file, name, ("capsules", "results", "memories", "agents", "messages", "blocks")):
            if key == "format" and value == "keepstone-archive":
                yield "keepstone"
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
