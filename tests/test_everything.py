"""One list of all memory and one trash for everything: every kind stands there, for whom it is, and comes back."""

from typing import Any

import httpx
from fastapi import FastAPI

from conftest import World, http
from keepstone.access import keys
from keepstone.memory import participants, room_memories, rooms
from keepstone.memory.superseding import AUTO
from keepstone.model.everything import MEMORY_KINDS
from keepstone.model.principal import KeySurface
from keepstone.services import Services
from leaks import CANARY, make_victim

ALL = "/v1/memory/all"


async def everything(client: httpx.AsyncClient, auth: dict[str, str], path: str = ALL, **params: Any) -> list[Any]:
    """Page by page."""
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        answer = await client.get(path, headers=auth, params={"limit": 3, **params, **cursor})
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        if not answer.json()["has_more"]:
            return found
        cursor = {"cursor": answer.json()["next_cursor"]}


async def counts(client: httpx.AsyncClient, auth: dict[str, str], **params: Any) -> dict[str, dict[str, int]]:
    told = (await client.get(f"{ALL}/counts", headers=auth, params=params)).json()
    return {by: {one["value"]: one["count"] for one in values} for by, values in told.items()}


async def test_every_kind_stands_in_one_list_and_the_counts_are_those_of_the_list(
    app: FastAPI, services: Services, world: World
) -> None:
    victim = await make_victim(services, world)
    auth = world.owner.auth
    async with http(app) as client:
        listed = await everything(client, auth, superseded="true")
        assert {one["kind"] for one in listed} == set(MEMORY_KINDS)
        assert [one["created_at"] for one in listed] == sorted((one["created_at"] for one in listed), reverse=True)
        assert len({one["id"] for one in listed}) == len(listed)
        told = await counts(client, auth, superseded="true")
        for name in ("kind", "user", "agent", "source"):
            values = {one[name] for one in listed} - {None}
            assert told[name] == {value: sum(one[name] == value for one in listed) for value in values}
            for value in values:
                some = await everything(client, auth, superseded="true", **{name: value})
                assert [one["id"] for one in some] == [one["id"] for one in listed if one[name] == value]

        # Each count stands under the other filters, and not under its own.
        narrowed = await counts(client, auth, superseded="true", kind="capsule", source="saved")
        saved = [one for one in listed if one["source"] == "saved"]
        assert narrowed["kind"] == {kind: sum(one["kind"] == kind for one in saved) for kind in narrowed["kind"]}
        assert set(narrowed["source"]) == {"saved"}

        holding = await everything(client, auth)
        assert {one["id"] for one in holding} == {one["id"] for one in listed if not one["superseded"]}
        capsule = next(one for one in listed if one["id"] == victim.objects["capsule_id"])
        assert (capsule["place"]["kind"], capsule["user_name"]) == ("vault", CANARY)
        found = await everything(client, auth, q=f"{CANARY.upper()}", kind="capsule")
        assert capsule["id"] in {one["id"] for one in found}
        assert await everything(client, auth, q="nobody-said-this") == []
        assert await everything(client, auth, **{"from": "2200-01-01T00:00:00Z"}) == []

        items = await everything(client, auth, kind="item")
        [*labels] = items[0]["namespace"]
        assert items[0]["id"] in {one["id"] for one in await everything(client, auth, namespace=labels[0])}
        assert await everything(client, auth, namespace="elsewhere") == []
        of_entity = await everything(client, auth, kind="entity_memory")
        assert {one["user"] for one in of_entity} == {one["place"]["entity"]["user_id"] for one in of_entity}

        for one in listed:
            answer = await client.get(f"{ALL}/{one['id']}", headers=auth)
            assert answer.status_code == 200, answer.text
            whole = answer.json()
            assert whole["changeable"]
            assert whole["versions"][0]["text"] == whole["text"]
            assert (whole["superseded_by"] is not None) <= one["superseded"]


async def test_all_that_was_deleted_lies_in_one_trash_and_comes_back_from_there(
    app: FastAPI, services: Services, world: World
) -> None:
    await make_victim(services, world)
    auth = world.owner.auth
    async with http(app) as client:
        gone = await everything(client, auth, "/v1/trash")
        kinds = {one["kind"] for one in gone}
        expected = {*MEMORY_KINDS, "message", "statement", "chat", "file", "artifact", "workspace", "room", "project"}
        assert kinds == expected | {"graph"}
        told = (await client.get("/v1/trash/counts", headers=auth)).json()["items"]
        assert {one["kind"]: one["count"] for one in told} == {
            kind: sum(one["kind"] == kind for one in gone) for kind in kinds
        }
        assert all(one["restorable"] for one in gone)
        assert {one["deleted_by_name"] for one in gone if one["kind"] in {"capsule", "message", "file"}} == {CANARY}
        only = await everything(client, auth, "/v1/trash", kind="capsule")
        assert {one["id"] for one in only} == {one["id"] for one in gone if one["kind"] == "capsule"}

        named = [{"kind": one["kind"], "id": one["id"]} for one in gone]
        missing = {"kind": "capsule", "id": "cap_" + "x" * 24}
        answer = await client.post("/v1/trash/restore", headers=auth, json={"items": [*named, missing]})
        assert answer.status_code == 200, answer.text
        *back, not_there = answer.json()["items"]
        refused = [one for one in back if not one["restored"]]
        assert {one["code"] for one in refused} <= {"conflict"}, refused  # the same was kept again
        assert (not_there["restored"], not_there["code"]) == (False, "not_found")
        left = await everything(client, auth, "/v1/trash")
        assert {one["id"] for one in left} >= {one["id"] for one in refused}
        assert not {one["id"] for one in left} & {one["id"] for one in back if one["restored"]}
        again = await client.post("/v1/trash/restore", headers=auth, json={"items": [missing]})
        assert again.status_code == 404


async def test_nobody_sees_more_there_than_where_it_lies(app: FastAPI, services: Services, world: World) -> None:
    victim = await make_victim(services, world)
    async with http(app) as client:
        # To a member the account's graphs are there, and nothing else of the others'.
        assert {one["kind"] for one in await everything(client, world.member.auth)} == {"node"}
        assert await everything(client, world.member.auth, "/v1/trash") == []
        assert await everything(client, world.stranger.auth) == []
        by_service = await everything(client, world.service_auth)
        assert {one["kind"] for one in by_service} <= {"node", "entity_memory", "item"}

        opened: dict[KeySurface, str] = {"capsules": "capsule", "mem0": "entity_memory", "stores": "item"}
        for surface, kind in opened.items():
            _, secret = await keys.create_key(services, world.owner.principal, name="k", surfaces=[surface])
            limited = {"Authorization": f"Bearer {secret}"}
            assert {one["kind"] for one in await everything(client, limited, superseded="true")} == {kind}
            assert {one["kind"] for one in await everything(client, limited, "/v1/trash")} == {kind}
            other = await client.get(f"{ALL}/{victim.objects['memory_id']}", headers=limited)
            assert other.status_code == 404
        room = victim.objects["room_id"]
        _, secret = await keys.create_key(services, world.owner.principal, name="k", spaces=[room])
        within = await everything(client, {"Authorization": f"Bearer {secret}"}, superseded="true")
        assert {one["place"]["id"] for one in within} == {room}


async def test_who_left_a_room_no_longer_sees_what_is_remembered_of_it(
    app: FastAPI, services: Services, world: World
) -> None:
    owner, member = world.owner, world.member
    made = await rooms.create(
        services, owner.principal, name="Kitchen", project_id=None, participants=[], agents=[]
    )  # fmt: skip
    await participants.join(services, owner.principal, made.room.id, member.user.id)
    async with http(app) as client:
        for invitation in (await client.get("/v1/invitations", headers=member.auth)).json()["items"]:
            await client.post(f"/v1/invitations/{invitation['id']}/accept", headers=member.auth)
        await room_memories.pin(services, owner.principal, made.room.id, text="We bake on Fridays.", wish=AUTO)
        [seen] = await everything(client, member.auth, kind="landmark")
        assert (seen["place"]["name"], seen["text"]) == ("Kitchen", "We bake on Fridays.")
        left = await client.delete(f"/v1/rooms/{made.room.id}/participants/{member.user.id}", headers=member.auth)
        assert left.status_code == 204, left.text
        assert await everything(client, member.auth) == []
        assert (await client.get(f"{ALL}/{seen['id']}", headers=member.auth)).status_code == 404
