"""An import: a file that somebody uploaded, on its way to becoming what they remember."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

DateOrder = Literal["dmy", "mdy"]
ImportState = Literal["waiting", "running", "done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """`into` is where to, as the command line writes it. `me` is how the person who talked is called; `tools`: also
    what was said to tools; `of`: one user of a source with many; `dates`: whether the day or the month stands first
    where it can't be seen. The rates are those of the caller's plan.
    """

    into: str | None = None
    project_id: str | None = None
    me: str | None = None
    tools: bool = False
    of: str | None = None
    dates: DateOrder | None = None
    by_key: int | None = None
    by_account: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """`report` says what was read, written, there already and left out; `read_bytes` of `total_bytes` is how far it
    is. `error` is why it failed, and what to do.
    """

    id: str
    user_id: str
    source: str
    name: str
    size_bytes: int
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    dry_run: bool
    state: ImportState
    report: dict[str, Any]
    read_bytes: int
    total_bytes: int
    error_code: str | None
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
