"""Through a real PgBouncer that lends a connection for each transaction: all of it works, and nothing stays behind."""

import asyncio
import json
import re
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

import prepared
from conftest import HASHER, make_world
from keepstone.errors import Misconfigured
from keepstone.home import ensure_home
from keepstone.jobs.worker import run_until_empty
from keepstone.model.ids import new_id
from keepstone.model.principal import ReadScope
from keepstone.postgres.cluster import open_cluster
from keepstone.postgres.supervisor import Supervisor
from keepstone.runtime import open_migrated
from keepstone.settings import Settings
from keepstone.store import spaces, vectors
from keepstone.store.db import APP_ROLE, SEARCH_PATH, WORKER_ROLE, Connection, Database
from keepstone.store.distribute import require_session
from keepstone.store.migrate import connect_as_owner, migrate
from keepstone.store.roles import role_conninfo
from live import Live, in_memory
from pooler import WHERE, Pooler, pgbouncers

pytestmark = pytest.mark.skipif(not pgbouncers(), reason=WHERE)

DOCS = Path(__file__).parent.parent / "docs" / "operations.md"
OWNER = "memo"
PASSWORD = "pool side"
_numbers = count(1)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


class Owned:
    """A Postgres of an operator's: the owner of the databases is nobody special."""

    def __init__(self, supervisor: Supervisor, folder: Path) -> None:
        self.superuser, self.folder = supervisor.conninfo, folder

    async def create(self) -> str:
        """Another database with the schema; how its owner connects past any pooler."""
        name = f"pooled_{next(_numbers)}"
        own = make_conninfo(self.superuser, dbname=name, user=OWNER, password=PASSWORD)
        async with await psycopg.AsyncConnection.connect(self.superuser, autocommit=True) as conn:
            await conn.execute(f"CREATE DATABASE {name} OWNER {OWNER}".encode())
        superusers = make_conninfo(self.superuser, dbname=name)
        async with await psycopg.AsyncConnection.connect(superusers, autocommit=True) as conn:
            await conn.execute("CREATE EXTENSION vector")
        await migrate(own)
        return own

    def secrets(self) -> dict[str, str]:
        """What the page has an operator write into `userlist.txt`."""
        query = next(block for block in _blocks("sql") if "pg_authid" in block)
        with psycopg.connect(self.superuser) as conn:
            lines = [line for (line,) in conn.execute(query.encode())]
        return dict(re.findall(r'^"(.+?)" "(.+)"$', "\n".join(lines), re.MULTILINE))


def _blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", DOCS.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
async def owned() -> AsyncGenerator[Owned]:
    home = Path(tempfile.mkdtemp(prefix="keepstone-owned-", dir=in_memory()))
    ensure_home(home)
    supervisor = Supervisor(open_cluster(home))
    await supervisor.start()
    try:
        async with await psycopg.AsyncConnection.connect(supervisor.conninfo, autocommit=True) as conn:
            await conn.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE PASSWORD '{PASSWORD}'".encode())
        yield Owned(supervisor, home / "postgres")
    finally:
        await supervisor.stop()
        supervisor.close()
        shutil.rmtree(home)


@pytest.fixture(params=pgbouncers(), ids=lambda path: str(path).strip("/").replace("/", "-"))
def program(request: pytest.FixtureRequest) -> str:
    return request.param


@contextmanager
def pooled(program: str, owned: Owned, direct: str, **more: Any) -> Generator[Pooler]:
    """As the page has it, but for its addresses."""
    (page,) = _blocks("ini")
    pooler = Pooler(program, owned.folder, page, owned.secrets(), direct, **more)
    try:
        yield pooler
    finally:
        pooler.stop()


async def test_a_server_and_a_worker_apart_do_all_they_do_through_a_pooler(
    program: str, owned: Owned, tmp_path: Path
) -> None:
    with pooled(program, owned, await owned.create()) as pooler:
        await asyncio.to_thread(_works, pooler.url(OWNER, PASSWORD), tmp_path)


def _works(url: str, home: Path) -> None:
    environ: Any = {"KEEPSTONE_DATABASE_URL": url, "KEEPSTONE_JWT_SECRET": "s" * 32, "KEEPSTONE_WORKER": "off"}
    server = Live(**environ, KEEPSTONE_PROCESSES="2")
    worker = prepared.start("worker", environ=server.environ | {"KEEPSTONE_HOME": str(home)})
    try:
        with httpx.Client(base_url=server.url, headers=server.auth, timeout=60) as client:
            for number in range(30):  # each statement more often than it takes to be prepared
                said = {"speaker": "Ben", "text": f"Ferry number {number} leaves from Oslo."}
                stored = client.post("/v1/ingest", json={"scope_id": "team", "transcript": [said]})
                assert stored.status_code == 202, stored.text
                asked = {"speaker": "Ida", "text": f"ferry number {number}"}
                found = client.post("/v1/recall", json={"scope_id": "team", "message": asked})
                assert found.status_code == 200, found.text
                assert said["text"] in found.text
            until(lambda: client.get("/readyz").status_code == 200)
            until(lambda: not any(client.get("/readyz").json()["worker"]["details"]["jobs"].values()))
        for words in (["migrate"], ["doctor"], ["users", "create", "ida@example.org"], ["audit"], ["jobs", "lanes"]):
            done = server.cli(*words)
            assert done.returncode == 0, (words, done.stdout, done.stderr)
        listed = server.cli("users", "list", "--json")
        assert "ida@example.org" in [user["email"] for user in json.loads(listed.stdout)]
    finally:
        worker.send_signal(15)
        assert worker.stdout is not None
        with worker.stdout:
            told = worker.stdout.read()
        worker.wait(timeout=60)
        server.stop()
    for log in (told, "".join(server.log)):
        assert "error" not in re.sub(r'"level": "(info|warning)"', "", log), log
        assert "begins anew" not in log


async def test_what_requests_need_goes_through_a_pooler_without_a_password_being_told(
    program: str, owned: Owned, tmp_path: Path
) -> None:
    direct = await owned.create()
    with pooled(program, owned, direct) as pooler:
        settings = Settings(home=tmp_path, app_database_url=pooler.url(APP_ROLE), database_pool=4)
        assert await migrate(direct, roles_url=settings.app_database_url) == []
        async with open_migrated(settings, direct, HASHER) as services:
            async with services.db.unscoped() as conn:
                assert conn.pooled
            async with services.db.of_server() as conn:
                assert conn.pooled
            async with services.db.as_owner() as conn:
                assert not conn.pooled
                require_session(conn)
            assert not services.queue.hears
            await make_world(services)
            await run_until_empty(services)


async def test_a_connection_knows_whether_a_pooler_stands_between(program: str, owned: Owned) -> None:
    direct = await owned.create()
    again = "SELECT count(*) FROM keepstone.migrations"

    async def ask(conn: Connection) -> None:
        for _ in range(20):
            await conn.execute(again)

    with pooled(program, owned, direct, default_pool_size=3) as pooler:
        ways = {direct: False, pooler.url(OWNER, PASSWORD): True}
        for conninfo, expected in ways.items():
            many = [await Connection.connect(conninfo) for _ in range(6)]
            assert [conn.pooled for conn in many] == [expected] * 6
            await asyncio.gather(*map(ask, many))
            (row,) = await (await many[0].execute("SELECT count(*) FROM pg_prepared_statements")).fetchall()
            assert (row[0] > 0) != expected, "where nothing stands between, what is asked again is prepared"
            for conn in many:
                await conn.close()
        async with await connect_as_owner(pooler.url(OWNER, PASSWORD)) as conn:
            with pytest.raises(Misconfigured, match="to the coordinator itself"):
                require_session(conn)


LEFT_BEHIND = """
    SELECT current_setting('search_path'), current_user::text, session_user::text,
           current_setting('statement_timeout'), current_setting('role'), current_setting('row_security'),
           coalesce(current_setting('keepstone.account', true), ''),
           coalesce(current_setting('keepstone.spaces', true), ''),
           coalesce(current_setting('keepstone.visibilities', true), ''),
           coalesce(current_setting('keepstone.within', true), ''),
           coalesce(current_setting('keepstone.reader', true), ''),
           coalesce(current_setting('keepstone.owner', true), ''),
           (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels()),
           (SELECT count(*) FROM pg_cursors),
           (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
           (SELECT count(*) FROM pg_class WHERE relpersistence = 't')
"""
NOTHING = (SEARCH_PATH, APP_ROLE, APP_ROLE, "0", "none", "on", "", "", "", "", "", "", 0, 0, 0, 0, 0)


async def test_nothing_of_one_transaction_is_seen_by_the_next_on_the_same_connection(
    program: str, owned: Owned, tmp_path: Path
) -> None:
    """All share one connection to Postgres: two accounts, a transaction that fails, and one that is cut off."""
    direct = await owned.create()
    async with open_migrated(Settings(home=tmp_path), direct, HASHER) as services:
        world = await make_world(services)
    places: dict[int, int] = {}
    with pooled(program, owned, direct, default_pool_size=1) as pooler:
        app = role_conninfo(pooler.url(OWNER, PASSWORD), APP_ROLE)
        worker = role_conninfo(pooler.url(OWNER, PASSWORD), WORKER_ROLE)
        db = Database(app, owner="", worker=worker, size=4)
        await db.open()
        backends: set[int] = set()

        async def look() -> None:
            async with db.one_statement() as conn:
                (row,) = await (await conn.execute(LEFT_BEHIND)).fetchall()
                assert row == NOTHING
                (pid,) = await (await conn.execute("SELECT pg_backend_pid()")).fetchall()
                backends.add(pid[0])
            with pytest.raises(psycopg.Error, match=r"keepstone\.account|invalid input syntax"):
                async with db.one_statement() as conn:
                    await conn.execute("SELECT count(*) FROM spaces")

        async def own(account: int) -> None:
            """Whose transaction it is sees their own and nobody else's, whoever had the connection before."""
            scope = ReadScope(account=account, spaces=(places[account],), visibilities=("private",))
            async with db.transaction(scope) as conn:
                rows = await (await conn.execute("SELECT DISTINCT account, speaker FROM messages")).fetchall()
                assert rows == [(account, f"of {account}")]

        for account in (world.owner.user.account, world.stranger.user.account):
            async with db.transaction(ReadScope(account=account)) as conn:
                places[account] = await spaces.ensure(conn, kind="room", name="room")
            scope = ReadScope(account=account, spaces=(places[account],), visibilities=("private",))
            async with db.transaction(scope) as conn:
                await conn.execute(
                    "INSERT INTO messages (space, id, speaker, text, at, visibility)"
                    " VALUES (%(space)s, %(id)s, %(speaker)s, 'text', now(), 'private')",
                    {"space": places[account], "id": new_id("msg"), "speaker": f"of {account}"},
                )
            await look()
        first, second = places
        for _ in range(8):  # more often than it takes for a statement to be prepared
            await asyncio.gather(own(first), look(), own(second), own(first), look(), own(second))
        with pytest.raises(ZeroDivisionError):
            async with db.transaction(ReadScope(account=first, reader=world.owner.user.id)):
                raise ZeroDivisionError
        await look()
        async with asyncio.TaskGroup() as group:  # whoever goes away in the middle takes nothing along
            begun = asyncio.Event()

            async def go_away() -> None:
                async with db.transaction(ReadScope(account=first)) as conn:
                    begun.set()
                    await conn.execute("SELECT pg_sleep(60)")

            leaving = group.create_task(go_away())
            await begun.wait()
            leaving.cancel()
        await look()
        await own(second)
        async with db.alone("near_1_1") as alone, db.unscoped() as conn:
            assert alone
            (held,) = await (await conn.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")).fetchall()
            assert held == (1,)
        await look()
        async with db.unscoped() as conn:
            (held,) = await (await conn.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")).fetchall()
            assert held == (0,), "and it is let go of with the transaction"
        await db.close()
        assert len(backends) in {1, 2}, "one connection, and another where the first was cut off"


async def test_the_index_of_a_large_space_is_made_through_a_pooler(program: str, owned: Owned, tmp_path: Path) -> None:
    with pooled(program, owned, await owned.create(), default_pool_size=2) as pooler:
        url = pooler.url(OWNER, PASSWORD)
        settings = Settings(home=tmp_path)
        async with open_migrated(settings, url, HASHER) as services:
            missing = vectors.SetSize(vector_set=1, dimension=384, passages=30_000)
            name = vectors.index_name(7, missing)
            async with services.db.alone(name) as first, services.db.alone(name) as second:
                assert (first, second) == (True, False)
            for _ in range(2):  # and again, where an attempt that was cut off left one
                async with services.db.as_owner() as conn:
                    await vectors.build_index(conn, 7, missing)
            async with services.db.as_owner() as conn:
                query = sql.SQL("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass({})").format(
                    sql.Literal(f"keepstone.{name}")
                )
                assert await (await conn.execute(query)).fetchall() == [(True,)]
                settings_of = "SELECT current_setting('maintenance_work_mem'), current_setting('search_path')"
                left = await (await conn.execute(settings_of)).fetchall()
                assert left == [("64MB", '"$user", public')]
                await vectors.drop_indexes(conn, [name])
                assert await (await conn.execute(query)).fetchall() == []


async def test_a_pooler_that_makes_everybody_one_user_is_refused(program: str, owned: Owned) -> None:
    """What the owner may see, or a superuser, is then what everybody's requests may see."""
    direct = await owned.create()
    with pooled(program, owned, direct, forced=f"user={OWNER} password='{PASSWORD}'") as pooler:
        for url in (pooler.url(OWNER, PASSWORD), direct):
            with pytest.raises(Misconfigured, match=r"logs in as it is memo.* log in to Postgres as whoever asks it"):
                await migrate(url, roles_url=role_conninfo(pooler.url(OWNER, PASSWORD), APP_ROLE))
