"""Capacity: what a plan has room for and not a byte more, whoever comes at once; and the cold tier."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from capsules import CAPSULES, OVERHEAD, at, audited, delete, get, ids, keep, post, rows
from conftest import World, http
from keepstone.access import operator
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from keepstone.surfaces.mcp import conductor
from statements import sent

KB, MB = 1024, 1024 * 1024
ONE = 10 * KB  # what each capsule of `sized` counts for
NOW = datetime.now(UTC)
OLGA = "olga@example.org"


def sized(number: int, size: int = ONE) -> dict[str, str]:
    """A capsule that counts for exactly so many bytes."""
    title = f"{number:04}"
    return {"title": title, "content_md": "x" * (size - OVERHEAD - len(title))}


async def save(client: httpx.AsyncClient, world: World, number: int, size: int = ONE) -> httpx.Response:
    return await client.post(CAPSULES, headers=world.owner.auth, json=sized(number, size))


async def saved(client: httpx.AsyncClient, world: World, number: int, size: int = ONE) -> str:
    answer = await save(client, world, number, size)
    assert answer.status_code == 201, answer.text
    assert answer.json()["size_bytes"] == size
    return answer.json()["id"]


async def usage(client: httpx.AsyncClient, world: World) -> Any:
    return await get(client, world.owner.auth, "/v1/memory/usage")


@pytest.mark.parametrize(
    ("plan", "room"),
    [("free", 5 * MB), ("pro", 50 * MB), ("max", 300 * MB), ("unlimited", None), ("unheard of", 5 * MB)],
)
async def test_a_plan_says_how_much_may_be_kept(
    client: httpx.AsyncClient, services: Services, world: World, plan: str, room: int | None
) -> None:
    assert (await usage(client, world))["plan"] == "unlimited", "as the owner of a server has it"
    await operator.set_allowance(services, OLGA, plan=plan)
    await saved(client, world, 1)
    used = await usage(client, world)
    assert used == {
        "plan": plan, "bytes_used": ONE, "quota_bytes": room, "count": 1, "in_trash": 0, "in_cold": 0
    }  # fmt: skip
    assert (await get(client, world.stranger.auth, "/v1/memory/usage"))["quota_bytes"] is None


async def test_the_free_plan_holds_about_six_hundred_small_capsules(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    await operator.set_allowance(services, OLGA, plan="free")
    await rows(
        database,
        "UPDATE spaces SET size_bytes = %s WHERE kind = 'vault' AND owner = %s RETURNING 1",
        [5 * MB - ONE, world.owner.user.id],
    )
    await saved(client, world, 1)
    assert (await save(client, world, 2)).status_code == 429
    assert 600 <= 5 * MB // (OVERHEAD + 500) <= 640


async def test_what_has_no_room_is_refused_and_says_the_way_out(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await operator.set_allowance(services, OLGA, quota_bytes=3 * ONE)
    await saved(client, world, 1, 2 * ONE)
    answer = await save(client, world, 2, ONE + 1)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) == 86_400, "nobody asks again in a second: it stays full"
    error = answer.json()["error"]
    assert error["code"] == "quota_exceeded"
    assert error["upgrade_url"].endswith("/pricing")
    assert error["details"] == {"bytes_used": 2 * ONE, "bytes_needed": ONE + 1, "quota_bytes": 3 * ONE}
    assert (await usage(client, world))["count"] == 1
    last = await saved(client, world, 2, ONE)
    assert (await usage(client, world))["bytes_used"] == 3 * ONE, "to the last byte"
    await delete(client, world.owner.auth, last)
    await saved(client, world, 3, ONE)
    assert (await keep(client, world.member.auth, "of somebody else's capacity"))["id"], "capacity counts by user"


async def test_a_change_that_grows_over_the_quota_is_refused_and_one_that_shrinks_never(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    made = await saved(client, world, 1)
    await saved(client, world, 2)
    await operator.set_allowance(services, OLGA, quota_bytes=2 * ONE + 10)
    path, auth = f"{CAPSULES}/{made}", world.owner.auth
    text = sized(1)["content_md"]
    answer = await client.patch(path, headers=auth, json={"content_md": text + "y" * 11})
    assert answer.status_code == 429
    assert answer.json()["error"]["upgrade_url"]
    assert answer.headers["Retry-After"]
    assert (await get(client, auth, path))["version"] == 1
    assert (await client.patch(path, headers=auth, json={"content_md": text + "y" * 10})).status_code == 200
    await operator.set_allowance(services, OLGA, quota_bytes=5)
    assert (await client.patch(path, headers=auth, json={"tags": ["full"]})).status_code == 200
    assert (await client.patch(path, headers=auth, json={"content_md": text})).status_code == 200
    assert (await client.patch(path, headers=auth, json={"title": "00001"})).status_code == 429
    assert (await usage(client, world))["bytes_used"] == 2 * ONE


async def test_however_many_come_at_once_they_take_exactly_what_is_there(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await operator.set_allowance(services, OLGA, quota_bytes=7 * ONE + ONE // 2)
    answers = await asyncio.gather(*(save(client, world, number) for number in range(25)))
    assert sorted(answer.status_code for answer in answers) == [201] * 7 + [429] * 18
    used = await usage(client, world)
    assert (used["count"], used["bytes_used"]) == (7, 7 * ONE)


async def test_changes_and_restores_at_once_cant_both_take_the_last_byte(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    made = [await saved(client, world, number) for number in range(6)]
    for one in made[3:]:
        await delete(client, world.owner.auth, one)
    await operator.set_allowance(services, OLGA, quota_bytes=4 * ONE)
    grown = {"content_md": "x" * (2 * ONE - OVERHEAD - 4)}
    path = f"{CAPSULES}/{{}}".format
    answers = await asyncio.gather(
        *(client.patch(path(one), headers=world.owner.auth, json=grown) for one in made[:3]),
        *(client.post(path(one) + "/restore", headers=world.owner.auth) for one in made[3:]),
        *(save(client, world, number) for number in range(10, 13)),
    )
    assert sorted(answer.status_code for answer in answers)[1:] == [429] * 8
    used = await usage(client, world)
    assert used["bytes_used"] == 4 * ONE
    listed = (await get(client, world.owner.auth, CAPSULES))["items"]
    assert sum(item["size_bytes"] for item in listed) == 4 * ONE
    assert len(listed) == used["count"]


async def test_restoring_needs_room(client: httpx.AsyncClient, services: Services, world: World) -> None:
    made = await saved(client, world, 1)
    await delete(client, world.owner.auth, made)
    await saved(client, world, 2)
    await operator.set_allowance(services, OLGA, quota_bytes=ONE)
    answer = await client.post(f"{CAPSULES}/{made}/restore", headers=world.owner.auth)
    assert answer.status_code == 429
    assert await ids(client, world.owner.auth, "/v1/memory/trash") == [made]


async def test_too_large_is_told_before_everything_else(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    await operator.set_allowance(services, OLGA, quota_bytes=ONE)
    auth = world.owner.auth
    over = await client.post(CAPSULES, headers=auth, json={"content_md": "x" * (MB + 1)})
    assert over.status_code == 413
    assert over.json()["error"]["code"] == "capsule_too_large"
    # Together with its title, tags and metadata it is over 1 MB; in letters of several bytes too.
    metadata = {"notes": "y" * (MB - 700 * KB)}
    over = await client.post(CAPSULES, headers=auth, json={"content_md": "x" * 701 * KB, "metadata": metadata})
    assert over.status_code == 413
    assert (await client.post(CAPSULES, headers=auth, json={"content_md": "字" * 350_000})).status_code == 413
    over = await client.post(CAPSULES, headers=auth, json={"content_md": "x" * (800 * KB + 1)})
    assert over.status_code == 422
    assert over.json()["error"]["details"][0]["path"] == "body.content_md"
    assert (await client.post(CAPSULES, headers=auth, json={"content_md": "x" * 800 * KB})).status_code == 429
    assert await rows(database, "SELECT * FROM memories") == []
    made = await saved(client, world, 1, ONE)
    for text, status in (("x" * (MB + 1), 413), ("x" * (800 * KB + 1), 422), ("x" * 800 * KB, 429)):
        answer = await client.patch(f"{CAPSULES}/{made}", headers=auth, json={"content_md": text})
        assert answer.status_code == status


async def test_an_admin_sets_another_quota_for_one_user_and_null_goes_back_to_the_plan(
    app: FastAPI, services: Services, world: World
) -> None:
    await operator.set_allowance(services, OLGA, plan="pro")
    await operator.set_allowance(services, "max@example.org", admin=True)
    path = f"/x_console/api/users/{world.owner.user.id}"
    async with http(app, headers=world.member.auth) as here, http(app, address="192.0.2.7") as away:
        answer = await here.patch(path, json={"quota_bytes": ONE})
        assert answer.status_code == 200
        assert answer.json()["quota_bytes"] == ONE
        assert (await usage(here, world))["quota_bytes"] == ONE
        assert (await get(here, world.member.auth, "/v1/memory/usage"))["quota_bytes"] == 50 * MB
        await saved(here, world, 1)
        assert (await save(here, world, 2)).status_code == 429
        # Only an admin, and what another calls it does not matter.
        assert (await away.patch(path, json={"quota_bytes": 1})).status_code == 401
        for auth in (world.owner.auth, world.stranger.auth, world.service_auth):
            assert (await away.patch(path, headers=auth, json={"quota_bytes": 1})).status_code in {403, 404}
            assert (await away.get(path, headers=auth)).status_code in {403, 404}
        await operator.set_allowance(services, "stan@elsewhere.example", admin=True)
        assert (await away.patch(path, headers=world.stranger.auth, json={"quota_bytes": None})).status_code == 200
        assert (await usage(here, world))["quota_bytes"] == 50 * MB
        await saved(here, world, 2)
        shown = await away.get(path, headers=world.stranger.auth)
        assert shown.json()["plan"] == "pro"
        assert "0001" not in shown.text, "the console shows no memory"
        for body in ({}, {"quota_bytes": -1}, {"quota_bytes": "much"}, {"quota_bytes": 2**61}, {"plan": "max"}):
            assert (await here.patch(path, json=body)).status_code == 422
        assert (await here.patch("/x_console/api/users/usr_" + "0" * 24, json={"quota_bytes": 1})).status_code == 404
        assert len(await audited(here, world.owner.auth, "user.quota")) == 2


async def cold(client: httpx.AsyncClient, world: World) -> list[str]:
    return await ids(client, world.owner.auth, "/v1/memory/cold")


async def with_cold_tier(services: Services, world: World, *, count: int) -> list[str]:
    """So many capsules, made a day apart two months ago, in a plan that is full with them; the cold tier is on."""
    made: list[str] = []
    for number in range(count):
        async with at(services, NOW - timedelta(days=60 - number)) as client:
            made.append(await saved(client, world, number))
    async with at(services, NOW) as client:
        await client.patch("/v1/me", headers=world.owner.auth, json={"cold_tier": True})
    await operator.set_allowance(services, OLGA, quota_bytes=count * ONE)
    return made


async def test_a_full_plan_moves_what_was_not_read_for_longest_to_the_cold_tier_for_who_wishes_it(
    services: Services, world: World
) -> None:
    made = await with_cold_tier(services, world, count=4)
    async with at(services, NOW) as client:
        await client.patch("/v1/me", headers=world.owner.auth, json={"cold_tier": False})
        assert (await save(client, world, 10)).status_code == 429, "only for who wishes it"
        await client.patch("/v1/me", headers=world.owner.auth, json={"cold_tier": True})
        await get(client, world.owner.auth, f"{CAPSULES}/{made[0]}")
        new = await saved(client, world, 10, ONE + 1)
        assert await ids(client, world.owner.auth) == [new, made[3], made[0]], "the oldest was read just now"
        assert await cold(client, world) in ([made[1], made[2]], [made[2], made[1]])
        used = await usage(client, world)
        assert (used["count"], used["bytes_used"], used["in_cold"]) == (3, 3 * ONE + 1, 2)
        assert await ids(client, world.owner.auth, q="0001") == []
        assert (await client.get(f"{CAPSULES}/{made[1]}", headers=world.owner.auth)).status_code == 404
        assert (await save(client, world, 11, 5 * ONE)).status_code == 429, "it would not fit into an empty vault"


@pytest.mark.parametrize("mode", ["literal", "hybrid"])
async def test_what_is_found_counts_as_used_and_the_reply_says_what_had_to_make_room(
    services: Services, world: World, mode: str
) -> None:
    made = await with_cold_tier(services, world, count=4)
    auth = world.owner.auth
    async with at(services, NOW) as client:
        with sent() as statements:
            assert await ids(client, auth, q="0000", mode=mode) == [made[0]]
        assert not [one for one in statements if "UPDATE memories" in one], "nobody waits for a write"
        reply = (await save(client, world, 10, ONE + 1)).json()
        assert sorted(reply["moved_to_cold"]) == sorted([made[1], made[2]]), "what nobody read or found"
        assert await cold(client, world) in ([made[1], made[2]], [made[2], made[1]])
        # Without a full vault it is put down a moment later.
        assert await ids(client, auth, q="0003", mode=mode) == [made[3]]
        await services.found.settle()
        assert (await get(client, auth, CAPSULES, tag="none"))["items"] == []
        (listed,) = [one for one in (await get(client, auth, CAPSULES))["items"] if one["id"] == made[3]]
        assert datetime.fromisoformat(listed["accessed_at"]) > NOW - timedelta(days=1)
        assert "moved_to_cold" not in listed
        changed = await client.patch(f"{CAPSULES}/{made[3]}", headers=auth, json=sized(3, 2 * ONE))
        assert changed.json()["moved_to_cold"] == [reply["id"]], "the others were found since"
        assert "moved_to_cold" not in await post(client, auth, f"{CAPSULES}/{made[1]}/recover"), "there was room"
        assert len((await post(client, auth, f"{CAPSULES}/{made[2]}/recover"))["moved_to_cold"]) == 1
        small = await save(client, world, 11, ONE)
        assert small.json().keys() >= {"moved_to_cold"}


async def test_a_model_is_told_what_had_to_make_room(services: Services, world: World) -> None:
    made = await with_cold_tier(services, world, count=2)
    arguments = {"mode": "save_memory", **sized(7)}
    done = await conductor.ask(services, world.owner.principal, arguments)
    assert done["structuredContent"]["moved_to_cold"] == [made[0]]
    assert made[0] in done["content"][0]["text"]


async def test_what_is_cold_is_recovered_and_may_send_another_there(services: Services, world: World) -> None:
    made = await with_cold_tier(services, world, count=3)
    async with at(services, NOW) as client:
        new = await saved(client, world, 10)
        assert await cold(client, world) == [made[0]]
        back = await post(client, world.owner.auth, f"{CAPSULES}/{made[0]}/recover")
        assert back["content_md"] == sized(0)["content_md"]
        assert await ids(client, world.owner.auth) == [new, made[2], made[0]]
        assert await cold(client, world) == [made[1]]
        assert await ids(client, world.owner.auth, q="0000") == [made[0]], "and it is found again"
        assert (await client.post(f"{CAPSULES}/{made[0]}/recover", headers=world.owner.auth)).status_code == 404
        changes = (await get(client, world.owner.auth, f"{CAPSULES}/{made[0]}/history"))["items"]
        assert [one["change"] for one in changes] == ["recovered", "cooled", "created"]
        assert (await usage(client, world))["bytes_used"] == 3 * ONE


async def test_a_capsule_that_grows_pushes_out_others_and_never_itself(services: Services, world: World) -> None:
    made = await with_cold_tier(services, world, count=3)
    async with at(services, NOW) as client:
        grown = {"content_md": "y" * (2 * ONE - OVERHEAD - 4)}
        answer = await client.patch(f"{CAPSULES}/{made[0]}", headers=world.owner.auth, json=grown)
        assert answer.status_code == 200
        assert await cold(client, world) == [made[1]]
        assert (await usage(client, world))["bytes_used"] == 3 * ONE


async def test_what_is_cold_can_be_deleted_and_is_then_in_the_trash_for_its_own_thirty_days(
    services: Services, world: World
) -> None:
    auth = world.owner.auth
    made = await with_cold_tier(services, world, count=3)
    async with at(services, NOW - timedelta(days=40)) as client:
        await saved(client, world, 10)
        await saved(client, world, 11)
    first, second = made[0], made[1]
    async with at(services, NOW - timedelta(days=20)) as client:
        await delete(client, auth, first)
        assert await ids(client, auth, "/v1/memory/trash") == [first]
        assert await cold(client, world) == [second]
        assert (await client.post(f"{CAPSULES}/{first}/recover", headers=auth)).status_code == 404
        used = await usage(client, world)
        assert (used["count"], used["bytes_used"]) == (3, 3 * ONE), "what was cold counted no more"
    async with at(services, NOW) as client:
        assert (await client.post(f"{CAPSULES}/{second}/recover", headers=auth)).status_code == 404, "after 40 days"
        await services.queue.app.configure_task("purge_memories").defer_async(timestamp=0)
        await run_until_empty(services)
        assert await cold(client, world) == []
        assert (await client.get(f"{CAPSULES}/{second}/history", headers=auth)).status_code == 404
        back = await post(client, auth, f"{CAPSULES}/{first}/restore")
        assert back["id"] == first
        assert back["deleted_at"] is None
        assert first in await ids(client, auth)


async def test_many_at_once_into_a_full_vault_with_a_cold_tier_keep_it_full_and_no_fuller(
    services: Services, world: World
) -> None:
    await with_cold_tier(services, world, count=5)
    async with at(services, NOW) as client:
        answers = await asyncio.gather(*(save(client, world, number) for number in range(10, 20)))
        assert [answer.status_code for answer in answers] == [201] * 10
        used = await usage(client, world)
        assert (used["count"], used["bytes_used"], used["in_cold"]) == (5, 5 * ONE, 10)
