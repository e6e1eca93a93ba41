"""Nothing holds the event loop: while a long text is read, checked, cut and stored, others have their turns."""

import asyncio
import gc
import json
import random
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from conftest import World
from keepstone.engine.cutting import Source, cut_by_length, cut_sources
from keepstone.services import Services

WORDS = [f"{a}{b}" for a in ("fer", "har", "lan", "tor", "vel", "mis") for b in ("ry", "bour", "tern", "ches", "vet")]
SHARE = 6  # of the work at most a sixth may be done in one go


@dataclass
class Turns:
    """Processor time of the event loop's longest turn. What other threads and processes do is not in it, nor what the
    collector of garbage does: in a process of thousands of tests it has much to look through.
    """

    longest: float = 0.0


@contextmanager
def turns_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> Generator[Turns]:
    turns = Turns()
    run: Callable[[asyncio.Handle], None] = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        begin = time.thread_time()
        run(handle)
        turns.longest = max(turns.longest, time.thread_time() - begin)

    gc.disable()
    try:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio.Handle, "_run", timed)
            yield turns
    finally:
        gc.enable()


def work_of_cutting(texts: list[str]) -> float:
    """Seconds of a processor that cutting them takes, once the words are known: the least of what there is to do."""
    at = datetime(2026, 3, 2, tzinfo=UTC)
    sources = [Source(kind="message", id=str(number), text=text, at=at) for number, text in enumerate(texts)]
    seconds: list[float] = []
    for _ in range(3):
        begin = time.thread_time()
        cut_sources(sources, cut_by_length, "private")
        seconds.append(time.thread_time() - begin)
    return min(seconds)


def said(number: int) -> list[dict[str, Any]]:
    choose = random.Random(7)
    return [
        {"speaker": choose.choice(["Anna", "Ben"]), "text": f"{' '.join(choose.choices(WORDS, k=20))}.", "id": str(n)}
        for n in range(number)
    ]


async def post(client: httpx.AsyncClient, world: World, path: str, body: bytes) -> httpx.Response:
    headers = world.owner.auth | {"Content-Type": "application/json"}
    answer = await client.post(path, content=body, headers=headers)
    assert answer.status_code < 300, answer.text
    return answer


async def test_thousands_of_messages_in_one_call_let_others_have_their_turn(
    client: httpx.AsyncClient, world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = said(10_000)
    body = json.dumps({"scope_id": "long", "transcript": turns}).encode()
    await post(client, world, "/v1/ingest", json.dumps({"scope_id": "first", "transcript": turns[:200]}).encode())
    with turns_of_the_loop(monkeypatch) as loop:
        answer = await post(client, world, "/v1/ingest", body)
    assert answer.json()["ingested"] == 10_000
    assert loop.longest < work_of_cutting([turn["text"] for turn in turns]) / SHARE


async def test_a_long_capsule_lets_others_have_their_turn(
    client: httpx.AsyncClient, world: World, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n".join(turn["text"] for turn in said(6_000))[:800_000]
    await post(client, world, "/v1/memory/capsules", json.dumps({"content_md": text[:200_000]}).encode())
    with turns_of_the_loop(monkeypatch) as loop:
        await post(client, world, "/v1/memory/capsules", json.dumps({"content_md": text}).encode())
    assert loop.longest < work_of_cutting([text]) / SHARE
