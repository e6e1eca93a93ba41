"""What a model sent to the tools over graphs, made sense of: a slip is answered with what would have been right."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from keepstone.errors import Malformed
from keepstone.model.ids import pattern
from keepstone.surfaces.http.wire import Wire
from keepstone.surfaces.mcp.answer import explained, given
from keepstone.surfaces.mcp.graph_tools import (
    DEFAULT_RELEVANCE,
    DEFAULT_RESULTS,
    DEFAULT_TYPE,
    GRAPH,
    MOST_RESULTS,
    example,
)

_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.IGNORECASE)
_NODE = "must be node_ and 24 letters and digits, as memory_recall shows it"
_OBJECT = "must be an object of key-value pairs"
_TEXT = "must be text"
_MESSAGES = {
    "id": _NODE,
    "from_id": _NODE,
    "to_id": _NODE,
    "max_results": f"must be a whole number from 1 to {MOST_RESULTS}",
    "min_relevance": "must be a number from 0 to 1",
    "depth": "must be 1 or 2",
    "direction": "must be both, out or in",
    "metadata": _OBJECT,
    "metadata_filter": _OBJECT,
    "time_range": 'must be an object such as {"start": "2026-01-01T00:00:00Z"}, with start, end or both',
    "supersedes": f"must be a list of ids, each of which {_NODE}",
    "string_type": _TEXT,
    "string_too_long": "is too long: at most 255 characters",
}


def _moment(value: Any) -> datetime:
    """A time of ISO 8601 and nothing else that could be read as one. Without an offset it is in UTC."""
    message = "must be an ISO 8601 timestamp, such as 2026-01-01T00:00:00Z"
    if not isinstance(value, str) or _ISO.fullmatch(value.strip()) is None:
        raise ValueError(message)
    try:
        at = datetime.fromisoformat(value.strip().upper().replace(",", "."))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(message) from None


def _whole(value: Any) -> Any:
    """To JSON, 5.0 is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Moment = Annotated[datetime, BeforeValidator(_moment)]
Whole = Annotated[int, BeforeValidator(_whole)]
Word = Annotated[str, Field(min_length=1, max_length=255)]
NodeId = Annotated[str, Field(pattern=f"^{pattern('node')}$")]
Pairs = dict[str, Any]


class _GraphToolArguments(Wire):
    model_config = ConfigDict(extra="forbid", strict=True)


class _InGraph(_GraphToolArguments):
    graph_id: str | None = None


class TimeRange(_GraphToolArguments):
    start: Moment | None = None
    end: Moment | None = None

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        if isinstance(value, dict) and not {"start", "end"}.issuperset(cast("dict[str, Any]", value)):
            raise ValueError("has start and end, and nothing else")
        return cast("Any", value)

    @model_validator(mode="after")
    def _in_order(self) -> "TimeRange":
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError("start is after end")
        return self


class Recall(_InGraph):
    query: str
    max_results: Annotated[Whole, Field(ge=1, le=MOST_RESULTS)] = DEFAULT_RESULTS
    node_type: str | None = None
    time_range: TimeRange = TimeRange()
    metadata_filter: Pairs = Field(default_factory=dict[str, Any])
    min_relevance: Annotated[float, Field(ge=0, le=1)] = DEFAULT_RELEVANCE
    as_of: Moment | None = None


class StoreNode(_InGraph):
    content: str
    node_type: Word = DEFAULT_TYPE
    metadata: Pairs = Field(default_factory=dict[str, Any])
    supersedes: Annotated[list[NodeId], Field(max_length=100)] = Field(default_factory=list[str])
    valid_from: Moment | None = None


class Update(_InGraph):
    id: NodeId
    content: str | None = None
    node_type: Word | None = None
    metadata: Pairs | None = None


class Forget(_InGraph):
    id: NodeId


class Relate(_InGraph):
    from_id: NodeId
    to_id: NodeId
    edge_type: Word
    metadata: Pairs = Field(default_factory=dict[str, Any])
    valid_from: Moment | None = None
    valid_to: Moment | None = None


class Neighbors(_InGraph):
    id: NodeId
    depth: Annotated[Whole, Field(ge=1, le=2)] = 1
    direction: Literal["both", "out", "in"] = "both"
    edge_type: Word | None = None
    as_of: Moment | None = None


class ListGraphs(_GraphToolArguments):
    pass


class CreateGraph(_GraphToolArguments):
    name: Word


BY_TOOL: Mapping[str, type[_GraphToolArguments]] = {
    "memory_recall": Recall,
    "memory_store": StoreNode,
    "memory_update": Update,
    "memory_forget": Forget,
    "memory_relate": Relate,
    "memory_neighbors": Neighbors,
    "graph_list": ListGraphs,
    "graph_create": CreateGraph,
}


def read(name: str, raw: Mapping[str, Any]) -> Any:
    """The arguments of this tool, as its class in `BY_TOOL`."""
    said = given(raw)
    schema = GRAPH.tools[name]["inputSchema"]
    for needed in schema["required"]:
        if needed not in said:
            details = [{"path": needed, "message": "is missing"}]
            raise Malformed(f"{name} needs {needed}. For example: {example(name)}", details=details)
    known = ", ".join(schema["properties"]) or "none"
    try:
        return BY_TOOL[name].model_validate(said)
    except ValidationError as fault:
        messages = {**_MESSAGES, "extra_forbidden": f"is not known here; the parameters are {known}"}
        raise explained(fault, messages) from None
