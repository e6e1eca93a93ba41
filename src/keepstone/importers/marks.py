"""The marks with which ChatGPT points at sources, taken out of a text.

They stand between two characters of private use and show as boxes elsewhere: a kind, then what it is of. `cite` and its
like say nothing without ChatGPT; an `entity` and a `url` have a text that is seen there, which stays.
"""

import json
import re
from typing import Any, cast

_OPEN, _CLOSE, _BETWEEN = "\ue200", "\ue201", "\ue202"
_MARK = re.compile("[ \t]?\ue200([^\ue200\ue201\n]*+)\ue201")
_ANCHOR = re.compile("(?:\ue200[a-z_]{1,20})?\ue202turn[0-9]{1,4}[a-z_]{1,20}[0-9]{1,4}")  # of one that was cut off
_ALONE = re.compile("[\ue200-\ue206]")


def unmarked(text: str) -> str:
    return _ALONE.sub("", _ANCHOR.sub("", _MARK.sub(_seen, text))) if _ALONE.search(text) else text


def _seen(mark: re.Match[str]) -> str:
    """What is seen of it, with the space before. Without anything to see the space goes too."""
    kind, *parts = mark[1].split(_BETWEEN)
    words = ""
    if kind == "entity" and parts:
        words = _name(parts[0])
    elif kind == "url" and len(parts) > 1:
        words = f"[{parts[0]}]({parts[1]})" if parts[1].startswith(("https://", "http://")) else parts[0]
    space = "" if mark[0].startswith(_OPEN) else mark[0][0]
    return space + words if words else ""


def _name(packed: str) -> str:
    """Of a person or a place: `["people", "Ada Lovelace", …]`, or the name alone."""
    try:
        value: Any = json.loads(packed)
    except (ValueError, RecursionError):
        return packed if not packed.startswith("[") else ""
    if isinstance(value, list):
        names = [part for part in cast("list[Any]", value) if isinstance(part, str)]
        return names[1] if len(names) > 1 else "".join(names)
    return value if isinstance(value, str) else ""
