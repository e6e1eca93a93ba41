"""What a language model is to the rest of Keepstone. An upgrade, never a need."""

from dataclasses import dataclass
from typing import Protocol

from keepstone.model.provider import Outage


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    text: str
    tokens_in: int
    tokens_out: int


class LanguageModel(Protocol):
    name: str

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion: ...
    async def close(self) -> None: ...


def name_of(asked: LanguageModel | None) -> str | None:
    return None if asked is None else asked.name


def outage_of(asked: object) -> Outage | None:
    """Why this model or embedder is not asked at the moment; None where it is, and where that is never known."""
    return getattr(asked, "outage", None)
