"""A database of every released version opens with this code: all that it kept is found, nobody sees more than before,
and its schema is that of a fresh one. `scripts/keep_release.py` keeps one of each.
"""

import asyncio
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from bench import citus, kept

from conftest import HASHER, Server
from keepstone.access.keys import create_key
from keepstone.access.operator import principal_for
from keepstone.postgres.programs import wheel_programs
from keepstone.runtime import open_services
from keepstone.settings import Settings
from keepstone.store.migrate import migrate, migrations
from keepstone.store.steps import LEVEL
from live import Live, url_of
from schema import describe

FOLDER = Path(__file__).with_name("releases")
RELEASES = sorted(path.stem for path in FOLDER.glob("*.json"))


of_one_postgres = pytest.mark.skipif(bool(citus.PROGRAMS), reason="no release so far could be distributed")


def told(version: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{version}.json").read_text())


async def restore(version: str, database: str) -> None:
    """As its own `psql` would; what the database was called, and whose it was, is not in it."""
    psql = await asyncio.create_subprocess_exec(
        wheel_programs().path("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--dbname", database,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, errors = await psql.communicate(gzip.decompress((FOLDER / f"{version}.sql.gz").read_bytes()))
    assert psql.returncode == 0, errors.decode()


@pytest.fixture(params=RELEASES)
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
async def released(version: str, empty_database: str) -> str:
    """The database of that version, as it was left."""
    await restore(version, empty_database)
    return empty_database


async def key_of(settings: Settings, database: str, email: str) -> str:
    async with open_services(settings, database, HASHER) as services:
        principal, _ = await principal_for(services, email)
        return (await create_key(services, principal, name="of the test"))[1]


def calls(server: Live, key: str) -> kept.Call:
    def call(method: str, path: str, body: Any) -> Any:
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx.request(method, server.url + path, json=body, headers=headers, timeout=60)
        assert answer.status_code < 400, f"{method} {path}: {answer.text}"
        return answer.json()

    return call


@of_one_postgres
async def test_all_that_a_release_kept_is_there(version: str, released: str, settings: Settings) -> None:
    owners, others = [await key_of(settings, released, email) for email in (kept.OWNER, kept.OTHER)]
    server = Live(KEEPSTONE_DATABASE_URL=url_of(released))
    try:
        ask, other = calls(server, owners), calls(server, others)
        found = await asyncio.to_thread(kept.found, ask)
        assert json.loads(json.dumps(found)) == told(version)["found"]
        await asyncio.to_thread(_leaks, ask, other)
        login = {"email": kept.OTHER, "password": kept.PASSWORD}
        assert httpx.post(server.url + "/auth/login", json=login).status_code == 200, "passwords are those of before"
        ask("POST", "/v1/memory/capsules", {"content_md": "The museum opens again in April"})
        listed = ask("GET", "/v1/memory/capsules?q=museum", None)["items"]
        assert [each["content_md"] for each in listed] == ["The museum opens again in April"], "and it keeps more"
    finally:
        server.stop()


def _leaks(ask: kept.Call, other: kept.Call) -> None:
    """Nobody finds what is another account's, whether they look for it or list all they have."""
    looked: list[Callable[[kept.Call], Any]] = [
        lambda call: call("GET", "/v1/memory/capsules", None),
        lambda call: call("GET", "/v1/memory/capsules?q=violin&min_relevance=0", None),
        lambda call: call("GET", "/v1/memory/all", None),
        lambda call: call(
            "POST", "/v1/recall",
            {"scope_id": "team", "message": {"speaker": "Eve", "text": "violin"}, "min_relevance": 0, "limit": 50},
        ),
    ]  # fmt: skip
    for look in looked:
        assert kept.SECRET not in json.dumps(look(ask))
        assert kept.SECRET in json.dumps(look(other))
        assert "ferry" not in json.dumps(look(other))
        assert "Biscuit" not in json.dumps(look(other))


@of_one_postgres
async def test_its_schema_is_that_of_a_fresh_database(released: str, postgres: Server) -> None:
    await migrate(released, finish=True)
    assert await describe(released) == await describe(postgres.database("migrated"))
    assert await migrate(released, finish=True) == []


@of_one_postgres
async def test_what_it_was_is_what_the_database_says(version: str, released: str) -> None:
    async with await psycopg.AsyncConnection.connect(released) as conn:
        rows = await (await conn.execute("SELECT name FROM keepstone.migrations")).fetchall()
    assert set(told(version)["migrations"]) <= {name for (name,) in rows}


def test_a_migration_that_was_released_is_never_edited(version: str) -> None:
    now = {one.name: one.sha256 for one in migrations() if not one.repeatable}
    edited = [name for name, digest in told(version)["migrations"].items() if now.get(name) != digest]
    assert not edited, "a released migration has run already where it is released: write another"


def test_a_schema_that_differs_from_the_last_release_has_a_level_of_its_own(version: str) -> None:
    """An older server finds out by the level that it shall leave the functions of a newer one alone."""
    released = told(version)
    now = {one.name: one.sha256 for one in migrations()}
    if now != released["migrations"] | released["repeatable"]:
        assert released["level"] < LEVEL, "raise LEVEL in store/steps.py: once for each release that changes the schema"
