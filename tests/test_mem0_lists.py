"""What mem0's client lists: which part of it, in which order, and what has expired."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from conftest import World
from keepstone.app import make_app
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.services import Services
from mem0_client import AddMemoryOptions, Mem0, UpdateMemoryOptions, connect

ANNA = {"user_id": "anna"}
DAY = date(2030, 1, 31)
NOON, LAST = datetime(2030, 1, 31, 12, tzinfo=UTC), datetime(2030, 1, 31, 23, 59, 59, 999_999, tzinfo=UTC)
OVER = datetime(2030, 2, 1, tzinfo=UTC)
TRIAL, STAYS = "The trial of the tea club", "The tea is in the blue tin"
At = Callable[[datetime], Awaitable[Mem0]]


@pytest.fixture
async def mem0(app: FastAPI, world: World) -> Mem0:
    return await connect(app, world.owner.key)


@pytest.fixture
def at(services: Services, world: World) -> At:
    """The client, at a time."""
    return lambda now: connect(make_app(replace(services, clock=lambda: now)), world.owner.key)


async def keep(mem0: Mem0, text: str, **options: Any) -> str:
    (made,) = await mem0.add(text, **{"infer": False, "user_id": "anna", **options})
    return made["id"]


async def both(mem0: Mem0, **options: Any) -> tuple[list[str], int, list[str]]:
    """What a list and a search show; of the list also the number of all."""
    answer = await mem0.call("get_all", filters=ANNA, **options)
    found = await mem0.found("tea", ANNA, threshold=0.0, **options)
    return sorted(one["memory"] for one in answer["results"]), answer["count"], sorted(found)


# ---------------------------------------------------------------------------------------------------------- expired


async def test_a_memory_is_found_through_all_of_its_last_day_in_utc_and_not_after(
    at: At, client: httpx.AsyncClient, world: World
) -> None:
    """Wherever its user is: the day has begun long ago there, and the next one too."""
    put = await client.patch("/v1/me", headers=world.owner.auth, json={"timezone": "Pacific/Kiritimati"})
    assert put.status_code == 200
    then = await at(NOON)
    (made,) = await then.add(TRIAL, infer=False, user_id="anna", expiration_date="2030-01-31")
    await keep(then, STAYS)
    assert (made["event"], made["expiration_date"]) == ("ADD", "2030-01-31")
    all_of_it = ([STAYS, TRIAL], 2, [STAYS, TRIAL])
    for now in (NOON, LAST):
        assert await both(await at(now)) == all_of_it, now
    after = await at(OVER)
    assert await both(after) == ([STAYS], 1, [STAYS])
    assert await both(after, show_expired=True) == all_of_it
    assert await both(after, show_expired=False) == ([STAYS], 1, [STAYS])
    # It is hidden and not gone: by its id it is there, it counts, and it is deleted with the rest.
    assert (await after.call("get", made["id"]))["expiration_date"] == "2030-01-31"
    (user,) = (await after.call("users"))["results"]
    assert user["total_memories"] == 2
    await after.call("delete_all", user_id="anna")
    assert (await after.fault("get", made["id"]))[0] == 404


async def test_its_last_day_is_moved_and_taken_away_and_each_time_is_in_the_history(at: At) -> None:
    then, after = await at(NOON), await at(OVER)
    memory = await keep(then, TRIAL, expiration_date=str(DAY))
    moved = await after.call("update", memory, expiration_date="2030-02-01")
    assert (moved["memory"], moved["expiration_date"]) == (TRIAL, "2030-02-01")
    assert await both(after) == ([TRIAL], 1, [TRIAL])
    await after.call("update", memory, text=f"{TRIAL}, by mail")
    assert (await after.call("get", memory))["expiration_date"] == "2030-02-01", "what is not named stays"
    yesterday = await after.call("update", memory, UpdateMemoryOptions(expiration_date=str(DAY)))
    assert yesterday["expiration_date"] == str(DAY)
    assert await both(after) == ([], 0, [])
    await after.call("batch_update", [{"memory_id": memory, "expiration_date": None}])
    assert (await after.call("get", memory))["expiration_date"] is None
    assert await both(await at(OVER + timedelta(days=365))) == ([f"{TRIAL}, by mail"], 1, [f"{TRIAL}, by mail"])
    told = await after.call("history", memory)
    assert [one["event"] for one in told] == ["ADD", *["UPDATE"] * 4]
    assert [one["old_memory"] == one["new_memory"] for one in told[1:]] == [True, False, True, True]


async def test_of_a_time_it_is_the_day_in_utc_and_what_is_no_day_is_refused(at: At) -> None:
    then = await at(NOON)
    days = {
        "2030-01-31": DAY, "2030-01-31T00:00:00.000Z": DAY, "2030-01-31T23:59:59": DAY, "2030-01-31 08:15:00.5": DAY,
        "2030-01-31T23:30:00-02:00": date(2030, 2, 1), "2030-02-01T01:00:00+02:00": DAY,
        "1999-12-31": date(1999, 12, 31), "9999-12-31T23:00:00Z": date.max,
    }  # fmt: skip
    memory = await keep(then, TRIAL, user_id="bea")
    for said, day in days.items():
        options = AddMemoryOptions(filters=ANNA, infer=False, expiration_date=said)
        (made,) = (await then.call("add", TRIAL, options))["results"]
        assert made["expiration_date"] == str(day), said
    assert (await then.call("get_all", filters=ANNA))["count"] == len(days) - 1, "one had expired when it was kept"
    for said in ("soon", "", "2030-02-30", "2030-1-31", "31.01.2030", "2030-01-31T25:00", 1_900_000_000, True,
                 "9999-12-31T23:00:00-02:00", {"day": 1}):  # fmt: skip
        for call, args in (("add", [TRIAL]), ("update", [memory])):
            of = {"user_id": "anna"} if call == "add" else {}
            status, message = await then.fault(call, *args, expiration_date=said, **of)
            assert (status, "2030-01-31" in message) == (422, True), (call, said, message)


async def test_what_is_said_again_never_shortens_what_is_there_nor_is_it_lost_to_what_has_expired(at: At) -> None:
    then, after = await at(NOON), await at(OVER)
    said = {"infer": True, "user_id": "anna"}

    async def add(mem0: Mem0, day: str | None) -> tuple[str, str, str | None]:
        (made,) = await mem0.add("I prefer dark mode.", **said, expiration_date=day)
        return made["id"], made["event"], made["expiration_date"]

    first, event, _ = await add(then, str(DAY))
    assert event == "ADD"
    assert await add(then, "2030-01-30") == (first, "NOOP", str(DAY))
    assert await add(then, "2030-02-05") == (first, "UPDATE", "2030-02-05")
    later = await at(datetime(2030, 2, 6, tzinfo=UTC))
    second, event, day = await add(later, None)
    assert (event, day, second != first) == ("ADD", None, True), "the first one is not there to be known"
    assert await add(later, "2030-03-01") == (second, "NOOP", None)
    assert (await later.call("get_all", filters=ANNA))["count"] == 1
    assert await add(after, None) == (first, "UPDATE", None), "it stays then"


async def test_nothing_takes_the_place_of_what_outlives_it(
    services: Services, models: tuple[Embedder, ...], world: World
) -> None:
    knowing = replace(services, embedders=Embedders(models))
    then = await connect(make_app(replace(knowing, clock=lambda: NOON)), world.owner.key)
    after = await connect(make_app(replace(knowing, clock=lambda: OVER)), world.owner.key)
    (berlin,) = await then.add("I live in Berlin.", user_id="anna")
    (munich,) = await then.add("I live in Munich now.", user_id="anna", expiration_date=str(DAY))
    assert (munich["event"], munich["may_supersede"]) == ("ADD", [berlin["id"]])
    assert await after.listed(ANNA) == ["I live in Berlin."]
    (rome,) = await then.add("I live in Rome now.", user_id="anna")
    assert rome["event"] == "UPDATE"


# ------------------------------------------------------------------------------------------------------------ parts


async def test_a_list_is_cut_as_each_client_asks_for_it_with_the_number_of_all(
    mem0: Mem0, client: httpx.AsyncClient, world: World
) -> None:
    for number in range(7):
        await keep(mem0, f"number {number}", timestamp=86_400 * number)
    await keep(mem0, "another's", user_id="bea")
    newest = [f"number {number}" for number in range(6, -1, -1)]
    parts: list[tuple[dict[str, Any], list[str]]] = [
        ({}, newest), ({"top_k": 3}, newest[:3]), ({"limit": 3}, newest[:3]), ({"offset": 5}, newest[5:]),
        ({"top_k": 2, "offset": 4}, newest[4:6]), ({"limit": 2, "offset": 6}, newest[6:]), ({"offset": 7}, []),
        ({"page": 2, "page_size": 3}, newest[3:6]), ({"page": 3, "top_k": 3}, newest[6:]), ({"page": 2}, []),
        ({"page_size": 4, "offset": 1}, newest[1:5]), ({"top_k": 2, "limit": 2, "page_size": 2}, newest[:2]),
    ]  # fmt: skip
    for asked, wanted in parts:
        answer = await mem0.call("get_all", filters=ANNA, **asked)
        assert ([one["memory"] for one in answer["results"]], answer["count"]) == (wanted, 7), asked
        for body in (asked, {"filters": ANNA} | asked):
            address = {} if "filters" in body else asked
            said = await client.post(
                "/v3/memories/", headers=world.owner.auth, params=address, json={"filters": ANNA} | body
            )
            assert [one["memory"] for one in said.json()["results"]] == wanted, asked
    for asked in ({"top_k": 3, "offset": 1}, {"page_size": 3}):
        body = {"filters": ANNA} | asked
        answer = (await client.post("/v3/memories/", headers=world.owner.auth, json=body)).json()
        seen = [one["memory"] for one in answer["results"]]
        while answer["next"]:  # with the body that was sent at first
            answer = (await client.post(answer["next"], headers=world.owner.auth, json=body)).json()
            seen += [one["memory"] for one in answer["results"]]
        assert seen == newest[asked.get("offset", 0) :], asked
        before = (await client.post(answer["previous"], headers=world.owner.auth, json=body)).json()
        assert len(before["results"]) == 3


async def test_a_part_that_there_cannot_be_is_refused(mem0: Mem0) -> None:
    wrong: list[tuple[int, dict[str, Any]]] = [
        *((422, {name: value}) for name in ("top_k", "limit", "page", "page_size") for value in (0, -1, "many", 1.5)),
        (422, {"top_k": 1_001}), (422, {"page_size": 1_001}), (422, {"offset": -1}), (422, {"offset": "x"}),
        (422, {"offset": 10**18}), (400, {"page": 2, "offset": 3}), (400, {"page_size": 2, "top_k": 3}),
        (400, {"limit": 2, "top_k": 3}),
    ]  # fmt: skip
    for wanted, asked in wrong:
        status, message = await mem0.fault("get_all", filters=ANNA, **asked)
        assert (status, any(name in message for name in asked)) == (wanted, True), (asked, message)


async def test_entities_come_in_pages_where_that_is_asked_for(
    mem0: Mem0, client: httpx.AsyncClient, world: World
) -> None:
    for number in range(5):
        await keep(mem0, "tea", user_id=f"user {number}")
    everybody = (await mem0.call("users"))["results"]
    assert [one["name"] for one in everybody] == [f"user {number}" for number in range(4, -1, -1)]
    seen: list[Any] = []
    address: str | None = "/v1/entities/?page=1&page_size=2"
    while address:
        answer = (await client.get(address, headers=world.owner.auth)).json()
        assert (answer["count"], len(answer["results"]) <= 2) == (5, True)
        seen += answer["results"]
        address = answer["next"]
    assert seen == everybody
    assert (await client.get("/v1/entities/?page=0", headers=world.owner.auth)).status_code == 422
