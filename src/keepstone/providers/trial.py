"""One real small call to a provider, and what came of it in plain words. Nothing is stored, and no key is told."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from keepstone.errors import UpstreamError
from keepstone.providers import mail
from keepstone.providers.chat_model import ChatModel
from keepstone.providers.openai_embedder import OpenAIEmbedder
from keepstone.providers.openai_upstream import OpenAIUpstream
from keepstone.providers.patience import advice
from keepstone.providers.upstream import Sent, Upstream, UpstreamAnswer

SECONDS = 15.0  # that each call may take
_LISTED = 200  # models
_QUOTED = 200  # characters of what a model says
_PROMPT = "Answer with the word: ready"
_SUBJECT = "A test from Keepstone · Keepstone 测试邮件"
_TEXT = """Mail works: Keepstone can send to you.

邮件已可使用：Keepstone 能够给您发送邮件。
"""


# Why something does not work, for whoever says it in other words: a wrong key, nobody at the address, no such model,
# something there that speaks another protocol, too many requests, a fault of its own, or anything else.
TrialFault = Literal["key", "unreachable", "model", "protocol", "busy", "broken", "refused"]


_OF_MAIL: dict[str, TrialFault] = {
    mail.REFUSED: "key", mail.UNREACHABLE: "unreachable", mail.NO_SMTP: "protocol", mail.NOT_TAKEN: "refused",
}  # fmt: skip


class _TriedUpstream:
    """An upstream, and the status of what it answered last; 0: it did not."""

    def __init__(self, upstream: Upstream) -> None:
        self.model, self.settings = upstream.model, upstream.settings
        self._upstream = upstream
        self.status = 0

    async def send(
        self, method: str, path: str, body: Sent | None = None, headers: Mapping[str, str] | None = None
    ) -> UpstreamAnswer:
        self.status = 0
        answer = await self._upstream.send(method, path, body, headers)
        self.status = answer.status
        return answer

    async def close(self) -> None:
        await self._upstream.close()

    def fault(self) -> TrialFault:
        """Why what was asked last did not work."""
        match self.status:
            case 0:
                return "unreachable"
            case 401 | 403:
                return "key"
            case 400 | 404 | 422:
                return "model"
            case 429:
                return "busy"
            case status:
                return "protocol" if status < 400 or status == 405 else "broken" if status >= 500 else "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What was tried, whether it works, and what came back; if it does not work, why."""

    what: str
    ok: bool
    said: str
    milliseconds: int
    why: TrialFault | None = None


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


async def try_chat(reached: Upstream) -> Trial:
    """Its list of models, and one completion. The upstream is closed."""
    upstream, listed = _TriedUpstream(reached), list[str]()

    async def models() -> str:
        listed.extend(await _models(upstream))
        return f"It lists {len(listed)} models."

    async def completion() -> str:
        done = await model.complete(system="This is a test.", prompt=_PROMPT, max_tokens=16)
        return f"{model.name} answered: {done.text.strip()[:_QUOTED]}"

    model = ChatModel(upstream, timeout=SECONDS, retries=0)
    try:
        checks = [
            await _check("models", models, upstream.fault),
            await _check("completion", completion, upstream.fault),
        ]
    finally:
        await model.close()
    return Trial(checks=_told(checks, bool(listed)), models=listed)


async def try_embeddings(base_url: str, key: str | None, model: str) -> Trial:
    """Its list of models, if it has one, and one embedding."""
    upstream = _TriedUpstream(OpenAIUpstream(base_url, key, model, settings="KEEPSTONE_EMBEDDINGS"))
    embedder, listed = OpenAIEmbedder(base_url, key, model, retries=0, upstream=upstream), list[str]()

    async def embedding() -> str:
        made = await embedder.embed(["This is a test."])
        return f"It gave a vector of {made[0].pooled.size} dimensions."

    try:
        with suppress(UpstreamError, TimeoutError):  # not everybody has one
            async with asyncio.timeout(SECONDS):
                listed = await _models(upstream)
        check = await _check("embedding", embedding, upstream.fault)
    finally:
        embedder.close()
    return Trial(checks=_told([check], bool(listed)), models=listed, dimension=embedder.dimension or None)


async def try_mail(url: str, *, sender: str, to: str | None = None) -> Trial:
    """Signs in; with `to`, a message goes there."""

    async def sign_in() -> str:
        await mail.check(url, seconds=SECONDS)
        return "The mail server let us in."

    async def send() -> str:
        await mail.send(url, sender=sender, to=to or "", subject=_SUBJECT, text=_TEXT)
        return f"The mail server took a message to {to}."

    checks = [await _check("mail", sign_in)]
    if to and checks[0].ok:
        checks.append(await _check("message", send))
    return Trial(checks=checks)


async def _models(upstream: Upstream) -> list[str]:
    answer = await upstream.send("GET", "/models")
    try:
        body = await answer.read()
    finally:
        await answer.close()
    if not answer.succeeded:
        raise UpstreamError(f"It answered {answer.status} to a list of its models: {advice(answer.status)}.")
    try:
        return [model.id for model in _ModelList.model_validate_json(body).data[:_LISTED]]
    except ValidationError:
        raise UpstreamError("It did not answer with a list of models: check the address.") from None


def _told(checks: list[Check], listed: bool) -> list[Check]:
    """Where nothing that was asked is known, it is not the model that is wrong but the address."""
    return [replace(one, why="protocol") if one.why == "model" and not listed else one for one in checks]


async def _check(
    what: str, call: Callable[[], Awaitable[str]], fault_of: Callable[[], TrialFault] | None = None
) -> Check:
    begun, ok, why = time.perf_counter(), False, None
    try:
        async with asyncio.timeout(SECONDS):
            said = await call()
        ok = True
    except UpstreamError as fault:
        said, why = fault.message, fault_of() if fault_of else _OF_MAIL.get(fault.code, "refused")
    except TimeoutError:
        said, why = f"It did not answer within {SECONDS:.0f} seconds.", "unreachable"
    return Check(what=what, ok=ok, said=said, milliseconds=round((time.perf_counter() - begun) * 1000), why=why)
