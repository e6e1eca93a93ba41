"""Recall from a graph: filters that hold together, a total that can be believed, and a query that counts."""

import random
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from capsules import rows
from conftest import World, http
from fakes import DownEmbedder, WordEmbedder
from graphs import FIRST, SECOND, clocked, found, make_graph, read, recall, store
from keepstone.access import operator, plans
from keepstone.app import make_app
from keepstone.memory import filtered, graph_recall
from keepstone.model.graph import NodeFilter
from keepstone.model.plan import Plan
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from statements import sent
from workspaces import call

DAY = timedelta(days=1)
NOW = datetime.now(UTC)
QUESTION = "What are the Q3 priorities?"
OTHERS = (
    "Sarah prefers email over phone calls",
    "The production database runs in Frankfurt",
    "The backend team meets on Tuesdays at ten",
    "Ben joined the platform team in May",
    "The office moves to Berlin in autumn",
)


@pytest.fixture
async def reader(knowing: Services) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of a server that knows what words mean."""
    async with http(make_app(knowing)) as opened:
        yield opened


# ----------------------------------------------------------------------------------------------------- filters


async def test_all_filters_hold_together(services: Services, world: World) -> None:
    """One node passes all; each of the others fails one."""
    auth = world.owner.auth
    wanted: dict[str, Any] = {"node_type": "project", "metadata": {"team": "backend", "phase": 2}}
    async with clocked(services, NOW - 10 * DAY) as client:
        old = await store(client, auth, "Project status: old", **wanted)
    async with clocked(services, NOW) as client:
        right = await store(client, auth, "Project status: on track", **wanted)
        typed = await store(client, auth, "Project status: of another type", metadata=wanted["metadata"])
        team = await store(client, auth, "Project status: others", node_type="project", metadata={"team": "web"})
        await store(client, auth, "Something else entirely", **wanted)
        asked: dict[str, Any] = {
            "node_type": "project",
            "metadata_filter": {"team": "backend"},
            "time_range": {"start": (NOW - DAY).isoformat()},
        }
        assert await found(client, auth, "project status", **asked) == [right["id"]]
        without = {name: set(await found(client, auth, "project status", **_but(asked, name))) for name in asked}
        assert without == {
            "node_type": {right["id"], typed["id"]},
            "metadata_filter": {right["id"], team["id"]},
            "time_range": {right["id"], old["id"]},
        }
        assert set(await found(client, auth, "project status", **_but(asked, *asked))) == {
            right["id"], typed["id"], team["id"], old["id"],
        }  # fmt: skip
        past = (await recall(client, auth, "status", as_of=NOW - DAY, **asked))["results"]
        assert past == []


async def test_an_empty_graph_and_a_filter_that_nothing_passes_are_not_degraded(
    reader: httpx.AsyncClient, client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    for caller in (reader, client):
        graph = await make_graph(caller, auth, "Empty")
        assert (await recall(caller, auth, QUESTION, graph=graph))["degraded"] is None
    await store(reader, auth, **FIRST)
    for caller in (reader, client):
        nobody = await recall(caller, auth, QUESTION, metadata_filter={"team": "nobody"})
        assert (nobody["results"], nobody["degraded"]) == ([], None)
    too_early = await recall(reader, auth, QUESTION, as_of=NOW - 10 * DAY)
    assert (too_early["results"], too_early["degraded"]) == ([], None)
    assert (await recall(client, auth, QUESTION))["degraded"] == "terms", "there was something to find by meaning"


def _but(asked: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name not in names}


@pytest.mark.parametrize(
    ("wanted", "passing"),
    [
        ({}, "abcdef"),
        ({"team": "backend"}, "ab"),
        ({"team": "Backend"}, ""),
        ({"team": "backend", "n": 1}, "a"),
        ({"team": "backend", "n": 2}, ""),
        ({"n": 1.0}, "a"),
        ({"n": "1"}, "b"),
        ({"n": True}, "c"),
        ({"n": False}, ""),
        ({"n": None}, "d"),
        ({"missing": None}, ""),
        ({"n": 0.1}, "e"),
        ({"place": {"city": "Berlin"}}, "a"),
        ({"place": {"city": "Berlin", "zip": "10115"}}, "a"),
        ({"place": {"city": "Paris"}}, ""),
        ({"place": "Berlin"}, "b"),
        ({"tags": ["x", "y"]}, "a"),
        ({"tags": ["y"]}, "a"),
        ({"tags": ["z"]}, ""),
        ({"tags": "x"}, "b"),
        ({"deep": {"a": [{"b": None}]}}, "f"),
        ({"deep": {"a": [{"b": 0}]}}, ""),
        ({"": "an empty key"}, "f"),
        ({"'; DROP TABLE memories; --": 1}, ""),
        ({"schlüssel": "wert ✓"}, "f"),
    ],
)
async def test_metadata_is_matched_by_any_value_and_by_all_pairs(
    client: httpx.AsyncClient, world: World, wanted: dict[str, Any], passing: str
) -> None:
    auth = world.owner.auth
    kept: dict[str, Any] = {
        "a": {"team": "backend", "n": 1, "place": {"city": "Berlin", "zip": "10115"}, "tags": ["x", "y"]},
        "b": {"team": "backend", "n": "1", "place": "Berlin", "tags": "x"},
        "c": {"n": True, "team": "web"},
        "d": {"n": None},
        "e": {"n": 0.1},
        "f": {"deep": {"a": [{"b": None, "c": 1}]}, "": "an empty key", "schlüssel": "wert ✓"},
    }
    ids = {
        (await store(client, auth, f"Walrus {name}", metadata=metadata))["id"]: name for name, metadata in kept.items()
    }
    hits = await found(client, auth, "walrus", metadata_filter=wanted)
    assert "".join(sorted(ids[one] for one in hits)) == passing


@pytest.mark.parametrize(("few", "worth_all"), [(5_000, 0), (-1, 10**9), (-1, 0)], ids=["named", "looked-up", "all"])
async def test_what_passes_a_filter_is_asked_once_and_anew_when_a_node_has_changed(
    client: httpx.AsyncClient, services: Services, world: World, monkeypatch: pytest.MonkeyPatch, few: int,
    worth_all: int,
) -> None:  # fmt: skip
    auth = world.owner.auth
    monkeypatch.setattr(filtered, "WORTH_ALL", worth_all)
    web = [await store(client, auth, f"Status of number {number}", metadata={"team": "web"}) for number in range(3)]
    await store(client, auth, "Status of another", metadata={"team": "data"})
    wanted = NodeFilter(metadata={"team": "web"})

    async def asked() -> set[str]:
        answer = await graph_recall.recall(
            services, world.owner.principal, query="status", graph_id=None, wanted=wanted, min_relevance=0, few=few
        )
        return {one.memory.id for one in answer.results}

    assert await asked() == {node["id"] for node in web}
    with sent() as statements:
        assert await asked() == {node["id"] for node in web}
    repeated = [each for each in statements if "passing_nodes" in each or "passing AS" in each]
    assert len(repeated) == (1 if worth_all and few < 0 else 0)
    path = f"/v1/graphs/default/nodes/{web[0]['id']}"
    answer = await client.patch(path, headers=auth, json={"metadata": {"team": "data"}})
    assert answer.status_code == 200, answer.text
    assert await asked() == {node["id"] for node in web[1:]}
    await client.delete(f"/v1/graphs/default/nodes/{web[1]['id']}", headers=auth)
    assert await asked() == {web[2]["id"]}


async def test_a_time_range_is_of_what_was_made_or_changed_in_it(services: Services, world: World) -> None:
    auth = world.owner.auth
    async with clocked(services, NOW - 30 * DAY) as client:
        old = (await store(client, auth, "Walruses sing"))["id"]
        changed = (await store(client, auth, "Walruses dive"))["id"]
    async with clocked(services, NOW - 20 * DAY) as client:
        await call(client, auth, "PATCH", f"/graphs/default/nodes/{changed}", json={"content": "Walruses dive deep"})
    async with clocked(services, NOW - 10 * DAY) as client:
        new = (await store(client, auth, "Walruses rest"))["id"]
    async with clocked(services, NOW) as client:

        async def within(start: int | None, end: int | None) -> set[str]:
            days = {"start": start, "end": end}
            bounds = {name: (NOW - n * DAY).isoformat() for name, n in days.items() if n is not None}
            return set(await found(client, auth, "walruses", time_range=bounds))

        assert await within(25, None) == {changed, new}
        assert await within(25, 15) == {changed}
        assert await within(None, 25) == {old, changed}
        assert await within(35, 25) == {old, changed}
        assert await within(15, None) == {new}
        assert await within(5, None) == set()
        assert await within(None, 35) == set()
        assert await within(None, None) == {old, changed, new}
        assert await within(30, 30) == {old, changed}  # its ends are within


async def test_each_graph_is_asked_for_itself(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    other = await make_graph(client, auth)
    here, there = await store(client, auth, "Walruses sing"), await store(client, auth, "Walruses dive", graph=other)
    assert await found(client, auth, "walruses") == [here["id"]]
    assert await found(client, auth, "walruses", graph=other) == [there["id"]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": ""},
        {"query": " \n"},
        {"query": None},
        {"query": ["x"]},
        {"query": "x", "max_results": 0},
        {"query": "x", "max_results": 101},
        {"query": "x", "min_relevance": 1.1},
        {"query": "x", "min_relevance": -0.1},
        {"query": "x", "node_type": 5},
        {"query": "x", "time_range": {"start": "yesterday"}},
        {"query": "x", "time_range": {"start": "2026-02-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"}},
        {"query": "x", "time_range": {"from": "2026-02-01T00:00:00Z"}},
        {"query": "x", "metadata_filter": ["team"]},
        {"query": "x", "metadata_filter": {"a": "\0"}},
        {"query": "x", "as_of": "then"},
        {"query": "x", "limit": 5},
    ],
)
async def test_what_cant_be_asked_is_refused_and_counts_for_nothing(
    client: httpx.AsyncClient, world: World, database: str, wrong: dict[str, Any]
) -> None:
    answer = await client.post("/v1/graphs/default/recall", headers=world.owner.auth, json=wrong)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "VALIDATION_ERROR")
    assert await rows(database, "SELECT 1 FROM queries UNION SELECT 1 FROM usage_ledger") == []


# ----------------------------------------------------------------------------------- results, total, relevance


async def test_both_of_the_seeds_priorities_are_found_and_nothing_else(
    reader: httpx.AsyncClient, knowing: Services, services: Services, world: World
) -> None:
    auth = world.owner.auth
    ids = {(await store(reader, auth, **one))["id"] for one in (FIRST, SECOND)}
    for text in OTHERS:
        await store(reader, auth, text, node_type="fact")
    for _ in range(2):
        recalled = await recall(reader, auth, QUESTION, max_results=5)
        assert {one["id"] for one in recalled["results"]} == ids
        assert recalled["total"] == 2
        assert all(0.5 <= one["relevance"] <= 1 for one in recalled["results"])
        assert recalled["degraded"] is None
        await read(knowing, services)
    (only,) = (await recall(reader, auth, QUESTION, metadata_filter={"team": "platform"}))["results"]
    assert only["content"] == SECOND["content"]
    (best,) = (await recall(reader, auth, "What is Sarah's communication preference?"))["results"]
    assert best["content"] == OTHERS[0]
    assert (await recall(reader, auth, "What colour is the moon?"))["results"] == []


async def test_without_an_embedder_words_find_and_the_answer_says_so(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    ids = {(await store(client, auth, **one))["id"] for one in (FIRST, SECOND)}
    for text in OTHERS:
        await store(client, auth, text)
    recalled = await recall(client, auth, QUESTION)
    assert {one["id"] for one in recalled["results"]} == ids
    assert (recalled["total"], recalled["degraded"]) == (2, "terms")


async def test_while_the_embedder_is_down_nodes_are_kept_and_found_by_their_words(
    services: Services, knowing: Services, world: World, models: tuple[Embedder, ...]
) -> None:
    down = replace(services, embedders=Embedders(tuple(DownEmbedder(one) for one in models)))
    async with http(make_app(down)) as client:
        node = await store(client, world.owner.auth, "The boat to the island leaves in June")
        assert (await recall(client, world.owner.auth, "boat island"))["results"][0]["id"] == node["id"]
    await read(knowing, services)
    async with http(make_app(knowing)) as client:
        assert (await recall(client, world.owner.auth, "When does the ship sail?"))["results"][0]["id"] == node["id"]


async def test_the_total_goes_beyond_what_is_returned(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    for number in range(30):
        await store(
            client, auth, f"Walrus number {number} was counted", node_type="fact", metadata={"even": number % 2 == 0}
        )
    recalled = await recall(client, auth, "walrus", max_results=5, min_relevance=0)
    assert (len(recalled["results"]), recalled["total"]) == (5, 30)
    even = await recall(client, auth, "walrus", max_results=5, min_relevance=0, metadata_filter={"even": True})
    assert (len(even["results"]), even["total"]) == (5, 15)
    assert all(one["metadata"] == {"even": True} for one in even["results"])
    assert len((await recall(client, auth, "walrus", max_results=100, min_relevance=0))["results"]) == 30
    first = await recall(client, auth, "walrus", max_results=1, min_relevance=0)
    assert first["results"] == recalled["results"][:1]


async def test_relevance_never_rises_and_a_floor_cuts_results_and_total_alike(
    reader: httpx.AsyncClient, knowing: Services, services: Services, world: World
) -> None:
    auth = world.owner.auth
    for one in (FIRST, SECOND):
        await store(reader, auth, **one)
    for text in OTHERS:
        await store(reader, auth, text)
    await read(knowing, services)
    whole = (await recall(reader, auth, QUESTION, min_relevance=0))["results"]
    said = [one["relevance"] for one in whole]
    assert said == sorted(said, reverse=True)
    assert len(whole) == 7
    for floor in (1e-300, 0.02, 0.3, 0.5, 0.99):
        kept = await recall(reader, auth, QUESTION, min_relevance=floor)
        assert kept["results"] == [one for one in whole if one["relevance"] >= floor]
        assert kept["total"] == len(kept["results"])


async def test_nodes_that_say_the_same_of_different_things_are_all_found(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    ids = {(await store(client, auth, "Status is green", metadata={"week": week}))["id"] for week in range(5)}
    recalled = await recall(client, auth, "status", min_relevance=0)
    assert ({one["id"] for one in recalled["results"]}, recalled["total"]) == (ids, 5)


async def test_nothing_found_is_a_result_and_one_query(
    client: httpx.AsyncClient, world: World, services: Services, database: str
) -> None:
    auth = world.owner.auth
    empty = await recall(client, auth, "anything")
    assert (empty["results"], empty["total"]) == ([], 0)
    assert empty["query_id"].startswith("qry_")
    await store(client, auth, "Walruses sing")
    none = await recall(client, auth, "walruses", node_type="decision")
    assert (none["results"], none["total"]) == ([], 0)
    assert none["query_id"] != empty["query_id"]
    lines = await rows(database, "SELECT action, queries, credits FROM usage_ledger")
    assert lines == [("memory_recall", 1, 0)] * 2


async def test_after_the_months_queries_there_is_no_more(
    client: httpx.AsyncClient, world: World, services: Services
) -> None:
    await plans.put_plan(services, Plan(name="two", monthly_queries=2))
    await operator.set_allowance(services, world.owner.user.email, plan="two")
    for _ in range(2):
        await recall(client, world.owner.auth, "anything")
    await recall(client, world.owner.auth, "anything", graph="graph_" + "a" * 24, expect=429)
    answer = await client.post("/v1/graphs/default/recall", headers=world.member.auth, json={"query": "anything"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "quota_exceeded")
    assert int(answer.headers["retry-after"]) > 0
    await store(client, world.owner.auth, "Keeping is no query")


# ------------------------------------------------------------------------------------------------- large graphs


SIZE = 3_000
WORDS = ("walrus", "penguin", "ferry", "budget", "login", "harbour", "puppy", "meeting", "island", "server")


async def fill(client: httpx.AsyncClient, auth: dict[str, str], database: str) -> None:
    """Some thousand nodes past the API, of which two thirds are facts, with their terms and vectors."""
    await store(client, auth, "The first of many", node_type="fact")
    ((account, space),) = await rows(
        database, "SELECT account, space FROM spaces WHERE kind = 'graph' AND part_of IS NULL"
    )
    chance, embedder = random.Random(1), WordEmbedder()
    ((vector_set,),) = await rows(database, "SELECT vector_set FROM vector_sets WHERE model = 'bag'")
    texts = [" ".join(chance.sample(WORDS, 4)) + f" number{n}" for n in range(SIZE)]
    vectors = [one.pooled for one in await embedder.embed(texts)]
    await rows(
        database,
        """
        WITH given AS (
            SELECT * FROM unnest(%(texts)s::text[], %(vectors)s::text[]) WITH ORDINALITY AS g (text, vector, n)
        ), kept AS (
            INSERT INTO memories (account, space, id, kind, type, content, metadata, content_hash, size_bytes)
            SELECT %(account)s, %(space)s, 'node_' || lpad(n::text, 24, '0'), 'node',
                   CASE WHEN n %% 3 = 0 THEN 'note' ELSE 'fact' END, text, jsonb_build_object('n', n), '\\x', 1
              FROM given RETURNING id
        ), cut AS (
            INSERT INTO passages (account, space, source_kind, source_id, at, text, terms, term_count, pending)
            SELECT %(account)s, %(space)s, 'memory', 'node_' || lpad(n::text, 24, '0'), now(), text,
                   string_to_array(text, ' '), 5, false
              FROM given WHERE (SELECT count(*) FROM kept) > 0 RETURNING passage, text, terms
        ), said AS (
            INSERT INTO terms (account, space, term, passage, frequency, length)
            SELECT %(account)s, %(space)s, term, passage, 1, 5 FROM cut, unnest(terms) AS term
        ), meant AS (
            INSERT INTO vectors (account, space, vector_set, passage, embedding)
            SELECT %(account)s, %(space)s, %(set)s, passage, vector::halfvec
              FROM cut JOIN given USING (text)
        )
        UPDATE spaces SET passages = passages + %(size)s, term_total = term_total + 5 * %(size)s
         WHERE space = %(space)s RETURNING 1
        """,
        {
            "texts": texts,
            "vectors": ["[" + ",".join(f"{value:.5f}" for value in one) + "]" for one in vectors],
            "account": account,
            "space": space,
            "set": vector_set,
            "size": SIZE,
        },
    )


async def test_a_filter_that_most_pass_finds_the_same_best_as_one_that_is_followed_exactly(
    services: Services, world: World, database: str
) -> None:
    reading = replace(services, embedders=Embedders((WordEmbedder(),)))
    async with http(make_app(reading)) as client:
        await fill(client, world.owner.auth, database)

    async def best(query: str, wanted: NodeFilter, few: int) -> list[str]:
        asked = graph_recall.recall(
            reading, world.owner.principal, query=query, graph_id=None, wanted=wanted, max_results=10,
            min_relevance=0, few=few,
        )  # fmt: skip
        return [recalled.memory.id for recalled in (await asked).results]

    begin = datetime(2020, 1, 1, tzinfo=UTC)
    for wanted in (
        NodeFilter(node_type="fact"),
        NodeFilter(start=begin),
        NodeFilter(node_type="fact", start=begin, as_of=None),
    ):
        for query in ("walrus ferry harbour", "puppy", "login server budget meeting", "number77"):
            exact = await best(query, wanted, SIZE * 2)
            assert len(exact) == 10
            assert await best(query, wanted, 50) == exact
    nobody = NodeFilter(node_type="decision")
    assert await best("walrus", nobody, 50) == await best("walrus", nobody, SIZE * 2) == []
