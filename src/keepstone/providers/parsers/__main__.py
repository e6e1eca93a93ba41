"""Reads one file of the kind that it is told."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping

from keepstone.providers.parsers.books import epub
from keepstone.providers.parsers.mails import eml
from keepstone.providers.parsers.markup import html
from keepstone.providers.parsers.portable import pdf
from keepstone.providers.parsers.process import limit
from keepstone.providers.parsers.sections import ParsedSection, Unparsable
from keepstone.providers.parsers.slides import pptx
from keepstone.providers.parsers.tables import csv_table
from keepstone.providers.parsers.word import docx
from keepstone.providers.parsers.workbooks import xlsx

READERS: Mapping[str, Callable[[bytes], list[ParsedSection]]] = {
    "html": html, "docx": docx, "pdf": pdf, "xlsx": xlsx, "csv": csv_table, "pptx": pptx, "epub": epub, "eml": eml,
}  # fmt: skip


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
