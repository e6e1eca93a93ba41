"""From an uploaded file to its text, with the places where it stands.

Owns which kinds of file there are, how one is recognised, and the sentences with which a file is refused; how bytes
become characters is `charsets`'. Text and markdown are read here; the other kinds by `parsers`, in a process of its own
that is ended when it takes too long. What comes out has no NUL and no half of a character. No text of a file is in an
error.
"""

import asyncio
import json
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from keepstone.errors import Malformed, TooLarge, Unavailable
from keepstone.providers.charsets import CONTROL, decoded, of_page, pieces

MOST_TEXT = 20_000_000  # bytes; `parsers` holds itself to as many
MOST_SAID = 64_000_000  # bytes of JSON, in which a character may take two
MOST_SECTIONS = 20_000  # what has more headings goes on without them
LABEL = 120  # characters of a heading that are told with each block below it

MEDIA_TYPES = {
    "txt": "text/plain",
    "md": "text/markdown",
    "html": "text/html",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "epub": "application/epub+zip",
    "csv": "text/csv",
    "eml": "message/rfc822",
}
_PACKED = frozenset({"docx", "xlsx", "pptx", "epub"})  # zip archives
_TEXTS = frozenset({"txt", "md", "html", "csv", "eml"})
_ENDINGS = {kind: kind for kind in MEDIA_TYPES} | {
    "text": "txt",
    "log": "txt",
    "markdown": "md",
    "htm": "html",
    "xhtml": "html",
    "tsv": "csv",
    "xlsm": "xlsx",
    "docm": "docx",
    "pptm": "pptx",
}
_CLAIMS = {media_type: kind for kind, media_type in MEDIA_TYPES.items()} | {
    "text/x-markdown": "md",
    "application/xhtml+xml": "html",
    "text/tab-separated-values": "csv",
}
ENDING = re.compile(r"\.(?=\d*[A-Za-z])([A-Za-z0-9]{1,10})$")

# What the child needs to start, and nothing of ours.
_PASSED = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG")
_PIECE = 1 << 18

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
NEWLINE = re.compile(r"[\r\v\f\u2028\u2029]")
FRONT = re.compile(r"---\n(?:.{0,1000}\n){0,100}?---\n")  # front matter, in which nothing is a heading
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
UNDERLINE = re.compile(r"^ {0,3}(?:(=++)|-++)[ \t]*$")
# No line of a paragraph: a list, a quote, a table, a heading, code.
LEAD = re.compile(r"^(?: {4}|\t|\s*+(?:[-*+>|#=]|\d{1,9}[.)]\s))")
LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")

SectionRow = tuple[int, str, int | None, str]  # level and words of its heading, page, and text with the heading in it

_AGAIN = "then upload it again."
_UNKNOWN = "Keepstone reads txt, md, html, pdf, docx, xlsx, csv, pptx, epub and eml: convert it first, " + _AGAIN
_EMPTY = "There is no text in the file: upload one that has some."
_COSTLY = "Reading this file takes more time or memory than a file may: split it, or save it as plain text, " + _AGAIN
_LARGE = "The file has more than 20 MB of text: split it, and upload the parts."
_WHY = {
    "empty": _EMPTY,
    "costly": _COSTLY,
    "damaged": "The file is damaged, or not what its name says: open it, save it anew, " + _AGAIN,
    "mismatch": "The file is a zip archive and not a {kind}: unpack it and upload what is in it, or save it as {kind}.",
    "bomb": "The {kind} unpacks to far more than a document holds: open it, save it anew without pictures, " + _AGAIN,
    "encrypted": "The file is protected with a password or a key: save it without one, " + _AGAIN,
    "pictures": "The PDF has no text, only pictures: run text recognition (OCR) on it, " + _AGAIN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of the text. `heading` is the path to it, as "A > B", and stands in the text too; `page` is from 1."""

    text: str
    page: int | None = None
    heading: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """`media_type` is what the file is, whatever was claimed."""

    media_type: str
    blocks: list[Block]


class Parser:
    """Reads `at_once` files in processes of their own; who comes then waits, and not for ever."""

    def __init__(self, *, at_once: int = 2, seconds: float = 30, patience: float = 60) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._seconds = seconds
        self._patience = patience

    async def parse(self, data: bytes, name: str, media_type: str | None) -> Parsed:
        """The text of a file, in its order. Refuses what can't be read, and says what to do."""
        kind = kind_of(data, name, media_type)
        if kind in {"txt", "md"}:
            blocks = await asyncio.to_thread(_read, kind, data)
        else:
            given = await asyncio.to_thread(_as_utf8, data) if kind in {"html", "csv"} else data
            said = await self._said(kind, given)
            blocks = await asyncio.to_thread(_understood, kind, said)
        return Parsed(media_type=MEDIA_TYPES[kind], blocks=blocks)

    async def _said(self, kind: str, data: bytes) -> bytes:
        try:
            async with asyncio.timeout(self._patience):
                await self._slots.acquire()
        except TimeoutError:
            raise Unavailable("Too many files are being read: try again in a minute.", retry_after=60) from None
        try:
            async with asyncio.timeout(self._seconds):
                return await _child(kind, data)
        except TimeoutError:
            raise Malformed(_COSTLY) from None
        finally:
            self._slots.release()


def kind_of(data: bytes, name: str, media_type: str | None) -> str:
    """By the ending of the name and the first bytes, which have to agree; by what was claimed only between texts."""
    if not data:
        raise Malformed("The file is empty: upload one that has something in it.")
    ending = ENDING.search(name.strip())
    looks = "pdf" if data.startswith(b"%PDF-") else "zip" if data.startswith(b"PK\x03\x04") else ""
    if ending is None:
        claimed = _CLAIMS.get((media_type or "").partition(";")[0].strip().lower(), "txt")
        if looks == "zip":
            return claimed if claimed in _PACKED else "docx"
        return looks or (claimed if claimed in _TEXTS else "txt")
    kind = _ENDINGS.get(ending[1].lower())
    if kind is None:
        raise Malformed(_UNKNOWN)
    if kind in _PACKED and data.startswith(_OLE):
        raise Malformed(f"This is an old or a protected file: save it as {kind} without a password, " + _AGAIN)
    if kind == "pdf" and b"%PDF-" in data[:1024]:
        return kind  # readers take a PDF that begins a little late
    if looks != ("pdf" if kind == "pdf" else "zip" if kind in _PACKED else ""):
        is_it = {"pdf": "a PDF", "zip": "a docx or another zip archive"}.get(looks, f"no {kind}")
        raise Malformed(f"The file is named .{ending[1]} and is {is_it}: give it the name that fits, " + _AGAIN)
    return kind


# --- the child --------------------------------------------------------------------------------------------------------


async def _child(kind: str, data: bytes) -> bytes:
    """What the parser says of the file. However this ends, the process has ended too."""
    process = await _started(kind)
    try:
        said = await _exchange(process, data)
        ended = await process.wait()
    finally:
        await _end(process)
    if ended in {-signal.SIGKILL, -signal.SIGXCPU}:
        raise Malformed(_COSTLY)
    if ended < 0:
        raise Malformed(_WHY["damaged"])
    if ended:
        raise Unavailable("The server's file reader does not start: tell whoever runs it, and try again later.")
    return said


async def _started(kind: str) -> Process:
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "keepstone.providers.parsers", kind,
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_environment(), limit=_PIECE,
        )
    )  # fmt: skip
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError):  # half started it could not be ended
            await _end(await starting)
        raise
    except OSError:
        raise Unavailable("The server can't start a process to read the file in: try again later.") from None


async def _exchange(process: Process, data: bytes) -> bytes:
    into, out = cast("asyncio.StreamWriter", process.stdin), cast("asyncio.StreamReader", process.stdout)
    with suppress(BrokenPipeError, ConnectionResetError):  # it ended early; how, says its exit status
        into.write(data)
        await into.drain()
    into.close()
    said = bytearray()
    while piece := await out.read(_PIECE):
        said += piece
        if len(said) > MOST_SAID:
            raise TooLarge(_LARGE)
    return bytes(said)


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    out = cast("asyncio.StreamReader", process.stdout)
    while await out.read(_PIECE):
        pass  # a pipe that nobody empties is never closed, and then nobody is told that the process ended
    await process.wait()


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in _PASSED if name in os.environ}


def _understood(kind: str, said: bytes) -> list[Block]:
    lines: list[Any] = [json.loads(line) for line in said.splitlines()]
    if len(lines) == 1 and isinstance(lines[0], str):
        if lines[0] == "large":
            raise TooLarge(_LARGE)
        raise Malformed(_WHY[lines[0]].format(kind=kind))
    return _blocks(lines)


# --- text -------------------------------------------------------------------------------------------------------------


def _read(kind: str, data: bytes) -> list[Block]:
    if len(data) > MOST_TEXT:
        raise TooLarge(_LARGE)
    text = cleaned(decoded(data))
    return _blocks(markdown(text) if kind == "md" else [(0, "", None, text)])


def _as_utf8(data: bytes) -> bytes:
    return of_page(data).encode(errors="replace")


def cleaned(text: str) -> str:
    """With one kind of newline, without control characters, and with no half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\r\n", "\n")
    return "".join(CONTROL.sub("", NEWLINE.sub("\n", piece)) for piece in pieces(text))


def markdown(text: str) -> list[SectionRow]:
    """The text as it is, cut at its headings."""
    sections: list[SectionRow] = []
    level, title, fence = 0, "", ""
    front = FRONT.match(text)
    lines = front.group().splitlines() if front else []
    for line in text[front.end() if front else 0 :].split("\n"):
        depth, words, begins = 0, "", [line]
        if fence:
            closing = line.strip()
            fence = "" if closing.startswith(fence) and not closing.strip(fence[0]) else fence
        elif opening := FENCE.match(line):
            fence = opening[1]
        elif marked := ATX.match(line):
            depth, words = len(marked[1]), line[marked.end() :]
        elif (under := UNDERLINE.match(line)) and _is_alone(lines):
            words = lines.pop()
            depth, begins = 1 if under[1] else 2, [words, line]
        if depth and len(sections) < MOST_SECTIONS:
            sections.append((level, title, None, "\n".join(lines)))
            level, title, lines = depth, _label(words), begins
        else:
            lines += begins
    return [*sections, (level, title, None, "\n".join(lines))]


def _is_alone(lines: Sequence[str]) -> bool:
    """Whether the last line is a paragraph by itself, and so a heading if a line is drawn below it."""
    last = lines[-1] if lines else ""
    return bool(last.strip()) and not LEAD.match(last) and (len(lines) == 1 or not lines[-2].strip())


def _label(words: str) -> str:
    """A heading without the marks of markdown."""
    words = words[: 4 * LABEL].strip()
    bare = words.rstrip("#")
    words = bare if not bare or bare[-1] in " \t" else words
    return LINK.sub(r"\1", words).replace("**", "").replace("`", "").strip("*_ \t")


def _blocks(sections: Iterable[SectionRow]) -> list[Block]:
    blocks: list[Block] = []
    path: list[tuple[int, str]] = []
    for level, title, page, raw in sections:
        label = " ".join(cleaned(title[: 2 * LABEL]).split())[:LABEL].strip()
        if label:
            path = [*(heading_above for heading_above in path if heading_above[0] < level), (level, label)]
        text = cleaned(raw).strip("\n")
        if text.strip():
            heading = " > ".join(name for _, name in path) or None
            blocks.append(Block(text=text, page=page, heading=heading))
    if not blocks:
        raise Malformed(_EMPTY)
    return blocks
