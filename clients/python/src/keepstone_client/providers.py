"""Providers of the server: language models, embeddings and mail. For its operator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from keepstone_client.binding import D, Resource, operation
from keepstone_client.core import Request, filled, into

ProviderUse = Literal["chat", "extraction", "embeddings", "mail"]


@dataclass(frozen=True, kw_only=True)
class ProviderKey:
    is_set: bool = field(metadata={"wire": "set"})
    last4: str | None  # how it ends
    usable: bool  # False: give it again


@dataclass(frozen=True, kw_only=True)
class Provider:
    name: str
    kind: str
    base_url: str | None
    models: tuple[str, ...]
    sender: str | None
    key: ProviderKey
    fixed: bool  # by the environment
    by: str | None  # and by which variable


@dataclass(frozen=True, kw_only=True)
class ProviderDefault:
    provider: str
    model: str | None
    fixed: bool
    by: str | None


@dataclass(frozen=True, kw_only=True)
class ProviderDefaults:
    """None: none, or as the chat has it."""

    chat: ProviderDefault | None = None
    extraction: ProviderDefault | None = None
    embeddings: ProviderDefault | None = None
    mail: ProviderDefault | None = None


@dataclass(frozen=True, kw_only=True)
class ProviderSettings:
    revision: int
    providers: tuple[Provider, ...]
    defaults: ProviderDefaults


@dataclass(frozen=True, kw_only=True)
class ProviderCheck:
    what: str  # `models`, `completion`, `embedding`, `mail` or `message`
    ok: bool
    said: str  # what came back, in plain words
    milliseconds: int
    why: str | None = None  # why not: `key`, `unreachable`, `model`, `protocol`, `busy`, `broken` or `refused`


@dataclass(frozen=True, kw_only=True)
class ProviderTest:
    ok: bool
    checks: tuple[ProviderCheck, ...]
    models: tuple[str, ...]  # those that it lists
    dimension: int | None  # of an embedding


class Providers(Resource[D]):
    @operation
    def get(self) -> Request[ProviderSettings]:
        return Request(method="GET", path="/v1/settings/providers", parse=into(ProviderSettings))

    @operation
    def put(
        self,
        providers: Sequence[Mapping[str, Any]],
        *,
        defaults: Mapping[ProviderUse, Mapping[str, Any]] | None = None,
        revision: int | None = None,
    ) -> Request[ProviderSettings]:
        """These and no others, each as the API takes it: `name`, `kind`, `base_url`, `models`, `sender`, `key`. Without
        `key` the one that was given for its address stays.
        """
        body = filled(providers=[dict(one) for one in providers], defaults=dict(defaults or {}), revision=revision)
        return Request(method="PUT", path="/v1/settings/providers", parse=into(ProviderSettings), json=body)

    @operation
    def test(
        self,
        name: str | None = None,
        *,
        provider: Mapping[str, Any] | None = None,
        use: ProviderUse | None = None,
        model: str | None = None,
        to: str | None = None,
    ) -> Request[ProviderTest]:
        """One real small call to a provider that is set, by its `name`, or to one that is not yet. A mail server
        sends a message to `to`.
        """
        body = filled(name=name, provider=None if provider is None else dict(provider), use=use, model=model, to=to)
        path = "/v1/settings/providers/test"
        return Request(method="POST", path=path, parse=into(ProviderTest), json=body, timeout=90)
