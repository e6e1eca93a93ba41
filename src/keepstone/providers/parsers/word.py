"""Word's docx: its paragraphs and rows in their order, with the headings that its styles stand for."""

import re
from collections.abc import Mapping

from keepstone.providers.parsers.packed import XmlPart, local, opened, value
from keepstone.providers.parsers.sections import ParsedSection, Sections, Unparsable

HEADING = re.compile(r"heading ?([1-9])")
DOCUMENT = re.compile(r"word/document\d*\.xml")
STYLES = re.compile(r"word/styles\d*\.xml")
# Of Word: what was deleted or moved away, what is there again for older programs, how something was formatted before.
GONE = frozenset({"del", "moveFrom", "Fallback", "pPrChange", "rPrChange"})
MARKS = {"br": "\n", "cr": "\n", "noBreakHyphen": "-"}


class Styles(XmlPart):
    """Which level of heading each style stands for; 0 for none."""

    def __init__(self) -> None:
        self._style = ""
        self._names: dict[str, str] = {}
        self._based: dict[str, str] = {}
        self._levels: dict[str, int] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag, given = local(tag), value(attributes)
        if tag == "style":
            self._style = value(attributes, "styleId")
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


class DocxDocument(XmlPart):
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
        tag = local(tag)
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
            self._inside(tag, value(attributes))

    def end(self, tag: str) -> None:
        tag = local(tag)
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
    with opened(data) as package:
        document = next((name for name in sorted(package.names) if DOCUMENT.fullmatch(name)), None)
        if document is None:
            raise Unparsable("mismatch")
        styles = next((name for name in sorted(package.names) if STYLES.fullmatch(name)), "")
        known = Styles()
        package.feed(styles, known)
        read = DocxDocument(known)
        package.feed(document, read)
        return read.sections()


def _outline(given: str) -> int:
    """Word counts from 0, and 9 is body text."""
    return int(given) + 1 if given in set("012345678") else 0
