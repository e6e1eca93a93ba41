"""Graphs: nodes that agents keep and find, and the typed edges between them."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from keepstone.model.memory import Memory

SUPERSEDES = "supersedes"
RESULTS, MOST_RESULTS = 10, 100  # of a recall: unless asked otherwise, and at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """`history` is where what no longer holds can be found."""

    id: str
    name: str
    is_default: bool
    node_count: int
    created_by: str | None  # None: the account's
    created_at: datetime
    deleted_at: datetime | None
    space: int
    history: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Memory):
    """`history` is where it is found when it no longer holds."""

    history: int = 0

    @property
    def node_type(self) -> str:
        return self.type

    @property
    def graph_id(self) -> str:
        return self.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    id: str
    from_id: str
    to_id: str
    type: str
    metadata: dict[str, Any]
    valid_from: datetime
    valid_to: datetime | None
    created_by: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCount:
    """How many nodes of a type hold, and no longer do; and since when there are any."""

    type: str
    holding: int
    superseded: int
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    """A node in the picture of its graph: the beginning of its text, and how many edges it has."""

    id: str
    type: str
    text: str
    degree: int
    valid_from: datetime
    valid_to: datetime | None
    superseded_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFilter:
    """Which nodes: all conditions hold together. A node is within a time if it was made or changed in it. With
    `superseded` also those that no longer hold.
    """

    node_type: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    start: datetime | None = None
    end: datetime | None = None
    as_of: datetime | None = None
    superseded: bool = False

    @property
    def filters(self) -> list[str]:
        given = {
            "node_type": self.node_type, "metadata_filter": self.metadata or None, "time_range": self.start or self.end,
            "as_of": self.as_of,
        }  # fmt: skip
        return [name for name, value in given.items() if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A recall that was done, in numbers."""

    id: str
    account_id: str
    at: datetime
    user_id: str | None
    credential_id: str | None
    graph_id: str
    filters: list[str]
    max_results: int
    min_relevance: float
    returned: int
    total: int
    best: float | None
    degraded: str | None
    milliseconds: float
