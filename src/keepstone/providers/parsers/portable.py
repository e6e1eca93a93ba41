"""PDF: page by page, under the headings of its outline, where it has one."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

from keepstone.providers.parsers.process import library
from keepstone.providers.parsers.sections import MOST_TEXT, ParsedSection, Unparsable

if TYPE_CHECKING:
    from pypdf import PdfReader

MOST_ENTRIES = 5_000  # of an outline
DEEPEST = 9


class OutlineEntry(NamedTuple):
    level: int
    title: str


def pdf(data: bytes) -> list[ParsedSection]:
    pypdf = library("pypdf")
    reader: PdfReader = pypdf.PdfReader(BytesIO(data))
    # Many a PDF is encrypted with the empty password, and opens for everybody.
    if reader.is_encrypted and reader.decrypt("") == pypdf.PasswordType.NOT_DECRYPTED:
        raise Unparsable("encrypted")
    entries = _outline(reader)
    sections: list[ParsedSection] = []
    size = 0
    for number, page in enumerate(reader.pages, 1):
        text = page.extract_text().strip()
        size += len(text.encode(errors="replace"))
        if size > MOST_TEXT:
            raise Unparsable("large")
        sections += _sections(text, number, entries.get(number, []))
    if not any(section.text for section in sections):
        raise Unparsable("pictures")
    return sections


def _sections(text: str, page: int, entries: list[OutlineEntry]) -> Iterator[ParsedSection]:
    """The text of a page, cut where the headings stand that begin on it. One that is not found there begins where the
    one before it does. The path to what stands on a page without one goes on.
    """
    level, title, place = 0, "", 0
    for entry in entries:
        at = _place(text, entry.title, place)
        if title or text[place:at].strip():
            yield ParsedSection(level, title, page, text[place:at].strip())
        level, title, place = entry.level, entry.title, at
    if title or text[place:].strip():
        yield ParsedSection(level, title, page, text[place:].strip())


def _place(text: str, title: str, start: int) -> int:
    """Where a heading stands behind a place, however its letters are spaced; the place itself if it does not."""
    letters = [(at, letter) for at, letter in enumerate(text[start:], start) if not letter.isspace()]
    found = "".join(letter for _, letter in letters).find("".join(title.split()))
    return letters[found][0] if found >= 0 and title.split() else start


def _outline(reader: "PdfReader") -> Mapping[int, list[OutlineEntry]]:
    """What begins on which page, from 1. An outline that can't be read is none: the text is there without it."""
    try:
        numbers = {
            page.indirect_reference.idnum: number
            for number, page in enumerate(reader.pages, 1)
            if page.indirect_reference is not None
        }
        outline: Any = _solid(reader.trailer["/Root"]).get("/Outlines")
        entries: dict[int, list[OutlineEntry]] = {}
        for level, node in _nodes(_solid(outline).get("/First"), 1) if outline is not None else ():
            page = numbers.get(_page(reader, node) or 0)
            title = " ".join(str(node.get("/Title", "")).split())
            if page is not None and title:
                entries.setdefault(page, []).append(OutlineEntry(level, title))
    except MemoryError:
        raise
    except Exception:  # whatever pypdf stumbles over
        return {}
    return entries


def _nodes(first: Any, level: int) -> Iterator[tuple[int, Any]]:
    """In their order, each once: an outline that leads back to itself has an end, too."""
    seen: set[int] = set()
    waiting = [(level, first)]
    while waiting and len(seen) < MOST_ENTRIES:
        depth, reference = waiting.pop()
        node, name = _solid(reference), getattr(reference, "idnum", id(reference))
        if node is None or name in seen:
            continue
        seen.add(name)
        yield depth, node
        waiting.append((depth, node.get("/Next")))
        if depth < DEEPEST:
            waiting.append((depth + 1, node.get("/First")))


def _page(reader: "PdfReader", node: Any) -> int | None:
    """The object that is the page to which an entry leads."""
    target: Any = _solid(node.get("/Dest"))
    if target is None:
        action: Any = _solid(node.get("/A"))
        target = None if action is None else _solid(action.get("/D"))
    if isinstance(target, str):
        named = reader.named_destinations.get(target)
        target = None if named is None else [named.raw_get("/Page")]
    return getattr(target[0], "idnum", None) if target else None


def _solid(value: Any) -> Any:
    """What a reference stands for."""
    return value.get_object() if hasattr(value, "get_object") else value
