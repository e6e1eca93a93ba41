"""The settings of the server that can be changed while it runs: providers. For its operator."""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from keepstone.access import providers as operations
from keepstone.model.provider import Choice, Provider, ProviderKind, ProviderUse
from keepstone.providers.trial import Check, Trial, TrialFault
from keepstone.surfaces.http.caller import Operator, Used
from keepstone.surfaces.http.router import Router
from keepstone.surfaces.http.wire import Shown, Wire, fields_of

router = Router(prefix="/v1/settings", tags=["console"])

_NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
_ModelName = Annotated[str, Field(min_length=1, max_length=200)]


class ProviderIn(Wire):
    name: Annotated[str, Field(pattern=_NAME, description="a-z, 0-9, - and _, up to 63 of them.")]
    kind: Annotated[
        ProviderKind,
        Field(
            description="`openai` (or anything that speaks its protocol) and `anthropic`: language models. "
            "`embeddings`: an endpoint for embeddings that speaks OpenAI's protocol. `smtp`: a mail server."
        ),
    ]
    base_url: Annotated[
        str | None,
        Field(
            max_length=2000,
            description="Its address, with `/v1` where it speaks OpenAI's protocol; a mail server's is "
            "`smtp://user@host:587` or `smtps://…`. Of `openai` and `anthropic` null is the provider's own.",
        ),
    ] = None
    models: Annotated[
        list[_ModelName],
        Field(
            default_factory=list,
            max_length=200,
            description="Models that clients may name, `*` for any letters; the first is used where none is named. "
            "Empty: whichever the key opens.",
        ),
    ]
    sender: Annotated[str | None, Field(max_length=254, description="Sender of mail.")] = None
    key: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=4096,
            description="Its key or password; null: none. Left out: the one that was given for this address.",
        ),
    ] = None

    @field_validator("sender")
    @classmethod
    def _one_line(cls, sender: str | None) -> str | None:
        if sender is not None and ("\n" in sender or "\r" in sender):
            raise ValueError("is one line")
        return sender

    def wanted(self) -> operations.WantedProvider:
        provider = Provider(
            name=self.name, kind=self.kind, base_url=self.base_url, models=tuple(self.models), sender=self.sender
        )
        return operations.WantedProvider(
            provider=provider, key=self.key if "key" in self.model_fields_set else operations.KEPT
        )


class ChoiceIn(Wire):
    provider: Annotated[
        str, Field(min_length=1, max_length=63, description="Its name; for embeddings also `builtin` or `none`.")
    ]
    model: Annotated[_ModelName | None, Field(description="Which of its models; null: the first.")] = None

    def choice(self) -> Choice:
        return Choice(provider=self.provider, model=self.model)


class DefaultsIn(Wire):
    """What is used where nothing else is said. What is null or left out has none: extraction is then done by the model
    of the chat, and embeddings by what is built in.
    """

    chat: ChoiceIn | None = None
    extraction: ChoiceIn | None = None
    embeddings: ChoiceIn | None = None
    mail: ChoiceIn | None = None


class ProvidersIn(Wire):
    providers: Annotated[list[ProviderIn], Field(max_length=50, description="All of them: others are removed.")]
    defaults: DefaultsIn = DefaultsIn()
    revision: Annotated[
        int | None, Field(ge=0, description="As it was read: 409 if somebody has changed them since.")
    ] = None


class ProviderKeyOut(Shown):
    is_set: bool = Field(serialization_alias="set")
    last4: str | None = Field(description="How it ends; null of a short one.")
    usable: bool = Field(description="False: it was sealed with another `providers-key`. Give it again.")


class ProviderOut(Shown):
    name: str
    kind: ProviderKind
    base_url: str | None
    models: list[str]
    sender: str | None
    key: ProviderKeyOut
    fixed: bool = Field(description="By the environment: it can't be changed here.")
    by: str | None = Field(description="By which variable.")


class DefaultOut(Shown):
    provider: str
    model: str | None
    fixed: bool
    by: str | None


class DefaultsOut(Shown):
    chat: DefaultOut | None = None
    extraction: DefaultOut | None = None
    embeddings: DefaultOut | None = None
    mail: DefaultOut | None = None


class ProvidersOut(Shown):
    revision: int = Field(description="Counts the changes.")
    providers: list[ProviderOut]
    defaults: DefaultsOut

    @classmethod
    def shown(cls, settings: operations.ShownSettings) -> "ProvidersOut":
        return cls(
            revision=settings.revision,
            providers=[
                ProviderOut.of(
                    one,
                    models=list(one.models),
                    key=ProviderKeyOut(is_set=one.key_set, last4=one.key_hint, usable=one.key_usable),
                    fixed=one.by is not None,
                )
                for one in settings.providers
            ],
            defaults=DefaultsOut(
                **{use: DefaultOut.of(one, fixed=one.by is not None) for use, one in settings.defaults.items()}
            ),
        )


class ProviderTestIn(Wire):
    """Either `name`, of a provider that is set, or `provider`, one to try before it is."""

    name: Annotated[str | None, Field(min_length=1, max_length=63)] = None
    provider: ProviderIn | None = None
    use: Annotated[
        Literal["chat", "extraction", "embeddings", "mail"] | None,
        Field(description="What to try it for; null: what its kind is for."),
    ] = None
    model: Annotated[_ModelName | None, Field(description="Which model to ask; null: its first.")] = None
    to: Annotated[
        str | None,
        Field(min_length=3, max_length=254, description="Of a mail server: whom to send a message to; null: nobody."),
    ] = None

    @model_validator(mode="after")
    def _one_of_them(self) -> "ProviderTestIn":
        if (self.name is None) == (self.provider is None):
            raise ValueError("give `name` or `provider`")
        return self


class CheckOut(fields_of(Check, "what ok said milliseconds why")):
    what: str = Field(description="`models`, `completion`, `embedding`, `mail` or `message`.")
    why: TrialFault | None = Field(
        description="Why not: a wrong `key`, `unreachable`, no such `model`, another `protocol`, `busy`, `broken`, or "
        "`refused` for another reason."
    )
    said: str = Field(description="What came back, in plain words.")


class ProviderTestOut(fields_of(Trial, "ok")):
    checks: list[CheckOut]
    models: list[str] = Field(description="Those that it lists, up to 200.")
    dimension: int | None = Field(description="Of an embedding.")


@router.get("/providers", summary="Language models, embeddings and mail of this server")
async def get_providers(services: Used, principal: Operator) -> ProvidersOut:
    return ProvidersOut.shown(await operations.get_providers(services, principal))


@router.put("/providers", summary="Set them, without a restart")
async def put_providers(services: Used, principal: Operator, body: ProvidersIn) -> ProvidersOut:
    defaults: dict[ProviderUse, Choice] = {}
    uses: dict[ProviderUse, ChoiceIn | None] = {
        "chat": body.defaults.chat, "extraction": body.defaults.extraction, "embeddings": body.defaults.embeddings,
        "mail": body.defaults.mail,
    }  # fmt: skip
    for use, given in uses.items():
        if given is not None:
            defaults[use] = given.choice()
    return ProvidersOut.shown(
        await operations.put_providers(
            services,
            principal,
            providers=[one.wanted() for one in body.providers],
            defaults=defaults,
            revision=body.revision,
        )
    )


@router.post("/providers/test", summary="One real small call to a provider; nothing is stored")
async def try_provider(services: Used, principal: Operator, body: ProviderTestIn) -> ProviderTestOut:
    wanted = body.provider.wanted() if body.provider else None
    return ProviderTestOut.model_validate(
        await operations.try_provider(
            services, principal, name=body.name, wanted=wanted, use=body.use, model=body.model, to=body.to
        )
    )
