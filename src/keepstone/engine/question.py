"""A question, and what the embedders see in it. They work with no connection held, before the database is asked."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from keepstone.engine import terms
from keepstone.engine.dates import local, zone_named
from keepstone.engine.language.scripts import latin
from keepstone.engine.language.stopwords import guess
from keepstone.engine.when import Window, windows
from keepstone.errors import UpstreamError
from keepstone.providers.embedder import Embedder, Embedding
from keepstone.services import Services
from keepstone.store.candidates import Survey


@dataclass(frozen=True, kw_only=True)
class Question:
    """`speaker` is who asks; `asked_at` is what "yesterday" is counted from, a day of that zone. Nothing after `until`
    is seen. What is read out of its text is read once.
    """

    text: str
    speaker: str | None
    asked_at: datetime
    zone: str = "UTC"
    until: datetime | None = None

    def read(self) -> None:
        """Ahead of time, while others work for it."""
        _ = self.language, self.terms, self.times

    @cached_property
    def language(self) -> str:
        """Two letters."""
        return guess(self.text)

    @cached_property
    def terms(self) -> list[str]:
        """With repeats."""
        return terms.terms(self.text)

    @cached_property
    def times(self) -> list[Window]:
        """Of which it speaks."""
        return windows(self.text, local(self.asked_at, zone_named(self.zone)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedQuestion:
    """A question as embedders see it, by the name of the model."""

    question: Question
    embedded: Mapping[str, tuple[Embedder, Embedding]]


async def embed_question(services: Services, question: Question, *, any_language: bool = False) -> EmbeddedQuestion:
    """By the embedders that it surely needs, so that it can be done while the space is still being looked up. English
    needs the multilingual model only in a space that has something else, unless what is there may be in `any_language`.
    """
    embedders = services.embedders.active
    if not any_language and question.language == "en" and latin(question.text):
        embedders = tuple(embedder for embedder in embedders if not embedder.multilingual) or embedders
    return EmbeddedQuestion(question=question, embedded=await _embed(embedders, question.text))


async def embed_for_spaces(services: Services, asked: EmbeddedQuestion, size: Survey) -> EmbeddedQuestion:
    """The same question, for spaces that may need other embedders than the question itself: the multilingual one, or as
    long as its vectors serve there the one that came before.
    """
    outgoing = services.embedders.outgoing(size.sets)
    kept = {name: made for name, made in asked.embedded.items() if not outgoing or name in size.sets}
    rest = [embedder for embedder in services.embedders.active if embedder.name not in asked.embedded]
    needed = [*outgoing, *(rest if size.foreign_text else ())]
    return replace(asked, embedded={**await _embed(needed, asked.question.text), **kept}) if needed else asked


async def _embed(embedders: Sequence[Embedder], text: str) -> dict[str, tuple[Embedder, Embedding]]:
    """The question as each embedder sees it; one that can't be reached is left out."""

    async def by(embedder: Embedder) -> Embedding | None:
        try:
            start, end = embedder.cut(text)[0]  # what it reads whole
            return await embedder.embed_question(text[start:end])
        except UpstreamError:
            return None

    made = await asyncio.gather(*(by(embedder) for embedder in embedders))
    return {
        embedder.name: (embedder, embedding)
        for embedder, embedding in zip(embedders, made, strict=True)
        if embedding is not None
    }
