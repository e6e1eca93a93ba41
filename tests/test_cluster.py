"""A database of many machines: refused where there is none, and what an operator does with one (`make test-citus`)."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from bench import citus
from bench.citus import OWNER, Cluster
from psycopg.conninfo import conninfo_to_dict

import prepared
from conftest import Distributed, Server, World
from keepstone.errors import NotFound
from keepstone.services import Services
from keepstone.store import distribute, inspect
from keepstone.store.db import Connection
from keepstone.store.migrate import connect_as_owner, migrate, migrations
from live import Live, receive, url_of

on_a_cluster = pytest.mark.skipif(not citus.PROGRAMS, reason="needs Citus: make test-citus")
on_one_postgres = pytest.mark.skipif(bool(citus.PROGRAMS), reason="there it works")

TURNS = 40


def keepstone(home: Path, *words: str, url: str = "") -> Any:
    environ = {"KEEPSTONE_HOME": str(home)} | ({"KEEPSTONE_DATABASE_URL": url} if url else {})
    return prepared.run(*words, environ=environ)


@pytest.mark.parametrize("words", [["distribute"], ["accounts", "list"], ["accounts", "isolate", "acct_x"]])
def test_the_embedded_postgres_is_not_distributed(words: list[str], tmp_path: Path) -> None:
    done = keepstone(tmp_path, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "KEEPSTONE_DATABASE_URL to the coordinator of a Citus cluster" in done.stderr


@on_one_postgres
def test_a_postgres_without_citus_says_what_is_missing(database: str, tmp_path: Path) -> None:
    done = keepstone(tmp_path, "distribute", url=url_of(database))
    assert done.returncode == 1
    assert "no extension citus" in done.stderr
    assert "CREATE EXTENSION citus" in done.stderr


@pytest.fixture
def cluster(postgres: Server) -> Cluster:
    assert isinstance(postgres, Distributed)
    return postgres.cluster


@pytest.fixture
def owner(cluster: Cluster, database: str) -> str:
    """How the owner of the tables connects, who is nobody special."""
    return cluster.conninfo(str(conninfo_to_dict(database)["dbname"]), OWNER)


async def ingest(client: httpx.AsyncClient, auth: dict[str, str], text: str) -> None:
    body = {"scope_id": "team", "transcript": [{"speaker": "Ben", "text": text}]}
    while True:
        answer = await client.post("/v1/ingest", headers=auth, json=body)
        if answer.status_code != 503:  # where the account lies elsewhere by now: whoever is told so tries again
            break
    assert answer.status_code == 202, answer.text


@on_a_cluster
async def test_distributing_again_changes_nothing_and_every_table_is_somewhere(owner: str, tmp_path: Path) -> None:
    async with await connect_as_owner(owner) as conn:
        assert await distribute.undistributed(conn) == []
        assert await distribute.unreachable(conn) == []
        assert await inspect.unguarded_tables(conn) == []
        machines = await distribute.machines(conn)
    assert len(machines) == 2
    assert all(one.shards == 2 for one in machines)
    done = keepstone(tmp_path, "distribute", "--json", url=url_of(owner))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["distributed"] == {"tables": [], "everywhere": [], "functions": []}
    assert told["moved"] == 0


@on_a_cluster
async def test_a_new_version_brings_its_functions_and_policies_to_all_machines(owner: str) -> None:
    async with await connect_as_owner(owner) as conn:
        await conn.execute("SET keepstone.owner = 'on'")
        repeatable = [migration.name for migration in migrations() if migration.repeatable]
        await conn.execute("UPDATE keepstone.schema_level SET repeatable = '{}'")
        # Of another version, as the comment says that is kept with them.
        for table in ("messages", "plans", "migrations"):
            await conn.execute(f"COMMENT ON POLICY owner ON keepstone.{table} IS 'another'".encode())
            await conn.execute(f"DROP POLICY IF EXISTS scope ON keepstone.{table}".encode())
    assert await migrate(owner) == repeatable
    async with await connect_as_owner(owner) as conn:
        assert await inspect.unguarded_tables(conn) == []
        assert await distribute.undistributed(conn) == []


@on_a_cluster
async def test_an_account_that_is_written_to_moves_to_another_machine_and_loses_nothing(
    client: httpx.AsyncClient, world: World, owner: str
) -> None:
    auth, account_id = world.owner.auth, world.owner.principal.account_id
    said: list[str] = []
    moved = asyncio.Event()

    async def talk() -> None:
        while not moved.is_set() or len(said) < TURNS:
            text = f"Turn {len(said)} of the talk about ferries."
            await ingest(client, auth, text)
            said.append(text)

    talking = asyncio.create_task(talk())
    async with await connect_as_owner(owner) as conn:
        (before,) = [one for one in await distribute.largest(conn, 10) if one.account_id == account_id]
        assert not before.alone
        (elsewhere,) = [one.name for one in await distribute.machines(conn) if one.name != before.machine]
        after = await distribute.isolate(conn, account_id, machine=elsewhere)
        assert (after.machine, after.alone) == (elsewhere, True)
        moved.set()
        await talking
        again = await distribute.isolate(conn, account_id)
        assert (again.machine, again.alone) == (elsewhere, True), "and there is nothing left to do"
        with pytest.raises(NotFound, match="there are 127"):
            await distribute.isolate(conn, account_id, machine="10.0.0.9:5432")
        with pytest.raises(NotFound, match="no account acct_nobody"):
            await distribute.isolate(conn, "acct_nobody")
        assert await inspect.unguarded_tables(conn) == []
    listed = await client.get("/v1/scopes/team/messages?limit=200", headers=auth)
    assert sorted(one["text"] for one in listed.json()["items"]) == sorted(said)


@on_a_cluster
async def test_parts_go_away_from_a_machine_that_shall_hold_none_and_come_back(owner: str, cluster: Cluster) -> None:
    name = str(conninfo_to_dict(owner)["dbname"])
    leaving = cluster.workers[1]

    def hold_shards(yes: bool) -> None:
        cluster.coordinator.execute(
            f"SELECT citus_set_node_property('127.0.0.1', {leaving.port}, 'shouldhaveshards', {yes})", name
        )

    async with await connect_as_owner(owner) as conn:
        hold_shards(False)
        assert await distribute.balance(conn) == 2
        assert [one.name for one in await distribute.machines(conn)] == [f"127.0.0.1:{cluster.workers[0].port}"]
        hold_shards(True)
        assert await distribute.balance(conn) == 2
        assert [one.shards for one in await distribute.machines(conn)] == [2, 2]
        assert await inspect.unguarded_tables(conn) == []


# What asks of several machines: by name or in its words, with the reason.
OF_ALL_ACCOUNTS = {
    "account_of",  # whose is this address or this older key: nobody knows in which account to look
}


@on_a_cluster
async def test_what_a_request_asks_it_asks_where_its_account_lies(
    client: httpx.AsyncClient, world: World, cluster: Cluster
) -> None:
    auth = world.owner.auth
    await ingest(client, auth, "Our puppy Luna loves the new garden.")
    capsule = {"content_md": "We decided to use Clerk.", "kind": "decision"}
    node = {"node_type": "fact", "content": "The ferry leaves at nine."}
    before = cluster.fanned_out()
    for method, path, body in (
        ("POST", "/v1/recall", {"scope_id": "team", "message": {"speaker": "Cleo", "text": "Which pet has Ben?"}}),
        ("POST", "/v1/ask", {"scope_id": "team", "question": "Which pet has Ben?"}),
        ("POST", "/v1/memory/capsules", capsule),
        ("GET", "/v1/memory/capsules?q=clerk&mode=hybrid", None),
        ("POST", "/v1/graphs/default/nodes", node),
        ("POST", "/v1/graphs/default/recall", {"query": "When does the ferry leave?"}),
        ("PUT", "/v1/facts/global/global/port", {"value": 8443}),
        ("GET", "/v1/usage", None),
        ("GET", "/v1/keys", None),
    ):
        answer = await client.request(method, path, headers=auth, json=body)
        assert answer.status_code < 300, answer.text
    asked = cluster.fanned_out() - before
    assert set(asked) <= OF_ALL_ACCOUNTS


@on_a_cluster
async def test_a_machine_that_is_away_is_named_and_who_lies_on_the_other_is_served(
    owner: str, cluster: Cluster, tmp_path: Path
) -> None:
    """A server of its own, since nothing of the test's own process should wait for what is away."""
    home = tmp_path / "home"
    server = Live(home=home, KEEPSTONE_DATABASE_URL=url_of(owner))
    try:
        guests = [await receive(server, tmp_path / f"guest{number}") for number in range(8)]
        async with await connect_as_owner(owner) as conn:
            places = {one.account_id: one.machine for one in await distribute.largest(conn, 100)}
        assert len(set(places.values())) == 2
        away = cluster.workers[0]
        away.stop()
        try:
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
                codes = {
                    guest.email: (await http.get("/v1/memory/capsules", headers=guest.auth)).status_code
                    for guest in guests
                }
                ready = await http.get("/readyz")
            assert set(codes.values()) == {200, 503}
            assert ready.status_code == 200
            told = server.cli("doctor")
            assert told.returncode == 1
            assert f"does not reach 127.0.0.1:{away.port}" in told.stdout
        finally:
            away.start()
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
            for guest in guests:
                assert (await http.get("/v1/memory/capsules", headers=guest.auth)).status_code == 200
    finally:
        server.stop()


@on_a_cluster
async def test_a_connection_on_which_a_statement_failed_is_not_used_again(services: Services) -> None:
    """Citus may believe from then on that it is still planning, and sends functions of an account to no machine."""
    used: list[Connection] = []
    with suppress(psycopg.errors.DivisionByZero):
        async with services.db.unscoped() as conn:
            used.append(conn)
            await conn.execute("SELECT 1 / 0")
    with suppress(NotFound):
        async with services.db.unscoped() as conn:
            used.append(conn)
            raise NotFound("What is not the database's fault ends no connection.")
    assert [conn.closed for conn in used] == [True, False]


@on_a_cluster
async def test_a_function_goes_to_its_account_also_when_it_was_prepared(
    client: httpx.AsyncClient, world: World, cluster: Cluster
) -> None:
    """Plans that Postgres would make once for all, after a statement was run some ten times, know no account."""
    await ingest(client, world.owner.auth, "Our puppy Luna loves the new garden.")
    asked = {"scope_id": "team", "message": {"speaker": "Cleo", "text": "Which pet has Ben?"}}
    before = cluster.fanned_out()
    for _ in range(20):
        answer = await client.post("/v1/recall", headers=world.owner.auth, json=asked)
        assert answer.status_code == 200, answer.text
    assert set(cluster.fanned_out() - before) <= OF_ALL_ACCOUNTS
