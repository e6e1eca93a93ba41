"""Which part of a list is meant, page by page or so many from somewhere on; and where the parts beside it are.

The clients say one in the address and the other in the body. What the address says goes before, so that the same body
can be sent to where `next` leads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.datastructures import URL

from keepstone.errors import Invalid
from keepstone.surfaces.mem0 import wire

PAGE = 100  # where nobody says how many
_SIZES, _STARTS = ("page_size", "top_k", "limit"), ("page", "offset")


@dataclass(frozen=True, slots=True)
class Part:
    """So many from there on. `in_pages` is how it was asked for, and is answered."""

    start: int
    size: int
    in_pages: bool

    def beside(self, request: Request, total: int) -> dict[str, str | None]:
        """Where the parts before and after it are."""

        def at(start: int) -> str:
            where = {"offset": max(start, 0), "top_k": self.size}
            if self.in_pages:
                where = {"page": start // self.size + 1, "page_size": self.size}
            return str(URL(str(request.url)).remove_query_params([*_SIZES, *_STARTS]).include_query_params(**where))

        end = self.start + self.size
        return {
            "next": at(end) if end < total else None,
            "previous": at(self.start - self.size) if self.start > 0 else None,
        }


def read_part(address: wire.Mem0PartIn, body: wire.Mem0PartIn | None = None, *, size: int = PAGE) -> Part:
    """Raises where something is said twice, and not the same. `size` is how many it is where nobody says."""
    told = _one(_SIZES, address) or (_one(_SIZES, body) if body else None)
    size = told[1] if told else size
    name, start = _one(_STARTS, address) or (_one(_STARTS, body) if body else None) or ("page", 1)
    # What a client calls top_k is the beginning of a list, and goes on from there as an offset does.
    in_pages = name == "page" and (told is None or told[0] == "page_size")
    return Part(start=(start - 1) * size if name == "page" else start, size=size, in_pages=in_pages)


def _one(names: tuple[str, ...], said: wire.Mem0PartIn) -> tuple[str, int] | None:
    given: Mapping[str, Any] = {name: getattr(said, name) for name in names if getattr(said, name) is not None}
    if len(given) > 1 and (names == _STARTS or len(set(given.values())) > 1):
        raise Invalid(f"{' and '.join(given)} say the same thing in two ways: send one of them.")
    return next(iter(given.items()), None)
