"""How near texts are to a question that stand in no index, and that each is embedded once."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from keepstone.engine import nearness
from keepstone.engine.question import EmbeddedQuestion, Question
from keepstone.providers.embedder import Embedding, Span


class Letters:
    """Sees which letters a text has; notes what it was asked."""

    name, dimension, multilingual, context = "letters", 26, True, 0

    def __init__(self) -> None:
        self.asked: list[str] = []

    def cut(self, text: str) -> list[Span]:
        return [(0, len(text))]

    async def embed(self, texts: Sequence[str], before: Sequence[str] | None = None) -> list[Embedding]:
        self.asked += texts
        return [await self.embed_question(text) for text in texts]

    async def embed_question(self, text: str) -> Embedding:
        counts = np.array([text.lower().count(chr(97 + place)) for place in range(26)], np.float32)
        return Embedding(counts / max(1.0, float(np.linalg.norm(counts))), None)

    def close(self) -> None:
        pass


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> Letters:
    known: dict[Any, Any] = {}
    monkeypatch.setattr(nearness, "_KNOWN", known)
    return Letters()


async def asked(embedder: Letters, text: str) -> EmbeddedQuestion:
    question = Question(text=text, speaker=None, asked_at=datetime(2026, 5, 4, tzinfo=UTC))
    return EmbeddedQuestion(
        question=question, embedded={embedder.name: (embedder, await embedder.embed_question(text))}
    )


async def test_a_text_is_embedded_once_however_often_it_is_asked_about(embedder: Letters) -> None:
    texts = ["boats", "mail", "opera", "boats"]
    first = await nearness.nearest_first(await asked(embedder, "a boat"), texts, account=1)
    assert first[:2] == [0, 3]
    assert embedder.asked == ["boats", "mail", "opera"]
    again = await nearness.nearest_first(await asked(embedder, "a boat"), texts, account=1)
    assert again == first
    assert (await nearness.nearest_first(await asked(embedder, "an e-mail"), [*texts, "mill"], account=1))[0] == 1
    assert embedder.asked == ["boats", "mail", "opera", "mill"]


async def test_what_one_account_has_is_nothing_to_another_and_there_is_an_end(
    embedder: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearness, "MOST_KNOWN", 2)
    question = await asked(embedder, "a boat")
    for account in (1, 2):
        await nearness.nearest_first(question, ["boats", "mail"], account=account)
    assert embedder.asked == ["boats", "mail"] * 2
    assert len(nearness._KNOWN) == 2
    await nearness.nearest_first(question, ["boats", "mail"], account=2)
    assert len(embedder.asked) == 4
