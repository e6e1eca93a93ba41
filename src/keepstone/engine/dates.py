"""Dates in prompts and quotations: the one place that writes them. They are those of a time zone, the account's, and
it is said which: a model or a reader elsewhere would take them for their own.
"""

from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@cache
def zone_named(name: str) -> ZoneInfo:
    """UTC for a name that this machine doesn't know (any more): a date that says whose it is is better than none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def day(at: datetime, zone: ZoneInfo) -> str:
    return f"{local(at, zone):%Y-%m-%d}"


def minute(at: datetime, zone: ZoneInfo) -> str:
    return f"{local(at, zone):%Y-%m-%d %H:%M}"


def labelled_day(at: datetime, zone: ZoneInfo) -> str:
    """For a line that stands alone, without a note beside it."""
    return f"{day(at, zone)} {zone.key}"


def zone_note(zone: ZoneInfo) -> str:
    """Stands once in whatever has dates."""
    return f"(Dates are those of {zone.key}.)"


def local(at: datetime, zone: ZoneInfo) -> datetime:
    try:
        return at.astimezone(zone)
    except OverflowError:  # the first or the last day that there is
        return at.astimezone(UTC)
