"""Calls of our tools that a model wrote as text: small models do, where their server does not read them.

Only a text that is nothing but calls, each of a tool of ours, counts: bare JSON, fenced, or between tags. Of a text
that is still coming it is said whether it may become one, so that everything else flows on at once.
"""

import json
import re
import secrets
from collections.abc import Collection, Iterator
from typing import Any

from keepstone.relay.calls import Call
from keepstone.relay.dialects.values import as_list, as_object, as_text

_LONGEST = 20_000  # characters: what is longer is no call
_TAG, _FENCE = "<tool_call>", "```"
_LANGUAGES = ("json", "tool_call", "tool_code")
_TAGGED = re.compile(rf"{_TAG}(.*?)(?:</tool_call>|\Z)\s*", re.DOTALL)
_FENCED = re.compile(rf"{_FENCE}(?:{'|'.join(_LANGUAGES)})?[ \t]*+\n(.*?){_FENCE}\s*", re.DOTALL)
_OPENED = re.compile(rf"{_TAG}|{_FENCE}(?P<language>\w*)[ \t]*\n?")
_NAMES = ("name", "tool", "function")
_ARGUMENTS = ("arguments", "parameters", "args")
_KEYS = (*_NAMES, *_ARGUMENTS, "type", "id", "tool_calls")
_FIRST = re.compile(r'[\[{]\s*(?:\{\s*)?(?:"(\w*)("?)\s*(?::\s*(?:"(\w*)("?))?)?)?')


def written_calls(text: str, names: Collection[str]) -> list[Call]:
    """The calls that a whole answer is; none when it is anything else."""
    if not names or len(text) > _LONGEST or not any(name in text for name in names):
        return []
    try:
        calls = [call for value in _values(text.strip()) for call in _calls(value)]
    except (ValueError, RecursionError):
        return []
    return calls if all(call.name in names for call in calls) else []


def may_be_calls(text: str, names: Collection[str]) -> bool:
    """Whether the beginning of an answer may become such calls."""
    rest = text.lstrip()
    if not names or len(rest) > _LONGEST:
        return False
    if any(opening.startswith(rest) for opening in (_TAG, _FENCE)):
        return True
    opened = _OPENED.match(rest)
    if opened is not None and not any(language.startswith(opened["language"] or "") for language in _LANGUAGES):
        return False
    rest = rest[opened.end() if opened else 0 :].lstrip()
    return not rest or _may_be_json(rest, names)


def _may_be_json(rest: str, names: Collection[str]) -> bool:
    first = _FIRST.match(rest)
    if first is None:
        return False
    key, key_ended, value, value_ended = first.groups()
    if key is None:
        return not rest.strip(" \n\r\t[{")
    if not _begins(key, _KEYS, ended=key_ended):
        return False
    return key not in _NAMES or value is None or _begins(value, names, ended=value_ended)


def _begins(word: str, wholes: Collection[str], *, ended: str | None) -> bool:
    return word in wholes if ended else any(whole.startswith(word) for whole in wholes)


def _values(text: str) -> Iterator[Any]:
    """The JSON in a text that is nothing else."""
    for wrapped in (_TAGGED, _FENCED):
        inner = wrapped.findall(text)
        if inner and not wrapped.sub("", text).strip():
            yield from map(json.loads, inner)
            return
    yield json.loads(text)


def _calls(value: Any) -> Iterator[Call]:
    if isinstance(value, list):
        for item in as_list(value):
            yield from _calls(item)
        return
    asked = as_object(value)
    if "tool_calls" in asked:
        yield from _calls(asked["tool_calls"])
        return
    asked = as_object(asked.get("function")) or asked
    name = next((as_text(asked[key]) for key in _NAMES if as_text(asked.get(key))), "")
    arguments = next((asked[key] for key in _ARGUMENTS if key in asked), None)
    if not name or not isinstance(arguments, dict | str):
        raise ValueError("no call")
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    yield Call(id=f"call_{secrets.token_hex(12)}", name=name, arguments=given)
