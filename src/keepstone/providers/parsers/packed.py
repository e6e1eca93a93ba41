"""Formats that are a zip archive of XML: opened with care, inflated to a bounded size, and read without entities and
document types.
"""

import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any

from keepstone.providers.parsers.process import library
from keepstone.providers.parsers.sections import Unparsable

MOST_INFLATED = 100_000_000
MOST_ENTRIES = 5_000
MOST_RATIO, RATIO_FROM = 200, 1_000_000
PIECE = 1 << 16


class XmlPart:
    """Takes what the XML parser finds in a part. None has a document type, where entities would be."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, tag: str) -> None: ...

    def data(self, text: str) -> None: ...

    def doctype(self, *_: object) -> None:
        raise Unparsable("damaged")

    def close(self) -> None: ...


class Package:
    """An archive that is open: its parts by their names. All of them together are inflated to a bounded size."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = MOST_INFLATED
        self.names = archive.namelist()

    def read(self, name: str) -> bytes:
        pieces: list[bytes] = []
        with self._archive.open(name) as stream:
            while piece := stream.read(PIECE):
                self._left -= len(piece)
                if self._left < 0:
                    raise Unparsable("bomb")
                pieces.append(piece)
        return b"".join(pieces)

    def feed(self, name: str, target: XmlPart) -> None:
        """A part of XML. One that is not there says nothing."""
        if name in self.names:
            lxml = library("lxml.etree")
            options = {"resolve_entities": False, "no_network": True, "load_dtd": False, "huge_tree": False}
            feed(lxml.XMLParser(target=target, **options), self.read(name))

    def related(self, name: str) -> dict[str, tuple[str, str]]:
        """What a part names by an id: the kind of each, and the name of the part that is meant."""
        found = _Relations()
        self.feed(join(dirname(name), "_rels", f"{name.rpartition('/')[2]}.rels"), found)
        return {one: (kind, resolved(name, target)) for one, (kind, target) in found.targets.items()}


class _Relations(XmlPart):
    def __init__(self) -> None:
        self.targets: dict[str, tuple[str, str]] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if local(tag) == "Relationship" and attributes.get("TargetMode") != "External":
            kind = attributes.get("Type", "").rpartition("/")[2]
            self.targets[attributes.get("Id", "")] = (kind, attributes.get("Target", ""))


@contextmanager
def opened(data: bytes) -> Generator[Package]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        _check(archive)
        yield Package(archive)


def _check(archive: zipfile.ZipFile) -> None:
    """Whether it is what it looks like from outside. What it says of itself is held to when it is inflated."""
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


def feed(parser: Any, data: bytes) -> None:
    for start in range(0, len(data), PIECE):
        parser.feed(data[start : start + PIECE])
    parser.close()


def resolved(name: str, target: str) -> str:
    """The name of a part, as another one refers to it."""
    return normpath(target.lstrip("/") if target.startswith("/") else join(dirname(name), target))


def local(name: str) -> str:
    """Without the namespace: the strict form of a format has others, and no two that matter share a name."""
    return name.rpartition("}")[2]


def value(attributes: Mapping[str, str], wanted: str = "val") -> str:
    return next((given for name, given in attributes.items() if local(name) == wanted), "")
