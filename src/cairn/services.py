"""What every operation is handed. Made once by the composition root, replaced whole in tests."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from jwt import PyJWKClient

from cairn.observe.metrics import Metrics
from cairn.observe.tracing import Tracer
from cairn.providers.embedders import Embedders
from cairn.providers.llm import LanguageModel
from cairn.providers.parsing import Parser
from cairn.providers.rates import Rates
from cairn.providers.tokenizer import Tokenizer
from cairn.providers.upstream import Upstream
from cairn.providers.working import RedisWorking
from cairn.settings import Settings
from cairn.store.db import Database
from cairn.store.queue import Queue
from cairn.throttle import Throttle


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    settings: Settings
    db: Database
    embedders: Embedders
    llm: LanguageModel | None
    upstream: Upstream | None
    embeddings_upstream: Upstream | None
    parser: Parser
    tokenizer: Tokenizer
    working: RedisWorking | None
    queue: Queue
    clock: Callable[[], datetime]
    throttle: Throttle
    rates: Rates
    metrics: Metrics
    tracer: Tracer
    jwt_secret: str
    jwks: PyJWKClient | None
