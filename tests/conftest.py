"""What tests stand on: a real Postgres a process, and for each test a fresh clone of a migrated template."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from argon2 import PasswordHasher
from bench import citus
from bench.citus import SUPERUSER, Cluster
from fastapi import FastAPI
from playwright.async_api import Browser
from psycopg import sql
from psycopg.conninfo import make_conninfo
from xdist.remote import Producer

from browser import dashboard_server
from chromium import open_chromium
from keepstone.access import keys, users
from keepstone.access.operator import principal_for, set_allowance
from keepstone.app import make_app
from keepstone.home import ensure_home
from keepstone.model.account import User
from keepstone.model.principal import Principal
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from keepstone.providers.embedder import Embedder
from keepstone.providers.embedders import Embedders
from keepstone.providers.encoder import Encoder
from keepstone.providers.manifest import BUILTIN
from keepstone.providers.use import Use
from keepstone.runtime import open_migrated
from keepstone.services import Services
from keepstone.settings import Settings
from keepstone.store.db import Connection
from keepstone.store.distribute import distribute
from keepstone.store.migrate import migrate
from live import Guest, Live, in_memory, receive
from schedule import BySharing, make_scheduler, rank
from upstream import ScriptedUpstream
from weights import weights

_numbers = count(1)
# As cheap as argon2 can be: nobody guesses these passwords.
HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if citus.PROGRAMS:
        items[:] = [item for item in items if _on_the_cluster(item)]
    items.sort(key=rank)


def _on_the_cluster(item: pytest.Item) -> bool:
    """A test of what a database does: of ours, not of one that a server of its own has embedded."""
    return "postgres" in getattr(item, "fixturenames", ())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> BySharing:
    return make_scheduler(config, log)


class Server:
    """A Postgres for this process's tests. Nothing here has to survive a crash, so nothing waits for the disk."""

    def __init__(self, conninfo: str, folder: Path, connection: psycopg.AsyncConnection) -> None:
        self.conninfo = conninfo
        self.folder = folder
        self._connection = connection

    def database(self, name: str) -> str:
        return make_conninfo(self.conninfo, dbname=name)

    async def create(self, name: str, template: str = "template1") -> str:
        await self._connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return self.database(name)

    async def drop(self, name: str) -> None:
        await self._connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Distributed(Server):
    """The same on a coordinator and two workers of Citus, where `KEEPSTONE_CITUS` names one (`make test-citus`)."""

    def __init__(self, cluster: Cluster) -> None:
        self.conninfo = cluster.conninfo("postgres", SUPERUSER)
        self.folder = cluster.home
        self.cluster = cluster

    def database(self, name: str) -> str:
        """For tests that look and change past everything: the functions stay those of who made the schema."""
        return self.cluster.conninfo(name, SUPERUSER)

    async def create(self, name: str, template: str = "template1") -> str:
        if template == "template1":
            return await asyncio.to_thread(self.cluster.create, name)
        await asyncio.to_thread(self.cluster.clone, name, template)
        return self.database(name)

    async def drop(self, name: str) -> None:
        await asyncio.to_thread(self.cluster.drop, name)


SHOP = "https://pay.example.org/plans"


@pytest.fixture(scope="session")
async def chromium() -> AsyncGenerator[Browser]:
    async with open_chromium() as browser:
        yield browser


_QUICK = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


@pytest.fixture(scope="session")
async def postgres() -> AsyncGenerator[Server]:
    if citus.PROGRAMS:
        home = Path(tempfile.mkdtemp(prefix="keepstone-citus-", dir=in_memory()))
        cluster = Cluster(home, settings=_QUICK | citus.TELLING | {"citus.shard_count": "4"})
        try:
            server = Distributed(cluster)
            conninfo = await server.create("migrated")
            await migrate(conninfo)
            async with await Connection.connect(conninfo, autocommit=True) as conn:
                await distribute(conn)
            yield server
        finally:
            cluster.stop()
            shutil.rmtree(home, ignore_errors=True)
        return
    home = Path(tempfile.mkdtemp(prefix="keepstone-tests-", dir=in_memory()))
    ensure_home(home)
    supervisor = Supervisor(open_cluster(home))
    await supervisor.start()
    try:
        async with await psycopg.AsyncConnection.connect(supervisor.conninfo, autocommit=True) as conn:
            for name, value in _QUICK.items():
                await conn.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value)))
            # A password costs each of the thousands of connections more than the connection itself.
            who = 'local "/^test_" all trust\nlocal all all scram-sha-256\n'
            (home / "postgres" / "data" / "pg_hba.conf").write_text(who)
            await conn.execute("SELECT pg_reload_conf()")
            server = Server(supervisor.conninfo, home / "postgres", conn)
            await migrate(await server.create("migrated"))
            yield server
    finally:
        await supervisor.stop()
        supervisor.close()
        shutil.rmtree(home)


@pytest.fixture
async def empty_database(postgres: Server) -> AsyncGenerator[str]:
    name = f"empty_{next(_numbers)}"
    yield await postgres.create(name)
    await postgres.drop(name)


@pytest.fixture
async def database(postgres: Server, request: pytest.FixtureRequest) -> AsyncGenerator[str]:
    """A clone of the migrated template, or where a test knows the `world`, of the one that has it."""
    name = f"test_{next(_numbers)}"
    yield await postgres.create(name, "peopled" if "peopled" in request.fixturenames else "migrated")
    await postgres.drop(name)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, database_pool=10)


@pytest.fixture
async def services(settings: Settings, database: str) -> AsyncGenerator[Services]:
    async with open_migrated(settings, database, HASHER) as opened:
        yield opened
        opened.embedders.active = ()  # those that a test lent it are others' to close


@pytest.fixture(scope="session")
def models() -> Generator[tuple[Embedder, ...]]:
    """The real embedders, which take seconds to load."""
    loaded = (Encoder(BUILTIN), Use(weights()))
    yield loaded
    for embedder in loaded:
        embedder.close()


@pytest.fixture
def knowing(services: Services, models: tuple[Embedder, ...]) -> Services:
    """Services that know what words mean."""
    return replace(services, embedders=Embedders(models))


@pytest.fixture
async def app(services: Services) -> FastAPI:
    return make_app(services)


@dataclass(frozen=True, kw_only=True)
class Person:
    user: User
    principal: Principal
    key: str
    key_id: str

    @property
    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@dataclass(frozen=True, kw_only=True)
class World:
    """Two accounts. `owner` and `member` share one; `stranger` owns another. A service key speaks for the first."""

    owner: Person
    member: Person
    stranger: Person
    service_key: str

    @property
    def service_auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.service_key}"}


PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="session")
async def peopled(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Who is in the template `peopled`."""
    settings = Settings(home=tmp_path_factory.mktemp("peopled"))
    async with open_migrated(settings, await postgres.create("peopled", "migrated"), HASHER) as services:
        return await make_world(services)


@pytest.fixture
async def world(peopled: World, services: Services) -> World:
    return peopled


async def make_world(services: Services) -> World:
    owner = await make_person(services, "olga@example.org", password=PASSWORD)
    member = await make_person(services, "max@example.org", account=owner.user.account, password=PASSWORD)
    stranger = await make_person(services, "stan@elsewhere.example", password=PASSWORD)
    _, service_key = await keys.create_key(services, owner.principal, name="service", service=True)
    return World(owner=owner, member=member, stranger=stranger, service_key=service_key)


async def make_person(services: Services, email: str, **options: Any) -> Person:
    user = await users.create_user(services, email=email, name=email.split("@", maxsplit=1)[0], **options)
    principal, _ = await principal_for(services, email)
    key, secret = await keys.create_key(services, principal, name=f"key of {user.name}")
    principal = replace(principal, role=user.role, is_admin=user.is_admin, via="key", credential_id=key.id)
    return Person(user=user, principal=principal, key=secret, key_id=key.id)


@asynccontextmanager
async def http(app: FastAPI, address: str = "127.0.0.1", **options: Any) -> AsyncGenerator[httpx.AsyncClient]:
    """A client of this app without a network between; `address` is where it seems to come from."""
    transport = httpx.ASGITransport(app, client=(address, 50000), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420", **options) as client:
        yield client


@pytest.fixture
async def client(app: FastAPI) -> AsyncGenerator[httpx.AsyncClient]:
    async with http(app) as opened:
        yield opened


@pytest.fixture
async def operator_auth(services: Services, world: World) -> dict[str, str]:
    """How the server's operator shows who they are: the stranger, made an admin."""
    await set_allowance(services, world.stranger.user.email, admin=True)
    return world.stranger.auth


@pytest.fixture
async def console(app: FastAPI, operator_auth: dict[str, str]) -> AsyncGenerator[httpx.AsyncClient]:
    """A client that is the operator."""
    async with http(app, headers=operator_auth) as opened:
        yield opened


@pytest.fixture(scope="session")
def live() -> Generator[Live]:
    """A server process that tests share; what they make in it is their own."""
    server = Live()
    yield server
    server.stop()


@pytest.fixture
async def guest(live: Live, tmp_path: Path) -> Guest:
    """Somebody with an account of their own on the shared server."""
    return await receive(live, tmp_path / "guest")


@pytest.fixture(scope="session")
def dashboard() -> Generator[Live]:
    """A server with real embedders, for whoever visits its pages."""
    server = dashboard_server()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def dashboard_model() -> Generator[ScriptedUpstream]:
    """The language model of `dashboard_with_model`; a test says what it answers."""
    upstream = ScriptedUpstream()
    yield upstream
    upstream.stop()


@pytest.fixture(scope="session")
def dashboard_with_model(dashboard_model: ScriptedUpstream) -> Generator[Live]:
    server = dashboard_server(
        KEEPSTONE_LLM_PROVIDER="openai", KEEPSTONE_LLM_BASE_URL=dashboard_model.url, KEEPSTONE_LLM_API_KEY="key",
        KEEPSTONE_LLM_MODEL="m-1",
    )  # fmt: skip
    yield server
    server.stop()


@pytest.fixture(scope="session")
def shop() -> Generator[Live]:
    """A server whose plans can be bought, at `SHOP`."""
    server = dashboard_server(KEEPSTONE_EMBEDDINGS_PROVIDER="none", KEEPSTONE_UPGRADE_URL=SHOP)
    yield server
    server.stop()
