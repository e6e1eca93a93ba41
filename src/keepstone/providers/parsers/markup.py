"""HTML: the text of a page in its order, with its headings, rows and items."""

import re
from collections.abc import Mapping

from keepstone.providers.parsers.packed import feed
from keepstone.providers.parsers.process import library
from keepstone.providers.parsers.sections import ParsedSection, Sections

SPACES = re.compile(r"[ \t\r\n\f\xa0]+")

HIDDEN = frozenset({"script", "style", "template"})
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CELLS = frozenset({"td", "th"})
_APART = """
    address article aside blockquote details dl fieldset figure footer form header hr main nav ol p pre section ul
"""
_LINES = "body br caption dd div dt figcaption html legend li option summary tbody td tfoot th thead tr"
# Elements that stand apart from what is around them, and those that only have lines of their own.
APART, LINES = frozenset(_APART.split()), frozenset(_LINES.split())


class Table:
    """A table that is being read. One that has headings or tables in it is there for the layout, and has no rows."""

    def __init__(self) -> None:
        self.cells: list[str] = []
        self.layout = False


class HtmlPage:
    """Takes what the HTML parser finds, in its order, and builds no tree: depth and size of a page cost nothing."""

    def __init__(self, found: Sections, *, titled: bool = True) -> None:
        self._found = found
        self._takes_title = titled
        self._words: list[str] = []
        self._tables: list[Table] = []
        self._hidden = self._pre = self._level = 0
        self._head = self._titled = self._item = False

    def start(self, tag: str, _: Mapping[str, str]) -> None:
        if self._hidden or tag in HIDDEN:
            self._hidden += 1
        elif tag == "head":
            self._head = True
        elif tag == "title" and self._head and self._takes_title:
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
    found = Sections()
    read_page(data, found)
    return found.close()


def read_page(data: bytes, into: Sections, *, titled: bool = True) -> None:
    """The same among others; unless it is `titled`, without what stands in its head."""
    page = HtmlPage(into, titled=titled)
    lxml = library("lxml.etree")
    feed(lxml.HTMLParser(target=page, encoding="utf-8", no_network=True, huge_tree=False), data)
