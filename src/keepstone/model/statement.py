"""Statements: what a message says of somebody, as people who look at them and correct them see it."""

from dataclasses import dataclass
from datetime import datetime

LONGEST_STATEMENT = 2_000  # characters; also of the message that is shown with one


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStatement:
    """`subject` is whom it is about. `holds`: nothing newer took its place, and nobody took it back. What begins with
    `said_` is of the message that it was read out of, `message_id` its id and `client_id` its caller's own.
    """

    id: str
    subject: str
    kind: str
    key: str
    text: str
    at: datetime
    version: int
    deleted_at: datetime | None
    holds: bool
    message_id: str
    client_id: str | None
    said_by: str
    said_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementVersion:
    """What a statement was after a change: created, updated, deleted, restored."""

    version: int
    change: str
    subject: str
    text: str
    changed_by: str | None
    changed_at: datetime
