"""What a model sent to the tools over graphs, made sense of: a slip is answered with what would have been right."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from keepstone.engine.floors import GRAPH
from keepstone.errors import Malformed
from keepstone.model.graph import MOST_RESULTS, RESULTS
from keepstone.model.ids import pattern
from keepstone.surfaces.http.wire import Supersede, Wire, read_time
from keepstone.surfaces.mcp.answer import explained, given

DEFAULT_TYPE = "note"
_SHOWN = (
    "type",
    "format",
    "enum",
    "minimum",
    "maximum",
    "default",
    "properties",
    "additionalProperties",
    "description",
)
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
    """A time as over REST, written in ISO 8601 and in nothing else that could be read as one."""
    at = read_time(value)
    try:
        if isinstance(at, datetime):
            return at.astimezone(UTC)
    except OverflowError:
        pass
    raise ValueError("must be an ISO 8601 timestamp, such as 2026-01-01T00:00:00Z")


def _whole(value: Any) -> Any:
    """To JSON, 5.0 is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Moment = Annotated[datetime, BeforeValidator(_moment)]
Whole = Annotated[int, BeforeValidator(_whole)]
Word = Annotated[str, Field(min_length=1, max_length=255)]
NodeId = Annotated[str, Field(pattern=f"^{pattern('node')}$")]
Pairs = dict[str, Any]
GraphId = Annotated[str | None, Field(description="Target graph. Defaults to your account's default graph.")]
Since = Annotated[Moment | None, Field(description="Since when it holds, if not since now. ISO 8601.")]


class GraphToolArguments(Wire):
    """What a tool takes. The tool shows it to the model as these classes describe it."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TimeRange(GraphToolArguments):
    start: Moment | None = Field(default=None, description="Include nodes created/updated after this time. ISO 8601.")
    end: Moment | None = Field(default=None, description="Include nodes created/updated before this time. ISO 8601.")

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


class Recall(GraphToolArguments):
    query: str = Field(description="Natural language query to search memories. Can be a question or keywords.")
    max_results: Whole = Field(
        default=RESULTS,
        ge=1,
        le=MOST_RESULTS,
        description="Maximum number of results to return. Default: 10. Maximum: 100.",
    )
    node_type: str | None = Field(default=None, description="Filter results to only nodes of this type.")
    graph_id: str | None = Field(
        default=None, description="Target graph to search. Defaults to your account's default graph."
    )
    time_range: TimeRange = Field(default_factory=TimeRange, description="Filter by creation or update time.")
    metadata_filter: Pairs = Field(
        default_factory=dict[str, Any],
        description="Filter by metadata key-value pairs. All specified pairs must match.",
    )
    min_relevance: float = Field(
        default=GRAPH,
        ge=0,
        le=1,
        description="Leave out what is less relevant. 0 returns the nearest, whatever it is.",
    )
    as_of: Moment | None = Field(default=None, description="What held at this time, instead of now. ISO 8601.")


class StoreNode(GraphToolArguments):
    content: str = Field(description="What to remember; up to 256 KB.")
    node_type: Word = Field(
        default=DEFAULT_TYPE,
        description="decision, fact, preference, project, person, … : one word that you use again.",
    )
    metadata: Pairs = Field(default_factory=dict[str, Any], description="Any JSON object, to filter by later.")
    graph_id: GraphId = None
    supersedes: list[NodeId] = Field(
        default_factory=list[str], max_length=100, description="Ids of nodes that no longer hold now that this does."
    )
    supersede: Supersede = "auto"
    valid_from: Since = None


class Update(GraphToolArguments):
    id: NodeId = Field(description="Which node: `node_…`.")
    content: str | None = Field(default=None, description="Replaces the text.")
    node_type: Word | None = Field(default=None, description="Replaces the type.")
    metadata: Pairs | None = Field(default=None, description="Replaces all metadata.")
    graph_id: GraphId = None


class Forget(GraphToolArguments):
    id: NodeId = Field(description="Which node: `node_…`.")
    graph_id: GraphId = None


class Restore(GraphToolArguments):
    id: NodeId = Field(description="Which node: `node_…`, as memory_forget was given it.")
    graph_id: GraphId = None


class Relate(GraphToolArguments):
    from_id: NodeId = Field(description="`node_…`")
    to_id: NodeId = Field(description="`node_…`")
    edge_type: Word = Field(description="One word that you use again.")
    metadata: Pairs = Field(default_factory=dict[str, Any], description="Any JSON object.")
    graph_id: GraphId = None
    valid_from: Since = None
    valid_to: Moment | None = Field(default=None, description="Until when it holds. ISO 8601.")


class Neighbors(GraphToolArguments):
    id: NodeId = Field(description="Where to begin: `node_…`.")
    depth: Whole = Field(default=1, ge=1, le=2, description="How many edges to follow.")
    direction: Literal["both", "out", "in"] = Field(
        default="both", description="out: edges that begin at the node. in: that end at it."
    )
    edge_type: Word | None = Field(default=None, description="Follow only edges of this type.")
    as_of: Moment | None = Field(default=None, description="Edges that held at this time, instead of now. ISO 8601.")
    graph_id: GraphId = None


class ListGraphs(GraphToolArguments):
    pass


class CreateGraph(GraphToolArguments):
    name: Word = Field(description="What it is about; 1 to 255 characters.")


BY_TOOL: Mapping[str, type[GraphToolArguments]] = {
    "memory_recall": Recall,
    "memory_store": StoreNode,
    "memory_update": Update,
    "memory_forget": Forget,
    "memory_restore": Restore,
    "memory_relate": Relate,
    "memory_neighbors": Neighbors,
    "graph_list": ListGraphs,
    "graph_create": CreateGraph,
}
_FROM, _TO = "node_abc…", "node_def…"
# A call of each tool that is right.
EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "memory_recall": {
        "query": "What are the Q3 priorities?",
        "max_results": 5,
        "node_type": "decision",
        "metadata_filter": {"team": "backend"},
        "time_range": {"start": "2026-01-01T00:00:00Z"},
    },
    "memory_store": {
        "content": "Q3 priority is improving API response times to under 100ms",
        "node_type": "decision",
        "metadata": {"quarter": "Q3-2026", "team": "backend"},
    },
    "memory_update": {"id": _FROM, "metadata": {"quarter": "Q3-2026", "team": "platform"}},
    "memory_forget": {"id": _FROM},
    "memory_restore": {"id": _FROM},
    "memory_relate": {"from_id": _FROM, "to_id": _TO, "edge_type": "depends_on"},
    "memory_neighbors": {"id": _FROM, "edge_type": "depends_on", "direction": "out"},
    "graph_list": {},
    "graph_create": {"name": "Research"},
}


def example(name: str) -> str:
    return json.dumps(EXAMPLES[name], ensure_ascii=False)


def read(name: str, raw: Mapping[str, Any]) -> Any:
    """The arguments of this tool, as its class in `BY_TOOL`."""
    kind = BY_TOOL[name]
    said = given(raw)
    for needed, field in kind.model_fields.items():
        if field.is_required() and needed not in said:
            details = [{"path": needed, "message": "is missing"}]
            raise Malformed(f"{name} needs {needed}. For example: {example(name)}", details=details)
    known = ", ".join(kind.model_fields) or "none"
    try:
        return kind.model_validate(said)
    except ValidationError as fault:
        messages = {**_MESSAGES, "extra_forbidden": f"is not known here; the parameters are {known}"}
        raise explained(fault, messages) from None


def input_schema(name: str) -> dict[str, Any]:
    """As a model is shown it: how texts are checked is said when one is wrong."""
    schema = BY_TOOL[name].model_json_schema()
    properties = _plain(schema, schema.get("$defs", {})).get("properties", {})
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _plain(schema: Mapping[str, Any], models: Mapping[str, Any]) -> dict[str, Any]:
    """Without references and null: what may be null may be left out."""
    named = models.get(str(schema.get("$ref", "")).rpartition("/")[2], {})
    plain = {**named, **schema.get("anyOf", [{}])[0], **schema}
    shown = {name: value for name, value in plain.items() if name in _SHOWN and value is not None}
    either = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(either) > 1:
        shown = {name: value for name, value in shown.items() if name in {"default", "description"}}
        return {"anyOf": [_plain(option, models) for option in either], **shown}
    if "properties" in shown:
        shown["properties"] = {name: _plain(field, models) for name, field in shown["properties"].items()}
    return shown | ({"items": _plain(plain["items"], models)} if "items" in plain else {})
