"""PowerPoint's pptx: slide by slide, each under its title, with its tables and what its speaker notes."""

import re
from collections.abc import Mapping

from keepstone.providers.parsers.packed import Package, XmlPart, local, opened, value
from keepstone.providers.parsers.sections import ParsedSection, Sections, Unparsable

SLIDE = re.compile(r"ppt/slides/slide(\d{1,6})\.xml")
TITLES = frozenset({"title", "ctrTitle"})
UNSPOKEN = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})  # what stands on every slide


class Presentation(XmlPart):
    """The ids of the slides in their order."""

    def __init__(self) -> None:
        self.slides: list[str] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if local(tag) == "sldId":
            given = next((found for name, found in attributes.items() if name.endswith("}id")), "")
            self.slides.append(given)


class Slide(XmlPart):
    """Title and lines of one, or of its notes."""

    def __init__(self) -> None:
        self.title = ""
        self.lines: list[str] = []
        self._shape: list[str] = []
        self._placeholder = ""
        self._words: list[str] = []
        self._cells: list[str] | None = None
        self._cell: list[str] | None = None
        self._said = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = local(tag)
        if tag == "sp":
            self._shape, self._placeholder = [], ""
        elif tag == "ph":
            self._placeholder = value(attributes, "type") or "body"
        elif tag == "tr":
            self._cells = []
        elif tag == "tc":
            self._cell = []
        elif tag == "p":
            self._words = []
        elif tag == "br":
            self._words.append(" ")
        self._said = tag == "t"

    def end(self, tag: str) -> None:
        tag = local(tag)
        self._said = False
        if tag == "p":
            self._paragraph(" ".join("".join(self._words).split()))
            self._words = []
        elif tag == "tc" and self._cells is not None:
            self._cells.append(" ".join(self._cell or []))
            self._cell = None
        elif tag == "tr":
            self.lines += [" | ".join(self._cells)] if self._cells and any(self._cells) else []
            self._cells = None
        elif tag == "sp":
            self._end_shape()

    def data(self, text: str) -> None:
        if self._said:
            self._words.append(text)

    def _paragraph(self, text: str) -> None:
        if text and self._cell is not None:
            self._cell.append(text)
        elif text:
            self._shape.append(text)

    def _end_shape(self) -> None:
        if self._placeholder in TITLES and not self.title:
            self.title = " ".join(self._shape)
        elif self._placeholder not in UNSPOKEN:
            self.lines += self._shape
        self._shape, self._placeholder = [], ""


def pptx(data: bytes) -> list[ParsedSection]:
    with opened(data) as package:
        if "ppt/presentation.xml" not in package.names:
            raise Unparsable("mismatch")
        found = Sections()
        said = False
        for number, name in enumerate(_in_order(package), 1):
            slide, notes = Slide(), Slide()
            package.feed(name, slide)
            for kind, part in package.related(name).values():
                if kind == "notesSlide":
                    package.feed(part, notes)
            lines = [*slide.lines, *([f"Notes: {' '.join(notes.lines)}"] if notes.lines else [])]
            if slide.title or lines:
                said = True
                found.page(number)
                found.heading(1, slide.title or f"Slide {number}")
                for line in lines:
                    found.line(line)
        if not said:
            raise Unparsable("empty")
        return found.close()


def _in_order(package: Package) -> list[str]:
    """As the presentation has them; those that it does not name, by their number."""
    listed = Presentation()
    package.feed("ppt/presentation.xml", listed)
    parts = package.related("ppt/presentation.xml")
    named = [parts[one][1] for one in listed.slides if one in parts]
    there = {name: int(match[1]) for name in package.names if (match := SLIDE.fullmatch(name))}
    return [name for name in named if name in package.names] or sorted(there, key=there.__getitem__)
