"""A file of SQL as its statements, each to be sent by itself: some a distributed Postgres sends on to its other nodes
as they came, and takes no second statement with them.
"""

import re
from collections.abc import Iterator
from typing import LiteralString

# What may hold a semicolon that ends nothing: comments, texts, names, bodies of functions. One that is not closed holds
# all the rest.
_COMMENT: LiteralString = r"--[^\n]*+|/\*.*?(?:\*/|\Z)"
_HELD: LiteralString = rf"{_COMMENT}|'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|(\$\w*+\$).*?(?:\1|\Z)"
_MARK = re.compile(rf"{_HELD}|;", re.DOTALL)
_COMMENTS = re.compile(_COMMENT, re.DOTALL)


def statements_of(script: str) -> Iterator[str]:
    """In their order; without parts that hold nothing but comments."""
    begun = 0
    for end in (*(mark.start() for mark in _MARK.finditer(script) if mark[0] == ";"), len(script)):
        statement = script[begun:end].strip()
        if _COMMENTS.sub("", statement).strip():
            yield statement
        begun = end + 1
