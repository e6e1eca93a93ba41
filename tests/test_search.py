"""Search by meaning, with the real embedders on the real database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg import sql

from conftest import World, http
from fakes import DownEmbedder, LetterEmbedder, NumberEmbedder
from keepstone.access.readscope import job_scope, space_scope
from keepstone.app import make_app
from keepstone.disk import Disk
from keepstone.engine import embed
from keepstone.engine.calibrate import Terms
from keepstone.engine.gathered import Gathered
from keepstone.engine.question import EmbeddedQuestion, Question
from keepstone.engine.search import Texts, describe
from keepstone.jobs.tasks import drop_unused_indexes
from keepstone.jobs.worker import run_until_empty
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from keepstone.store import candidates, vectors

TALK = [
    ("Anna", "The doctor told me to stay away from peanuts, my throat swells up."),
    ("Ben", "We adopted a puppy from the shelter on Saturday, she is called Luna."),
    ("Anna", "My train to Porto was cancelled because of the storm."),
    ("Cleo", "The quarterly numbers look good, revenue grew by twelve percent."),
    ("Ben", "I started learning the cello, my neighbours are not amused."),
    ("李华", "我们下周五在上海开会，讨论新的预算。"),
]


@pytest.fixture
async def knowing(services: Services, world: World, models: tuple[Embedder, ...]) -> Services:
    """Services with embedders, and a scope in which the talk was ingested and embedded."""
    made = replace(services, embedders=Embedders(models))
    async with http(make_app(made)) as client:
        transcript = [{"speaker": speaker, "text": text} for speaker, text in TALK]
        body = {"scope_id": "team", "transcript": transcript}
        assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
    await run_with(made, services)
    return made


async def run_with(made: Services, registered: Services) -> None:
    """The tasks were registered with services that have no embedder: lend them these."""
    registered.embedders.active = made.embedders.active
    await run_until_empty(registered)
    registered.embedders.active = ()


async def recall(services: Services, world: World, text: str) -> Any:
    async with http(make_app(services)) as client:
        body = {"scope_id": "team", "message": {"speaker": "Dora", "text": text}, "limit": 3}
        return (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Does anybody have a food allergy?", 0),
        ("What pet did they get?", 1),
        ("Who plays a musical instrument?", 4),
        ("How did the business do financially?", 3),
        ("什么时候开会？", 5),
        ("谁对食物过敏？", 0),
        ("Wer hat einen Hund bekommen?", 1),
    ],
)
async def test_a_question_finds_what_it_shares_no_word_with_also_in_another_language(
    knowing: Services, world: World, question: str, answer: int
) -> None:
    found = await recall(knowing, world, question)
    assert found["degraded"] is None
    assert TALK[answer][1] in [item["text"] for item in found["evidence"][:2]]


DISHES = (
    "lentil soup",
    "a grilled trout",
    "ramen",
    "pea risotto",
    "a burrito",
    "moussaka",
    "pierogi",
    "a falafel wrap",
)
ASKED_AT = datetime(2024, 6, 14, 18, tzinfo=UTC)  # a Friday


async def test_of_many_days_alike_the_one_that_is_named_comes_first(
    services: Services, world: World, models: tuple[Embedder, ...]
) -> None:
    """Of 120 days only some can be candidates by words and meaning; and days of another scope never are."""
    made = replace(services, embedders=Embedders(models))
    days = [ASKED_AT - timedelta(days=back, hours=5) for back in range(120)]
    transcript = [
        {"speaker": "Dora", "text": f"For lunch I had {DISHES[back % 8]} at the canteen.", "ts": day.isoformat()}
        for back, day in enumerate(days)
    ]
    asked = {
        "What did I eat 10 days ago?": [10],
        "What was it that I had for lunch on March 10?": [96],
        "Which dish did I have on 2024-02-29?": [106],
        "What did I have for lunch last Tuesday?": [3],
        "Was habe ich vorgestern gegessen?": [2],
        "Was gab es am 10. März zum Mittagessen?": [96],
        "Was habe ich vor drei Wochen gegessen?": list(range(18, 25)),
        "我三天前午饭吃了什么？": [3],
        "上上周五我吃了什么？": [14],
    }
    async with http(make_app(made)) as client:
        beside = [turn | {"text": "For lunch I had nothing."} for turn in transcript]
        for scope, turns in (("diary", transcript), ("beside", beside)):
            body = {"scope_id": scope, "transcript": turns}
            assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
        await run_with(made, services)
        for question, expected in asked.items():
            message = {"speaker": "Dora", "text": question, "ts": ASKED_AT.isoformat()}
            body = {"scope_id": "diary", "message": message, "limit": 1}
            [best] = (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()["evidence"]
            assert (ASKED_AT.date() - datetime.fromisoformat(best["ts"]).date()).days in expected, question
            assert "nothing" not in best["text"]
        # What was said at 13:00 UTC was said the next day where the account is.
        zone = {"timezone": "Pacific/Auckland"}
        assert (await client.patch("/v1/account", headers=world.owner.auth, json=zone)).status_code == 200
        message = {"speaker": "Dora", "text": "What did I eat on June 4?", "ts": ASKED_AT.isoformat()}
        body = {"scope_id": "diary", "message": message, "limit": 1}
        [best] = (await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()["evidence"]
        assert best["ts"] == "2024-06-03T13:00:00Z"


async def test_vectors_are_made_by_a_job_and_nothing_waits_afterwards(knowing: Services, database: str) -> None:
    async with await psycopg.AsyncConnection.connect(database) as conn:
        rows = await (
            await conn.execute(
                "SELECT s.model, count(*) FROM keepstone.vectors v JOIN keepstone.vector_sets s"
                " USING (account, vector_set) GROUP BY 1 ORDER BY 1"
            )
        ).fetchall()
        assert [count for _, count in rows] == [len(TALK), len(TALK)]
        assert await (await conn.execute("SELECT keepstone.pending_embeddings()")).fetchone() == (0,)
        assert await (await conn.execute("SELECT count(*) FROM keepstone.token_vectors")).fetchone() == (len(TALK),)


async def test_what_was_just_said_is_found_by_meaning_at_once_while_a_space_is_small(
    services: Services, world: World, models: tuple[Embedder, ...]
) -> None:
    """No job has run."""
    made = replace(services, embedders=Embedders(models))

    async def say(*texts: str) -> None:
        body = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": text} for text in texts]}
        async with http(make_app(made)) as client:
            assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202

    full = replace(made, disk=Disk(Path(), 2, probe=lambda _: (1, 3)))
    await say(TALK[1][1], TALK[2][1])
    assert (await recall(full, world, "What pet did they get?"))["degraded"] == "terms", "nothing more is written"
    found = await recall(made, world, "What pet did they get?")
    assert (found["degraded"], found["evidence"][0]["text"]) == (None, TALK[1][1])
    await say(TALK[4][1])
    found = await recall(made, world, "Who plays a musical instrument?")
    assert found["evidence"][0]["text"] == TALK[4][1], "also beside what has vectors already"
    await say(TALK[0][1], *(f"Bus number {number} was late again." for number in range(embed.SLICE)))
    await recall(made, world, "Does anybody have a food allergy?")
    async with http(make_app(made)) as client:
        pending = (await client.get("/readyz")).json()["pending_embeddings"]
    assert pending == 1 + embed.SLICE, "of so much a job makes the vectors"


async def later(database: str) -> None:
    """A minute has passed: what is to be tried again is due."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone; SET keepstone.owner = 'on'")
        await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = now() WHERE status = 'todo'")


async def test_while_the_embedder_is_down_writes_succeed_and_search_is_by_terms(
    services: Services, world: World, models: tuple[Embedder, ...], database: str
) -> None:
    down = replace(services, embedders=Embedders((DownEmbedder(),)))
    async with http(make_app(down)) as client:
        body = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": TALK[1][1]}]}
        assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
        found = await recall(down, world, "Tell me about the puppy")
        assert found["degraded"] == "terms"
        assert found["evidence"][0]["text"] == TALK[1][1]
        assert (await client.get("/readyz")).json()["pending_embeddings"] == 1
    await run_with(down, services)
    jobs = await services.queue.latest(status="todo", limit=5)
    assert "embed_space" in [job.task for job in jobs if job.attempts], "it is tried again later"
    up = replace(services, embedders=Embedders(models))
    services.embedders.active = models
    await later(database)
    await services.queue.app.configure_task("embed_pending").defer_async(timestamp=0)
    await run_until_empty(services)
    services.embedders.active = ()
    found = await recall(up, world, "What pet did they get?")
    assert found["degraded"] is None
    assert found["evidence"][0]["text"] == TALK[1][1]


async def test_a_space_that_grew_large_gets_an_index_of_its_own_and_finds_the_same(
    services: Services, world: World, database: str
) -> None:
    made = replace(services, embedders=Embedders((NumberEmbedder(),)))
    async with http(make_app(made)) as client:
        one = {"scope_id": "large", "transcript": [{"speaker": "a", "text": "1 0 0 0"}]}
        other = {"scope_id": "small", "transcript": [{"speaker": "a", "text": "0.9 0.1 0 0"}]}
        for body in (one, other):
            assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
    await run_with(made, services)
    account = world.owner.principal.account
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone, public")
        row = await (await conn.execute("SELECT space FROM spaces WHERE name = 'large'")).fetchone()
        assert row is not None
        [space] = row
        await conn.execute("SELECT setseed(0.5)")
        await conn.execute(
            """
            WITH made AS (
                INSERT INTO passages (account, space, source_kind, source_id, at, text, terms, term_count, pending)
                SELECT %(account)s, %(space)s, 'message', 'msg_' || n, now(), 'x', '{}', 0, false
                  FROM generate_series(1, %(count)s) n RETURNING passage)
            INSERT INTO vectors (account, space, vector_set, passage, embedding)
            SELECT %(account)s, %(space)s, 1, passage,
                   l2_normalize(array[random() - .5, random() - .5, random() - .5, random() - .5]::real[]::halfvec)
              FROM made
            """,
            {"account": account, "space": space, "count": embed.LARGE},
        )
        await conn.execute("UPDATE spaces SET passages = passages + %s WHERE space = %s", [embed.LARGE, space])
    question = np.array([0.5, -0.5, 0.5, 0.5], dtype=np.float32)
    scope = space_scope(world.owner.principal, space)

    async def nearest() -> list[int]:
        async with services.db.transaction(scope) as conn:
            size = await candidates.survey(conn, scope.spaces)
            found = await candidates.by_vector(conn, scope.spaces, 1, question, limit=50, indexed=size.indexed)
        return list(found)

    by_reading = await nearest()
    async with http(make_app(made)) as client:
        body = {"scope_id": "large", "transcript": [{"speaker": "a", "text": "0 1 0 0"}]}
        assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202
    await run_with(made, services)  # reads the new message, and sees that the space is large
    await run_with(made, services)
    async with services.db.transaction(scope) as conn:
        assert (await candidates.survey(conn, scope.spaces)).indexed == {(space, 1)}
        plan = "\n".join(str(row) for row in await (await conn.execute(
            sql.SQL("EXPLAIN SELECT passage FROM vectors WHERE space = {} AND vector_set = 1"
                    " ORDER BY embedding::halfvec(4) <#> '[1,0,0,0]'::halfvec(4) LIMIT 50").format(sql.Literal(space))
        )).fetchall())  # fmt: skip
    assert f"near_{space}_1" in plan
    by_index = await nearest()
    assert len(set(by_index) & set(by_reading)) >= 48
    async with services.db.transaction(space_scope(world.stranger.principal, space)) as conn:
        assert await candidates.by_vector(conn, [space], 1, question, limit=50, indexed=frozenset({(space, 1)})) == {}
    async with services.db.of_server() as conn, services.db.as_owner() as owner:
        assert await vectors.unused_indexes(conn) == []
        await owner.execute("DELETE FROM keepstone.spaces WHERE space = %s", [space])
        assert await vectors.unused_indexes(conn) == [f"near_{space}_1"]
    await drop_unused_indexes(services)
    async with services.db.of_server() as conn:
        assert await vectors.unused_indexes(conn) == []


async def test_another_model_takes_over_while_the_old_one_serves(
    knowing: Services, services: Services, world: World, models: tuple[Embedder, ...], database: str
) -> None:
    """`keepstone reembed` fills the new model's set beside the old one, which goes on serving."""
    new = replace(services, embedders=Embedders((LetterEmbedder(),)))
    async with await psycopg.AsyncConnection.connect(database) as conn:
        row = await (await conn.execute("SELECT account, space FROM keepstone.spaces WHERE name = 'team'")).fetchone()
    assert row is not None
    account, space = row
    assert await embed.fill_space(new, job_scope(account, space), space) == len(TALK)
    assert await embed.fill_space(new, job_scope(account, space), space) == 0, "done twice it changes nothing"
    assert (await recall(knowing, world, "What pet did they get?"))["evidence"][0]["text"] == TALK[1][1]
    found = await recall(new, world, TALK[2][1])
    assert found["degraded"] is None
    assert found["evidence"][0]["text"] == TALK[2][1]
    assert (await embed.await_vectors(new)) == 0, "nothing waits after the change"


def test_of_a_long_turn_the_window_is_shown_that_speaks_most_for_it() -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    asked = EmbeddedQuestion(question=Question(text="which part?", speaker=None, asked_at=at), embedded={})
    rows = [
        candidates.ReadPassage(number, "memory", "one", None, at, None, f"part {number}", None) for number in range(3)
    ]

    def seen(bm25: list[float], pooled: list[float]) -> Texts:
        numbers, nothing = np.arange(3), np.zeros(3, dtype=np.int64)
        gathered = Gathered(
            passage=numbers, source=nothing + 7, session=nothing, answers=nothing, speaker=nothing, speakers=[None],
            at=np.full(3, at.timestamp()), chars=np.full(3, 6.0), foreign=numbers < 0, follows=numbers > 0,
            bm25=np.array(bm25), pooled=np.array(pooled), multilingual=np.full(3, np.nan), tokens=None,
            terms=Terms(total=1.0, known=1.0, passages=3), by_meaning=True,
        )  # fmt: skip
        return Texts(describe(asked, gathered), {0: rows})

    assert seen([0.0, 2.0, 0.0], [0.1, 0.9, 0.5]).telling(0) == "part 1"
    assert seen([np.nan] * 3, [0.1, np.nan, 0.5]).telling(0) == "part 2"
    assert seen([0.0] * 3, [0.1, 0.2, 0.3]).text(0) == "part 0 … part 1 … part 2"
