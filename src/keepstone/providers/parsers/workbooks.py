"""Excel's xlsx: sheet by sheet, row by row, each value as its reader sees it."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from keepstone.providers.parsers.packed import XmlPart, local, opened, value
from keepstone.providers.parsers.sections import ParsedSection, Sections, Unparsable
from keepstone.providers.parsers.tables import Rows, TableCell

MOST_COLUMNS = 16_384
COLUMN = re.compile(r"([A-Z]{1,3})\d+")
# Formats of numbers that every workbook knows by these ids.
DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
PERCENT = frozenset({9, 10})
UNSHOWN = re.compile(r'"[^"]*"|\\.|\[[^\]\[]*+\]|_.|\*.')  # of a format: texts, colours, widths
OF_DATE = re.compile(r"[ymdhs]", re.IGNORECASE)
BEGINNINGS = {False: datetime(1899, 12, 30), True: datetime(1904, 1, 1)}  # a sheet knows no zone


class Workbook(XmlPart):
    """The sheets in their order: names and ids."""

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.since_1904 = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if local(tag) == "sheet":
            self.sheets.append((value(attributes, "name"), value(attributes, "id")))
        elif local(tag) == "workbookPr":
            self.since_1904 = value(attributes, "date1904") in {"1", "true"}


class SharedStrings(XmlPart):
    """Texts that cells name by their number. How they are pronounced is not part of them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._words: list[str] = []
        self._said = False
        self._hidden = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002
        tag = local(tag)
        if tag == "si":
            self._words = []
        self._hidden += tag == "rPh"
        self._said = tag == "t" and not self._hidden

    def end(self, tag: str) -> None:
        tag = local(tag)
        self._said = False
        self._hidden -= tag == "rPh"
        if tag == "si":
            self.texts.append(" ".join("".join(self._words).split()))

    def data(self, text: str) -> None:
        if self._said:
            self._words.append(text)


class CellFormats(XmlPart):
    """Which formats of cells show a date, and which a percentage."""

    def __init__(self) -> None:
        self._codes: dict[int, str] = {}
        self._formats: list[int] = []
        self._inside = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = local(tag)
        if tag == "numFmt":
            self._codes[_number(value(attributes, "numFmtId"))] = UNSHOWN.sub("", value(attributes, "formatCode"))
        elif tag == "cellXfs":
            self._inside = True
        elif tag == "xf" and self._inside:
            self._formats.append(_number(value(attributes, "numFmtId")))

    def end(self, tag: str) -> None:
        if local(tag) == "cellXfs":
            self._inside = False

    def of(self, style: str) -> str:
        number = _number(style)
        known = self._formats[number] if 0 <= number < len(self._formats) else 0
        code = self._codes.get(known, "")
        if known in DATES or OF_DATE.search(code):
            return "date"
        return "percent" if known in PERCENT or "%" in code else ""


class Sheet(XmlPart):
    """The rows of one, cell by cell."""

    def __init__(self, rows: Rows, texts: list[str], formats: CellFormats, *, since_1904: bool) -> None:
        self._rows, self._texts, self._formats = rows, texts, formats
        self._beginning = BEGINNINGS[since_1904]
        self._cells: list[TableCell] = []
        self._column = 0
        self._kind = self._style = ""
        self._words: list[str] = []
        self._said = False
        self._last = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = local(tag)
        if tag == "row":
            number = _number(attributes.get("r", "")) or self._last + 1
            if number > self._last + 1:
                self._rows.end()  # rows that are not there are empty
            self._last, self._cells = number, []
        elif tag == "c":
            self._column = _column(attributes.get("r", ""), len(self._cells))
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._words = []
        self._said = tag in {"v", "t"}

    def end(self, tag: str) -> None:
        tag = local(tag)
        self._said = False
        if tag == "c" and self._words and self._column < MOST_COLUMNS:
            missing = self._column - len(self._cells)
            self._cells += [TableCell("", named=False)] * missing
            self._cells.append(self._cell("".join(self._words)))
        elif tag == "row":
            self._rows.row(self._cells)

    def data(self, text: str) -> None:
        if self._said:
            self._words.append(text)

    def _cell(self, said: str) -> TableCell:
        if self._kind == "s":
            number = _number(said)
            return TableCell(self._texts[number] if 0 <= number < len(self._texts) else "", named=True)
        if self._kind in {"inlineStr", "str"}:
            return TableCell(" ".join(said.split()), named=self._kind == "inlineStr")
        if self._kind == "b":
            return TableCell("TRUE" if said.strip() == "1" else "FALSE", named=False)
        if self._kind in {"e", "d"}:
            return TableCell(said.strip(), named=False)
        return TableCell(self._shown(said.strip()), named=False)

    def _shown(self, said: str) -> str:
        try:
            number = float(said)
            how = self._formats.of(self._style)
            if how == "date":
                return _date(self._beginning + timedelta(days=number), dated=number >= 1)
            return f"{number * 100:.15g}%" if how == "percent" else f"{number:.15g}"
        except (ValueError, OverflowError):
            return said


def xlsx(data: bytes) -> list[ParsedSection]:
    with opened(data) as package:
        workbook = "xl/workbook.xml"
        if workbook not in package.names:
            raise Unparsable("mismatch")
        about, texts, formats = Workbook(), SharedStrings(), CellFormats()
        package.feed(workbook, about)
        parts = package.related(workbook)
        for kind, part in parts.values():
            if kind in {"sharedStrings", "styles"}:
                package.feed(part, texts if kind == "sharedStrings" else formats)
        found = Sections()
        for number, (name, one) in enumerate(about.sheets, 1):
            _, part = parts.get(one, ("", ""))
            rows = Rows(found, " ".join(name.split()) or f"Sheet {number}")
            package.feed(part, Sheet(rows, texts.texts, formats, since_1904=about.since_1904))
            rows.end()
        return found.close()


def _column(reference: str, following: int) -> int:
    """From 0: "A1" is the first. Without a reference it is the next one."""
    match = COLUMN.fullmatch(reference)
    if match is None:
        return following
    number = 0
    for letter in match[1]:
        number = 26 * number + ord(letter) - ord("A") + 1
    return max(number - 1, following)


def _date(at: datetime, *, dated: bool) -> str:
    at = (at + timedelta(microseconds=500_000)).replace(microsecond=0)
    if not dated:
        return f"{at:%H:%M}" if not at.second else f"{at:%H:%M:%S}"
    return f"{at:%Y-%m-%d}" if (at.hour, at.minute, at.second) == (0, 0, 0) else f"{at:%Y-%m-%d %H:%M}"


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
