"""Which providers the settings ask for."""

from keepstone.providers.anthropic_upstream import AnthropicUpstream
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.llm import LanguageModel
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.providers.upstream import Upstream
from keepstone.settings import Settings


def make_model(settings: Settings) -> LanguageModel | None:
    """The language model; None when the settings ask for none."""
    upstream = make_upstream(settings)
    return None if upstream is None else ChatModel(upstream)


def make_upstream(settings: Settings) -> Upstream | None:
    """Its endpoint, for clients that speak OpenAI's protocol through us."""
    base, key, model = settings.llm_base_url, settings.llm_api_key, settings.llm_model
    if settings.llm_provider is None:
        return None
    if settings.llm_provider == "openai":
        return OpenAIUpstream(base, key, model or "gpt-4o-mini")
    return AnthropicUpstream(base, key or "none", model or "claude-haiku-4-5")


def make_embeddings_upstream(settings: Settings) -> Upstream | None:
    """The endpoint that makes embeddings, where it is not this machine."""
    if settings.embeddings_provider != "openai":
        return None
    base, key, model = settings.embeddings_base_url, settings.embeddings_api_key, settings.embeddings_model
    return OpenAIUpstream(base, key, model, settings="KEEPSTONE_EMBEDDINGS")
