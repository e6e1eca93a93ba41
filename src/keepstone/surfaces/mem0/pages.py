"""Which part of a list is meant, page by page or so many from somewhere on; and where the parts beside it are.

The clients say one in the address and the other in the body. Where a list begins, the address says before the body, so
that the same body can be sent to where `next` leads.
"""

from dataclasses import dataclass

from fastapi import Request
from starlette.datastructures import URL

from keepstone.errors import Invalid
from keepstone.surfaces.mem0 import wire

PAGE = 100  # where nobody says how many
_SIZES, _STARTS = ("page_size", "top_k", "limit"), ("page", "offset")


@dataclass(frozen=True, slots=True)
class ListPart:
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


def read_part(address: wire.Mem0PartIn, body: wire.Mem0PartIn | None = None, *, size: int = PAGE) -> ListPart:
    """Raises where something is said in two ways. `size` is how many it is where nobody says."""
    sizes, starts = _told(_SIZES, body) | _told(_SIZES, address), _told(_STARTS, body) | _told(_STARTS, address)
    for told, ways in ((sizes, len(set(sizes.values()))), (starts, len(starts))):
        if ways > 1:
            raise Invalid(f"{' and '.join(told)} are two ways to say one thing: send one of them.")
    size = next(iter(sizes.values()), size)
    # What is only called top_k is the beginning of a list, and goes on from there as an offset does.
    in_pages = "page" in starts or not (starts or sizes.keys() - {"page_size"})
    start = (starts.get("page", 1) - 1) * size if in_pages else starts.get("offset", 0)
    return ListPart(start=start, size=size, in_pages=in_pages)


def _told(names: tuple[str, ...], said: wire.Mem0PartIn | None) -> dict[str, int]:
    return {name: value for name in names if (value := getattr(said, name, None)) is not None}
