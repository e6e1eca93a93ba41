"""Our tools as a model is told of them; its calls of them, as it asked, and with what came of it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """As a model is told of it: `parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """As the model asked for it; `arguments` is what should be JSON."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredCall(Call):
    """With what it gave; `memory_id` is what it saved."""

    result: str
    memory_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsToKeep:
    """To be put back when the client sends one of these ids again."""

    ids: tuple[str, ...]
    calls: tuple[AnsweredCall, ...]
