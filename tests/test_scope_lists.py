"""Scopes are listed with what was said in them, which is never rewritten."""

from typing import Any

import httpx
import psycopg
import pytest

from conftest import World
from keepstone.jobs.worker import run_until_empty
from keepstone.services import Services
from test_scopes import ingest, said

ODD = (
    "a/b",
    "a/messages",
    "a/people/x",
    "zwölf Äpfel & 日本 🚢",
    "..",
    "a/../b",
    ".",
    "100%",
    "a?b#c",
    "a\nb",
    "x" * 255,
)


def address(scope: str, end: str = "messages") -> str:
    """Every byte of it percent-encoded: then nobody takes a dot or a slash for one of their own."""
    return f"/v1/scopes/{''.join(f'%{byte:02X}' for byte in scope.encode())}/{end}"


async def get(client: httpx.AsyncClient, auth: dict[str, str], path: str, **params: Any) -> Any:
    answer = await client.get(path, headers=auth, params=params or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_callers_scopes_are_listed_the_newest_first(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    assert await get(client, auth, "/v1/scopes") == {"items": [], "next_cursor": None, "has_more": False}
    await ingest(client, auth, [turn | {"ts": "2026-01-02T03:04:05Z"} for turn in said()], "first")
    await ingest(client, auth, said(), "second")
    await ingest(client, auth, said(), "second")  # nothing new
    await ingest(client, auth, [{"speaker": "a", "text": "…"}], "second")  # nothing of it can be found
    await ingest(client, world.member.auth, said(), "another's")
    second, first = (await get(client, auth, "/v1/scopes"))["items"]
    assert (first["scope_id"], first["messages"], first["last_at"]) == ("first", 5, "2026-01-02T03:04:05Z")
    assert (second["scope_id"], second["messages"]) == ("second", 6)
    assert first["size_bytes"] > 200
    page = await get(client, auth, "/v1/scopes", limit=1)
    assert [one["scope_id"] for one in page["items"]] == ["second"]
    rest = await get(client, auth, "/v1/scopes", limit=1, cursor=page["next_cursor"])
    assert ([one["scope_id"] for one in rest["items"]], rest["has_more"]) == (["first"], False)


async def test_a_service_key_lists_the_accounts_and_a_limited_key_its_own(
    client: httpx.AsyncClient, world: World
) -> None:
    await ingest(client, world.owner.auth, said(), "mine")
    await ingest(client, world.owner.auth, said(), "other")
    service = {"Authorization": f"Bearer {world.service_key}"}
    await ingest(client, service, said(), "ours")
    assert [one["scope_id"] for one in (await get(client, service, "/v1/scopes"))["items"]] == ["ours"]
    made = await client.post(
        "/v1/keys", headers=world.owner.auth, json={"name": "one", "spaces": ["scope:mine"], "permission": "read"}
    )
    limited = {"Authorization": f"Bearer {made.json()['key']}"}
    assert [one["scope_id"] for one in (await get(client, limited, "/v1/scopes"))["items"]] == ["mine"]
    assert len((await get(client, limited, address("mine")))["items"]) == 5
    assert (await get(client, limited, address("other")))["items"] == []


async def test_what_was_said_is_listed_in_order_page_by_page(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    turns: list[dict[str, Any]] = [
        {"speaker": "Anna", "text": f"turn {n}", "ts": f"2026-01-0{1 + n // 2}T10:00:00Z", "id": f"t{n}"}
        for n in range(6)
    ]
    turns[3] |= {"speaker": "Ben", "reply_to": "t2", "metadata": {"channel": "x"}}
    await ingest(client, auth, turns[2:])
    await ingest(client, auth, turns[:2])
    seen: list[Any] = []
    cursor = None
    while True:
        page = await get(client, auth, address("team"), limit=2, **({"cursor": cursor} if cursor else {}))
        seen += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert [one["id"] for one in seen] == [f"t{n}" for n in range(6)]
    ben = next(one for one in seen if one["speaker"] == "Ben")
    assert ben.pop("message_id").startswith("msg_")
    assert ben == {
        "id": "t3", "speaker": "Ben", "text": "turn 3", "ts": "2026-01-02T10:00:00Z", "reply_to": "t2",
        "metadata": {"channel": "x"},
    }  # fmt: skip
    asked = await get(client, auth, address("team"), speaker="Ben")
    assert [one["id"] for one in asked["items"]] == ["t3"]
    between = {"from": "2026-01-02T00:00:00Z", "to": "2026-01-03T10:00:00Z"}
    asked = await get(client, auth, address("team"), **between)
    assert [one["id"] for one in asked["items"]] == ["t2", "t3"]


async def test_of_a_scope_in_which_nobody_spoke_there_is_nothing(client: httpx.AsyncClient, world: World) -> None:
    await ingest(client, world.owner.auth, said())
    for auth in (world.member.auth, world.stranger.auth):
        assert (await get(client, auth, address("team")))["items"] == []


@pytest.mark.parametrize("scope", ODD)
async def test_a_scope_is_reached_by_whatever_name_it_has(
    client: httpx.AsyncClient, services: Services, world: World, scope: str
) -> None:
    auth = world.owner.auth
    await ingest(client, auth, [{"speaker": "Anna", "text": "I live in Porto.", "id": scope}], scope)
    await ingest(client, auth, [{"speaker": "Ben", "text": "I live in Oslo."}], "a")
    await run_until_empty(services)
    assert [one["id"] for one in (await get(client, auth, address(scope)))["items"]] == [scope]
    (known,) = (await get(client, auth, address(scope, "people")))["items"]
    assert known["text"] == "Anna lives in Porto"
    assert (await get(client, auth, address(scope, f"people/{known['id']}")))["id"] == known["id"]
    assert scope in [one["scope_id"] for one in (await get(client, auth, "/v1/scopes"))["items"]]


async def test_a_name_that_no_scope_can_have_is_refused(client: httpx.AsyncClient, world: World) -> None:
    for path in (address("x" * 256), address("a\0b"), address("x" * 256, "people")):
        assert (await client.get(path, headers=world.owner.auth)).status_code == 422


async def test_what_was_said_can_only_be_added_to(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    auth = world.member.auth
    await ingest(client, auth, said())
    (first, *_) = (await get(client, auth, address("team")))["items"]
    for method in ("PATCH", "PUT", "DELETE", "POST"):
        assert (await client.request(method, address("team"), headers=auth)).status_code == 405
        one = await client.request(method, f"{address('team')}/{first['message_id']}", headers=auth)
        assert one.status_code == 404
        assert (await client.request(method, address("team", "")[:-1], headers=auth)).status_code == 404
    await client.delete(f"/v1/users/{world.member.user.id}", headers=world.owner.auth)
    await run_until_empty(services)
    async with await psycopg.AsyncConnection.connect(database) as conn:
        left = await (await conn.execute("SELECT count(*) FROM keepstone.messages")).fetchall()
    assert left == [(0,)], "but whoever is erased takes what they kept with them"


async def test_a_transcript_is_read_both_ways_from_a_message_and_scopes_are_found_by_a_part_of_their_name(
    client: httpx.AsyncClient, world: World
) -> None:
    auth = world.owner.auth
    turns = [{"speaker": "Ida", "text": f"line {n}", "ts": f"2026-01-01T00:0{n}:00Z"} for n in range(6)]
    await ingest(client, auth, turns, "Harbour talk")
    await ingest(client, auth, said(), "garden")
    path = address("Harbour talk")

    async def lines(**params: Any) -> list[str]:
        return [one["text"] for one in (await get(client, auth, path, **params))["items"]]

    middle = (await get(client, auth, path))["items"][3]["message_id"]
    assert await lines(at_message=middle) == ["line 3", "line 4", "line 5"]
    assert await lines(at_message=middle, latest_first=True) == ["line 2", "line 1", "line 0"]
    first = await get(client, auth, path, at_message=middle, latest_first=True, limit=2)
    assert await lines(at_message=middle, latest_first=True, cursor=first["next_cursor"]) == ["line 0"]
    assert (await lines(latest_first=True))[0] == "line 5"
    assert await lines(at_message="msg_nobody") == []
    assert [one["scope_id"] for one in (await get(client, auth, "/v1/scopes", q="HARB"))["items"]] == ["Harbour talk"]
    assert await get(client, world.member.auth, path, at_message=middle) == {
        "items": [], "next_cursor": None, "has_more": False,
    }  # fmt: skip
