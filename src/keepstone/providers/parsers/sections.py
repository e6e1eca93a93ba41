"""What comes of a file: sections, each a heading with what stands below it. And how much a file may hold."""

from typing import NamedTuple

MOST_TEXT = 20_000_000  # bytes
MOST_SECTIONS = 20_000  # what has more headings goes on without them


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
        self._page: int | None = None
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

    def page(self, number: int) -> None:
        """What comes next stands on this page."""
        self._end()
        self._page = number

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
            self._done.append(ParsedSection(self._level, self._title, self._page, text))
        self._lines = []
