"""Folders of Markdown, or zips of such: an Obsidian vault, `MEMORY.md` and `CLAUDE.md`, or what `keepstone export
--format markdown` wrote.

A file is a note; its folders and `#tags` are tags. `MEMORY.md` and `CLAUDE.md` are a note a section. What is larger
than a capsule may be is cut at its headings.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

from keepstone.errors import Invalid
from keepstone.importers.bundle import open_bundle
from keepstone.importers.front import archived, front_and_body
from keepstone.importers.items import Item, LeftOut, Note, Reading
from keepstone.importers.text import clean, cleaned, elements_of, labels, moment, titled
from keepstone.model.capsule import LARGEST_CONTENT

_SECTIONS = {"MEMORY.MD", "CLAUDE.MD", "AGENTS.MD", "GEMINI.MD"}
_SUFFIXES = {".md", ".markdown", ".mdx"}
_TAG = re.compile(r"(?<![\w#/&])#(?=\w)(?=[\d/-]*+[^\W\d])([\w/-]++)")
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.*)$")
_FENCE = re.compile(r"^[ ]{0,3}(```|~~~)")
_CREATED = ("created", "created_at", "date", "date created", "creation date")
_UPDATED = ("updated", "updated_at", "modified", "date modified", "last_modified")
_LARGEST_FILE = 64 * 1024 * 1024


def read(reading: Reading) -> Iterator[Item]:
    with open_bundle(reading.file) as bundle:
        names = [name for name in bundle.sizes if not _hidden(name)]
        if not any(_is_markdown(name) for name in names):
            raise Invalid(f"There is no Markdown file in {reading.file.name}.")
        reading.gauge.total = bundle.size(names)
        top = _common_folder(names) if bundle.is_zip else ""
        for name in sorted(names, key=_order):
            short = name.removeprefix(top)
            if not _is_markdown(name):
                yield LeftOut(reason="no Markdown", what=short)
            elif bundle.sizes[name] > _LARGEST_FILE:
                yield LeftOut(reason="file of more than 64 MB", what=short)
            else:
                with bundle.open(name) as file:
                    data = file.read()
                yield from _file(data, short, bundle.time(name))
            reading.gauge.done += bundle.sizes[name]


def _hidden(name: str) -> bool:
    """As `.obsidian` and `.trash` are, and what a Mac puts into a zip."""
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)


def _is_markdown(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in _SUFFIXES


def _order(name: str) -> tuple[list[tuple[bool, str]], str]:
    """By name, the files of a folder before the folders in it."""
    *folders, last = name.split("/")
    return [(True, folder) for folder in folders] + [(False, last)], name


def _common_folder(names: Sequence[str]) -> str:
    """That a vault was packed with its folder says nothing about its notes."""
    tops = {name.partition("/")[0] + "/" for name in names}
    return tops.pop() if len(tops) == 1 and all("/" in name for name in names) else ""


def _file(data: bytes, name: str, changed: datetime) -> Iterator[Item]:
    text = data.decode("utf-8-sig", "replace")
    front, body = front_and_body(text)
    if front is not None and "keepstone" in front:
        own = archived(front, body)
        yield own or LeftOut(reason="its front matter is no longer that of a capsule", what=name)
        return
    if front is None:
        yield LeftOut(reason="front matter that is no YAML, kept as text", what=name)
        front, body = {}, text
    if not body.strip():
        yield LeftOut(reason="empty file", what=name)
        return
    place = PurePosixPath(name)
    made = _time(front, _CREATED) or changed
    aliases = [clean(str(alias)) for alias in elements_of(front.get("aliases"))]
    about: dict[str, Any] = {"source": "markdown", "path": clean(name)} | ({"aliases": aliases} if aliases else {})
    other = {key: value for key, value in front.items() if key not in {"tags", "tag", "title", "kind", "aliases"}}
    if other:
        about["front_matter"] = cleaned(other)
    note = Note(
        id=name,
        title=titled(str(front.get("title") or place.stem), place.stem),
        content_md=clean(body).strip("\r\n"),
        kind=clean(str(front.get("kind") or "note")).strip()[:50] or "note",
        tags=labels(*_front_tags(front), *_TAG.findall(_CODE.sub(" ", body)), *place.parent.parts),
        created_at=made,
        updated_at=_time(front, _UPDATED),
        metadata=about,
    )
    if place.name.upper() in _SECTIONS:
        yield from _sections(note)
    else:
        yield from parts_of(note)


def _front_tags(front: dict[str, Any]) -> list[str]:
    tags: list[str] = []
    for name in ("tags", "tag"):
        value = front.get(name)
        tags += re.split(r"[,\s]+", value) if isinstance(value, str) else [str(tag) for tag in elements_of(value)]
    return tags


def _time(front: dict[str, Any], names: tuple[str, ...]) -> datetime | None:
    lower = {str(key).lower(): value for key, value in front.items()}
    for name in names:
        value = lower.get(name)
        at = moment(value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value)
        if at is not None:
            return at
    return None


def _sections(note: Note) -> Iterator[Note]:
    """A file of memories: a note for each section, called as its heading."""
    seen: dict[str, int] = {}
    for heading, text in sections(note.content_md):
        if not _HEADING.sub("", text.strip()).strip():
            continue  # a heading alone
        label = heading or note.title
        seen[label] = seen.get(label, 0) + 1
        key = f"{note.id}#{label}" + (f"#{seen[label]}" if seen[label] > 1 else "")
        part = replace(
            note, id=key, title=titled(label, note.title), content_md=text.strip("\r\n"), kind="memory",
            tags=labels(*note.tags, PurePosixPath(note.id).stem),
            metadata=note.metadata | ({"heading": heading} if heading else {}),
        )  # fmt: skip
        yield from parts_of(part)


def sections(text: str) -> list[tuple[str, str]]:
    """A text cut before each of its headings, none of which stands in a block of code."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in text.splitlines(keepends=True):
        opened = _FENCE.match(line)
        if opened:
            fence = "" if fence == opened[1] else fence or opened[1]
        heading = None if fence else _HEADING.match(line.rstrip("\r\n"))
        if heading:
            parts.append((heading[1].strip(" \t").rstrip("#").rstrip(" \t"), []))
        parts[-1][1].append(line)
    return [(heading, "".join(lines)) for heading, lines in parts if "".join(lines).strip()]


def parts_of(note: Note) -> Iterator[Note]:
    """The note, or, if it is larger than a capsule may be, as few parts as it takes, cut at headings if it has some."""
    if len(note.content_md.encode()) <= LARGEST_CONTENT:
        yield note
        return
    pieces: list[str] = []
    for _, text in sections(note.content_md):
        for piece in _cut(text):
            if pieces and len((pieces[-1] + piece).encode()) <= LARGEST_CONTENT:
                pieces[-1] += piece
            else:
                pieces.append(piece)
    for number, piece in enumerate(pieces, 1):
        title = titled(f"{note.title[:480]} ({number})", note.title)
        yield replace(
            note, id=f"{note.id}#part-{number}", title=title, content_md=piece,
            metadata=note.metadata | {"part": number, "parts": len(pieces)},
        )  # fmt: skip


def _cut(text: str) -> Iterator[str]:
    """In pieces that fit, at the end of a paragraph, a line, or wherever it has to be."""
    most = LARGEST_CONTENT // 4  # characters, of four bytes at most
    while len(text.encode()) > LARGEST_CONTENT:
        head = text[:most]
        end = next((at + len(mark) for mark in ("\n\n", "\n", " ") if (at := head.rfind(mark)) > most // 2), most)
        yield text[:end]
        text = text[end:]
    if text.strip():
        yield text
