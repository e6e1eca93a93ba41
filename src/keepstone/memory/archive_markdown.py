"""The records of an archive as pages that a person can read: a folder for each place, a file for each thing that was
kept, and for what was said one that goes on. Nothing is held back to be sorted: a page is written as its records come.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from keepstone.importers.front import written
from keepstone.memory.archive_out import Record

_UNSAFE = re.compile(r"[^\w-]+")
_ABOUT = ("type", "tags", "created_at", "updated_at", "author", "agent", "superseded_by", "valid_to", "deleted_at")


@dataclass(slots=True)
class Pages:
    """Where it is: the folder of the place, and what its chats, projects and files are called. `me` is whose archive it
    is.
    """

    me: str
    _folder: str = ""
    _part: str = ""
    _chats: dict[str, str] = field(default_factory=dict[str, str])
    _projects: dict[str, str] = field(default_factory=dict[str, str])
    _files: dict[str, str] = field(default_factory=dict[str, str])
    _chat: str | None = None
    _begun: set[str] = field(default_factory=set[str])

    def of(self, record: Record) -> Iterator[tuple[str, str]]:
        """Names of files, and what is added to each."""
        data, kind = record.data, record.data["record"]
        if kind == "space":
            self._enter(record.part, data)
        elif kind == "part":
            self._part = "" if data["of"] == "library" else f"/{_plain(data['of'])}"
        elif kind == "chat":
            self._chats[data["id"]] = data["title"] or "Chat"
        elif kind == "memory":
            yield self._memory(data)
        elif kind == "document":
            yield from self._document(data)
        elif kind == "message":
            yield self._page("messages", "What was said", self._message(data))
        elif kind == "agent":
            yield f"agents/{_plain(data['slug'])}.md", f"# {data['name']}\n\n{data['instructions']}\n"
        elif kind in _LINES:
            name, title, line = _LINES[kind]
            yield self._page(name, title, line(data))

    def beside(self, document_id: str, version: int) -> str:
        """Where the bytes of a file go; those of earlier versions under their number."""
        name = self._files.get(document_id, document_id)
        current, _, latest = name.rpartition("@")
        if str(version) == latest:
            return current
        folder, _, file = current.rpartition("/")
        return f"{folder}/versions/{version}-{file}"

    def _enter(self, part: str, data: dict[str, Any]) -> None:
        self._part, self._chat = "", None
        self._chats.clear()
        if part == "projects":
            self._projects[data["id"]] = data["name"]
        called = data.get("name") or ("" if part in {"capsules", "profile", "account"} else data["id"])
        trash = "/trash" if data.get("deleted_at") else ""
        place = f"/{_plain(called)}-{_plain(data['id'])[-8:]}" if called else ""
        self._folder = f"{part}{trash}{place}"

    def _page(self, name: str, title: str, text: str) -> tuple[str, str]:
        """A page that goes on; it begins with its title."""
        path = f"{self._folder}{self._part}/{name}.md"
        begun = path in self._begun
        self._begun.add(path)
        return path, text if begun else f"# {title}\n\n{text}"

    def _message(self, data: dict[str, Any]) -> str:
        chat = data["thread_id"] if data["thread_id"] in self._chats else None
        heading = "" if chat == self._chat or chat is None else f"## {self._chats[chat]}\n\n"
        self._chat = chat
        return f"{heading}**{data['speaker']}** ({_time(data['at'])}):\n\n{data['text']}\n\n"

    def _memory(self, data: dict[str, Any]) -> tuple[str, str]:
        if data["kind"] == "capsule":
            return f"{self._folder}{_trash(data)}/{_named(data, data['title'])}", self._capsule(data)
        if data["kind"] == "item":
            return f"{self._folder}{_trash(data)}/{_named(data, data['key'])}", _item(data)
        folder = "landmarks" if data["kind"] == "landmark" else "memories"
        title = data["title"] or data["content"][:60]
        return f"{self._folder}{self._part}/{folder}{_trash(data)}/{_named(data, title)}", _memory(data)

    def _capsule(self, data: dict[str, Any]) -> str:
        """As the archive of capsules has it, so that it can be read back."""
        source = {"chat_id": data["source_chat_id"], "message_id": data["source_message_id"]}
        capsule = _plain_times(data) | {
            "content_md": data["content"], "kind": data["type"], "source": source,
            "history": [_capsule_version(version, self.me) for version in reversed(data["history"])],
        }  # fmt: skip
        return written(capsule, self._projects.get(data["project_id"] or ""))

    def _document(self, data: dict[str, Any]) -> Iterator[tuple[str, str]]:
        stem, dot, ending = data["name"].rpartition(".")
        stem, ending = (stem, dot + _plain(ending)[:10]) if dot and stem else (data["name"], "")
        folder = "files" if data["kind"] == "file" else "artifacts"
        path = f"{self._folder}/{folder}{_trash(data)}/{_plain(stem)}-{data['id'][-8:]}{ending}"
        uploads = [version["version"] for version in data["history"] if version["file"]]
        self._files = {data["id"]: f"{path}@{max(uploads, default=0)}"}
        if not uploads:
            yield path, data["content"]
            for version in data["history"][:-1]:
                head, _, name = path.rpartition("/")
                yield f"{head}/versions/{version['version']}-{name}", version["content"]


def _fact(data: dict[str, Any]) -> str:
    until = f" until {_time(data['valid_to'])}" if data["valid_to"] else ""
    return f"- **{data['key']}**: `{data['value']}` (from {_time(data['valid_from'])}{until})\n"


def _edge(data: dict[str, Any]) -> str:
    return f"- {data['from_id']} — {data['type']} → {data['to_id']}\n"


def _summary(data: dict[str, Any]) -> str:
    window = f"{data['tier']}, {_time(data['starts_at'])} to {_time(data['ends_at'])}"
    return f"## {window}\n\n{data['content']}\n\n"


def _statement(data: dict[str, Any]) -> str:
    return f"- **{data['subject']}**: {data['text']} ({_time(data['at'])})\n"


# Of which there is one page for all: its name, its title, and what a record adds to it.
_LINES: Mapping[str, tuple[str, str, Callable[[dict[str, Any]], str]]] = {
    "fact": ("facts", "Facts", _fact),
    "edge": ("relations", "Relations", _edge),
    "summary": ("summaries", "Summaries", _summary),
    "statement": ("people", "What was said of people", _statement),
}


def _capsule_version(version: dict[str, Any], me: str) -> dict[str, Any]:
    shown = {name: version[name] for name in ("version", "change", "title", "tags", "metadata")}
    changed = {"changed_by": me if version["mine"] else None, "changed_at": _time(version["changed_at"])}
    return shown | {"content_md": version["content"]} | changed


def _memory(data: dict[str, Any]) -> str:
    about = {name: data[name] for name in _ABOUT if data.get(name)}
    lines = [f"{name}: {json.dumps(_shown(value), ensure_ascii=False)}" for name, value in about.items()]
    title = f"# {data['title']}\n\n" if data["title"] else ""
    return "---\n" + "\n".join(lines) + f"\n---\n{title}{data['content']}\n" + _earlier(data)


def _item(data: dict[str, Any]) -> str:
    namespace = " / ".join(label for label in (data["path"] or "").split("\x1f") if label)
    value = json.dumps(json.loads(data["content"]), ensure_ascii=False, indent=2)
    return f"# {data['key']}\n\n{namespace}\n\n```json\n{value}\n```\n" + _earlier(data)


def _earlier(data: dict[str, Any]) -> str:
    """What it said before, the latest first."""
    texts: list[str] = []
    before = data["content"]
    for version in reversed(data["history"]):
        if version["content"] != before:
            texts.append(f"\n## Before ({_time(version['changed_at'])})\n\n{version['content']}\n")
            before = version["content"]
    return "".join(texts)


def _named(data: dict[str, Any], title: str) -> str:
    """To be read, and never that of another: the end of the id is part of it."""
    return f"{_plain(title)}-{data['id'][-8:]}.md"


def _plain(text: str) -> str:
    words = _UNSAFE.sub("-", text).strip("-.").lower()
    return words[:60].encode()[:150].decode(errors="ignore") or "untitled"


def _trash(data: dict[str, Any]) -> str:
    return "/trash" if data.get("deleted_at") else "/cold" if data.get("cold_at") else ""


def _time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _shown(value: Any) -> Any:
    return _time(value) if isinstance(value, datetime) else value


def _plain_times(data: dict[str, Any]) -> dict[str, Any]:
    return {name: _shown(value) for name, value in data.items()}
