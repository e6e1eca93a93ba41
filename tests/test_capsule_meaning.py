"""Capsules by meaning, with the real embedders: search, near-duplicates, what is related, and the map."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from capsules import CAPSULES, at, delete, get, ids, keep, post, rows
from conftest import World, http
from fakes import DownEmbedder
from keepstone.access.readscope import account_scope
from keepstone.app import make_app
from keepstone.engine.cutting import Source
from keepstone.engine.embed import embed_first_passage
from keepstone.engine.index import passages_of
from keepstone.engine.lookup import nearest
from keepstone.jobs.worker import run_until_empty
from keepstone.memory.capsules import hold_vault
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from keepstone.store import candidates
from statements import sent

NOW = datetime.now(UTC)
NOTES = {
    "Clerk": "We picked Clerk over rolling our own sign-in, because the team has no time to run one.",
    "Ferry": "The boat to the island leaves on the 14th of June, and tickets are sold at the harbour.",
    "Budget": "Our quarterly spending was cut to 40,000 euros; travel needs an approval now.",
    "Peanuts": "The doctor told Anna to stay away from peanuts, her throat swells up.",
    "Luna": "We adopted a puppy from the shelter on Saturday, she is called Luna.",
    "上海会议": "我们下周五在上海开会，讨论新的产品路线图。",
}


@pytest.fixture
async def client(knowing: Services) -> AsyncGenerator[httpx.AsyncClient]:
    async with http(make_app(knowing)) as opened:
        yield opened


async def read(knowing: Services, services: Services) -> None:
    """The jobs run. They were registered with services that have no embedder: lend them these."""
    services.embedders.active = knowing.embedders.active
    for _ in range(2):  # what one of them adds runs too
        await run_until_empty(services)
    services.embedders.active = ()


@pytest.fixture
async def kept(client: httpx.AsyncClient, knowing: Services, services: Services, world: World) -> dict[str, str]:
    made = {title: (await keep(client, world.owner.auth, text, title=title))["id"] for title, text in NOTES.items()}
    await read(knowing, services)
    return made


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("why did we not build authentication ourselves?", "Clerk"),
        ("Does anybody have a food allergy?", "Peanuts"),
        ("What pet did they get?", "Luna"),
        ("How much money may we spend?", "Budget"),
        ("Wann fährt das Schiff?", "Ferry"),
        ("谁对食物过敏？", "Peanuts"),
        ("什么时候开会？", "上海会议"),
    ],
)
async def test_a_capsule_is_found_by_what_it_means_also_in_another_language(
    client: httpx.AsyncClient, world: World, kept: dict[str, str], mode: str, question: str, title: str
) -> None:
    found = await get(client, world.owner.auth, CAPSULES, q=question, mode=mode, limit=3)
    assert found["degraded"] is None
    assert kept[title] in [item["id"] for item in found["items"][:2]]
    assert all(0 <= item["relevance"] <= 1 and item["snippet"] for item in found["items"])
    assert len(found["items"]) <= 3


async def test_hybrid_marks_the_words_and_literal_needs_no_vectors(
    client: httpx.AsyncClient, world: World, kept: dict[str, str]
) -> None:
    hits = (await get(client, world.owner.auth, CAPSULES, q="tickets at the harbour", mode="hybrid"))["items"]
    assert hits[0]["id"] == kept["Ferry"]
    assert "<mark>tickets</mark>" in hits[0]["snippet"]
    assert "<mark>harbour</mark>" in hits[0]["snippet"]
    assert await ids(client, world.owner.auth, q="vessel") == []


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
async def test_what_is_found_by_meaning_comes_in_pages_that_stay_right_while_capsules_come_and_go(
    client: httpx.AsyncClient, knowing: Services, services: Services, world: World, kept: dict[str, str], mode: str
) -> None:
    auth = world.owner.auth
    asked = {"q": "When does the boat leave?", "mode": mode, "min_relevance": 0}
    whole = await get(client, auth, CAPSULES, limit=50, **asked)
    every = [hit["id"] for hit in whole["items"]]
    assert (len(every), whole["next_cursor"], whole["has_more"]) == (len(NOTES), None, False)
    assert every[0] == kept["Ferry"]
    seen: list[str] = []
    relevant: list[float] = []
    cursor: str | None = None
    while True:
        page = await get(client, auth, CAPSULES, limit=2, **asked, **({"cursor": cursor} if cursor else {}))
        seen += [hit["id"] for hit in page["items"]]
        relevant += [hit["relevance"] for hit in page["items"]]
        cursor = page["next_cursor"]
        assert page["has_more"] is (cursor is not None)
        if cursor is None:
            break
        assert len(page["items"]) == 2
        await keep(client, auth, f"The boat leaves at nine, it was said for the {len(seen)}th time.")
        if len(seen) == 2:
            await delete(client, auth, every[0])  # was seen already
        await read(knowing, services)
    assert sorted(seen) == sorted(every), "each once, and what came later on none"
    assert relevant[:2] == sorted(relevant[:2], reverse=True)
    enough = await get(client, auth, CAPSULES, limit=1, q="Who may eat peanuts?", mode=mode)
    assert ([hit["id"] for hit in enough["items"]], enough["next_cursor"]) == ([kept["Peanuts"]], None), (
        "no page of less"
    )


async def test_meaning_respects_filters_the_trash_and_the_owner(
    client: httpx.AsyncClient, knowing: Services, services: Services, world: World, kept: dict[str, str]
) -> None:
    auth, question = world.owner.auth, "What pet did they get?"
    cat = await keep(client, auth, "Ben has a cat called Mia", tags=["pets"], kind="thought")
    await read(knowing, services)
    assert await ids(client, auth, q=question, mode="semantic", tag="pets") == [cat["id"]]
    assert await ids(client, auth, q=question, mode="hybrid", kind="thought") == [cat["id"]]
    assert kept["Luna"] in await ids(client, auth, q=question, mode="semantic")
    await delete(client, auth, kept["Luna"])
    assert kept["Luna"] not in await ids(client, auth, q=question, mode="semantic")
    await post(client, auth, f"{CAPSULES}/{kept['Luna']}/restore")
    await read(knowing, services)
    assert kept["Luna"] in await ids(client, auth, q=question, mode="semantic")
    for other in (world.member.auth, world.stranger.auth):
        assert await ids(client, other, q=question, mode="semantic") == []
        assert await ids(client, other, f"{CAPSULES}/related", text=question) == []


async def test_a_long_capsule_is_found_by_the_meaning_of_its_middle(
    client: httpx.AsyncClient, knowing: Services, services: Services, world: World, kept: dict[str, str]
) -> None:
    filler = " ".join(f"The minutes of meeting {n} were read and approved." for n in range(400))
    text = f"{filler} An elephant escaped from the circus and was caught near the bakery. {filler}"
    made = await keep(client, world.owner.auth, text, title="Minutes")
    await read(knowing, services)
    for question in ("Which wild animal ran away?", "Who caught the elephant?"):
        (hit,) = (await get(client, world.owner.auth, CAPSULES, q=question, mode="semantic", limit=1, min_relevance=0))[
            "items"
        ]
        assert hit["id"] == made["id"]
    assert "<mark>elephant</mark>" in hit["snippet"]


async def test_while_the_embedder_is_down_everything_is_saved_and_found_by_its_words(
    services: Services, world: World, models: tuple[Embedder, ...], kept: dict[str, str]
) -> None:
    down = replace(services, embedders=Embedders(tuple(DownEmbedder(one) for one in models)))
    async with http(make_app(down)) as client:
        made = await keep(client, world.owner.auth, "A puppy needs a walk", title="Walk")
        assert made["similar"] == []
        found = await get(client, world.owner.auth, CAPSULES, q="puppy", mode="semantic")
        assert found["degraded"] == "literal"
        assert {item["id"] for item in found["items"]} == {made["id"], kept["Luna"]}
        assert await ids(client, world.owner.auth, f"{CAPSULES}/related", text="a puppy") is not None


async def test_nearly_the_same_within_a_week_is_pointed_out_before_it_is_kept_twice(
    knowing: Services, services: Services, world: World
) -> None:
    text = "The boat to the island leaves on the 14th of June, and tickets are sold at the harbour."
    async with at(knowing, NOW - timedelta(days=8)) as client:
        old = await keep(client, world.owner.auth, f"{text} (first)", title="Ferry to the island")
    async with at(knowing, NOW - timedelta(days=6)) as client:
        recent = await keep(client, world.owner.auth, f"{text} (second)", title="Ferry to the island")
        other = await keep(client, world.owner.auth, NOTES["Peanuts"], title="Peanuts")
        theirs = await keep(client, world.member.auth, text, title="Ferry to the island")
    await read(knowing, services)
    async with at(knowing, NOW) as client:
        made = await keep(client, world.owner.auth, text, title="Ferry to the island")
        assert [one["id"] for one in made["similar"]] == [recent["id"]]
        assert made["similar"][0]["title"] == "Ferry to the island"
        assert 0.85 <= made["similar"][0]["similarity"] <= 1.0
        assert {old["id"], other["id"], theirs["id"]}.isdisjoint(one["id"] for one in made["similar"])
        far = await keep(client, world.owner.auth, "Rent is due on the first.", title="Rent")
        assert far["similar"] == []


async def test_many_old_ones_alike_do_not_hide_a_new_one(knowing: Services, services: Services, world: World) -> None:
    text = "The boat to the island leaves on the 14th of June"
    async with at(knowing, NOW - timedelta(days=30)) as client:
        for number in range(25):
            await keep(client, world.owner.auth, text, title=f"Ferry {number}")
    async with at(knowing, NOW - timedelta(days=1)) as client:
        recent = await keep(client, world.owner.auth, text + ", tickets at the harbour", title="Ferry")
    await read(knowing, services)
    async with at(knowing, NOW) as client:
        made = await keep(client, world.owner.auth, text, title="Ferry")
    assert [one["id"] for one in made["similar"]] == [recent["id"]]


async def test_what_is_near_is_the_same_by_numbers_in_memory_and_by_the_database(
    client: httpx.AsyncClient, knowing: Services, world: World, kept: dict[str, str]
) -> None:
    """However old they are: what changed since is looked at besides."""
    auth, principal = world.owner.auth, world.owner.principal
    await get(client, auth, CAPSULES, q="a pet", mode="hybrid")  # reads the vault into memory
    await delete(client, auth, kept["Budget"])
    await keep(client, auth, NOTES["Ferry"] + " Bring cash.", title="Ferry again")
    await client.patch(f"{CAPSULES}/{kept['Luna']}", headers=auth, json={"content_md": "The puppy is called Nala now."})
    async with knowing.db.transaction(account_scope(principal)) as conn:
        vault = await hold_vault(conn, principal)
        space = vault.space
        view = knowing.resident.at_hand(principal.account, space)
        [now] = (await candidates.survey(conn, [space])).versions
        assert view is not None
        assert view.version < now.version
        first = None
        for text in (*NOTES.values(), "Bring cash for the boat.", "Spending was cut."):
            source = Source(kind="memory", id="", text=text, at=NOW, dated=False)
            cut = await passages_of(knowing, [source], visibility="private")
            first = await embed_first_passage(knowing, cut)
            for above, limit in ((0.0, 3), (0.3, 20), (0.85, 200)):
                by_database = await nearest(conn, space, first, above=above, limit=limit)
                with sent() as statements:
                    in_memory = await nearest(conn, space, first, above=above, limit=limit, view=view)
                assert list(in_memory.items()) == list(by_database.items())
                assert not any("ORDER BY distance" in statement for statement in statements)
        # Where it is forgotten what changed, the database is asked as ever.
        await conn.execute(
            "UPDATE spaces SET version = version + 1 WHERE account = %(account)s AND space = %(space)s",
            {"space": space},
        )
        by_database = await nearest(conn, space, first, above=0.0, limit=3)
        with sent() as statements:
            assert await nearest(conn, space, first, above=0.0, limit=3, view=view) == by_database != {}
        assert any("ORDER BY distance" in statement for statement in statements)


async def test_related_are_the_few_that_fit_to_what_is_being_written(
    client: httpx.AsyncClient, world: World, kept: dict[str, str]
) -> None:
    text = "Before we order the cake: is there somebody who must not eat peanuts?"
    found = (await get(client, world.owner.auth, f"{CAPSULES}/related", text=text))["items"]
    assert found[0]["id"] == kept["Peanuts"]
    assert len(found) <= 5
    assert all(item["relevance"] >= 0.3 for item in found)
    assert (await client.get(f"{CAPSULES}/related", headers=world.owner.auth)).status_code == 422
    assert await ids(client, world.member.auth, f"{CAPSULES}/related", text=text) == []


THEMES = {
    "boats": "The {} sails across the bay to the harbour of island number {}.",
    "food": "A recipe: bake {} bread with flour, yeast and salt for {} minutes.",
    "code": "The Python function {} raises an exception in test {} of the suite.",
}


async def fill(client: httpx.AsyncClient, world: World, count: int, start: int = 0) -> list[str]:
    """So many capsules about three things."""
    names = ("alpha", "bravo", "delta", "gamma", "omega")
    made: list[str] = []
    for number in range(start, start + count):
        theme = sorted(THEMES)[number % 3]
        text = THEMES[theme].format(names[number % 5], number)
        made.append((await keep(client, world.owner.auth, text, title=f"{theme.title()} {number}"))["id"])
    return made


async def test_the_map_needs_thirty_capsules_then_has_points_clusters_and_labels_and_stays_as_it_is(
    client: httpx.AsyncClient, knowing: Services, services: Services, world: World, database: str
) -> None:
    auth, path = world.owner.auth, f"{CAPSULES}/constellation"
    made = await fill(client, world, 29)
    early = await client.get(path, headers=auth)
    assert early.status_code == 409
    assert "30" in early.json()["error"]["message"]
    made += await fill(client, world, 4, start=29)
    await read(knowing, services)
    first = await get(client, auth, path)
    assert {point["id"] for point in first["points"]} == set(made)
    assert first["made_at"].endswith("Z")
    for point in first["points"]:
        assert set(point) == {"id", "title", "x", "y", "cluster", "kind", "tags", "created_at"}
        assert abs(point["x"]) < 1000
        assert abs(point["y"]) < 1000
    assert 2 <= len(first["clusters"]) <= 10
    for cluster in first["clusters"]:
        assert cluster["label"]
        assert cluster["count"] == sum(point["cluster"] == cluster["cluster"] for point in first["points"])
    numbers = {cluster["cluster"] for cluster in first["clusters"]}
    assert {point["cluster"] for point in first["points"]} - {-1} == numbers
    # Made once more of the same, it is the same; made of more, it has them all.
    account, space = (await rows(database, "SELECT account, space FROM constellations"))[0]
    await services.queue.app.configure_task("map_vault").defer_async(account=account, space=space)
    await read(knowing, services)
    second = await get(client, auth, path)
    assert second["made_at"] > first["made_at"]
    assert [point["id"] for point in second["points"]] == [point["id"] for point in first["points"]]
    assert [point["cluster"] for point in second["points"]] == [point["cluster"] for point in first["points"]]
    assert [cluster["label"] for cluster in second["clusters"]] == [cluster["label"] for cluster in first["clusters"]]
    for before, after in zip(first["points"], second["points"], strict=True):
        assert max(abs(before["x"] - after["x"]), abs(before["y"] - after["y"])) < 0.5, "about where it was"
    await rows(database, "UPDATE constellations SET made_at = now() - interval '1 hour' RETURNING 1")
    made += await fill(client, world, 10, start=33)
    await read(knowing, services)
    assert {point["id"] for point in (await get(client, auth, path))["points"]} == set(made)
    for other in (world.member.auth, world.stranger.auth):
        assert (await client.get(path, headers=other)).status_code == 409


async def test_the_first_who_asks_for_the_map_waits_until_it_is_made(
    client: httpx.AsyncClient, knowing: Services, services: Services, world: World, database: str
) -> None:
    made = await fill(client, world, 30)
    await read(knowing, services)
    await rows(database, "DELETE FROM constellations RETURNING 1")
    asked = asyncio.create_task(get(client, world.owner.auth, f"{CAPSULES}/constellation"))
    while not [job for job in await services.queue.latest(status="todo", limit=10) if job.task == "map_vault"]:
        await asyncio.sleep(0.01)
    await read(knowing, services)
    assert {point["id"] for point in (await asked)["points"]} == set(made)


async def test_a_map_that_is_looked_at_is_made_anew_when_something_has_changed_since(
    client: httpx.AsyncClient, knowing: Services, services: Services, world: World, database: str
) -> None:
    path = f"{CAPSULES}/constellation"
    made = await fill(client, world, 30)
    await read(knowing, services)
    await read(knowing, services)  # the map is a job of the job's
    made += await fill(client, world, 1, start=30)
    await read(knowing, services)
    assert len((await get(client, world.owner.auth, path))["points"]) == 30, "it was made just now"
    await rows(database, "UPDATE constellations SET made_at = now() - interval '1 hour' RETURNING 1")
    assert len((await get(client, world.owner.auth, path))["points"]) == 30
    await read(knowing, services)
    assert {point["id"] for point in (await get(client, world.owner.auth, path))["points"]} == set(made)


async def test_what_is_deleted_or_renamed_is_so_on_the_map_too(
    client: httpx.AsyncClient, knowing: Services, services: Services, world: World, database: str
) -> None:
    auth, path = world.owner.auth, f"{CAPSULES}/constellation"
    made = await fill(client, world, 33)
    await read(knowing, services)
    first = await client.get(path, headers=auth)
    with sent() as statements:
        again = await client.get(path, headers=auth)
        known = await client.get(path, headers={**auth, "If-None-Match": first.headers["etag"]})
    assert again.content == first.content
    assert (known.status_code, known.content) == (304, b"")
    assert not [each for each in statements if "points" in each or "title" in each], "it is drawn once"
    await delete(client, auth, made[0])
    await client.patch(f"{CAPSULES}/{made[1]}", headers=auth, json={"title": "Renamed"})
    changed = await client.get(path, headers={**auth, "If-None-Match": first.headers["etag"]})
    shown = {point["id"]: point["title"] for point in changed.json()["points"]}
    assert made[0] not in shown
    assert shown[made[1]] == "Renamed"
    drawn = changed.json()
    assert (drawn["newer"], drawn["changed"], drawn["gone"]) == (0, 1, 1)
    (stored,) = await rows(database, "SELECT points::text FROM constellations")
    assert "Boats" not in stored[0], "no title outlives its capsule in the map"
