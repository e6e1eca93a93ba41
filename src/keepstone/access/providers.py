"""Providers as the operator sets them over the API: language models, embeddings and mail of the whole server.

The operator alone may, which is why an address may be on their own network. A key is stored sealed and never shown
again; it goes with the address that it was given for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit, urlunsplit

from keepstone.access.audit import note, record
from keepstone.access.emails import normal_email
from keepstone.access.readscope import account_scope
from keepstone.access.require import require_admin
from keepstone.errors import Conflict, Invalid, NotFound
from keepstone.model.principal import Principal
from keepstone.model.provider import (
    BUILTIN,
    KINDS_FOR,
    NONE,
    Choice,
    Provider,
    ProviderKind,
    ProviderSettings,
    ProviderUse,
)
from keepstone.providers import trial
from keepstone.providers.choose import endpoint_of, fixed_uses, mail_url
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.providers.sealed import SealBroken, hint, seal, unseal
from keepstone.services import Services
from keepstone.settings import Settings, http_address, smtp_address
from keepstone.store import provider_settings as store

KEPT = object()  # in place of a key: the one that is stored


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedProvider:
    """As the operator gives it. `key` is a text, None for none, or KEPT."""

    provider: Provider
    key: object = KEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProvider:
    """As it is shown: of its key whether there is one and how it ends. `by` is the variable that fixes it."""

    name: str
    kind: ProviderKind
    base_url: str | None = None
    models: Sequence[str] = ()
    sender: str | None = None
    key_set: bool = False
    key_hint: str | None = None
    key_usable: bool = True
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownChoice:
    provider: str
    model: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSettings:
    revision: int
    providers: list[ShownProvider]
    defaults: Mapping[ProviderUse, ShownChoice] = field(default_factory=dict[ProviderUse, ShownChoice])


async def get_providers(services: Services, principal: Principal) -> ShownSettings:
    require_admin(principal)
    return _shown(services, await _stored(services))


async def put_providers(
    services: Services,
    principal: Principal,
    *,
    providers: Sequence[WantedProvider],
    defaults: Mapping[ProviderUse, Choice],
    revision: int | None = None,
) -> ShownSettings:
    """These and no others. Every process uses them within a second; with `revision` only if that is still the last."""
    require_admin(principal)
    before = await _stored(services)
    if revision not in {None, before.revision}:
        raise _changed_meanwhile()
    environment = services.standing.environment
    names = [wanted.provider.name for wanted in providers]
    if len(set(names)) < len(names):
        raise Invalid("Two providers have the same name.", fields={"providers": "have a name each"})
    made = tuple(_made(environment, before, wanted) for wanted in providers)
    after = replace(before, providers=made, defaults=_defaults(environment, made, defaults))
    async with services.db.of_server() as conn:
        number = await store.put(conn, after, after=before.revision)
    if number is None:
        raise _changed_meanwhile()
    await _record(services, principal, before, after, number)
    await services.standing.renew()
    return _shown(services, replace(after, revision=number))


async def try_provider(
    services: Services,
    principal: Principal,
    *,
    name: str | None = None,
    wanted: WantedProvider | None = None,
    use: ProviderUse | None = None,
    model: str | None = None,
    to: str | None = None,
) -> trial.Trial:
    """One that is set, by its name, or one that is not yet. `to` is whom a mail server is to send a message to."""
    require_admin(principal)
    environment, stored = services.standing.environment, await _stored(services)
    if wanted is not None:
        provider = _made(environment, stored, wanted)
    else:
        provider = next((one for one in (*stored.providers, *_of_environment(environment)) if one.name == name), None)
        if provider is None:
            raise NotFound("There is no such provider: GET /v1/settings/providers lists them.")
    await note(services, principal, "provider.test", provider.name, kind=provider.kind)
    uses: list[ProviderUse] = [known for known, kinds in KINDS_FOR.items() if provider.kind in kinds]
    if use is not None and use not in uses:
        raise Invalid(f"A provider of kind {provider.kind} is not for {use}.", fields={"use": "does not fit the kind"})
    return await _try(environment, provider, use or uses[0], model, normal_email(to) if to else None)


async def _try(
    environment: Settings, provider: Provider, use: ProviderUse, model: str | None, to: str | None
) -> trial.Trial:
    key = _key_of(environment, provider)
    if use == "mail":
        return await trial.try_mail(mail_url(provider, key), sender=provider.sender or environment.smtp_from, to=to)
    if use == "embeddings":
        model = model or provider.first_model
        if model is None:
            raise Invalid("Say which model: embeddings have no default one.", fields={"model": "is missing"})
        return await trial.try_embeddings(provider.base_url or OpenAIUpstream.BASE, key, model)
    return await trial.try_chat(endpoint_of(provider, key, model))


def _key_of(environment: Settings, provider: Provider) -> str | None:
    fixed = {"env.llm": environment.llm_api_key, "env.embeddings": environment.embeddings_api_key}
    if provider.name in fixed:
        return fixed[provider.name]
    if provider.name == "env.smtp":
        return urlsplit(environment.smtp_url or "").password
    try:
        return unseal(environment, provider)
    except SealBroken:
        raise Conflict(
            f"The key of {provider.name} can't be opened: it was sealed with another KEEPSTONE_JWT_SECRET, or another "
            "`providers-key` than the one in this KEEPSTONE_HOME. Give it again."
        ) from None


async def _stored(services: Services) -> ProviderSettings:
    async with services.db.of_server() as conn:
        return await store.read(conn)


# ------------------------------------------------------------------------------------------------ what is wanted


def _made(environment: Settings, before: ProviderSettings, wanted: WantedProvider) -> Provider:
    """With its address checked, and its key sealed or as it was."""
    provider = wanted.provider
    provider = replace(provider, base_url=_address(provider))
    if provider.name in {BUILTIN, NONE}:
        raise Invalid(f"A provider can't be called {provider.name}.", fields={"name": "means something else"})
    if provider.kind == "embeddings" and provider.first_model is None:
        raise Invalid(f"{provider.name} is for embeddings: say which model.", fields={"models": "names no model"})
    if isinstance(wanted.key, str):
        if not re.fullmatch(r"[ -~]+" if provider.kind == "smtp" else r"[!-~]+", wanted.key):
            raise Invalid(
                "A key is of plain letters (ASCII), without spaces; a password may have those.",
                fields={"key": "can't be a key"},
            )
        return replace(provider, sealed=seal(environment, provider, wanted.key), hint=hint(wanted.key))
    known = before.named(provider.name)
    if wanted.key is None or known is None or known.sealed is None:
        return provider
    if known.bound_to != provider.bound_to:
        raise Invalid(
            f"The key of {provider.name} was given for another address: give it again, or null for none.",
            fields={"key": "goes with the address"},
        )
    return replace(provider, sealed=known.sealed, hint=known.hint)


def _address(provider: Provider) -> str | None:
    if provider.base_url is None:
        if provider.kind in {"embeddings", "smtp"}:
            raise Invalid(f"{provider.name} needs its address.", fields={"base_url": "is missing"})
        return None
    try:
        address = smtp_address(provider.base_url) if provider.kind == "smtp" else http_address(provider.base_url)
        parts = urlsplit(address)
        _ = parts.port  # raises for what is none
    except ValueError as fault:
        raise Invalid(f"The address of {provider.name} {fault}.", fields={"base_url": str(fault)}) from None
    secret = parts.password is not None or (parts.username is not None and provider.kind != "smtp")
    if secret or parts.query or parts.fragment:
        raise Invalid(
            f"The address of {provider.name} is shown: a key or password goes into `key`, and nothing stands behind "
            "the path.",
            fields={"base_url": "holds more than an address"},
        )
    return address


def _defaults(
    environment: Settings, providers: Sequence[Provider], wanted: Mapping[ProviderUse, Choice]
) -> dict[ProviderUse, Choice]:
    fixed, made = fixed_uses(environment), dict[ProviderUse, Choice]()
    for use, choice in wanted.items():
        if use in fixed:
            raise Conflict(
                f"What is used for {use} is fixed by {fixed[use]}: unset it and restart, or leave `{use}` out.",
                code="fixed_by_environment",
            )
        if use == "embeddings" and choice.provider in {BUILTIN, NONE}:
            made[use] = Choice(provider=choice.provider)
            continue
        provider = next((one for one in providers if one.name == choice.provider), None)
        if provider is None or provider.kind not in KINDS_FOR[use]:
            kinds = " or ".join(sorted(KINDS_FOR[use]))
            raise Invalid(
                f"For {use} name one of the providers of kind {kinds}.",
                fields={f"defaults.{use}": "is not one of them"},
            )
        if use == "embeddings" and (choice.model or provider.first_model) is None:
            raise Invalid("Say which model makes embeddings.", fields={f"defaults.{use}": "names no model"})
        made[use] = choice
    return made


def _changed_meanwhile() -> Conflict:
    return Conflict("Somebody changed the providers meanwhile: read them again, then change them.")


async def _record(
    services: Services, principal: Principal, before: ProviderSettings, after: ProviderSettings, revision: int
) -> None:
    """A line for each that is another now: its name, never its address or key."""
    async with services.db.transaction(account_scope(principal)) as conn:
        for provider in after.providers:
            known = before.named(provider.name)
            if provider != known:
                new_key = provider.sealed is not None and (known is None or known.sealed != provider.sealed)
                await record(
                    conn, principal, "provider.set", provider.name, kind=provider.kind, new_key=new_key,
                    revision=revision,
                )  # fmt: skip
        for provider in before.providers:
            if after.named(provider.name) is None:
                await record(conn, principal, "provider.remove", provider.name, kind=provider.kind, revision=revision)
        for use in KINDS_FOR:
            if before.defaults.get(use) != after.defaults.get(use):
                now = after.defaults.get(use)
                await record(
                    conn, principal, "provider.default", now.provider if now else None, use=use, revision=revision
                )


# ------------------------------------------------------------------------------------------------ what is shown


def _shown(services: Services, stored: ProviderSettings) -> ShownSettings:
    environment = services.standing.environment
    fixed = fixed_uses(environment)
    providers = [_shown_fixed(environment, one) for one in _of_environment(environment)]
    providers += [_shown_stored(environment, one) for one in stored.providers]
    of_environment = {"chat": "env.llm", "extraction": "env.llm", "mail": "env.smtp"}
    remote = environment.embeddings_provider == "openai"
    of_environment["embeddings"] = "env.embeddings" if remote else environment.embeddings_provider
    defaults: dict[ProviderUse, ShownChoice] = {}
    for use in KINDS_FOR:
        choice = stored.defaults.get(use)
        if use in fixed:
            defaults[use] = ShownChoice(provider=of_environment[use], by=fixed[use])
        elif choice is not None:
            defaults[use] = ShownChoice(provider=choice.provider, model=choice.model)
        elif use == "embeddings":
            defaults[use] = ShownChoice(provider=BUILTIN)
    return ShownSettings(revision=stored.revision, providers=providers, defaults=defaults)


def _of_environment(environment: Settings) -> list[Provider]:
    """Those that its variables set, under names that nobody can give."""
    found: list[Provider] = []
    if environment.llm_provider is not None:
        models = dict.fromkeys([*([environment.llm_model] if environment.llm_model else ()), *environment.llm_models])
        found.append(
            Provider(
                name="env.llm", kind=environment.llm_provider, base_url=environment.llm_base_url, models=tuple(models)
            )
        )
    if environment.embeddings_provider == "openai":
        model = environment.embeddings_model
        found.append(
            Provider(
                name="env.embeddings", kind="embeddings", base_url=environment.embeddings_base_url,
                models=(model,) if model else (),
            )
        )  # fmt: skip
    if environment.smtp_url is not None:
        parts = urlsplit(environment.smtp_url)
        host = parts.netloc.rpartition("@")[2]
        netloc = f"{parts.username}@{host}" if parts.username else host
        url = urlunsplit(parts._replace(netloc=netloc))
        found.append(Provider(name="env.smtp", kind="smtp", base_url=url, sender=environment.smtp_from))
    return found


def _shown_fixed(environment: Settings, provider: Provider) -> ShownProvider:
    key = _key_of(environment, provider)
    by = {"env.llm": "KEEPSTONE_LLM_PROVIDER", "env.embeddings": "KEEPSTONE_EMBEDDINGS_PROVIDER"}
    parts = urlsplit(provider.base_url or "")
    shown = provider.base_url
    if provider.kind != "smtp" and parts.username is not None:  # somebody's secret in an address
        shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return ShownProvider(
        name=provider.name, kind=provider.kind, base_url=shown, models=provider.models, sender=provider.sender,
        key_set=bool(key), key_hint=hint(key) if key else None, by=by.get(provider.name, "KEEPSTONE_SMTP_URL"),
    )  # fmt: skip


def _shown_stored(environment: Settings, provider: Provider) -> ShownProvider:
    try:
        unseal(environment, provider)
        usable = True
    except SealBroken:
        usable = False
    return ShownProvider(
        name=provider.name, kind=provider.kind, base_url=provider.base_url, models=provider.models,
        sender=provider.sender, key_set=provider.sealed is not None, key_hint=provider.hint, key_usable=usable,
    )  # fmt: skip
