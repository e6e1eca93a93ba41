"""Providers: the services outside that the operator has Keepstone use, as they are set over the API."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

ProviderKind = Literal["openai", "anthropic", "embeddings", "smtp"]
# What Keepstone uses a provider for. Extraction is all that it asks a language model by itself.
ProviderUse = Literal["chat", "extraction", "embeddings", "mail"]

# Which kinds serve for what. One that speaks OpenAI's protocol may have embeddings too.
KINDS_FOR: Mapping[ProviderUse, frozenset[ProviderKind]] = {
    "chat": frozenset({"openai", "anthropic"}),
    "extraction": frozenset({"openai", "anthropic"}),
    "embeddings": frozenset({"openai", "embeddings"}),
    "mail": frozenset({"smtp"}),
}
# Names that stand for something without an address.
BUILTIN, NONE = "builtin", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """`sealed` is its key, which only this server can open; `hint` are the last letters of it."""

    name: str
    kind: ProviderKind
    base_url: str | None = None
    models: tuple[str, ...] = ()
    sender: str | None = None  # of mail
    sealed: str | None = None
    hint: str | None = None

    @property
    def bound_to(self) -> tuple[str, str, str]:
        """What a sealed key can be used for and for nothing else."""
        return self.name, self.kind, self.base_url or ""

    @property
    def first_model(self) -> str | None:
        """The first that is a name and no pattern."""
        return next((model for model in self.models if "*" not in model), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which provider serves for something, and with which of its models."""

    provider: str
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """All of them. The revision counts the changes; 0: none was ever made."""

    revision: int = 0
    providers: tuple[Provider, ...] = ()
    defaults: Mapping[ProviderUse, Choice] = field(default_factory=dict["ProviderUse", Choice])

    def named(self, name: str) -> Provider | None:
        return next((provider for provider in self.providers if provider.name == name), None)

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "providers": [asdict(provider) for provider in self.providers],
            "defaults": {use: asdict(choice) for use, choice in self.defaults.items()},
        }


def settings_of(revision: int, document: Mapping[str, Any]) -> ProviderSettings:
    """What was stored."""
    return ProviderSettings(
        revision=revision,
        providers=tuple(replace(Provider(**one), models=tuple(one["models"])) for one in document["providers"]),
        defaults={use: Choice(**choice) for use, choice in document["defaults"].items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Why a provider is not asked at the moment, in words for anybody: no address, no key, no text."""

    reason: str
    since: datetime
