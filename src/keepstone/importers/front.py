"""The front matter of a Markdown file, and capsules as such files: everything about one above its text, lossless."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import yaml

from keepstone.importers.items import Archived
from keepstone.importers.text import cleaned, elements_of, fields

FORMAT = 1
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)(?<=\n)---[ \t]*(?:\r?\n|$)", re.DOTALL)
_LARGEST = 4 * 1024 * 1024
_ORDER = ("id", "title", "kind", "tags", "created_at", "updated_at", "accessed_at", "version", "project_id", "source",
          "metadata", "deleted_at", "cold_at")  # fmt: skip
_OF_A_VERSION = ("title", "content_md", "tags", "metadata")


def front_and_body(text: str) -> tuple[dict[str, Any] | None, str]:
    """What stands above the text, and the text. None: there is something, and it is no YAML."""
    match = _FRONT.match(text)
    if match is None:
        return {}, text
    own = _own(match[1])
    if own is not None:
        return own, text[match.end() :]
    try:
        # An alias can make a page of a line, and a terabyte of a page.
        tokens = cast("Iterator[object]", yaml.scan(match[1], yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
        aliased = any(isinstance(token, yaml.AliasToken) for token in tokens)
        if aliased or len(match[1]) > _LARGEST:
            return None, text
        loaded: object = yaml.load(match[1], yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)  # noqa: S506  safe
    except (yaml.YAMLError, ValueError, RecursionError):
        return None, text
    if loaded is not None and not isinstance(loaded, dict):
        return None, text
    return {str(key): value for key, value in fields(loaded).items()}, text[match.end() :]


def _own(text: str) -> dict[str, Any] | None:
    """As we wrote it: to the digit, which YAML is not. None when somebody else has written it anew."""
    if not text.startswith("keepstone:"):
        return None
    read: dict[str, Any] = {}
    history: list[Any] = []
    try:
        for line in text.splitlines():
            if line.startswith("- "):
                history.append(json.loads(line[2:]))
            elif line != "history:":
                name, _, value = line.partition(": ")
                read[name] = json.loads(value)
    except ValueError:
        return None
    return read | ({"history": history} if history else {})


def written(capsule: dict[str, Any], project: str | None) -> str:
    """A capsule of the archive as a file. Each value is JSON on a line of its own, which is also YAML."""
    lines = [f"keepstone: {FORMAT}"]
    for name in _ORDER:
        if capsule.get(name) is not None:
            lines.append(f"{name}: {_json(capsule[name])}")
        if name == "project_id" and project:
            lines.append(f"project: {_json(project)}")
    if capsule.get("history"):
        lines.append("history:")
        lines += [f"- {_json(_short(version, capsule))}" for version in capsule["history"]]
    return "---\n" + "\n".join(lines) + "\n---\n" + capsule["content_md"]


def archived(front: dict[str, Any], body: str) -> Archived | None:
    """The capsule again; what was edited in the file is taken as it is now."""
    capsule = cleaned({name: front[name] for name in (*_ORDER, "history") if name in front}) | {"content_md": body}
    now = {name: capsule.get(name) for name in _OF_A_VERSION}
    capsule["history"] = [now | fields(version) for version in elements_of(capsule.get("history"))]
    whole = all(capsule.get(name) for name in ("id", "title", "created_at"))
    return Archived(capsule=capsule, project=front.get("project")) if whole else None


def _short(version: dict[str, Any], capsule: dict[str, Any]) -> dict[str, Any]:
    """A version without what is the same as now."""
    return {
        name: value for name, value in version.items() if name not in _OF_A_VERSION or value != capsule.get(name)
    }  # fmt: skip


def _json(value: Any) -> str:
    """On one line, whatever ends a line for YAML."""
    text = json.dumps(value, ensure_ascii=False)  # escapes everything below the space
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda match: f"\\u{ord(match[0]):04x}", text)
