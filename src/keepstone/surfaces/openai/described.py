"""How these routes are described: bodies and answers of any fields, errors in OpenAI's envelope."""

from typing import Any

from keepstone.surfaces.http.router import Router
from keepstone.surfaces.openai.errors import OpenAIErrorOut, OpenAIRoute

EVENTS = "text/event-stream"
FORM = "multipart/form-data"
JSON = "application/json"
BYTES = "application/octet-stream"

_FREE: dict[str, Any] = {"type": "object", "additionalProperties": True}
_BINARY: dict[str, Any] = {"type": "string", "format": "binary"}
_SCHEMAS: dict[str, dict[str, Any]] = {JSON: _FREE, FORM: _FREE, EVENTS: {"type": "string"}, BYTES: _BINARY}


def openai_router() -> Router:
    return Router(
        prefix="/v1",
        tags=["openai"],
        route_class=OpenAIRoute,
        responses={
            "4XX": {"model": OpenAIErrorOut, "description": "What was wrong with the request, and what to do."},
            "5XX": {"model": OpenAIErrorOut, "description": "What is wrong here or upstream; try again."},
        },
    )


def body_of_any(description: str, *kinds: str, required: bool = True) -> dict[str, Any]:
    """Of any fields: what we don't know, the upstream may."""
    content = {kind: {"schema": {**_SCHEMAS[kind], "description": description}} for kind in kinds or (JSON,)}
    return {"requestBody": {"required": required, "content": content}}


def answers(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """In JSON, or else of these kinds."""
    content = {kind: {"schema": _SCHEMAS[kind]} for kind in (JSON, *kinds)}
    return {200: {"description": "As OpenAI describes it.", "content": content}}
