"""What a new memory does to older ones, in every kind of memory: superseded when that is sure, suggested when it isn't,
and brought back with one call.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from capsules import audited
from conftest import Person, World, http
from graphs import call
from keepstone.app import make_app
from keepstone.jobs.worker import run_until_empty
from keepstone.providers.judge import Relation
from keepstone.services import Services
from rooms import make_agent, make_room, say
from workspaces import make_workspace

T = datetime(2026, 5, 4, 9, tzinfo=UTC)
OPENS, OPENS_NOW = "The museum opens at ten.", "The museum now opens at nine."
PORT, OTHER_PORT = "The deadline is 15 March.", "The deadline is 1 April."  # perhaps a change, perhaps another one
PEANUTS, SESAME = "Priya is allergic to peanuts.", "Priya is allergic to sesame."


@pytest.fixture
async def reader(knowing: Services) -> AsyncGenerator[httpx.AsyncClient]:
    async with http(make_app(knowing)) as opened:
        yield opened


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where memories of a kind are kept: how one is written, listed and revived."""

    kind: str
    path: str
    text: str
    listed: str
    more: dict[str, Any]


async def graph(client: httpx.AsyncClient, world: World) -> Place:
    return Place(kind="node", path="/graphs/default/nodes", text="content", listed="", more={"node_type": "fact"})


async def workspace(client: httpx.AsyncClient, world: World) -> Place:
    made = await make_workspace(client, world.owner.auth)
    return Place(kind="memory", path=f"/workspaces/{made}/memories", text="content", listed="superseded", more={})


async def landmark(client: httpx.AsyncClient, world: World) -> Place:
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth)
    return Place(kind="landmark", path=f"/rooms/{room}/landmarks", text="text", listed="superseded", more={})


async def direct(client: httpx.AsyncClient, world: World) -> Place:
    await make_agent(client, world.owner.auth)
    return Place(kind="landmark", path="/dms/scout/landmarks", text="text", listed="superseded", more={})


async def profile(client: httpx.AsyncClient, world: World) -> Place:
    path = f"/profiles/{world.owner.user.id}/memories"
    return Place(kind="memory", path=path, text="text", listed="superseded", more={})


PLACES = [graph, workspace, landmark, direct, profile]
Make = Callable[[httpx.AsyncClient, World], Awaitable[Place]]


async def keep(client: httpx.AsyncClient, who: Person, place: Place, text: str, **more: Any) -> Any:
    body = place.more | {place.text: text} | more
    answer = await client.post(f"/v1{place.path}", headers=who.auth, json=body)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


async def holding(client: httpx.AsyncClient, who: Person, place: Place) -> set[str]:
    return {one["id"] for one in (await call(client, who.auth, "GET", place.path))["items"]}


async def one_of(client: httpx.AsyncClient, who: Person, place: Place, memory_id: str) -> Any:
    if not place.listed:
        return await call(client, who.auth, "GET", f"{place.path}/{memory_id}")
    every = (await call(client, who.auth, "GET", place.path, params={place.listed: True}))["items"]
    return next(one for one in every if one["id"] == memory_id)


@pytest.mark.parametrize("make", PLACES)
async def test_what_is_surely_outdated_is_superseded_and_comes_back_with_one_call(
    reader: httpx.AsyncClient, services: Services, world: World, make: Make
) -> None:
    me, place = world.owner, await make(reader, world)
    old = await keep(reader, me, place, OPENS)
    new = await keep(reader, me, place, OPENS_NOW)
    assert (new["superseded"], new["may_supersede"]) == ([old["id"]], [])
    assert await holding(reader, me, place) == {new["id"]}
    assert (await one_of(reader, me, place, old["id"]))["superseded_by"] == new["id"]
    for _ in range(2):
        back = await call(reader, me.auth, "POST", f"{place.path}/{old['id']}/revive")
        assert (back["id"], back["superseded_by"]) == (old["id"], None)
        assert await holding(reader, me, place) == {old["id"], new["id"]}
    assert len(await audited(reader, me.auth, f"{place.kind}.supersede")) == 1
    assert len(await audited(reader, me.auth, f"{place.kind}.revive")) == 1


@pytest.mark.parametrize("make", PLACES)
async def test_what_is_not_sure_is_kept_and_named(reader: httpx.AsyncClient, world: World, make: Make) -> None:
    me, place = world.owner, await make(reader, world)
    old = await keep(reader, me, place, PORT)
    new = await keep(reader, me, place, OTHER_PORT)
    assert (new["superseded"], new["may_supersede"]) == ([], [old["id"]])
    peanuts = await keep(reader, me, place, PEANUTS)
    sesame = await keep(reader, me, place, SESAME)
    assert (sesame["superseded"], sesame["may_supersede"]) == ([], [])
    assert await holding(reader, me, place) == {old["id"], new["id"], peanuts["id"], sesame["id"]}


@pytest.mark.parametrize("make", PLACES)
async def test_a_caller_chooses_what_is_superseded(reader: httpx.AsyncClient, world: World, make: Make) -> None:
    me, place = world.owner, await make(reader, world)
    old = await keep(reader, me, place, OPENS)
    suggested = await keep(reader, me, place, OPENS_NOW, supersede="suggest")
    assert (suggested["superseded"], suggested["may_supersede"]) == ([], [old["id"]])
    off = await keep(reader, me, place, "The museum opens at noon now.", supersede="off")
    assert (off["superseded"], off["may_supersede"]) == ([], [])
    named = await keep(reader, me, place, "Closed for repairs.", supersede=[old["id"]])
    assert (named["superseded"], named["may_supersede"]) == ([old["id"]], [])
    assert await holding(reader, me, place) == {suggested["id"], off["id"], named["id"]}


@pytest.mark.parametrize("make", PLACES)
@pytest.mark.parametrize("wrong", ["always", 1, None, {"ids": []}, [1], ["x"] * 101])
async def test_what_is_no_choice_is_refused_in_one_sentence_and_nothing_is_kept(
    client: httpx.AsyncClient, world: World, make: Make, wrong: Any
) -> None:
    me, place = world.owner, await make(client, world)
    body = place.more | {place.text: OPENS, "supersede": wrong}
    answer = await client.post(f"/v1{place.path}", headers=me.auth, json=body)
    assert answer.status_code == 422
    assert answer.text.count('must be \\"auto\\", \\"suggest\\", \\"off\\", or a list') >= 1
    assert await holding(client, me, place) == set()


@pytest.mark.parametrize("make", PLACES)
async def test_what_is_not_there_is_not_superseded_and_nothing_is_kept(
    client: httpx.AsyncClient, world: World, make: Make
) -> None:
    me, place = world.owner, await make(client, world)
    prefix = {"node": "node", "landmark": "lmk"}.get(place.kind, "mem")
    body = place.more | {place.text: OPENS, "supersede": [f"{prefix}_{'a' * 24}"]}
    await call(client, me.auth, "POST", place.path, json=body, expect=404)
    await call(client, me.auth, "POST", f"{place.path}/{prefix}_{'a' * 24}/revive", expect=404)
    assert await holding(client, me, place) == set()


@pytest.mark.parametrize("make", PLACES)
async def test_what_was_kept_again_meanwhile_is_not_there_twice(
    client: httpx.AsyncClient, world: World, make: Make
) -> None:
    me, place = world.owner, await make(client, world)
    old = await keep(client, me, place, OPENS)
    await keep(client, me, place, OPENS_NOW, supersede=[old["id"]])
    again = await keep(client, me, place, OPENS)
    assert again["id"] != old["id"]
    await call(client, me.auth, "POST", f"{place.path}/{old['id']}/revive", expect=409)


async def test_what_is_superseded_is_not_found_and_what_is_revived_is(reader: httpx.AsyncClient, world: World) -> None:
    me, place = world.owner, await workspace(reader, world)
    search = place.path.replace("/memories", "/search")

    async def found() -> set[str]:
        return {one["id"] for one in (await call(reader, me.auth, "GET", search, params={"q": "museum"}))["items"]}

    old = await keep(reader, me, place, OPENS)
    new = await keep(reader, me, place, OPENS_NOW)
    assert await found() == {new["id"]}
    await call(reader, me.auth, "POST", f"{place.path}/{old['id']}/revive")
    assert await found() == {old["id"], new["id"]}
    history = await call(reader, me.auth, "GET", f"{place.path}/{old['id']}/history")
    assert [version["change"] for version in history["items"]] == ["revived", "superseded", "created"]


async def test_another_members_memory_is_not_superseded_but_named(reader: httpx.AsyncClient, world: World) -> None:
    place = await workspace(reader, world)
    members = place.path.replace("/memories", "/members")
    body = {"user": world.member.user.email, "role": "member"}
    await call(reader, world.owner.auth, "PUT", members, json=body)
    old = await keep(reader, world.owner, place, OPENS)
    new = await keep(reader, world.member, place, OPENS_NOW)
    assert (new["superseded"], new["may_supersede"]) == ([], [old["id"]])
    body = {"content": "Closed for repairs.", "supersede": [old["id"]]}
    await call(reader, world.member.auth, "POST", place.path, json=body, expect=403)
    await keep(reader, world.owner, place, "Closed for good.", supersede=[old["id"]])
    await call(reader, world.member.auth, "POST", f"{place.path}/{old['id']}/revive", expect=403)


async def test_somebody_elses_node_is_not_revived(client: httpx.AsyncClient, world: World) -> None:
    place = await graph(client, world)
    old = await keep(client, world.owner, place, OPENS)
    await keep(client, world.owner, place, OPENS_NOW, supersede=[old["id"]])
    await call(client, world.member.auth, "POST", f"{place.path}/{old['id']}/revive", expect=403)
    await call(client, world.stranger.auth, "POST", f"{place.path}/{old['id']}/revive", expect=404)


async def test_what_was_changed_while_it_was_judged_is_not_superseded(
    reader: httpx.AsyncClient, knowing: Services, world: World
) -> None:
    """The judgement was of another text."""
    me, place = world.owner, await graph(reader, world)
    old = await keep(reader, me, place, "Nora is on the night shift.")

    class Slow:
        async def relations(self, pairs: Any, *, awaited: bool = True) -> Any:
            change = {"content": "The museum shop sells postcards."}
            await call(reader, me.auth, "PATCH", f"{place.path}/{old['id']}", json=change)
            return [Relation(update=1.0, duplicate=0.0, side_by_side=0.0, unrelated=0.0) for _ in pairs]

    async with http(make_app(replace(knowing, judge=Slow()))) as slow:
        new = await keep(slow, me, place, "Nora got the early shift in the new plan.")
    assert new["superseded"] == []
    assert await holding(reader, me, place) == {old["id"], new["id"]}


async def test_what_agents_remember_of_a_room_is_superseded_in_whatever_order_it_is_told(
    reader: httpx.AsyncClient, knowing: Services, services: Services, world: World
) -> None:
    auth = world.owner.auth
    services.embedders.active = knowing.embedders.active
    await make_agent(reader, auth)
    told = [
        (T, "We decided to meet in Lisbon for the workshop."),
        (T + timedelta(days=1), "We decided to meet in Porto instead for the workshop."),
    ]
    for order in (told, told[::-1]):
        room = await make_room(reader, auth)
        for at, text in order:
            await say(reader, auth, room, text, ts=at)
            await run_until_empty(services)
        path = f"/rooms/{room}/memories"
        held = (await call(reader, auth, "GET", path))["items"]
        assert [one["text"] for one in held] == [told[1][1]]
        every = (await call(reader, auth, "GET", path, params={"superseded": True}))["items"]
        (old,) = [one for one in every if one["superseded_by"]]
        assert (old["text"], old["superseded_by"]) == (told[0][1], held[0]["id"])
        assert (await call(reader, auth, "POST", f"{path}/{old['id']}/revive"))["superseded_by"] is None
        assert len((await call(reader, auth, "GET", path))["items"]) == 2
