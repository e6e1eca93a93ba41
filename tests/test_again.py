"""The same text kept again: what is new beside it is added, the answer says so, and nothing else changes."""

from typing import Any

import httpx
import pytest

from capsules import rows
from conftest import World
from graphs import store
from keepstone.app import make_app
from keepstone.services import Services
from mem0_client import connect
from rooms import make_agent, remember
from workspaces import call, make_chat

TEXT = "Die Pumpe im Keller läuft mit 230 Volt."


async def audited(database: str, action: str) -> int:
    ((number,),) = await rows(database, "SELECT count(*) FROM audit WHERE action = %s", [action])
    return number


async def test_a_capsule_kept_again_has_the_new_tags_kind_metadata_and_source_too(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth, path = world.owner.auth, "/memory/capsules"
    source = {"chat_id": f"chat_{'a' * 24}", "message_id": f"msg_{'b' * 24}"}
    later = {"chat_id": f"chat_{'c' * 24}", "message_id": f"msg_{'d' * 24}"}
    first = await call(client, auth, "POST", path, json={"content_md": TEXT, "tags": ["pump"], "metadata": {"a": 1}},
                       expect=201)  # fmt: skip
    assert not {"existing", "added"} & set(first)
    given = {
        "content_md": TEXT,
        "tags": ["cellar", "pump"],
        "kind": "decision",
        "metadata": {"b": [2]},
        "source": source,
    }
    again = await call(client, auth, "POST", path, json=given, expect=201)
    assert again["id"] == first["id"]
    assert again["existing"]
    assert again["added"] == {"tags": ["cellar"], "kind": "decision", "metadata": {"b": [2]}, "source": source}
    kept = await call(client, auth, "GET", f"{path}/{first['id']}")
    assert (kept["tags"], kept["kind"], kept["source"]) == (["pump", "cellar"], "decision", source)
    assert kept["metadata"] == {"a": 1, "b": [2]}
    history = (await call(client, auth, "GET", f"{path}/{first['id']}/history"))["items"]
    assert [(one["change"], one["tags"]) for one in history] == [
        ("updated", ["pump", "cellar"]), ("created", ["pump"]),
    ]  # fmt: skip
    assert await audited(database, "capsule.update") == 1
    # From somewhere else it is from both; and what is known changes nothing.
    other = await call(client, auth, "POST", path, json={"content_md": TEXT, "source": later}, expect=201)
    assert other["added"] == {"source": later}
    assert (other["source"], other["metadata"]["sources"]) == (source, [later])
    for body in ({"content_md": TEXT}, {"content_md": TEXT, "source": later}, given):
        same = await call(client, auth, "POST", path, json=body, expect=201)
        assert (same["existing"], same["added"], same["updated_at"]) == (True, {}, other["updated_at"])
    assert await audited(database, "capsule.update") == 2
    (found,) = (await call(client, auth, "GET", path, params={"tag": "cellar"}))["items"]
    assert found["id"] == first["id"]


async def test_what_would_be_too_much_together_is_refused_and_nothing_changes(
    client: httpx.AsyncClient, world: World
) -> None:
    auth, path = world.owner.auth, "/memory/capsules"
    large = {"content_md": TEXT, "metadata": {"a": "x" * 600_000}}
    first = await call(client, auth, "POST", path, json=large, expect=201)
    await call(client, auth, "POST", path, json=large | {"metadata": {"b": "y" * 600_000}}, expect=413)
    assert (await call(client, auth, "GET", f"{path}/{first['id']}"))["metadata"] == large["metadata"]


async def test_the_conductor_says_what_was_added(client: httpx.AsyncClient, world: World) -> None:
    async def save(**more: Any) -> Any:
        arguments = {"mode": "save_memory", "content_md": TEXT, **more}
        params = {"name": "conductor_ask", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return (await client.post("/v1/mcp", headers=world.owner.auth, json=body)).json()["result"]

    assert (await save())["content"][0]["text"].startswith("Saved.")
    again = await save(tags=["cellar"])
    assert again["content"][0]["text"].startswith("This was saved already. Added to it: tags.")
    assert again["structuredContent"]["added"] == {"tags": ["cellar"]}
    assert (await save())["content"][0]["text"].startswith("This was saved already.\n")


async def test_a_node_stored_again_has_the_new_metadata_and_type_too(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    path = "/graphs/default/nodes"
    first = await call(client, auth, "POST", path, json={"content": TEXT}, expect=201)
    given = {"content": TEXT, "node_type": "fact", "metadata": {"room": "cellar"}}
    again = await call(client, auth, "POST", path, json=given, expect=200)
    assert (again["id"], again["existing"]) == (first["id"], True)
    assert again["added"] == {"node_type": "fact", "metadata": {"room": "cellar"}}
    assert (again["node_type"], again["metadata"]) == ("fact", {"room": "cellar"})
    same = await call(client, auth, "POST", path, json=given, expect=200)
    assert (same["id"], same["added"]) == (first["id"], {})
    assert await audited(database, "node.update") == 1
    # Said of something else it is something else.
    other = await call(client, auth, "POST", path, json=given | {"metadata": {"room": "attic"}}, expect=201)
    assert other["id"] != first["id"]


async def test_what_somebody_may_not_change_is_not_added_to_and_not_lost_either(
    client: httpx.AsyncClient, world: World
) -> None:
    path = "/graphs/default/nodes"
    first = await call(client, world.owner.auth, "POST", path, json={"content": TEXT}, expect=201)
    own = await call(client, world.member.auth, "POST", path, json={"content": TEXT, "metadata": {"a": 1}}, expect=201)
    assert own["id"] != first["id"]
    known = await call(client, world.member.auth, "POST", path, json={"content": TEXT}, expect=200)
    assert (known["id"], known["added"]) == (first["id"], {})
    assert (await call(client, world.owner.auth, "GET", f"{path}/{first['id']}"))["metadata"] == {}


async def test_a_memory_of_a_workspace_saved_again_has_the_new_category_and_source_too(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    chats = [await make_chat(client, auth, title=name) for name in ("one", "two")]
    first = await call(client, auth, "POST", f"/chats/{chats[0]}/memory", json={"content": TEXT}, expect=201)
    again = await call(client, auth, "POST", f"/chats/{chats[1]}/memory",
                       json={"content": TEXT, "category": "house"}, expect=200)  # fmt: skip
    assert (again["id"], again["deduplicated"], again["category"]) == (first["id"], True, "house")
    assert again["added"] == {"category": "house", "source": {"chat_id": chats[1]}}
    same = await call(client, auth, "POST", f"/chats/{chats[1]}/memory", json={"content": TEXT}, expect=200)
    assert "added" not in same
    assert await audited(database, "memory.update") == 1


async def test_a_profile_memory_kept_again_is_called_what_it_is_now(client: httpx.AsyncClient, world: World) -> None:
    auth, me = world.owner.auth, world.owner.user.id
    await make_agent(client, auth)
    first = await remember(client, auth, me, TEXT)
    assert not {"existing", "added"} & set(first)
    again = await remember(client, auth, me, TEXT, type="preference")
    assert (again["id"], again["existing"], again["added"]) == (first["id"], True, {"type": "preference"})
    body = {"text": TEXT, "type": "preference"}
    await call(client, auth, "POST", f"/profiles/{me}/memories", json=body, expect=409)
    (kept,) = (await call(client, auth, "GET", f"/profiles/{me}/memories"))["items"]
    assert kept["type"] == "preference"


@pytest.mark.parametrize("text", ["I am allergic to walnuts.", "我对核桃过敏。"])
async def test_what_mem0_reads_again_has_the_new_metadata_and_categories_too(
    services: Services, world: World, text: str
) -> None:
    mem0 = await connect(make_app(services), world.owner.key)
    (first,) = await mem0.add(text, user_id="anna")
    (again,) = await mem0.add(text, user_id="anna", metadata={"from": "kitchen"})
    assert (again["id"], again["event"]) == (first["id"], "UPDATE")
    (kept,) = (await mem0.call("get_all", filters={"user_id": "anna"}))["results"]
    assert kept["metadata"] == {"from": "kitchen"}
    assert not [one for one in await mem0.add(text, user_id="anna") if one["event"] != "NOOP"]


async def test_a_tool_that_stores_again_says_what_was_added(client: httpx.AsyncClient, world: World) -> None:
    await store(client, world.owner.auth, TEXT)
    again = await store(client, world.owner.auth, TEXT, metadata={"room": "cellar"})
    assert again["added"] == {"metadata": {"room": "cellar"}}
