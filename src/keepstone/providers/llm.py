"""What a language model is to the rest of Keepstone. An upgrade, never a need."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    text: str
    tokens_in: int
    tokens_out: int


class LanguageModel(Protocol):
    name: str

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion: ...
    async def close(self) -> None: ...
