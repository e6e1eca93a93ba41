"""What a language model is to the rest of Keepstone. An upgrade, never a need.

The SDKs are large, so the one that the settings ask for is imported when it is asked for.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from keepstone.errors import UpstreamError
from keepstone.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    text: str
    tokens_in: int
    tokens_out: int


class LanguageModel(Protocol):
    name: str

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion: ...
    async def close(self) -> None: ...


def make_model(settings: Settings) -> LanguageModel | None:
    """The one that the settings ask for; None when they ask for none."""
    if settings.llm_provider is None:
        return None
    key = settings.llm_api_key or "none"  # a server on one's own machine wants none, and the SDKs insist
    if settings.llm_provider == "openai":
        made = import_module("keepstone.providers.openai_llm").OpenAIModel
        return made(settings.llm_base_url, key, settings.llm_model or "gpt-4o-mini")
    made = import_module("keepstone.providers.anthropic_llm").AnthropicModel
    return made(settings.llm_base_url, key, settings.llm_model or "claude-haiku-4-5")


def refusal(status: int | None) -> UpstreamError:
    told = f"answered {status}" if status else "could not be reached"
    return UpstreamError(
        f"The language model {told}: look at KEEPSTONE_LLM_BASE_URL, KEEPSTONE_LLM_API_KEY and KEEPSTONE_LLM_MODEL. "
        "Try again.",
        retry_after=5,
    )
