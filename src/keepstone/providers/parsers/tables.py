"""Tables as text: row by row, each value with the name of its column, so that a row can be understood alone."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from keepstone.providers.parsers.sections import MOST_TEXT, ParsedSection, Sections, Unparsable

DELIMITERS = ",;\t|"
_LOOKED_AT = 50  # lines, to see what parts the values
NUMBER = re.compile(r"[-+(]?[\s$€£¥]{0,3}\d[\d.,'\s]*+[%€$£¥)]?|\d{1,4}[-./:]\d{1,2}(?:[-./:T ].*)?")
QUOTED = re.compile(r'"[^"]*"')


class TableCell(NamedTuple):
    """`named`: it is a word, and may be the name of a column."""

    text: str
    named: bool


class Rows:
    """Takes rows, under a heading if there is any. The first of a table that has more than one value names the columns,
    if all that it has are words. An empty row ends a table.
    """

    def __init__(self, found: Sections, heading: str = "") -> None:
        self._found = found
        self._heading = heading  # as long as nothing stands below it
        self._first: Sequence[TableCell] | None = None  # which may have the names
        self._names: Sequence[TableCell] = ()
        self._unnamed = False

    def row(self, cells: Sequence[TableCell]) -> None:
        if not any(cell.text for cell in cells):
            self.end()
            return
        first, self._first = self._first, None
        if first is not None and _are_names(first, cells):
            self._names = first
        elif first is not None:
            self._unnamed = len(_filled(first)) > 1  # a single value stands above a table
            self._line(first)
        if self._names or self._unnamed:
            self._line(cells)
        else:
            self._first = cells

    def end(self) -> None:
        if self._first is not None:
            self._line(self._first)
        self._first, self._names, self._unnamed = None, (), False

    def _line(self, cells: Sequence[TableCell]) -> None:
        """A paragraph of its own: no chunk ends within a row that fits into one."""
        if self._heading:
            self._found.heading(1, self._heading)
            self._heading = ""
        self._found.apart()
        self._found.line(_named(self._names, cells) if self._names else " | ".join(_filled(cells)))
        self._found.apart()


def _filled(cells: Sequence[TableCell]) -> list[str]:
    return [cell.text for cell in cells if cell.text]


def _are_names(cells: Sequence[TableCell], below: Sequence[TableCell]) -> bool:
    filled = [cell for cell in cells if cell.text]
    return len(filled) > 1 and all(cell.named for cell in filled) and len(_filled(below)) <= len(filled) + 1


def _named(names: Sequence[TableCell], cells: Sequence[TableCell]) -> str:
    padded = [*(name.text for name in names), *[""] * (len(cells) - len(names))]
    return ", ".join(
        f"{name}: {cell.text}" if name else cell.text for name, cell in zip(padded, cells, strict=False) if cell.text
    )


def csv_table(data: bytes) -> list[ParsedSection]:
    """UTF-8, whatever parts its values."""
    text = data.decode(errors="replace")
    found = Sections()
    rows = Rows(found)
    csv.field_size_limit(MOST_TEXT)
    try:
        for row in _read(text):
            rows.row(list(map(_cell, row)))
    except csv.Error:
        raise Unparsable("damaged") from None
    rows.end()
    return found.close()


def _read(text: str) -> Iterator[list[str]]:
    lines = text[:MOST_TEXT].split("\n", _LOOKED_AT)[:_LOOKED_AT]
    return csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(lines), skipinitialspace=True)


def _delimiter(lines: Iterable[str]) -> str:
    """What stands in most lines, and equally often."""
    bare = [QUOTED.sub("", line) for line in lines]
    counts = [{mark: line.count(mark) for mark in DELIMITERS} for line in bare if line.strip()]

    def fit(mark: str) -> tuple[int, int]:
        of_it = [count[mark] for count in counts]
        usual = max(set(of_it), key=of_it.count, default=0)
        return (of_it.count(usual) if usual else 0, usual)

    return max(DELIMITERS, key=fit)


def _cell(text: str) -> TableCell:
    text = " ".join(text.split())
    return TableCell(text, named=bool(text) and NUMBER.fullmatch(text) is None)
