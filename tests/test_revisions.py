"""What holds is what comes back: a later message takes the place of what it revises, and nothing else does."""

from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import numpy as np
import psycopg
import pytest

from conftest import World, http
from keepstone.access.readscope import account_scope, job_scope
from keepstone.app import make_app
from keepstone.engine import kernels, revise
from keepstone.engine.rank import FAR, with_first
from keepstone.engine.when import asks_of
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import scopes
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.providers.embedder import Embedder
from keepstone.services import Services
from keepstone.store import candidates, passages, spaces, vectors
from statements import sent

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

TALKS = {
    "en": (
        ["Ines: the choir rehearses on Wednesdays in the gym", "Paul: my knee is better, thanks",
         "Ines: from May on the choir rehearses on Mondays, in the chapel"],
        "When does the choir rehearse?", 2, 0, "When did the choir rehearse before?",
    ),
    "de": (
        ["Jana: Der Chor probt mittwochs in der Turnhalle.", "Rolf: Meinem Knie geht es besser, danke.",
         "Jana: Der Chor probt nicht mehr mittwochs, sondern jetzt montags in der Kapelle."],
        "Wann probt der Chor?", 2, 0, "Wann hat der Chor früher geprobt?",
    ),
    "zh": (
        ["小芳: 合唱团每周三在体育馆排练。", "老周: 我的膝盖好多了，谢谢。",
         "小芳: 通知：合唱团排练改到每周一，在礼堂，周三取消。"],
        "合唱团什么时候排练？", 2, 0, "合唱团以前什么时候排练？",
    ),
}  # fmt: skip


@pytest.fixture
def remembering(services: Services, models: tuple[Embedder, ...]) -> Generator[Services]:
    """The jobs were registered with these services: they know what words mean for the time of the test."""
    services.embedders.active = models
    yield services
    services.embedders.active = ()


async def tell(services: Services, client: httpx.AsyncClient, world: World, lines: list[str]) -> list[str]:
    transcript = [
        {"speaker": speaker, "text": text, "ts": (START + timedelta(days=9 * day)).isoformat(), "id": str(day)}
        for day, (speaker, _, text) in enumerate(line.partition(": ") for line in lines)
    ]
    body = {"scope_id": "choir", "transcript": transcript}
    ids: list[str] = (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).json()["message_ids"]
    await run_until_empty(services)
    return ids


async def recalled(client: httpx.AsyncClient, world: World, question: str, **more: Any) -> list[str]:
    body = {"scope_id": "choir", "message": {"speaker": "Mia", "text": question}, **more}
    answer = (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()
    return [item["id"] for item in answer["evidence"]]


@pytest.mark.parametrize("language", TALKS)
async def test_the_newest_holds_and_the_past_can_be_asked_for(
    remembering: Services, world: World, language: str
) -> None:
    lines, question, newest, oldest, before = TALKS[language]
    async with http(make_app(remembering)) as client:
        await tell(remembering, client, world, lines)
        places = await recalled(client, world, question)
        assert places.index(str(newest)) < places.index(str(oldest))
        places = await recalled(client, world, before)
        assert places.index(str(oldest)) < places.index(str(newest))
        asked = {"scope_id": "choir", "question": question}
        answer = (await client.post("/v1/ask", headers=world.owner.auth, json=asked)).json()
        assert answer["evidence"][0]["id"] == str(newest)
        assert answer["answer"].startswith("[2026-03-20 UTC]")


async def test_what_was_not_said_by_then_changes_nothing(remembering: Services, world: World) -> None:
    lines, question, _, oldest, _ = TALKS["en"]
    async with http(make_app(remembering)) as client:
        await tell(remembering, client, world, lines)
        then = (START + timedelta(days=12)).isoformat()
        assert (await recalled(client, world, question, as_of=then))[0] == str(oldest)


async def test_what_is_true_side_by_side_stays_as_it_is(remembering: Services, world: World, database: str) -> None:
    lines = [
        "Ines: Oskar is allergic to hazelnuts", "Ines: Oskar is allergic to wasp stings",
        "Paul: invoice 318 is 40 euros", "Paul: invoice 381 is 90 euros",
        "Ines: should we move the rehearsal to Tuesday?", "Paul: imagine we sang in the swimming pool, haha",
    ]  # fmt: skip
    async with http(make_app(remembering)) as client:
        await tell(remembering, client, world, lines)
    assert await revisions_in(database) == 0


async def test_what_revises_goes_with_its_message(remembering: Services, world: World, database: str) -> None:
    lines, question, _, oldest, _ = TALKS["en"]
    async with http(make_app(remembering)) as client:
        ids = await tell(remembering, client, world, lines)
        assert await revisions_in(database) == 1
        async with await psycopg.AsyncConnection.connect(database) as conn:
            row = await (await conn.execute("SELECT account, space FROM keepstone.revisions")).fetchone()
        assert row is not None
        async with remembering.db.transaction(job_scope(*row)) as conn:
            await passages.delete(conn, "message", [ids[2]])
        assert await revisions_in(database) == 0
        assert (await recalled(client, world, question))[0] == str(oldest)


async def test_in_a_large_space_what_stands_in_memory_is_compared(
    remembering: Services, world: World, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revise, "LARGE", 0)
    monkeypatch.setattr(revise, "SMALL", 0)
    async with http(make_app(remembering)) as client:
        await tell(remembering, client, world, TALKS["en"][0])
    assert await revisions_in(database) == 1


async def test_memory_and_database_name_the_same_neighbours(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, dimensions, chance = kernels.EXACT + 300, 96, np.random.default_rng(7)
    turns = [
        Message(id=new_id("msg"), client_id=None, speaker="Ines", text=f"word{place}", at=START, reply_to=None)
        for place in range(number)
    ]
    await scopes.ingest(services, world.owner.principal, "choir", turns)
    async with services.db.transaction(account_scope(world.owner.principal)) as conn:
        space = await spaces.find(conn, kind="scope", name="choir", owner=world.owner.user.id)
    assert space is not None
    scope = job_scope(world.owner.principal.account, space)
    values = chance.normal(size=(60, dimensions))[chance.integers(60, size=number)]
    values += 0.6 * chance.normal(size=values.shape)
    values = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)
    async with services.db.transaction(scope) as conn:
        known = [item.passage for item in await passages.after(conn, space, 0, limit=number)]
        await spaces.lock(conn, [space])
        vector_set = await vectors.vector_set(conn, "a model", dimensions)
        await vectors.store_vectors(conn, space, vector_set, dict(zip(known, values, strict=True)), {})
        size = await candidates.survey(conn, [space])
    new = dict.fromkeys([*known[:9], *known[2000:2020], *known[-40:]], "some words")
    monkeypatch.setattr(revise, "SMALL", number)
    by_database = await revise.neighbours(services, scope, space, size, new)
    monkeypatch.setattr(revise, "SMALL", 0)
    with sent() as statements:
        in_memory = await revise.neighbours(services, scope, space, size, new)
    assert in_memory == by_database
    assert len(in_memory) == sum(min(known.index(passage), revise.NEAREST) for passage in new)
    assert not any("o.passage < v.passage" in text for text in statements), "the space is not read through"


@pytest.mark.parametrize(
    ("older", "newer", "nearest", "may"),
    [
        ("the choir rehearses on Wednesdays", "from May on the choir is in the chapel", False, True),
        ("we meet on the 12th", "make that the 14th", False, True),
        ("合唱团每周三排练。", "合唱团排练改到每周一。", False, True),
        ("living with Elif in Rotterdam for now", "got a place of my own in Utrecht", True, True),
        ("living with Elif in Rotterdam for now", "my knee is better, thanks", False, False),
        ("does the choir rehearse on Wednesdays?", "the choir rehearses on Mondays", True, False),
    ],
)
def test_the_judge_reads_only_what_may_be_revised(older: str, newer: str, nearest: bool, may: bool) -> None:
    assert revise.may_revise(older, newer, 1 if nearest else revise.NEAREST) == may


async def revisions_in(database: str) -> int:
    async with await psycopg.AsyncConnection.connect(database) as conn:
        row = await (await conn.execute("SELECT count(*) FROM keepstone.revisions")).fetchone()
    return row[0] if row else 0


def test_the_newer_stands_just_above_the_older_unless_it_is_far_from_the_question() -> None:
    scores = np.array([2.0, 1.0, 0.5, 2.0 - FAR - 0.1])
    changed = with_first(scores, [(0, 2), (0, 3)])
    assert changed[2] > changed[0] > changed[1] > changed[3]
    assert (scores == [2.0, 1.0, 0.5, 2.0 - FAR - 0.1]).all()


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("Where did Olga live before Porto?", "before"),
        ("Why was the fair moved?", "change"),
        ("Wo hat er früher gearbeitet?", "before"),
        ("原来的价格是多少", "before"),
        ("Where does Olga live?", "now"),
        ("Wo arbeitet er?", "now"),
        ("现在多少钱", "now"),
        ("为什么换了地方", "change"),
    ],
)
def test_a_question_says_whether_it_is_about_now_or_before(question: str, about: str) -> None:
    assert asks_of(question) == about
