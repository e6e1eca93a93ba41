"""EPUB: the chapters of a book in the order in which it is read."""

from collections.abc import Mapping
from urllib.parse import unquote

from keepstone.providers.parsers.markup import read_page
from keepstone.providers.parsers.packed import XmlPart, local, opened, resolved, value
from keepstone.providers.parsers.sections import ParsedSection, Sections, Unparsable

PAGES = frozenset({"application/xhtml+xml", "text/html"})


class BookContainer(XmlPart):
    """Where the book is described."""

    def __init__(self) -> None:
        self.described_in = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if local(tag) == "rootfile" and not self.described_in:
            self.described_in = value(attributes, "full-path")


class BookPackage(XmlPart):
    """What is in a book, and in which order."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.pages: dict[str, str] = {}

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if local(tag) == "item" and value(attributes, "media-type") in PAGES:
            self.pages[value(attributes, "id")] = value(attributes, "href")
        elif local(tag) == "itemref":
            self.order.append(value(attributes, "idref"))


class Encrypted(XmlPart):
    """The parts that only a key opens. Letters of a book may be among them, and then it can still be read."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if local(tag) == "CipherReference":
            self.names.add(unquote(value(attributes, "URI")))


def epub(data: bytes) -> list[ParsedSection]:
    with opened(data) as package:
        container, book, sealed = BookContainer(), BookPackage(), Encrypted()
        package.feed("META-INF/container.xml", container)
        if container.described_in not in package.names:
            raise Unparsable("mismatch")
        package.feed(container.described_in, book)
        package.feed("META-INF/encryption.xml", sealed)
        hrefs = [book.pages[one] for one in dict.fromkeys(book.order) if one in book.pages]
        chapters = [resolved(container.described_in, unquote(href.partition("#")[0])) for href in hrefs]
        if sealed.names & set(chapters):
            raise Unparsable("encrypted")
        found = Sections()
        for chapter in chapters:
            if chapter in package.names:
                found.apart()
                read_page(package.read(chapter), found, titled=False)  # the title of each is mostly that of the book
        return found.close()
