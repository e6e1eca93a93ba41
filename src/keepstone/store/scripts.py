"""A file of SQL as its statements, each to be sent by itself: some a distributed Postgres sends on to its other nodes
as they came, and takes no second statement with them.
"""

import re
from collections.abc import Iterator
from typing import LiteralString

# What may hold a semicolon that ends nothing: comments, texts, names, bodies of functions.
_HELD: LiteralString = r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\"|(\$\w*\$).*?\1"
_PART = re.compile(rf"(?:{_HELD}|[^;])+?(?=;|\Z)", re.DOTALL)
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def statements_of(script: str) -> Iterator[str]:
    """In their order; without parts that hold nothing but comments."""
    for found in _PART.finditer(script):
        statement = found[0].strip()
        if _COMMENT.sub("", statement).strip():
            yield statement
