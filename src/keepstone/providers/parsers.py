"""What reads html, pdf and docx: `python -m keepstone.providers.parsers pdf`, the file on stdin, JSON lines on stdout.

A process of its own, because these files come from strangers and their formats are large. It gives up most of what a
process may do before it sees a byte of the file, and it ends with the file. Each line it writes is a section, or, as
the only line, the name of a reason for which the file is refused. It must not write a file, open a connection, or say
a word about the file on stderr.
"""

import codecs
import json
import os
import pkgutil
import re
import resource
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pypdf import PdfReader

MOST_TEXT = 20_000_000  # bytes
MOST_SECTIONS = 20_000  # what has more headings goes on without them
MOST_INFLATED = 100_000_000
MOST_ENTRIES = 5_000
MOST_RATIO, RATIO_FROM = 200, 1_000_000
PIECE = 1 << 16

_LIMITS = (
    (resource.RLIMIT_AS, 1 << 30),
    (resource.RLIMIT_CPU, 20),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_CORE, 0),
)
_STEP_BACK = 10  # niceness
# What each kind takes. It is loaded when the limits hold, and no other: most of what a small file costs is loading.
_LIBRARIES = {"html": "lxml.etree", "docx": "lxml.etree", "pdf": "pypdf"}
# What pypdf and zipfile may decode with, beside what Python has at hand.
_CODECS = "ascii latin-1 charmap cp437 cp932 cp950 cp1252 gb2312 gb18030 gbk utf-16 utf-16-be utf-16-le"

SPACES = re.compile(r"[ \t\r\n\f\xa0]+")
HEADING = re.compile(r"heading ?([1-9])")
DOCUMENT = re.compile(r"word/document\d*\.xml")
STYLES = re.compile(r"word/styles\d*\.xml")

HIDDEN = frozenset({"script", "style", "template"})
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CELLS = frozenset({"td", "th"})
_APART = """
    address article aside blockquote details dl fieldset figure footer form header hr main nav ol p pre section ul
"""
_LINES = "body br caption dd div dt figcaption html legend li option summary tbody td tfoot th thead tr"
# Elements that stand apart from what is around them, and those that only have lines of their own.
APART, LINES = frozenset(_APART.split()), frozenset(_LINES.split())
# Of Word: what was deleted or moved away, what is there again for older programs, how something was formatted before.
GONE = frozenset({"del", "moveFrom", "Fallback", "pPrChange", "rPrChange"})
MARKS = {"br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class ParsedSection(NamedTuple):
    """A heading and what stands below it, up to the next one. The heading is the beginning of the text."""

    level: int
    title: str
    page: int | None
    text: str


class Unparsable(Exception):
    """With the name of the reason, which is all that is said."""


class Sections:
    """Collects lines, and cuts them at headings."""

    def __init__(self) -> None:
        self._done: list[ParsedSection] = []
        self._level, self._title = 0, ""
        self._lines: list[str] = []
        self._size = 0

    def heading(self, level: int, title: str) -> None:
        if self._lines == [title, ""] and title == self._title:
            self._level = level  # a page's title and its first heading
            return
        if len(self._done) < MOST_SECTIONS:
            self._end()
            self._level, self._title = level, title
        self.apart()
        self.line(title)
        self.apart()

    def line(self, text: str) -> None:
        self._size += len(text.encode(errors="replace")) + 1
        if self._size > MOST_TEXT:
            raise Unparsable("large")
        self._lines.append(text)

    def apart(self) -> None:
        """What comes next is another paragraph."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def close(self) -> list[ParsedSection]:
        self._end()
        if not self._done:
            raise Unparsable("empty")
        return self._done

    def _end(self) -> None:
        text = "\n".join(self._lines).strip()
        if text:
            self._done.append(ParsedSection(self._level, self._title, None, text))
        self._lines = []


# --- html -------------------------------------------------------------------------------------------------------------


class Table:
    """A table that is being read. One that has headings or tables in it is there for the layout, and has no rows."""

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.layout = False


class HtmlPage:
    """Takes what the HTML parser finds, in its order, and builds no tree: depth and size of a page cost nothing."""

    def __init__(self) -> None:
        self._found = Sections()
        self._words: list[str] = []
        self._tables: list[Table] = []
        self._hidden = self._pre = self._level = 0
        self._head = self._titled = self._item = False

    def start(self, tag: str, _: Mapping[str, str]) -> None:
        if self._hidden or tag in HIDDEN:
            self._hidden += 1
        elif tag == "head":
            self._head = True
        elif tag == "title" and self._head:
            self._titled = True
        elif tag in HEADINGS:
            self._lay_out()
            self._apart()
            self._level = HEADINGS[tag]
        elif tag == "table":
            self._lay_out()
            self._apart()
            self._tables.append(Table())
        elif tag in CELLS and self._in_rows():
            self._line()  # what stands between the rows, as a caption
        elif tag in APART:
            self._apart()
            self._pre += tag == "pre"
        elif tag in LINES:
            self._break()
            self._item = self._item or (tag == "li" and not self._in_rows())

    def end(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif tag == "head":
            self._head = False
        elif tag == "title" and self._titled:
            self._titled = False
            self._heading(1)
        elif tag in HEADINGS:
            self._heading(self._level)
        elif tag in CELLS and self._in_rows():
            self._tables[-1].cells.append(self._taken())
        elif tag == "tr" and self._in_rows():
            self._row()
        elif tag == "table" and self._tables:
            self._row()
            self._tables.pop()
            self._apart()
        elif tag in APART:
            self._apart()
            self._pre -= tag == "pre"
        elif tag in LINES and tag != "br":
            self._break()

    def data(self, text: str) -> None:
        if not self._hidden and (self._titled or not self._head):
            self._words.append(text)

    def close(self) -> None:
        self._line()

    def sections(self) -> list[ParsedSection]:
        return self._found.close()

    def _in_rows(self) -> bool:
        return bool(self._tables) and not self._tables[-1].layout

    def _lay_out(self) -> None:
        """A heading or a table begins: the table around it has no rows, and what was read of one is a line."""
        self._heading(self._level)
        if self._in_rows():
            self._tables[-1].layout = True
            self._cells()
        self._line()

    def _row(self) -> None:
        self._line()
        self._cells()

    def _cells(self) -> None:
        table = self._tables[-1]
        if any(table.cells):
            self._found.line(" | ".join(table.cells))
        table.cells = []

    def _heading(self, level: int) -> None:
        self._level = 0
        title = self._taken() if level else ""
        if title:
            self._found.heading(level, title)

    def _apart(self) -> None:
        self._break()
        if not (self._level or self._in_rows()):
            self._found.apart()

    def _break(self) -> None:
        """The end of a line, but in a heading or a cell, which have only one."""
        if self._level or self._in_rows():
            self._words.append(" ")
        elif self._pre:
            self._words.append("\n")
            self._line()
        else:
            self._line()

    def _line(self) -> None:
        pre = "".join(self._words).strip("\n") if self._pre else ""
        text = self._taken()
        if text:
            self._found.line(pre or (f"- {text}" if self._item else text))
            self._item = False

    def _taken(self) -> str:
        text = SPACES.sub(" ", "".join(self._words).replace("\xad", "")).strip()
        self._words = []
        return text


def html(data: bytes) -> list[ParsedSection]:
    """The text of a page, which is UTF-8 whatever it says of itself."""
    page = HtmlPage()
    lxml: Any = import_module("lxml.etree")
    _feed(lxml.HTMLParser(target=page, encoding="utf-8", no_network=True, huge_tree=False), data)
    return page.sections()


# --- docx -------------------------------------------------------------------------------------------------------------


class DocxPart:
    """Takes what the XML parser finds in a part of a docx. None has a document type, where entities would be."""

    def doctype(self, *_: object) -> None:
        raise Unparsable("damaged")

    def close(self) -> None: ...


class Styles(DocxPart):
    """Which level of heading each style stands for; 0 for none."""

    def __init__(self) -> None:
        self._style = ""
        self._names: dict[str, str] = {}
        self._based: dict[str, str] = {}
        self._levels: dict[str, int] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag, given = _local(tag), _value(attributes)
        if tag == "style":
            self._style = next((value for name, value in attributes.items() if _local(name) == "styleId"), "")
        elif tag == "name":
            self._names[self._style] = given.casefold()
        elif tag == "basedOn":
            self._based[self._style] = given
        elif tag == "outlineLvl":
            self._levels[self._style] = _outline(given)

    def level(self, style: str) -> int:
        """By its name, which Word keeps in English; by its outline; or as the style that it is based on."""
        for _ in range(10):  # a loop of styles is damage, not a reason to stay in it
            name = self._names.get(style, style.casefold())
            named = HEADING.fullmatch(name)
            level = int(named[1]) if named else int(name == "title") or self._levels.get(style, 0)
            if level or style not in self._based:
                return level
            style = self._based[style]
        return 0

    def is_item(self, style: str) -> bool:
        return self._names.get(style, "").startswith(("list bullet", "list number"))


class Paragraph:
    """A paragraph that is being read. Those of a text box stand inside of another."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.level = 0
        self.item = False


class DocxDocument(DocxPart):
    """The paragraphs and rows of a docx in their order, with what stands in text boxes, fields and tracked changes."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._found = Sections()
        self._open: list[Paragraph] = []
        self._rows: list[list[list[str]]] = []
        self._cells: list[list[str]] = []  # of each, its paragraphs
        self._hidden = 0
        self._text = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = _local(tag)
        if self._hidden or tag in GONE:
            self._hidden += 1
        elif tag == "p":
            self._open.append(Paragraph())
        elif tag == "tbl":
            self._found.apart()
        elif tag == "tr":
            self._rows.append([])
        elif tag == "tc":
            self._cells.append([])
        elif self._open:
            self._inside(tag, _value(attributes))

    def end(self, tag: str) -> None:
        tag = _local(tag)
        if self._hidden:
            self._hidden -= 1
        elif tag == "t":
            self._text = False
        elif tag == "p" and self._open:
            self._paragraph(self._open.pop())
        elif tag == "tc" and self._cells:
            cell = self._cells.pop()
            if self._rows:
                self._rows[-1].append(cell)
        elif tag == "tr" and self._rows:
            self._row(self._rows.pop())
        elif tag == "tbl" and not self._cells:
            self._found.apart()

    def data(self, text: str) -> None:
        if self._text and self._open and not self._hidden:
            self._open[-1].words.append(text)

    def sections(self) -> list[ParsedSection]:
        return self._found.close()

    def _inside(self, tag: str, given: str) -> None:
        paragraph = self._open[-1]
        if tag == "t":
            self._text = True
        elif tag == "tab" and not given:  # with a value it says where a tab leads to
            paragraph.words.append("\t")
        elif tag in MARKS:
            paragraph.words.append(MARKS[tag])
        elif tag == "pStyle":
            paragraph.level = paragraph.level or self._styles.level(given)
            paragraph.item = paragraph.item or self._styles.is_item(given)
        elif tag == "outlineLvl":
            paragraph.level = _outline(given)
        elif tag == "numId":
            paragraph.item = given != "0"

    def _paragraph(self, paragraph: Paragraph) -> None:
        text = "".join(paragraph.words).strip()
        if not text:
            return
        if self._cells:
            self._cells[-1].append(" ".join(text.split()))
        elif paragraph.level:
            self._found.heading(paragraph.level, " ".join(text.split()))
        elif paragraph.item:
            self._found.line(f"- {text}")
        else:
            self._found.apart()
            self._found.line(text)
            self._found.apart()

    def _row(self, cells: list[list[str]]) -> None:
        # A row of one cell is there for the layout, and its paragraphs are lines.
        lines = cells[0] if len(cells) == 1 else [" | ".join(" ".join(cell) for cell in cells)] if any(cells) else []
        if self._cells:
            self._cells[-1] += lines  # of a table in a cell
        else:
            for line in lines:
                self._found.line(line)


def docx(data: bytes) -> list[ParsedSection]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        _check(archive)
        names = archive.namelist()
        document = next((name for name in sorted(names) if DOCUMENT.fullmatch(name)), None)
        if document is None:
            raise Unparsable("mismatch")
        styles = next((name for name in sorted(names) if STYLES.fullmatch(name)), None)
        known = Styles()
        if styles:
            _feed(_xml(known), _inflated(archive, styles))
        read = DocxDocument(known)
        _feed(_xml(read), _inflated(archive, document))
        return read.sections()


def _check(archive: zipfile.ZipFile) -> None:
    """Whether a docx is what it looks like from outside. What it says of itself is held to when it is inflated."""
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES or sum(entry.file_size for entry in entries) > MOST_INFLATED:
        raise Unparsable("bomb")
    for entry in entries:
        if entry.file_size > RATIO_FROM and entry.file_size > MOST_RATIO * max(entry.compress_size, 1):
            raise Unparsable("bomb")
        if entry.flag_bits & 1:
            raise Unparsable("encrypted")
        if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise Unparsable("damaged")


def _inflated(archive: zipfile.ZipFile, name: str) -> bytes:
    pieces: list[bytes] = []
    size = 0
    with archive.open(name) as stream:
        while piece := stream.read(PIECE):
            size += len(piece)
            if size > MOST_INFLATED:
                raise Unparsable("bomb")
            pieces.append(piece)
    return b"".join(pieces)


def _xml(target: DocxPart) -> Any:
    lxml: Any = import_module("lxml.etree")
    return lxml.XMLParser(target=target, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def _feed(parser: Any, data: bytes) -> None:
    for start in range(0, len(data), PIECE):
        parser.feed(data[start : start + PIECE])
    parser.close()


def _local(name: str) -> str:
    """Without the namespace: the strict form of the format has others, and no two that matter share a name."""
    return name.rpartition("}")[2]


def _value(attributes: Mapping[str, str]) -> str:
    return next((value for name, value in attributes.items() if _local(name) == "val"), "")


def _outline(given: str) -> int:
    """Word counts from 0, and 9 is body text."""
    return int(given) + 1 if given in set("012345678") else 0


# --- pdf --------------------------------------------------------------------------------------------------------------


def pdf(data: bytes) -> list[ParsedSection]:
    pypdf: Any = import_module("pypdf")
    reader: PdfReader = pypdf.PdfReader(BytesIO(data))
    # Many a PDF is encrypted with the empty password, and opens for everybody.
    if reader.is_encrypted and reader.decrypt("") == pypdf.PasswordType.NOT_DECRYPTED:
        raise Unparsable("encrypted")
    sections: list[ParsedSection] = []
    size = 0
    for number, page in enumerate(reader.pages, 1):
        text = page.extract_text().strip()
        size += len(text.encode(errors="replace"))
        if size > MOST_TEXT:
            raise Unparsable("large")
        if text:
            sections.append(ParsedSection(0, "", number, text))
    if not sections:
        raise Unparsable("pictures")
    return sections


# --- the process ------------------------------------------------------------------------------------------------------

READERS: Mapping[str, Callable[[bytes], list[ParsedSection]]] = {"html": html, "docx": docx, "pdf": pdf}


def limit(kind: str) -> None:
    """Give up what no parser needs. After this no file can be opened and no connection made, not even by a library."""
    os.nice(_STEP_BACK)
    for what, most in _LIMITS:
        _lower(what, most)
    library = import_module(_LIBRARIES[kind])
    for name in _CODECS.split():
        codecs.lookup(name)
    for module in pkgutil.walk_packages(getattr(library, "__path__", ()), f"{library.__name__}."):
        with suppress(ImportError):  # of what it can do without
            import_module(module.name)
    _lower(resource.RLIMIT_NOFILE, 0)


def _lower(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):  # not every system has every limit
        resource.setrlimit(what, (allowed, allowed))


def answer(kind: str, data: bytes) -> Iterable[object]:
    """The sections, or the one reason why there are none."""
    try:
        return READERS[kind](data)
    except Unparsable as refusal:
        return [str(refusal)]
    except MemoryError:
        return ["costly"]
    except Exception:
        # Whatever a parser stumbles over. What it says of it would quote the file.
        return ["damaged"]


def main() -> None:
    kind = sys.argv[1]
    limit(kind)
    for line in answer(kind, sys.stdin.buffer.read()):
        # Halves of characters pass here; who reads this knows what to do with them.
        sys.stdout.buffer.write(json.dumps(line, ensure_ascii=False).encode(errors="surrogatepass") + b"\n")


if __name__ == "__main__":
    main()
