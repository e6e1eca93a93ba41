"""One real small call to a provider, and what came of it in plain words. Nothing is stored, and no key is told."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pydantic import BaseModel, Field, ValidationError

from keepstone.errors import UpstreamError
from keepstone.providers import mail
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.openai_embedder import OpenAIEmbedder
from keepstone.providers.patience import advice
from keepstone.providers.upstream import Upstream

SECONDS = 15.0  # that each call may take
_LISTED = 200  # models
_QUOTED = 200  # characters of what a model says
_PROMPT = "Answer with the word: ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was tried, whether it works, and what came back."""

    what: str
    ok: bool
    said: str
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Of one provider. `models` are those that it lists, `dimension` that of an embedding."""

    checks: list[Check]
    models: list[str] = field(default_factory=list[str])
    dimension: int | None = None

    @property
    def ok(self) -> bool:
        """The last one decides: not everybody lists models."""
        return self.checks[-1].ok


class _ListedModel(BaseModel):
    id: str


class _ModelList(BaseModel):
    data: list[_ListedModel] = Field(max_length=10_000)


async def try_chat(upstream: Upstream) -> Trial:
    """Its list of models, and one completion. The upstream is closed."""
    listed: list[str] = []

    async def models() -> str:
        answer = await upstream.send("GET", "/models")
        try:
            body = await answer.read()
        finally:
            await answer.close()
        if not answer.succeeded:
            raise UpstreamError(f"It answered {answer.status} to a list of its models: {advice(answer.status)}.")
        try:
            listed.extend(model.id for model in _ModelList.model_validate_json(body).data[:_LISTED])
        except ValidationError:
            raise UpstreamError("It did not answer with a list of models: check the address.") from None
        return f"It lists {len(listed)} models."

    async def completion() -> str:
        done = await model.complete(system="This is a test.", prompt=_PROMPT, max_tokens=16)
        return f"{model.name} answered: {done.text.strip()[:_QUOTED]}"

    model = ChatModel(upstream, timeout=SECONDS, retries=0)
    try:
        checks = [await _check("models", models), await _check("completion", completion)]
    finally:
        await model.close()
    return Trial(checks=checks, models=listed)


async def try_embeddings(embedder: OpenAIEmbedder) -> Trial:
    """One embedding. The embedder is closed."""

    async def embedding() -> str:
        made = await embedder.embed(["This is a test."])
        return f"It gave a vector of {made[0].pooled.size} dimensions."

    try:
        check = await _check("embedding", embedding)
    finally:
        embedder.close()
    return Trial(checks=[check], dimension=embedder.dimension or None)


async def try_mail(url: str) -> Trial:
    """Signs in and sends nothing."""

    async def sign_in() -> str:
        await mail.check(url, seconds=SECONDS)
        return "The mail server let us in."

    return Trial(checks=[await _check("mail", sign_in)])


async def _check(what: str, call: Callable[[], Awaitable[str]]) -> Check:
    begun, ok = time.perf_counter(), False
    try:
        async with asyncio.timeout(SECONDS):
            said = await call()
        ok = True
    except UpstreamError as fault:
        said = fault.message
    except TimeoutError:
        said = f"It did not answer within {SECONDS:.0f} seconds."
    return Check(what=what, ok=ok, said=said, milliseconds=round((time.perf_counter() - begun) * 1000))
