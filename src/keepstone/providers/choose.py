"""Which providers are used: those of the environment, and where it says nothing those that were set over the API."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from keepstone.model.provider import BUILTIN, NONE, Choice, Provider, ProviderSettings, ProviderUse
from keepstone.providers.anthropic_upstream import AnthropicUpstream
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.llm import LanguageModel
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.providers.sealed import SealBroken, unseal
from keepstone.providers.upstream import Retiring, Upstream
from keepstone.settings import Settings, variable

log = logging.getLogger(__name__)

OwnUpstream = OpenAIUpstream | AnthropicUpstream
_SMALL: Mapping[str, str] = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-4-5"}
_LLM, _EMBEDDINGS = "KEEPSTONE_LLM", "KEEPSTONE_EMBEDDINGS"


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherUpstream:
    """A language model's endpoint beside the default one, for clients that name one of its models."""

    name: str
    models: tuple[str, ...]
    upstream: Upstream

    def has(self, model: str) -> bool:
        return any(fnmatchcase(model, pattern) for pattern in self.models)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What is used now. The settings are those of the environment with what was set besides."""

    settings: Settings
    llm: LanguageModel | None
    upstream: OwnUpstream | None
    embeddings_upstream: OwnUpstream | None
    further: tuple[FurtherUpstream, ...]

    def retire(self) -> None:
        """Others take their place: each is closed when nobody uses it any more."""
        for one in self.all():
            if isinstance(one, Retiring):
                one.retire()

    def all(self) -> "list[LanguageModel | Upstream]":
        further = (one.upstream for one in self.further)
        return [one for one in (self.llm, self.upstream, self.embeddings_upstream, *further) if one is not None]


def choose(environment: Settings, stored: ProviderSettings) -> Chosen:
    """What the environment fixes holds, whatever is stored."""
    settings = replace(environment, **_set(environment, stored))
    fixed = fixed_uses(environment)
    named = {use: choice.provider for use, choice in stored.defaults.items() if use not in fixed}
    return Chosen(
        settings=settings,
        llm=_model(settings, stored, None if "extraction" in fixed else stored.defaults.get("extraction")),
        upstream=make_upstream(settings, where=named.get("chat", _LLM)),
        embeddings_upstream=make_embeddings_upstream(settings, where=named.get("embeddings", _EMBEDDINGS)),
        further=tuple(_further(settings, stored, default=named.get("chat"))),
    )


def fixed_uses(environment: Settings) -> dict[ProviderUse, str]:
    """What the environment decides, and by which variable."""
    fixed: dict[ProviderUse, str] = {}
    if environment.llm_provider is not None:
        fixed |= dict.fromkeys(("chat", "extraction"), variable("llm_provider"))
    if "embeddings_provider" in environment.given or environment.embeddings_provider != "builtin":
        fixed["embeddings"] = variable("embeddings_provider")
    elif environment.encoder is not None:
        fixed["embeddings"] = variable("encoder")
    if environment.smtp_url is not None:
        fixed["mail"] = variable("smtp_url")
    return fixed


def make_upstream(settings: Settings, *, where: str = _LLM) -> OwnUpstream | None:
    """The endpoint of the language model, for clients that speak OpenAI's protocol through us."""
    base, key, model, kind = settings.llm_base_url, settings.llm_api_key, settings.llm_model, settings.llm_provider
    return None if kind is None else _endpoint(kind, base, key, model, where)


def make_embeddings_upstream(settings: Settings, *, where: str = _EMBEDDINGS) -> OwnUpstream | None:
    """The endpoint that makes embeddings, where it is not this machine."""
    if settings.embeddings_provider != "openai":
        return None
    base, key, model = settings.embeddings_base_url, settings.embeddings_api_key, settings.embeddings_model
    return OpenAIUpstream(base, key, model, settings=where)


def endpoint_of(provider: Provider, key: str | None, model: str | None = None) -> OwnUpstream:
    """Of a provider that was set over the API."""
    return _endpoint(provider.kind, provider.base_url, key, model or provider.first_model, provider.name)


def mail_url(provider: Provider, key: str | None) -> str:
    """Its address with the password in it."""
    parts = urlsplit(provider.base_url or "")
    if key is None or not parts.username:
        return urlunsplit(parts)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username}:{quote(key, safe='')}@{host}"))


def _endpoint(kind: str, base: str | None, key: str | None, model: str | None, where: str) -> OwnUpstream:
    if kind == "anthropic":
        return AnthropicUpstream(base, key or "none", model or _SMALL[kind], settings=where)
    return OpenAIUpstream(base, key, model or _SMALL.get(kind), settings=where)


def _model(settings: Settings, stored: ProviderSettings, choice: Choice | None) -> LanguageModel | None:
    """The language model that Keepstone asks by itself: its own choice, or that of the chat."""
    provider = stored.named(choice.provider) if choice is not None else None
    if choice is not None and provider is not None:
        try:
            return ChatModel(endpoint_of(provider, unseal(settings, provider), choice.model))
        except SealBroken:
            _warn(provider)
    upstream = make_upstream(settings)
    return None if upstream is None else ChatModel(upstream)


def _further(settings: Settings, stored: ProviderSettings, *, default: str | None) -> list[FurtherUpstream]:
    found: list[FurtherUpstream] = []
    for provider in stored.providers:
        if provider.kind in {"openai", "anthropic"} and provider.models and provider.name != default:
            try:
                upstream = endpoint_of(provider, unseal(settings, provider))
            except SealBroken:
                _warn(provider)
            else:
                found.append(FurtherUpstream(name=provider.name, models=provider.models, upstream=upstream))
    return found


def _set(environment: Settings, stored: ProviderSettings) -> dict[str, Any]:
    """The settings that what is stored comes to, but for those that the environment fixes."""
    found: dict[str, Any] = {}
    for use in stored.defaults.keys() - fixed_uses(environment).keys():
        choice = stored.defaults[use]
        provider = stored.named(choice.provider)
        try:
            key = None if provider is None else unseal(environment, provider)
        except SealBroken:
            if provider is not None:
                _warn(provider)
            continue
        match use:
            case "embeddings" if choice.provider in {BUILTIN, NONE}:
                found["embeddings_provider"] = choice.provider
            case "embeddings" if provider is not None:
                found |= {
                    "embeddings_provider": "openai", "embeddings_base_url": provider.base_url or OpenAIUpstream.BASE,
                    "embeddings_api_key": key, "embeddings_model": choice.model or provider.first_model,
                }  # fmt: skip
            case "chat" if provider is not None:
                found |= {
                    "llm_provider": provider.kind, "llm_base_url": provider.base_url, "llm_api_key": key,
                    "llm_model": choice.model or provider.first_model, "llm_models": provider.models,
                }  # fmt: skip
            case "mail" if provider is not None:
                found |= {"smtp_url": mail_url(provider, key)}
                found |= {"smtp_from": provider.sender} if provider.sender else {}
            case _:
                pass
    return found


def _warn(provider: Provider) -> None:
    log.warning("the key of a provider can't be opened: give it again", extra={"kind": provider.kind})
