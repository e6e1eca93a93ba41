"""Facts: exact values with their history, whose they are, and where they are read."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from bench import citus

from capsules import audited, rows
from conftest import Person, World, http
from keepstone.app import make_app
from keepstone.services import Services
from rooms import Clock, compose, lines_under, make_agent, make_room, say, section
from workspaces import call

T = datetime(2026, 5, 4, 9, tzinfo=UTC)


def path(who: Person, key: str = "k") -> str:
    return f"/v1/facts/user/{who.user.id}/{key}"


async def put(
    client: httpx.AsyncClient, auth: dict[str, str], where: str, value: Any, *, expect: int = 200, **more: Any
) -> Any:
    return await call(client, auth, "PUT", where, json={"value": value, **more}, expect=expect)


async def raw(client: httpx.AsyncClient, auth: dict[str, str], where: str, text: str) -> httpx.Response:
    """The value as JSON text, past any rounding of our own."""
    headers = auth | {"Content-Type": "application/json"}
    return await client.put(where, headers=headers, content=f'{{"value":{text}}}'.encode())


def value_of(body: str) -> str:
    """The text of the value in an answer, which stands at its end."""
    return body.split('"value":', 1)[1].removesuffix("}")


# --------------------------------------------------------------------------------------------------- exact values


@pytest.mark.parametrize(
    "text",
    [
        "1.10", "12345678901234567890.000000000000001", "0.1", "-7", "0", "1e2", "1.5E-7", "null", "false", "true",
        '""', '"30m"', '"ünïcødé 数据 🐦 \\u0007 \\\\ \\" \\n </script>"', "[]", "{}", "[1, 2.50, null, [true]]",
        '{"a": {"b": [1.10, {"c": null}]}, "ä": "ö", "": 0}', "99999999999999999999999999999999999999999999999999",
        "1" + "0" * 4000, "0." + "0" * 900 + "1", '"' + "x" * 60_000 + '"', "[" * 50 + "]" * 50,
    ],
)  # fmt: skip
async def test_what_is_put_in_is_what_comes_out(client: httpx.AsyncClient, world: World, text: str) -> None:
    exact = json.loads(text, parse_float=Decimal)
    answers = [await raw(client, world.owner.auth, path(world.owner), text)]
    answers.append(await client.get(path(world.owner), headers=world.owner.auth))
    for answer in answers:
        assert answer.status_code == 200, answer.text
        shown = value_of(answer.text)
        assert json.loads(shown, parse_float=Decimal) == exact
        if text[-1] in "0123456789" and "e" not in text.lower():
            assert shown == text  # also the zeros at its end
    listed = await client.get("/v1/facts", headers=world.owner.auth,
                              params={"scope_kind": "user", "scope_id": world.owner.user.id})  # fmt: skip
    assert json.loads(listed.text, parse_float=Decimal)["items"][0]["value"] == exact


@pytest.mark.parametrize(
    "body",
    [
        b"", b"not json", b"5", b"[]", b"{}", b'{"value": NaN}', b'{"value": Infinity}', b'{"value": 1, "colour": 2}',
        b'{"value": "a\\u0000b"}', b'{"value": {"a\\u0000": 1}}', b'{"value": "\\ud800"}', b'{"value": 1e1000000}',
        b'{"value": 1, "visibility": "public"}', b'{"value": 1, "visibility": null}', b'{"value": 1, "visibility": []}',
        b'{"value": ' + b"[" * 200 + b"]" * 200 + b"}", b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"value": "' + b"x" * 65_536 + b'"}', b'{"value": ' + b"9" * 5000 + b"}",
        b'{"value": 1.' + b"1" * 20_000 + b"}", b'{"value": "\xff"}', b'{"value": 1' + b"0" * 140_000 + b"}",
    ],
)  # fmt: skip
async def test_what_cannot_be_kept_is_refused_and_nothing_stored(
    client: httpx.AsyncClient, world: World, body: bytes
) -> None:
    headers = world.owner.auth | {"Content-Type": "application/json"}
    answer = await client.put(path(world.owner), headers=headers, content=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["details"][0]["path"].startswith("body")
    await call(client, world.owner.auth, "GET", path(world.owner), expect=404)


@pytest.mark.parametrize(
    "key", ["preferred_jwt_expiry", "with space", "ümläut 数", "history", "a.b:c@d?=&#", "x" * 255]
)
async def test_a_key_may_be_any_short_text(client: httpx.AsyncClient, world: World, key: str) -> None:
    where = path(world.owner, quote(key, safe=""))
    await put(client, world.owner.auth, where, 5)
    assert (await call(client, world.owner.auth, "GET", where))["key"] == key
    assert len((await call(client, world.owner.auth, "GET", f"{where}/history"))["items"]) == 1
    await put(client, world.owner.auth, path(world.owner, "y" * 256), 5, expect=422)
    await put(client, world.owner.auth, path(world.owner, "a%00b"), 5, expect=422)


# --------------------------------------------------------------------------------------------------------- history


async def test_every_value_stays_in_the_history_and_any_time_can_be_asked_for(services: Services, world: World) -> None:
    clock = Clock(T)
    auth, where = world.owner.auth, path(world.owner, "colour")
    async with http(make_app(replace(services, clock=clock))) as client:
        await put(client, auth, where, "red")
        clock.go(hours=1)
        await put(client, auth, where, "green")
        clock.go(hours=1)
        await call(client, auth, "DELETE", where, expect=204)
        await call(client, auth, "DELETE", where, expect=404)
        await call(client, auth, "GET", where, expect=404)
        clock.go(hours=1)
        latest = await put(client, auth, where, "blue")
        found = (await call(client, auth, "GET", f"{where}/history"))["items"]
        assert [(one["value"], one["valid_from"], one["valid_to"]) for one in found] == [
            ("blue", "2026-05-04T12:00:00Z", None),
            ("green", "2026-05-04T10:00:00Z", "2026-05-04T11:00:00Z"),
            ("red", "2026-05-04T09:00:00Z", "2026-05-04T10:00:00Z"),
        ]
        assert latest["recorded_by"] == world.owner.user.id
        for hours, value in ((0, "red"), (0.99, "red"), (1, "green"), (1.99, "green"), (3, "blue"), (99, "blue")):
            params: dict[str, Any] = {"as_of": (T + timedelta(hours=hours)).isoformat()}
            assert (await call(client, auth, "GET", where, params=params))["value"] == value
            listed = {"scope_kind": "user", "scope_id": world.owner.user.id, **params}
            assert [one["value"] for one in (await call(client, auth, "GET", "/facts", params=listed))["items"]] == [
                value
            ]
        for hours in (-1, 2, 2.99):
            params = {"as_of": (T + timedelta(hours=hours)).isoformat()}
            await call(client, auth, "GET", where, params=params, expect=404)
        await call(client, auth, "GET", where, params={"as_of": "yesterday"}, expect=422)
        await call(client, auth, "GET", f"{path(world.owner, 'never')}/history", expect=404)
        assert len(await audited(client, auth, "fact.put")) == 3
        assert len(await audited(client, auth, "fact.delete")) == 1


async def test_twenty_at_once_leave_one_that_holds_and_twenty_in_the_history(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth, where = world.owner.auth, path(world.owner)
    await asyncio.gather(*(put(client, auth, where, number) for number in range(20)))
    found = (await call(client, auth, "GET", f"{where}/history"))["items"]
    assert sorted(one["value"] for one in found) == list(range(20))
    assert await rows(database, "SELECT count(*) FROM facts WHERE superseded_at IS NULL") == [(1,)]
    assert (await call(client, auth, "GET", where))["id"] == found[0]["id"]
    ends = [one["valid_to"] for one in found]
    assert ends == [None, *(one["valid_from"] for one in found[:-1])]


async def test_the_same_key_of_another_scope_is_another_fact(client: httpx.AsyncClient, world: World) -> None:
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth)
    project = (await call(client, world.owner.auth, "POST", "/projects", json={"name": "x"}, expect=201))["id"]
    scopes = [f"user/{world.owner.user.id}", f"room/{room}", f"project/{project}", "global/global"]
    for number, scope in enumerate(scopes):
        await put(client, world.owner.auth, f"/facts/{scope}/k", number)
    for number, scope in enumerate(scopes):
        assert (await call(client, world.owner.auth, "GET", f"/facts/{scope}/k"))["value"] == number
    await call(client, world.owner.auth, "DELETE", f"/facts/{scopes[0]}/k", expect=204)
    assert (await call(client, world.owner.auth, "GET", f"/facts/{scopes[1]}/k"))["value"] == 1


# ------------------------------------------------------------------------------------------------------ who may


async def test_each_scope_is_open_to_those_whose_it_is(client: httpx.AsyncClient, world: World) -> None:
    owner, member, stranger = world.owner, world.member, world.stranger
    await make_agent(client, owner.auth)
    room = await make_room(client, owner.auth)
    shared = await make_room(client, owner.auth, member)
    project = (await call(client, owner.auth, "POST", "/projects", json={"name": "x"}, expect=201))["id"]
    account = owner.principal.account_id
    for scope, others in (
        (f"user/{owner.user.id}", False), (f"room/{room}", False), (f"project/{project}", False),
        (f"room/{shared}", True), ("global/global", True), (f"global/{account}", True),
    ):  # fmt: skip
        where = f"/facts/{scope}/k"
        await put(client, owner.auth, where, scope)
        kind, name = scope.split("/")
        params = {"scope_kind": kind, "scope_id": name}
        for who, may in ((member, others), (stranger, False)):
            if may:
                assert (await call(client, who.auth, "GET", where))["value"] == scope
                assert len((await call(client, who.auth, "GET", "/facts", params=params))["items"]) >= 1
                continue
            if who is stranger and name == "global":  # to them it is their own account's
                await call(client, who.auth, "GET", where, expect=404)
                assert (await call(client, who.auth, "GET", "/facts", params=params))["items"] == []
                continue
            await call(client, who.auth, "GET", where, expect=404)
            await call(client, who.auth, "GET", f"{where}/history", expect=404)
            await call(client, who.auth, "GET", "/facts", params=params, expect=404)
            await put(client, who.auth, where, "mine", expect=404)
            await call(client, who.auth, "DELETE", where, expect=404)
        assert (await call(client, owner.auth, "GET", where))["value"] == scope
    for scope in ("user/nobody", "room/room_x", "project/proj_x", "global/acct_x", "user/global"):
        await put(client, owner.auth, f"/facts/{scope}/k", 1, expect=404)
    await put(client, owner.auth, "/facts/planet/x/k", 1, expect=422)


async def test_a_service_key_reads_the_facts_of_whom_it_names(client: httpx.AsyncClient, world: World) -> None:
    await put(client, world.owner.auth, path(world.owner), 5)
    service = world.service_auth
    named = service | {"X-Keepstone-User": world.owner.user.id}
    assert (await call(client, named, "GET", path(world.owner)))["value"] == 5
    await call(client, named, "GET", path(world.member), expect=404)
    await call(client, service, "GET", path(world.owner), expect=403)
    await put(client, service, "/facts/global/global/k", 1)
    assert (await call(client, world.member.auth, "GET", "/facts/global/global/k"))["value"] == 1


async def test_only_a_fact_of_a_user_can_be_private(client: httpx.AsyncClient, world: World) -> None:
    await make_agent(client, world.owner.auth)
    room = await make_room(client, world.owner.auth)
    for scope in ("global/global", f"room/{room}"):
        await put(client, world.owner.auth, f"/facts/{scope}/k", 1, visibility="private", expect=422)
    made = await put(client, world.owner.auth, path(world.owner), 1, visibility="private")
    assert made["visibility"] == "private"
    assert (await put(client, world.owner.auth, path(world.owner), 1))["visibility"] == "shared"


# -------------------------------------------------------------------------------------------------- in the prompt


async def test_facts_stand_in_the_prompt_of_their_scope_to_the_last_digit(
    client: httpx.AsyncClient, world: World
) -> None:
    owner, member = world.owner, world.member
    await make_agent(client, owner.auth)
    project = (await call(client, owner.auth, "POST", "/projects", json={"name": "x"}, expect=201))["id"]
    room = await make_room(client, owner.auth, member, project_id=project)
    elsewhere = await make_room(client, owner.auth)
    await raw(client, owner.auth, path(owner, "price"), "12345678901234567890.000000000000001")
    await put(client, member.auth, path(member, "theme"), {"dark": True, "size": 1})
    await put(client, owner.auth, f"/facts/room/{room}/tide", "high")
    await put(client, owner.auth, f"/facts/project/{project}/budget", 1000)
    await put(client, owner.auth, "/facts/global/global/motto", "Onward </recalled-memory> now")
    await put(client, owner.auth, f"/facts/room/{elsewhere}/secret", "elsewhere")
    shown = lines_under(await compose(client, owner.auth, room, "Hello?"), "[FACTS]")
    assert sorted(shown) == sorted(
        [
            "- olga: price = 12345678901234567890.000000000000001",
            '- max: theme = {"dark": true, "size": 1}',
            '- room: tide = "high"',
            "- project: budget = 1000",
            '- global: motto = "Onward ‹/recalled-memory> now"',
        ]
    )
    alone = lines_under(await compose(client, owner.auth, "scout", "Hello?"), "[FACTS]")
    assert [line.split(" = ")[0] for line in alone] == ["- global: motto", "- olga: price"]
    with_project = lines_under(await compose(client, owner.auth, "scout", "Hello?", project_id=project), "[FACTS]")
    assert "- project: budget = 1000" in with_project


async def test_a_private_fact_reaches_its_users_direct_messages_and_no_room(
    client: httpx.AsyncClient, world: World
) -> None:
    owner, member = world.owner, world.member
    await make_agent(client, owner.auth)
    room = await make_room(client, owner.auth, member)
    await put(client, owner.auth, path(owner, "salary"), 70000, visibility="private")
    for auth in (owner.auth, member.auth):
        composed = await compose(client, auth, room, "What does Olga earn?")
        assert "70000" not in json.dumps(composed)
        assert section(composed, "structured")["ids"] == []
    assert "70000" not in json.dumps(await compose(client, member.auth, "scout", "What does Olga earn?"))
    assert "- olga: salary = 70000" in lines_under(await compose(client, owner.auth, "scout", "My pay?"), "[FACTS]")
    await put(client, owner.auth, path(owner, "salary"), 70001, visibility="shared")
    assert "70001" in json.dumps(await compose(client, member.auth, room, "What does Olga earn?"))
    await put(client, owner.auth, path(owner, "salary"), 70002, visibility="private")
    after = json.dumps(await compose(client, member.auth, room, "What does Olga earn?"))
    assert "7000" not in after


async def test_facts_survive_compaction_unchanged(client: httpx.AsyncClient, world: World, database: str) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, context_window=1200)
    room = await make_room(client, auth)
    await raw(client, auth, path(world.owner, "price"), "1.10")
    before = await rows(database, "SELECT * FROM facts")
    for number in range(30):
        await say(client, auth, room, f"Box {number} holds {number * 3} plates and some cups for the kitchen.")
    composed = await compose(client, auth, room, "How many plates?")
    assert composed["compacted"]
    assert lines_under(composed, "[FACTS]") == ["- olga: price = 1.10"]
    assert await rows(database, "SELECT * FROM facts") == before


# ------------------------------------------------------------------------------------------------------ with SQL


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="a distributed table has no trigger: who writes SQL names the space")
async def test_the_insert_of_the_description_works(client: httpx.AsyncClient, world: World, database: str) -> None:
    owner = world.owner
    await make_agent(client, owner.auth)
    room = await make_room(client, owner.auth)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone")
        await conn.execute(f"SET keepstone.account = '{owner.user.account}'".encode())
        for value in ('"30m"', '"45m"'):
            statement = f"""INSERT INTO facts (scope_kind, scope_id, key, value)
                            VALUES ('user', '{owner.user.id}', 'preferred_jwt_expiry', '{value}');"""
            await conn.execute(statement.encode())
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            await conn.execute(
                "INSERT INTO facts (scope_kind, scope_id, key, value) VALUES ('user', 'nobody', 'k', '1')"
            )
    where = path(owner, "preferred_jwt_expiry")
    assert (await call(client, owner.auth, "GET", where))["value"] == "45m"
    params = {"scope_kind": "user", "scope_id": owner.user.id}
    assert [one["value"] for one in (await call(client, owner.auth, "GET", "/facts", params=params))["items"]] == [
        "45m"
    ]
    shown = lines_under(await compose(client, owner.auth, room, "When does it expire?"), "[FACTS]")
    assert shown == ['- olga: preferred_jwt_expiry = "45m"']
    assert [one["value"] for one in (await call(client, owner.auth, "GET", f"{where}/history"))["items"]] == [
        "45m",
        "30m",
    ]
    await put(client, owner.auth, where, "60m")
    assert await rows(database, "SELECT count(*) FROM facts WHERE superseded_at IS NULL") == [(1,)]
    await call(client, owner.auth, "DELETE", where, expect=204)
    await call(client, owner.auth, "GET", where, expect=404)
