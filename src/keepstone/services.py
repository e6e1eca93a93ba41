"""What every operation is handed. Made once by the composition root, replaced whole in tests, and in a running server
when the operator changes a provider: whoever has begun ends with what they were handed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from weakref import WeakSet

from argon2 import PasswordHasher
from jwt import PyJWKClient

from keepstone.afterwards import Afterwards
from keepstone.disk import Disk
from keepstone.model.provider import ProviderSettings
from keepstone.observe.metrics import Metrics
from keepstone.observe.tracing import Tracer
from keepstone.offload import Offload
from keepstone.providers.choose import FurtherUpstream
from keepstone.providers.embedders import Embedders
from keepstone.providers.judge import Judge
from keepstone.providers.llm import LanguageModel
from keepstone.providers.parsing import Parser
from keepstone.providers.rates import Rates
from keepstone.providers.tokenizer import Tokenizer
from keepstone.providers.upstream import Upstream
from keepstone.providers.working import RedisWorking
from keepstone.replies import Replies, Snapshots
from keepstone.resident import ResidentSpaces
from keepstone.settings import Settings
from keepstone.store.db import Database
from keepstone.store.queue import Queue
from keepstone.store.trace_log import TraceLog
from keepstone.throttle import Throttle


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    settings: Settings
    db: Database
    embedders: Embedders
    llm: LanguageModel | None
    upstream: Upstream | None
    embeddings_upstream: Upstream | None
    parser: Parser
    offload: Offload
    tokenizer: Tokenizer
    working: RedisWorking | None
    queue: Queue
    clock: Callable[[], datetime]
    disk: Disk
    throttle: Throttle
    rates: Rates
    replies: Replies
    notes: Replies  # what was told to the audit trail a moment ago, and is not told again
    metrics: Metrics
    tracer: Tracer
    traces: TraceLog
    hasher: PasswordHasher
    jwt_secret: str
    jwks: PyJWKClient | None
    judge: Judge | None = None
    resident: ResidentSpaces
    found: Afterwards = field(default_factory=Afterwards)  # what searches showed, and so was used
    views: Snapshots = field(default_factory=Snapshots)  # of all that somebody keeps
    further: tuple[FurtherUpstream, ...] = ()  # for clients that name one of their models
    stored: ProviderSettings = ProviderSettings()  # what was set over the API
    standing: "Standing"


class Standing:
    """Hands on what is replaced while a server runs. `environment` are the settings without what was set over the
    API.
    """

    def __init__(self, environment: Settings) -> None:
        self.environment = environment
        self._followed: WeakSet[Followed] = WeakSet()

    def follow(self, services: Services) -> "Followed":
        """For whoever takes these services up again and again."""
        followed = Followed(services)
        self._followed.add(followed)
        return followed

    async def renew(self) -> None:
        """Look at once whether anything is to be replaced."""

    async def close(self) -> None:
        """The server ends."""

    def change(self, **changes: Any) -> None:
        for followed in self._followed:
            followed.services = replace(followed.services, **changes)


class Followed:
    """The services as they are now."""

    def __init__(self, services: Services) -> None:
        self.services = services
