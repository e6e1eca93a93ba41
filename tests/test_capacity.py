"""What counts against a user's capacity beside capsules: versions, metadata, stores, scopes, and what mem0 keeps."""

import asyncio
from importlib.resources import files
from typing import Any

import httpx
import pytest
from bench import citus

from capsules import OVERHEAD, rows
from conftest import World
from keepstone.access import operator
from keepstone.services import Services
from keepstone.store.migrate import migrations
from rooms import make_agent, make_room
from rooms import say as say_in_room
from workspaces import Auth, call, make_chat, make_workspace, say

KB = 1024
OLGA = "olga@example.org"


async def used(client: httpx.AsyncClient, auth: Auth) -> int:
    return (await call(client, auth, "GET", "/memory/usage"))["bytes_used"]


async def keep(client: httpx.AsyncClient, auth: Auth, size: int, **more: Any) -> str:
    body = {"title": "t", "content_md": "x" * (size - 1), **more}
    return (await call(client, auth, "POST", "/memory/capsules", json=body, expect=201))["id"]


async def put(
    client: httpx.AsyncClient, auth: Auth, store: str, text: str, *, key: str = "k", expect: Any = 200
) -> Any:
    body = {"namespace": ["a"], "key": key, "value": {"t": text}}
    return await call(client, auth, "PUT", f"/stores/{store}/items", json=body, expect=expect)


async def ingest(client: httpx.AsyncClient, auth: Auth, text: str, *, expect: int = 202, **more: Any) -> Any:
    turn = {"speaker": "Ben", "text": text, **more}
    return await call(client, auth, "POST", "/ingest", json={"scope_id": "s", "transcript": [turn]}, expect=expect)


async def add(client: httpx.AsyncClient, auth: Auth, text: str, *, user: str = "anna", expect: int = 200) -> Any:
    body = {"messages": [{"role": "user", "content": text}], "infer": False, "user_id": user}
    answer = await client.post("/v3/memories/add/", json=body, headers=auth)
    assert answer.status_code == expect, answer.text
    return answer.json()


async def test_earlier_versions_of_a_capsule_count_beyond_what_every_capsule_counts_for(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    capsule = await keep(client, auth, 20 * KB)
    assert await used(client, auth) == 20 * KB + OVERHEAD
    path = f"/memory/capsules/{capsule}"
    await call(client, auth, "PATCH", path, json={"content_md": "y" * (10 * KB - 1)})
    assert await used(client, auth) == 10 * KB + 20 * KB, "the version before, of which 8 KB were counted already"
    await call(client, auth, "PATCH", path, json={"tags": ["one"]})
    assert await used(client, auth) == 10 * KB + 30 * KB, "each version is kept whole"
    await operator.set_allowance(services, OLGA, quota_bytes=45 * KB)
    refused = await call(client, auth, "PATCH", path, json={"tags": ["two"]}, expect=429)
    assert refused["error"]["details"] == {"bytes_used": 40 * KB, "bytes_needed": 10 * KB, "quota_bytes": 45 * KB}
    await call(client, auth, "DELETE", path, expect=204)
    assert await used(client, auth) == 0
    await call(client, auth, "POST", f"{path}/restore", expect=429)


async def test_metadata_counts_beyond_what_every_capsule_counts_for(client: httpx.AsyncClient, world: World) -> None:
    auth = world.owner.auth
    await keep(client, auth, 1 * KB, metadata={"a": "x" * 100})
    assert await used(client, auth) == 1 * KB + OVERHEAD
    await keep(client, auth, 2 * KB, metadata={"a": "x" * (20 * KB - len('{"a": ""}'))})
    assert await used(client, auth) == (1 * KB + OVERHEAD) + (2 * KB + 20 * KB)


async def test_metadata_counts_as_the_bytes_it_is_in_every_version(client: httpx.AsyncClient, world: World) -> None:
    """Not as what JSON without letters of other scripts would take, and also when another version takes its place."""
    auth = world.owner.auth
    large = {"a": "ж" * (100 * KB)}
    size = 2 * 100 * KB + len('{"a": ""}')
    capsule = await keep(client, auth, 1 * KB, metadata=large)
    assert await used(client, auth) == 1 * KB + size
    path = f"/memory/capsules/{capsule}"
    await call(client, auth, "PATCH", path, json={"metadata": {}})
    assert await used(client, auth) == 2 * KB + size, "the version before has it still"
    await call(client, auth, "DELETE", path, expect=204)
    assert await used(client, auth) == 0
    await call(client, auth, "POST", f"{path}/restore")
    assert await used(client, auth) == 4 * KB + size, "as has the trash"
    await keep(client, auth, 2, metadata={"a": "ж" * (400 * KB)})  # 800 KB, not 2.4 MB


async def test_stores_scopes_and_what_is_kept_for_entities_count(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    await put(client, auth, "notes", "x" * 1000)
    sizes = [len('{"t": ""}') + 1000]
    assert await used(client, auth) == sum(sizes)
    await put(client, auth, "notes", "x" * 500)
    sizes.append(len('{"t": ""}') + 500)
    assert await used(client, auth) == sum(sizes), "and the version before"
    for _ in range(2):
        await ingest(client, auth, "y" * 2000, id="m1", metadata={"a": 1})
    sizes.append(len("Ben") + 2000 + len('{"a": 1}'))
    assert await used(client, auth) == sum(sizes), "the same message twice is kept once"
    await add(client, auth, "z" * 3000)
    sizes.append(3000)
    assert await used(client, auth) == sum(sizes)
    await operator.set_allowance(services, OLGA, quota_bytes=sum(sizes) + 100)
    await put(client, auth, "other", "x" * 100, expect=429)
    refused = await ingest(client, auth, "y" * 200, expect=429)
    assert refused["error"]["code"] == "quota_exceeded"
    await add(client, auth, "z" * 101, user="ben", expect=429)
    batch = [{"op": "put", "namespace": ["a"], "key": f"k{n}", "value": {"t": "x" * 50}} for n in range(2)]
    await call(client, auth, "POST", "/stores/notes/batch", json={"operations": batch}, expect=429)
    assert await used(client, auth) == sum(sizes), "nothing half written"
    await add(client, auth, "z" * 100, user="ben")
    await put(client, world.member.auth, "notes", "x" * 1000)
    resident = next(person for person in await operator.residents(services) if person.email == OLGA)
    assert resident.used_bytes == sum(sizes) + 100, "as the operator sees it"


async def test_a_key_that_reaches_one_place_alone_gets_no_further_in_it(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth = world.owner.auth
    await keep(client, auth, 20 * KB)
    await put(client, auth, "notes", "x")
    await operator.set_allowance(services, OLGA, quota_bytes=30 * KB)
    limited = await call(client, auth, "POST", "/keys", json={"name": "n", "spaces": ["store:notes"]}, expect=201)
    narrow = {"Authorization": f"Bearer {limited['key']}"}
    await put(client, narrow, "notes", "x" * 100)
    await put(client, narrow, "notes", "x" * 5 * KB, expect=429)


async def test_whoever_writes_in_several_places_at_once_gets_no_more(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, one = world.owner.auth, 1000 + len('{"t": ""}')
    await operator.set_allowance(services, OLGA, quota_bytes=5 * one + one // 2)
    answers = await asyncio.gather(
        *(put(client, auth, f"store{number}", "x" * 1000, expect=(200, 429)) for number in range(15))
    )
    assert sum("error" not in answer for answer in answers) == 5
    assert await used(client, auth) == 5 * one


async def test_a_service_key_that_names_nobody_has_no_limit(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    await operator.set_allowance(services, OLGA, quota_bytes=10)
    await ingest(client, world.service_auth, "y" * 2000)
    await put(client, world.service_auth, "notes", "x" * 1000)


# ------------------------------------------------------------------------------- databases that were there before


def statements(name: str, beginning: str, *ends: str) -> str:
    """The part of a migration that fills in what is new, which has only to be done once."""
    text = files("keepstone.store").joinpath(f"migrations/{name}").read_text()
    assert any(migration.name == name for migration in migrations())
    part = text[text.index(beginning) :]
    return part[: min([part.index(end) for end in ends], default=len(part))]


async def test_an_older_database_counts_the_same_after_its_migration(
    client: httpx.AsyncClient, world: World, database: str
) -> None:
    auth = world.owner.auth
    capsule = await keep(client, auth, 20 * KB, metadata={"a": [1, "b", None], "ä": {"c": 1.5}})
    for number in range(3):
        path = f"/memory/capsules/{capsule}"
        await call(client, auth, "PATCH", path, json={"content_md": f"{number}" * 5 * KB, "metadata": {"n": number}})
        await put(client, auth, "notes", f"{number}")
        await ingest(client, auth, f"Nr {number}", metadata={"n": number})
    await call(client, auth, "DELETE", f"/memory/capsules/{await keep(client, auth, 3 * KB)}", expect=204)
    await add(client, auth, "I like tea")
    sums = "SELECT kind, sum(size_bytes) FROM spaces GROUP BY 1 ORDER BY 1"
    weights = "SELECT id, kept_bytes, version_bytes FROM memories ORDER BY 1"
    before = await rows(database, sums), await rows(database, weights)
    for table in ("memories SET kept_bytes = 0, version_bytes = 0", "spaces SET size_bytes = 0"):
        await rows(database, f"UPDATE {table} RETURNING 1")
    filling = statements("0006_kept_bytes.sql", "UPDATE memories m SET version_bytes")
    filling += statements("0042_bytes_of_versions.sql", "UPDATE memories m SET version_bytes")
    for statement in filling.split(";")[:-1]:
        await rows(database, f"{statement} RETURNING 1")
    assert (await rows(database, sums), await rows(database, weights)) == before


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="no database was distributed when this migration was made")
async def test_an_older_database_knows_from_the_audit_trail_whose_words_are_whose(
    client: httpx.AsyncClient, services: Services, world: World, database: str
) -> None:
    mine, his = world.owner.auth, world.member.auth
    workspace = await make_workspace(client, mine)
    body = {"user": world.member.user.id, "role": "owner"}
    await call(client, mine, "PUT", f"/workspaces/{workspace}/members", json=body)
    await call(client, his, "PATCH", f"/workspaces/{workspace}", json={"name": "His"})
    chat = await make_chat(client, mine, workspace)
    await say(services, world.owner, chat, "Hello", reply="Hello yourself")
    await say(services, world.member, chat, "Me too", reply="And you")
    await make_agent(client, his)
    room = await make_room(client, his, world.owner)
    await call(client, mine, "POST", f"/rooms/{room}/threads", json={"title": "Hers"}, expect=201)
    await say_in_room(client, mine, room, "Hello")
    await say_in_room(client, mine, room, "Hello, Olga", agent="scout")
    graph = (await call(client, his, "POST", "/graphs", json={"name": "His"}, expect=201))["id"]
    nodes = [
        (await call(client, mine, "POST", f"/graphs/{graph}/nodes", json={"content": f"Node {n}"}, expect=201))["id"]
        for n in range(2)
    ]
    edge = {"from_id": nodes[0], "to_id": nodes[1], "edge_type": "about"}
    await call(client, his, "POST", f"/graphs/{graph}/edges", json=edge, expect=201)
    columns = {
        "accounts": "named_by", "spaces": "named_by", "chats": "named_by", "threads": "named_by",
        "agents": "changed_by", "edges": "created_by", "messages": "sent_by",
    }  # fmt: skip

    async def authors() -> dict[str, Any]:
        return {
            table: sorted(await rows(database, f"SELECT to_jsonb(t) - '{column}', {column} FROM {table} t"), key=str)
            for table, column in columns.items()
        }

    before = await authors()
    for table, column in columns.items():
        assert any(author for _, author in before[table]), table
        await rows(database, f"UPDATE {table} SET {column} = NULL RETURNING 1")
    filling = statements("0005_authors.sql", "CREATE TABLE authors", "-- It gives more back")
    async with services.db.as_owner() as owner:
        await owner.execute(("SET keepstone.owner = 'on';" + filling).encode())
    assert await authors() == before
