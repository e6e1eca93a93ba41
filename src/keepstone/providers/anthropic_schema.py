"""JSON schemas in the dialect that Anthropic's structured output takes.

Every object is closed. A keyword that is not known has the whole schema refused, so its words go to the description.
"""

from typing import Any, cast

Json = dict[str, Any]

_KNOWN = {"type", "enum", "const", "$ref", "required", "title", "default", "description"}
_TABLES = ("properties", "$defs", "definitions")
_LISTS = {"anyOf": "anyOf", "oneOf": "anyOf", "allOf": "allOf"}
_FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
_SILENT = {"$schema", "$id", "additionalProperties"}


class Inexpressible(Exception):
    """The schema allows what Anthropic's dialect can't say, such as an object with any keys."""


def fitted(schema: object) -> Json:
    given = _table(schema)
    made: Json = {}
    untold: Json = {}
    for key, value in given.items():
        if key in _TABLES:
            made[key] = {name: fitted(inner) for name, inner in _table(value).items()}
        elif key in _LISTS:
            made[_LISTS[key]] = [fitted(inner) for inner in _row(value)]
        elif key == "items":
            made[key] = fitted(value)
        elif key in _KNOWN or (key == "format" and value in _FORMATS) or (key == "minItems" and value in [0, 1]):
            made[key] = value
        elif key not in _SILENT:
            untold[key] = value
    if _is_object(given):
        if given.get("additionalProperties", not given.get("properties")) is not False:
            raise Inexpressible  # closed, it could not hold what it is for
        made["additionalProperties"] = False
    if untold:
        words = ", ".join(f"{key}: {value}" for key, value in untold.items())
        made["description"] = f"{made.get('description', '')}\n{{{words}}}".strip()
    return made


def _is_object(schema: Json) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in schema


def _table(value: object) -> Json:
    if not isinstance(value, dict):
        raise Inexpressible
    return cast("Json", value)


def _row(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Inexpressible
    return cast("list[object]", value)
