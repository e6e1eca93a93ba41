"""Texts, times and labels of foreign data, brought into the form that Keepstone keeps."""

import hashlib
import json
import math
import re
from datetime import UTC, datetime
from typing import Any, cast

LONGEST_TITLE = 500
LONGEST_TAG = 100
MOST_TAGS = 50
LONGEST_NAME = 255
_MILLISECONDS = 1e11  # no second of ours is that late, and every millisecond since 1973 is
_SECONDS = re.compile(r"\d{9,13}(\.\d+)?")  # as a text, which a day such as 20250101 is too
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def clean(text: str) -> str:
    """Without what is no text: NUL and half surrogate pairs, which a cut-off emoji leaves behind."""
    return _UNSTORABLE.sub(lambda match: "" if match[0] == "\0" else "\ufffd", text) if text else text


def cleaned(value: Any) -> Any:
    """The same for a value of JSON; what JSON has no number for becomes null."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {clean(str(key)): cleaned(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [cleaned(item) for item in cast("list[Any]", value)]
    if isinstance(value, datetime):
        return wire_time(value)
    return value if value is None or isinstance(value, bool | int) else clean(str(value))


def moment(value: Any) -> datetime | None:
    """A time, from seconds or milliseconds since 1970 or from ISO 8601, in UTC without a zone. None: it says none."""
    if isinstance(value, str) and _SECONDS.fullmatch(value.strip()):
        value = float(value)
    try:
        if isinstance(value, datetime):
            at = value
        elif isinstance(value, bool) or value is None:
            return None
        elif isinstance(value, int | float):
            at = datetime.fromtimestamp(value / 1000 if abs(value) > _MILLISECONDS else value, UTC)
        else:
            at = datetime.fromisoformat(str(value).strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def wire_time(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def titled(text: str, otherwise: str) -> str:
    """One line of at most as many characters as a title has."""
    line = " ".join(clean(text).split()) or " ".join(otherwise.split()) or "Untitled"
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def first_line(text: str) -> str:
    """What a text without a title is called."""
    line = next((line.strip("# \t*_>-") for line in text.splitlines() if line.strip("# \t*_>-")), "")
    return line if len(line) <= 100 else line[:100].rsplit(" ", 1)[0] + "…"


def labels(*names: Any) -> list[str]:
    """Tags: each once, none empty, not too long, not too many."""
    tags = (clean(str(name)).strip().lstrip("#").strip()[:LONGEST_TAG].strip() for name in names if name is not None)
    return list(dict.fromkeys(name for name in tags if name))[:MOST_TAGS]


def named(name: Any, otherwise: str) -> str:
    return (clean(str(name or "")).strip() or otherwise)[:LONGEST_NAME]


def fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def elements_of(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def objects_of(value: Any) -> list[dict[str, Any]]:
    return [fields(element) for element in elements_of(value)]


def packed_fields(value: Any) -> dict[str, Any]:
    """Those of an object, or of the JSON of one."""
    try:
        return fields(json.loads(value) if isinstance(value, str) else value)
    except (ValueError, RecursionError):
        return {}


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
