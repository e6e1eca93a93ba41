"""What somebody said, and the passages it is found by."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from keepstone.errors import Malformed

AHEAD = timedelta(days=1)  # that a clock or a time zone may be wrong by


def check_said(at: datetime, now: datetime, field_name: str) -> None:
    """Nobody has said anything that is yet to come: it would stay the latest until then, and "last week" would be
    read against it.
    """
    if at > now + AHEAD:
        fault = "is more than a day in the future: give the time at which it was said, with its offset from UTC"
        raise Malformed(f"{field_name} {fault}.", fields={field_name: fault})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """`client_id` is its caller's own, and `reply_to` another of those."""

    id: str
    client_id: str | None = None
    speaker: str
    text: str
    at: datetime
    reply_to: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptMessage(Message):
    """A message as it is stored; `seq` is the order in which they came."""

    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassage:
    """A passage about to be stored.

    `frequencies` counts its terms; `foreign`: an English model can't read it; `answers` is the source it replies to.
    """

    source_kind: str
    source_id: str
    part: int
    speaker: str | None
    at: datetime
    session: str | None
    visibility: str
    text: str
    foreign: bool
    frequencies: dict[str, int]
    answers: str | None = None
    place: dict[str, Any] | None = None  # where in its source
