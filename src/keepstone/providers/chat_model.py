"""A language model behind an upstream: one question, one answer, whoever the provider is.

Which parameters a model takes is learned by asking. Newer models of OpenAI's refuse `max_tokens` and a temperature of
0; older ones and most local servers know only `max_tokens`, and ignore or refuse its successor. Neither the key nor a
text is ever part of an error or a log line.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from keepstone.errors import UpstreamError
from keepstone.model.provider import Outage
from keepstone.providers.breaker import Breaker, growing_pause
from keepstone.providers.llm import Completion
from keepstone.providers.patience import is_its_fault, post
from keepstone.providers.upstream import Retiring, Upstream, where_set

_OLD_LIMIT, _NEW_LIMIT, _TEMPERATURE = "max_tokens", "max_completion_tokens", "temperature"
_THOUGHT = 2_000  # tokens: models that take the new limit count towards it what they think
_REFUSED = frozenset({400, 422})


class _ChatReply(BaseModel):
    content: str | None = None


class _ChatChoice(BaseModel):
    message: _ChatReply


class _TokensUsed(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _ChatAnswer(BaseModel):
    choices: list[_ChatChoice] = Field(min_length=1)
    usage: _TokensUsed | None = None


class ChatModel:
    """The model is the upstream's own. `refused` are parameters that it turned out not to take. During an outage it is
    not asked.
    """

    def __init__(
        self, upstream: Upstream, *, timeout: float = 60, retries: int = 2,
        pause: Callable[[int], float] = growing_pause,
    ) -> None:  # fmt: skip
        self.name = upstream.model or ""
        self.settings = upstream.settings
        self._upstream = upstream
        self._timeout = timeout
        self._retries = retries
        self._refused: frozenset[str] = frozenset()
        self.breaker = Breaker("language model", self._try_it, pause)

    @property
    def outage(self) -> Outage | None:
        return self.breaker.outage

    async def complete(self, *, system: str, prompt: str, max_tokens: int) -> Completion:
        self.breaker.require()
        return await self._complete(system, prompt, max_tokens, self._retries)

    async def _try_it(self) -> None:
        await self._complete("Answer with one word.", "Are you there?", 16, 0)

    async def _complete(self, system: str, prompt: str, max_tokens: int, retries: int) -> Completion:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        refused = self._refused
        while True:
            sent = _parameters(max_tokens, refused)
            status, body = await self._ask({"model": self.name, "messages": messages, **sent}, retries)
            named = _named(body, sent) if status in _REFUSED else None
            if named is None or named == _NEW_LIMIT:
                break
            refused |= {named}
        if not 200 <= status < 300:
            if is_its_fault(status):
                self.breaker.failed(f"answered {status}")
            raise self._failed(status)
        self._refused = refused  # only of what was answered without them
        try:
            answered = _ChatAnswer.model_validate_json(body)
        except ValidationError:
            self.breaker.failed("did not answer with a completion")
            raise self._failed(None) from None
        self.breaker.worked()
        usage = answered.usage or _TokensUsed()
        text = answered.choices[0].message.content or ""
        return Completion(text=text, tokens_in=usage.prompt_tokens, tokens_out=usage.completion_tokens)

    def retire(self) -> None:
        """Another takes its place: it is closed when nobody uses it any more."""
        self.breaker.close()
        if isinstance(self._upstream, Retiring):
            self._upstream.retire()

    async def close(self) -> None:
        self.breaker.close()
        await self._upstream.close()

    def _failed(self, status: int | None) -> UpstreamError:
        what = f"answered {status}" if status else "could not be reached"
        places = dict.fromkeys(where_set(self._upstream.settings, one) for one in ("BASE_URL", "API_KEY", "MODEL"))
        return UpstreamError(
            f"The language model {what}: its operator has to look at {', '.join(places)}. Try again.", retry_after=5
        )

    async def _ask(self, body: dict[str, Any], retries: int) -> tuple[int, bytes]:
        payload = json.dumps(body).encode()
        try:
            return await post(self._upstream, "/chat/completions", payload, retries=retries, seconds=self._timeout)
        except UpstreamError:
            self.breaker.failed("could not be reached in time")
            raise self._failed(None) from None


def _parameters(max_tokens: int, refused: frozenset[str]) -> dict[str, Any]:
    limit = {_NEW_LIMIT: max_tokens + _THOUGHT} if _OLD_LIMIT in refused else {_OLD_LIMIT: max_tokens}
    return limit if _TEMPERATURE in refused else {**limit, _TEMPERATURE: 0}


def _named(body: bytes, sent: dict[str, Any]) -> str | None:
    """The parameter of ours that a refusal is about: the one that it names first."""
    places = {name: re.search(rf"\b{name}\b".encode(), body) for name in sent}
    named = {name: place.start() for name, place in places.items() if place is not None}
    return min(named, key=lambda name: named[name]) if named else None


def away(model: object, settings: object) -> None:
    """The provider of these settings could not be reached: a model of it is not asked either, until it answers."""
    if isinstance(model, ChatModel) and model.settings == settings:
        model.breaker.failed("could not be reached")
