"""A scope's id in a path: the caller's own words, so any characters, slashes among them. Percent-encoded it is one
piece of the address; what reaches the routes is decoded, and such an id ends where the rest of the path begins.
"""

from typing import Annotated

from fastapi import Path
from pydantic import AfterValidator

from keepstone.surfaces.http.wire import refuse_unstorable, register_id

register_id("scope", r"(?s:.+)")


def _storable(given: str) -> str:
    refuse_unstorable(given, ())
    return given


ScopeInPath = Annotated[
    str,
    Path(min_length=1, max_length=255, description="Percent-encoded as a whole: `a/b` is `a%2Fb`."),
    AfterValidator(_storable),
]
