"""A space's numbers in memory: the same results as in the database, everything that was acknowledged, nothing more."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import World, http
from keepstone.app import make_app
from keepstone.engine import kernels
from keepstone.engine.bm25 import score
from keepstone.jobs.worker import run_until_empty
from keepstone.model.principal import ReadScope
from keepstone.observe.metrics import Metrics
from keepstone.providers.embedder import Embedder, Embedding
from keepstone.providers.embedders import Embedders
from keepstone.resident import ResidentSpaces, SpaceFiles
from keepstone.resident.arrays import SpaceArrays, View, postings
from keepstone.resident.reading import read_changes
from keepstone.services import Services
from keepstone.store import changes, spaces
from keepstone.store.numbers import PASSAGE

PLENTY = 1 << 30
Turn = tuple[str, str, str, str | None]  # speaker, text, time, what it replies to
TALK = [
    ("Anna", "I can't eat peanuts, they send me to the hospital.", "2026-03-01T10:00:00Z", None),
    ("Ben", "We adopted a puppy from the shelter on Saturday, she is called Luna.", "2026-03-01T10:01:00Z", None),
    ("Cleo", "The quarterly numbers look good, revenue grew by twelve percent.", "2026-03-02T09:00:00Z", None),
    ("Anna", "How old is she?", "2026-03-02T09:01:00Z", "1"),
    ("Ben", "I started learning the cello, my neighbours are not amused.", "2026-03-03T18:00:00Z", None),
    ("李华", "我们下周五在上海开会，讨论新的预算。", "2026-03-04T08:00:00Z", None),
    (
        "Cleo",
        "A long report. " + "The migration touched many tables and nobody noticed. " * 60,
        "2026-03-05T08:00:00Z",
        None,
    ),
]
QUESTIONS = [
    {"text": "Does anybody have a food allergy?"},
    {"text": "What pet did Ben get?"},
    {"text": "What was said on 2 March?"},
    {"text": "什么时候开会？"},
    {"text": "Wer spielt ein Instrument?"},
    {"text": "Which tables did the migration touch?"},
    {"text": "Who plays the cello?", "as_of": "2026-03-02T12:00:00Z"},
]


def spaces_of(services: Services) -> dict[tuple[int, int], Any]:
    return services.resident._entries  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
async def knowing(services: Services, world: World, models: tuple[Embedder, ...]) -> Services:
    made = replace(services, embedders=Embedders(models))
    await ingest(made, world, TALK)
    await embed(made, services)
    return made


async def ingest(
    services: Services, world: World, talk: Sequence[tuple[str, str, str, str | None]], first: int = 0
) -> None:
    async with http(make_app(services)) as client:
        transcript = [
            {"speaker": speaker, "text": text, "ts": ts, "id": str(first + number), "reply_to": reply}
            for number, (speaker, text, ts, reply) in enumerate(talk)
        ]
        body = {"scope_id": "team", "transcript": transcript}
        assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202


async def embed(made: Services, registered: Services) -> None:
    registered.embedders.active = made.embedders.active
    await run_until_empty(registered)
    registered.embedders.active = ()


async def recall(services: Services, world: World, text: str, **more: Any) -> Any:
    async with http(make_app(services)) as client:
        body = {"scope_id": "team", "message": {"speaker": "Dora", "text": text}, "min_relevance": 0.0, **more}
        answer = await client.post("/v1/recall", headers=world.owner.auth, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def test_memory_and_database_find_the_same(knowing: Services, world: World) -> None:
    by_database = replace(knowing, resident=ResidentSpaces(0, Metrics()))
    for asked in QUESTIONS:
        in_memory_, stored = await recall(knowing, world, **asked), await recall(by_database, world, **asked)
        assert [item["message_id"] for item in in_memory_["evidence"]] == [
            item["message_id"] for item in stored["evidence"]
        ], asked
        for one, other in zip(in_memory_["evidence"], stored["evidence"], strict=True):
            assert one["relevance"] == pytest.approx(other["relevance"], abs=0.03)
    assert len(spaces_of(knowing)) == 1
    assert not spaces_of(by_database)


async def test_what_was_acknowledged_is_found_and_the_arrays_only_grow(
    knowing: Services, services: Services, world: World
) -> None:
    await recall(knowing, world, "Who plays the cello?")
    [entry] = spaces_of(knowing).values()
    arrays, before = entry.arrays, entry.arrays.count
    late = [("Dora", "Our ferry to Texel leaves at seven.", "2026-03-02T09:00:30Z", None)]  # between two others
    await ingest(knowing, world, late, first=100)
    assert (await recall(knowing, world, "ferry Texel"))["evidence"][0]["text"] == late[0][1]
    assert (await recall(knowing, world, "When do we take the boat?"))["evidence"]
    await embed(knowing, services)
    assert (await recall(knowing, world, "When do we take the boat to the island?"))["evidence"][0]["text"] == late[0][
        1
    ]
    assert entry.arrays is arrays, "nothing was read anew"
    assert arrays.count == before + 1
    order = [int(arrays.columns["at"][row]) for row in arrays.order]
    assert order == sorted(order)


async def test_whoever_searches_while_changes_are_read_misses_nothing(
    knowing: Services, services: Services, world: World, database: str
) -> None:
    await recall(knowing, world, "Who plays the cello?")
    [entry] = spaces_of(knowing).values()
    view: View = entry.view
    scope = ReadScope(account=world.owner.principal.account, spaces=(view.space,), visibilities=("private",))
    async with knowing.db.transaction(scope) as conn:
        await spaces.lock(conn, [view.space])
        await changes.note(conn, view.space, view.columns["passage"].tolist())
    known = [part.scale[: view.count] > 0 for part in view.pooled.values()]
    lacking: list[bool] = []
    reading = asyncio.create_task(read_changes(knowing.db, scope, entry.arrays, entry.sets))
    while not reading.done():
        await asyncio.sleep(0)
        now = [part.scale[: view.count] > 0 for part in entry.arrays.pooled.values()]
        lacking.append(any((before & ~after).any() for before, after in zip(known, now, strict=True)))
    assert await reading
    assert len(lacking) > 3
    assert not any(lacking)


async def test_what_is_deleted_restored_or_changed_is_so_at_once(
    services: Services, world: World, models: tuple[Embedder, ...]
) -> None:
    made = replace(services, embedders=Embedders(models))
    async with http(make_app(made)) as client:
        auth, path = world.owner.auth, "/v1/memory/capsules"

        async def ids(text: str) -> list[str]:
            found = await client.get(path, headers=auth, params={"q": text, "mode": "hybrid", "min_relevance": 0})
            return [item["id"] for item in found.json()["items"]]

        texts = ("We chose Clerk for the login.", "Postgres is our only database.", "The budget is 40,000 euros.")
        kept = [(await client.post(path, headers=auth, json={"content_md": text})).json()["id"] for text in texts]
        assert (await ids("Which database do we use?"))[0] == kept[1]
        await client.delete(f"{path}/{kept[1]}", headers=auth)
        assert kept[1] not in await ids("Which database do we use?")
        await client.post(f"{path}/{kept[1]}/restore", headers=auth)
        assert (await ids("Which database do we use?"))[0] == kept[1]
        await client.patch(f"{path}/{kept[2]}", headers=auth, json={"content_md": "Our mascot is a heron."})
        assert (await ids("heron"))[0] == kept[2]
        assert len(await ids("budget")) == 3


async def test_no_text_stands_in_memory(knowing: Services, world: World) -> None:
    await recall(knowing, world, "Who plays the cello?")
    [entry] = spaces_of(knowing).values()
    view: View = entry.view
    arrays = [*view.columns.values(), view.order, view.place, view.revised, view.answering]
    arrays += [part for posting in view.postings for part in (posting.terms, posting.rows, posting.frequencies)]
    assert all(np.issubdtype(array.dtype, np.integer) for array in arrays)
    assert set(view.speakers.values()) == {"Anna", "Ben", "Cleo", "李华"}


async def test_the_least_recently_asked_go_first_and_what_is_too_large_is_searched_in_the_database(
    services: Services, world: World
) -> None:
    few = ResidentSpaces(30_000, Metrics())
    made = replace(services, resident=few)
    async with http(make_app(made)) as client:

        async def said(scope: str, turns: int) -> None:
            transcript = [
                {"speaker": "Anna", "text": f"Turn {number} of {scope} is about pears."} for number in range(turns)
            ]
            body = {"scope_id": scope, "transcript": transcript}
            assert (await client.post("/v1/ingest", headers=world.owner.auth, json=body)).status_code == 202

        async def asked(scope: str) -> int:
            body = {"scope_id": scope, "message": {"speaker": "Ben", "text": "pears"}, "min_relevance": 0}
            return len((await client.post("/v1/recall", headers=world.owner.auth, json=body)).json()["evidence"])

        for number in range(16):
            await said(f"scope {number}", 20)
            assert await asked(f"scope {number}") == 10
        kept = list(spaces_of(made))
        assert 1 <= len(kept) < 16
        assert kept == sorted(kept), "those that were asked last"
        assert sum(entry.arrays.nbytes for entry in spaces_of(made).values()) <= 30_000
        await said("large", 60)
        assert await asked("large") == 10
        assert spaces_of(made)[list(spaces_of(made))[-1]].view is None, "the last one asked is too large"


async def test_a_large_space_is_read_while_it_is_searched_in_the_database(knowing: Services, world: World) -> None:
    metrics = Metrics()
    made = replace(knowing, resident=ResidentSpaces(PLENTY, metrics, waited_for=3))

    def searched(where: str) -> float | None:
        return metrics.registry.get_sample_value("keepstone_searched_spaces_total", {"where": where})

    first = await recall(made, world, "What pet did Ben get?")
    assert (searched("memory"), searched("database")) == (None, 1)
    [entry] = spaces_of(made).values()
    await (entry.reading or asyncio.sleep(0))
    again = await recall(made, world, "What pet did Ben get?")
    assert (searched("memory"), searched("database")) == (1, 1)
    assert [item["message_id"] for item in first["evidence"]] == [item["message_id"] for item in again["evidence"]]
    await made.resident.close()


async def test_what_changed_so_long_ago_that_it_is_forgotten_is_read_anew(
    knowing: Services, services: Services, world: World, database: str
) -> None:
    await recall(knowing, world, "Who plays the cello?")
    [entry] = spaces_of(knowing).values()
    arrays = entry.arrays
    await ingest(knowing, world, [("Dora", "Our ferry leaves at seven.", "2026-03-06T09:00:00Z", None)], first=100)
    async with knowing.db.as_owner() as owner:
        await owner.execute("SET row_security = on")
        await owner.execute("SET keepstone.on_purpose = 'on'")
        await owner.execute("DELETE FROM keepstone.space_changes")
    assert (await recall(knowing, world, "ferry"))["evidence"][0]["text"] == "Our ferry leaves at seven."
    assert entry.arrays is not arrays


async def test_two_processes_hold_a_large_space_once_and_each_sees_what_comes(
    knowing: Services, services: Services, world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "resident"
    both = [
        replace(knowing, resident=ResidentSpaces(PLENTY, Metrics(), SpaceFiles(folder), waited_for=3)) for _ in range(2)
    ]
    for made in both:
        await recall(made, world, "What pet did Ben get?")
        [entry] = spaces_of(made).values()
        await (entry.reading or asyncio.sleep(0))
        assert entry.arrays is not None
        assert entry.arrays.columns["at"].base is not None, "mapped, not read"
    assert len(list(folder.glob("*/meta.json"))) == 1
    await ingest(knowing, world, [("Dora", "Our ferry leaves at seven.", "2026-03-06T09:00:00Z", None)], first=100)
    await embed(knowing, services)
    for made in both:
        for question in ("ferry", "When does the boat leave?"):
            assert (await recall(made, world, question))["evidence"][0]["text"] == "Our ferry leaves at seven."
    texts = b"".join(path.read_bytes() for path in folder.glob("*/*"))
    assert b"peanuts" not in texts
    SpaceFiles(folder).clear()
    assert not folder.exists()
    for made in both:
        assert (await recall(made, world, "ferry"))["evidence"], "who has it open keeps it"


async def test_what_nobody_asks_any_more_goes_and_is_read_again_when_somebody_does(
    knowing: Services, world: World
) -> None:
    await recall(knowing, world, "Who plays the cello?")
    knowing.resident.forget_idle(time.monotonic() - 60)
    assert len(spaces_of(knowing)) == 1, "it was just asked"
    knowing.resident.forget_idle(time.monotonic())
    assert not spaces_of(knowing)
    assert (await recall(knowing, world, "Who plays the cello?"))["evidence"]


async def test_many_ask_at_once_and_it_is_read_once(knowing: Services, world: World) -> None:
    answers = await asyncio.gather(*(recall(knowing, world, "Who plays the cello?") for _ in range(8)))
    assert len({tuple(item["message_id"] for item in answer["evidence"]) for answer in answers}) == 1
    assert len(spaces_of(knowing)) == 1


# -------------------------------------------------------------------------------------------------- the arrays


def records(passages: Sequence[int], at: Sequence[int]) -> np.ndarray:
    made = np.zeros(len(passages), dtype=PASSAGE)
    made["passage"], made["at"], made["source"] = passages, at, passages
    made["length"], made["flags"] = 5, 16 + 2
    return made


@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=6), min_size=1, max_size=6),
    st.sets(st.integers(1, 30), max_size=8),
)
def test_rows_stand_in_the_order_of_their_time_whatever_comes_and_goes(
    batches: list[list[int]], gone: set[int]
) -> None:
    arrays, number = SpaceArrays(1, 0), 0
    expected: list[tuple[int, int]] = []
    for batch in batches:
        numbers = list(range(number + 1, number + 1 + len(batch)))
        number += len(batch)
        arrays.append(records(numbers, batch))
        expected += zip(batch, numbers, strict=True)
    rows = arrays.rows_of(np.array(sorted(gone), dtype=np.int64))
    arrays.remove(rows[rows >= 0])
    view = arrays.view()
    left = sorted(pair for pair in expected if pair[1] not in gone)
    assert view.columns["passage"][view.order].tolist() == [passage for _, passage in left]
    assert view.place[view.order].tolist() == list(range(len(left)))
    assert view.rows_of(sorted(gone)).tolist() == []


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=5), min_size=1, max_size=7))
def test_words_count_as_the_formula_says_however_they_came(batches: list[list[tuple[int, int]]]) -> None:
    """Each batch is a passage with its terms, and comes by itself."""
    arrays = SpaceArrays(1, 0)
    words = [f"word{number}" for number in range(5)]
    frequencies = np.zeros((len(batches), 5))
    for row, batch in enumerate(batches):
        arrays.append(records([row + 1], [row]))
        counts = dict(batch)
        for term, frequency in counts.items():
            frequencies[row, term] = frequency
        numbers = np.array([kernels.number(words[term]) for term in counts], dtype=np.int64)
        arrays.add_postings(
            postings(
                numbers, np.full(len(counts), row, dtype=np.int32), np.array(list(counts.values()), dtype=np.int16)
            )
        )
    weights = {word: float(number + 1) for number, word in enumerate(words)}
    scores = kernels.word_scores(arrays.view(), weights, 6.0)
    expected = score(frequencies, np.full(len(batches), 5), list(weights.values()), 6.0)
    assert np.allclose(scores, expected, rtol=1e-4)
    assert len(arrays.postings) <= 4


def test_a_view_is_as_it_was_when_tokens_of_its_rows_are_made_anew() -> None:
    arrays = SpaceArrays(1, 0)
    arrays.append(records(range(1, 5), range(4)))
    rows, sizes = np.arange(4, dtype=np.int32), np.full(4, 32, dtype=np.int64)
    arrays.put_tokens(3, rows, sizes, np.arange(128, dtype=np.uint8))
    view = arrays.view()
    for _ in range(5):
        arrays.put_tokens(3, rows, sizes, np.full(128, 255, dtype=np.uint8))
    before, counts = view.tokens[3].of_rows(rows, 16)
    assert (before.ravel().tolist(), counts.tolist()) == (list(range(128)), [2, 2, 2, 2])
    after, _ = arrays.view().tokens[3].of_rows(rows, 16)
    assert (after == 255).all()


def test_by_meaning_the_nearest_of_many_are_found_by_their_signs_first() -> None:
    chance = np.random.default_rng(1)
    many = 3 * kernels.EXACT
    matters = chance.normal(size=(200, 96))
    vectors = (matters[chance.integers(0, 200, many)] + 0.8 * chance.normal(size=(many, 96))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    arrays = SpaceArrays(1, 0)
    arrays.append(records(range(1, many + 1), range(many)))
    arrays.put_vectors(3, np.arange(many, dtype=np.int32), vectors)
    asked = vectors[17] + 0.5 * vectors[4711]
    asked /= np.linalg.norm(asked)
    view = arrays.view()
    rows, similar = kernels.nearest(view, 3, Embedding(asked, None), None, 50)
    best = rows[np.argsort(-similar)[:50]].tolist()
    exact = np.argsort(-(vectors @ asked))[:50].tolist()
    assert best[0] == 17
    assert len(set(best) & set(exact)) >= 40
    assert np.allclose(similar, vectors[rows] @ asked, atol=0.01)
