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
_MARKDOWN = r".*\.(?:md|markdown|mdx)"
_LINE = 1024 * 1024


def source_of(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(16) == b"SQLite format 3\0":
            return "openmemory"
    with open_bundle(path) as bundle:
        found = next(_guesses(bundle), None)
    if found is None:
        raise Invalid(_UNKNOWN)
    return found


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
