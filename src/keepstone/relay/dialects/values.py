"""JSON of any shape, as clients and upstreams send it: read with care, and never judged further than is needed."""

import json
import math
from typing import Any, cast

from keepstone.errors import Invalid

Json = dict[str, Any]


def read_object(raw: bytes) -> Json:
    """The body of a request. What could not be sent on as JSON is refused here; and what has a field twice, of which an
    upstream could take the other one.
    """
    twice = False

    def made(pairs: list[tuple[str, Any]]) -> Json:
        nonlocal twice  # of the object that is made last, which is the whole
        found = dict(pairs)
        twice = len(found) < len(pairs)
        return found

    try:
        body: Any = json.loads(raw, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=made)
    except (ValueError, RecursionError):
        raise Invalid("The body can't be read as JSON in UTF-8.") from None
    if twice:
        raise Invalid("The body has a field twice: send each once.")
    if not isinstance(body, dict):
        raise Invalid("The body has to be a JSON object.")
    return cast("Json", body)


def loaded(text: str | bytes) -> Json | None:
    """What an upstream sent, if it is a JSON object."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def dumped(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can hold and UTF-8 can't
        return json.dumps(value, separators=(",", ":")).encode()


def as_object(value: Any) -> Json:
    """Any shape may come, from either side; what has another one counts as empty."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def objects_in(value: Any) -> list[Json]:
    return [cast("Json", item) for item in as_list(value) if isinstance(item, dict)]


def texts_of(content: Any) -> str:
    """The text of a message, whether it is one or comes in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects_in(content) if isinstance(part.get("text"), str))


def behind_user(messages: list[Json]) -> list[Json]:
    """What stands behind the last message of the user's; all of it where there is none."""
    last = max((place for place, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    return messages[last + 1 :]


def sum_of(first: Json | None, second: Json | None) -> Json | None:
    """Usage of two rounds together: numbers are added, at any depth."""
    if first is None or second is None:
        return first or second
    return {name: _added(first.get(name), second.get(name)) for name in {**first, **second}}


def tokens_of(usage: Json | None) -> tuple[int, int] | None:
    """Read and written, by whichever names the dialect has for them; None where it does not say."""
    if usage is None:
        return None
    counts = [
        next((usage[name] for name in names if isinstance(usage.get(name), int)), None)
        for names in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    ]
    return None if counts == [None, None] else (counts[0] or 0, counts[1] or 0)


def _added(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return sum_of(as_object(first), as_object(second))
    if isinstance(first, int | float) and isinstance(second, int | float) and not isinstance(second, bool):
        return first + second
    return cast("Any", first if second is None else second)


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
