"""What every operation is handed. Made once by the composition root, replaced whole in tests."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from argon2 import PasswordHasher
from jwt import PyJWKClient

from keepstone.afterwards import Afterwards
from keepstone.disk import Disk
from keepstone.observe.metrics import Metrics
from keepstone.observe.tracing import Tracer
from keepstone.offload import Offload
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
    hasher: PasswordHasher
    jwt_secret: str
    jwks: PyJWKClient | None
    judge: Judge | None = None
    resident: ResidentSpaces
    found: Afterwards = field(default_factory=Afterwards)  # what searches showed, and so was used
    views: Snapshots = field(default_factory=Snapshots)  # of all that somebody keeps
