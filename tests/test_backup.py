"""Backups: of a database that is written to, restored to the last row, refused where they are not what they say."""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import httpx
import psycopg
import pytest
from bench import citus
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

import prepared
import stocked
from capsules import keep, rows
from conftest import Distributed, Server, World, http
from keepstone.access.users import erase_user
from keepstone.app import make_app
from keepstone.errors import Invalid, Misconfigured
from keepstone.frames import FRAME, FrameReader, FrameWriter
from keepstone.home import SECRETS
from keepstone.jobs.worker import run_until_empty
from keepstone.providers.embedder import Embedder
from keepstone.services import Services
from keepstone.store import inspect
from keepstone.store.migrate import connect_as_owner, migrate
from live import Live
from schema import describe
from test_cluster import on_a_cluster, url_of
from test_erasure import orphans
from workspaces import call

of_one_postgres = pytest.mark.skipif(
    bool(citus.PROGRAMS), reason="asks the database that was restored, which on a cluster is distributed first"
)

# What a superuser made for the tests is given to somebody else.
OWNED_BY_MEMO = """
DO $$
DECLARE
    one record;
BEGIN
    ALTER SCHEMA keepstone OWNER TO test_memo;
    FOR one IN SELECT c.oid::regclass AS name FROM pg_class c
                WHERE c.relnamespace = 'keepstone'::regnamespace AND c.relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO test_memo', one.name);
    END LOOP;
    FOR one IN SELECT c.oid::regclass AS name FROM pg_class c
                WHERE c.relnamespace = 'keepstone'::regnamespace AND c.relkind = 'S'
                  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i')) LOOP
        EXECUTE format('ALTER SEQUENCE %s OWNER TO test_memo', one.name);
    END LOOP;
    FOR one IN SELECT p.oid::regprocedure AS name FROM pg_proc p
                WHERE p.pronamespace = 'keepstone'::regnamespace
                  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') LOOP
        EXECUTE format('ALTER ROUTINE %s OWNER TO test_memo', one.name);
    END LOOP;
    FOR one IN SELECT t.oid::regtype AS name FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
                WHERE t.typnamespace = 'keepstone'::regnamespace AND (t.typtype = 'e' OR c.relkind = 'c') LOOP
        EXECUTE format('ALTER TYPE %s OWNER TO test_memo', one.name);
    END LOOP;
END $$
"""
PASSPHRASE = "nine ferries from pier three"
OLDER = "0030_provider_settings.sql"


def keepstone(home: Path, *words: str, url: str | None = None, stdin: str = "", **environ: str) -> Any:
    where = {"KEEPSTONE_HOME": str(home)} | ({"KEEPSTONE_DATABASE_URL": url_of(url)} if url else {})
    return prepared.run(*words, environ=where | environ, stdin=stdin)


async def done(home: Path, *words: str, url: str | None = None, **environ: str) -> Any:
    """A command that works, while whatever else the test does goes on."""
    ran = await asyncio.to_thread(keepstone, home, *words, url=url, **environ)
    assert ran.returncode == 0, ran.stderr
    return ran


async def refused(home: Path, *words: str, url: str | None = None, **environ: str) -> str:
    ran = await asyncio.to_thread(keepstone, home, *words, url=url, **environ)
    assert (ran.returncode, ran.stdout) == (1, ""), ran.stdout
    assert ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr


async def killed(running: prepared.Prepared) -> None:
    running.kill()
    await asyncio.to_thread(running.wait)
    assert running.stdout
    running.stdout.close()


async def happens(what: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not (await told if asyncio.iscoroutine(told := what()) else told):
            await asyncio.sleep(0.02)


@pytest.fixture
async def knowing(services: Services, models: tuple[Embedder, ...]) -> Services:
    services.embedders.active = models
    return services


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a server has its secrets."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for name in SECRETS:
        (home / name).touch(mode=0o600)
        (home / name).write_text(f"{name} of this server, and of no other\n")
    return home


def secrets_of(home: Path) -> dict[str, tuple[str, int]]:
    return {name: ((home / name).read_text(), stat.S_IMODE((home / name).stat().st_mode)) for name in SECRETS}


# ------------------------------------------------------------------------------------------------- there and back


async def test_a_backup_has_all_that_was_acknowledged_before_it_while_others_write(
    postgres: Server, knowing: Services, world: World, database: str, empty_database: str, home: Path, tmp_path: Path,
    models: tuple[Embedder, ...],
) -> None:  # fmt: skip
    kept = await stocked.stock(knowing, world.owner)
    before = await stocked.found(knowing, kept)
    assert before["/recall"]["evidence"]
    assert before["/graphs/default/recall"]["results"]
    said: list[str] = []
    enough = asyncio.Event()

    async def write() -> None:
        async with http(make_app(knowing)) as client:
            while not enough.is_set():
                text = f"Turn {len(said)} of a talk that goes on."
                body = {"scope_id": "busy", "transcript": [{"speaker": "Max", "text": text}]}
                await call(client, world.owner.auth, "POST", "/ingest", json=body, expect=202)
                said.append(text)

    writing = asyncio.create_task(write())
    while len(said) < 3:
        await asyncio.sleep(0.01)
    acknowledged = len(said)
    await done(home, "backup", str(tmp_path / "a.backup"), url=database)
    enough.set()
    await writing

    there = tmp_path / "there"
    told = await done(there, "restore", str(tmp_path / "a.backup"), "--json", url=empty_database)
    assert json.loads(told.stdout)["left_out"] == []
    restored_to = postgres.database(str(conninfo_to_dict(empty_database)["dbname"]))  # as a superuser
    held = [
        text for (text,) in await rows(restored_to, "SELECT text FROM messages WHERE text LIKE 'Turn %' ORDER BY seq")
    ]
    assert held == said[: len(held)]
    assert len(held) >= acknowledged
    without = "SELECT text FROM messages m WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.source_id = m.id)"
    assert [text for (text,) in await rows(restored_to, without) if text.startswith("Turn ")] == []
    assert set((await orphans(restored_to)).values()) == {0}
    if not citus.PROGRAMS:  # there, what is restored is distributed afterwards
        assert await describe(empty_database) == await describe(database)
    assert secrets_of(there) == secrets_of(home)
    async with stocked.services_on(there, empty_database, models) as restored:
        assert await stocked.found(restored, kept) == before
        async with http(make_app(restored)) as client:  # and it goes on: new rows get new numbers
            body = {"scope_id": "busy", "transcript": [{"speaker": "Max", "text": "And on it goes."}]}
            await call(client, world.owner.auth, "POST", "/ingest", json=body, expect=202)
    async with await connect_as_owner(empty_database) as conn:
        assert await inspect.unguarded_tables(conn) == []


async def test_the_embedded_one_goes_to_another_machine_with_its_secrets(tmp_path: Path) -> None:
    server = Live()
    file, there = tmp_path / "a.backup", tmp_path / "there"
    try:
        token = httpx.post(f"{server.url}/auth/token", headers=server.auth).json()["token"]
        made = await done(server.home, "backup", str(file), "--check", "--json")
        assert json.loads(made.stdout)["checked"] is True
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert not (server.home / "checking").exists()
        account = httpx.get(f"{server.url}/v1/me", headers=server.auth).json()
        key = server.key
    finally:
        assert server.stop() == 0
    await done(there, "restore", str(file))
    for name in ("jwt-secret", "owner-key"):
        assert stat.S_IMODE((there / name).stat().st_mode) == 0o600
    restored = Live(there)
    try:
        assert restored.key == key
        for credential in (key, token):
            answer = httpx.get(f"{restored.url}/v1/me", headers={"Authorization": f"Bearer {credential}"})
            assert answer.json()["user"] == account["user"], answer.text
        assert "stop it, then restore" in await refused(there, "restore", str(file), "--replace")
    finally:
        assert restored.stop() == 0
    (there / "owner-key").write_text("another's")
    assert "owner-key of another Keepstone" in await refused(there, "restore", str(file))


@of_one_postgres
async def test_through_a_pipe_encrypted(peopled: World, database: str, empty_database: str, home: Path) -> None:
    secret_file = home / "passphrase"
    secret_file.write_text(f"{PASSPHRASE}\n")
    words = [sys.executable, "-m", "keepstone"]
    environ = {"KEEPSTONE_HOME": str(home), "PATH": os.environ["PATH"]}
    run = await asyncio.create_subprocess_exec(
        *words, "backup", "-", "--passphrase-file", str(secret_file), stdout=asyncio.subprocess.PIPE,
        env=environ | {"KEEPSTONE_DATABASE_URL": url_of(database)},
    )  # fmt: skip
    written, _ = await run.communicate()
    assert run.returncode == 0
    assert b"olga@example.org" not in written
    run = await asyncio.create_subprocess_exec(
        *words, "restore", "-", stdin=asyncio.subprocess.PIPE,
        env=environ | {"KEEPSTONE_DATABASE_URL": url_of(empty_database), "KEEPSTONE_BACKUP_PASSPHRASE": PASSPHRASE},
    )  # fmt: skip
    await run.communicate(written)
    assert run.returncode == 0
    everybody = "SELECT email FROM users ORDER BY email"
    assert await rows(empty_database, everybody) == await rows(database, everybody) != []


@of_one_postgres
async def test_an_owner_who_is_nobody_special_backs_up_and_restores(
    postgres: Server, peopled: World, database: str, home: Path
) -> None:
    """As on a hosted Postgres: held by row-level security, and without a right to make roles and extensions."""
    there = await postgres.create("test_there")
    async with await psycopg.AsyncConnection.connect(postgres.conninfo, autocommit=True) as conn:
        await conn.execute("CREATE ROLE test_memo LOGIN")
        try:
            for one in (database, there):
                name = sql.Identifier(str(conninfo_to_dict(one)["dbname"]))
                await conn.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO test_memo").format(name))
                async with await psycopg.AsyncConnection.connect(one, autocommit=True) as given:
                    await given.execute("CREATE SCHEMA IF NOT EXISTS keepstone")
                    await given.execute("CREATE EXTENSION IF NOT EXISTS vector")
                    await given.execute("ALTER EXTENSION vector SET SCHEMA public")
                    await given.execute(OWNED_BY_MEMO)
            as_memo = [make_conninfo(one, user="test_memo") for one in (database, there)]
            file = str(home / "a.backup")
            assert "does not see all" in await refused(home, "backup", file, url=as_memo[0])
            await rows(database, "UPDATE schema_level SET repeatable = '{}' RETURNING 1")
            await migrate(as_memo[0])  # the policies of an owner name them
            await done(home, "backup", file, url=as_memo[0])
            await done(home, "restore", file, url=as_memo[1])
            await done(home, "restore", file, "--replace", url=as_memo[1])
            counted = "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM audit)"
            assert await rows(there, counted) == await rows(database, counted)
            assert (await rows(there, counted))[0][0] == 3
            assert await describe(there) == await describe(database)
        finally:
            await postgres.drop("test_there")
            name = str(conninfo_to_dict(database)["dbname"])
            await postgres.drop(name)
            await postgres.create(name)  # the fixture's to drop
            await conn.execute("DROP ROLE test_memo")


@of_one_postgres
async def test_a_backup_of_an_older_version_is_restored_and_brought_up_to_date(
    postgres: Server, empty_database: str, home: Path, tmp_path: Path
) -> None:
    older = await postgres.create("older")
    try:
        await migrate(older, upto=OLDER)
        async with await psycopg.AsyncConnection.connect(older) as conn:
            await conn.execute("SET search_path = keepstone")
            await conn.execute("INSERT INTO accounts (account, id, name, plan) VALUES (7, 'acct_a', 'a', 'free')")
            await conn.execute("INSERT INTO users (account, id, email) VALUES (7, 'usr_a', 'a@example.org')")
            await conn.execute("INSERT INTO spaces (account, kind, name) VALUES (7, 'scope', 'team')")
        await done(home, "backup", str(tmp_path / "a.backup"), url=older)
    finally:
        await postgres.drop("older")
    await done(tmp_path / "there", "restore", str(tmp_path / "a.backup"), url=empty_database)
    assert await describe(empty_database) == await describe(postgres.database("migrated"))
    told = "SELECT (SELECT email FROM users), (SELECT count(*) FROM plans)"
    assert await rows(empty_database, told) == [("a@example.org", 4)]
    async with await connect_as_owner(empty_database) as conn:
        assert await inspect.unguarded_tables(conn) == []


@of_one_postgres
async def test_the_index_of_a_large_space_is_made_again_by_a_job(
    services: Services, world: World, database: str, empty_database: str, home: Path
) -> None:
    account = world.owner.principal.account
    await rows(
        database,
        "INSERT INTO spaces (account, kind, name, indexed_sets) VALUES (%s, 'scope', 'large', '{1}') RETURNING space",
        [account],
    )
    await done(home, "backup", str(home / "a.backup"), url=database)
    await done(home, "restore", str(home / "a.backup"), url=empty_database)
    ((space, sets),) = await rows(empty_database, "SELECT space, indexed_sets FROM spaces WHERE name = 'large'")
    assert sets == []
    waiting = (
        "SELECT args, queue_name::text FROM procrastinate_jobs WHERE task_name = 'index_space' AND status = 'todo'"
    )
    assert await rows(empty_database, waiting) == [({"account": account, "space": space}, "housekeeping")]


async def test_of_who_was_erased_nothing_is_in_it(services: Services, world: World, database: str, home: Path) -> None:
    async with http(make_app(services)) as client:
        await keep(client, world.member.auth, "My safe opens with plumtree.")
        for word in (b"plumtree", world.member.user.email.encode()):
            assert word in await content(database, home)
        await erase_user(services, world.owner.principal, world.member.user.id)
        await run_until_empty(services)
    left = await content(database, home)
    for word in (b"plumtree", world.member.user.email.encode()):
        assert word not in left


async def content(database: str, home: Path) -> bytes:
    """All that is in a backup, as it is before it is compressed."""
    file = home / "a.backup"
    await done(home, "backup", str(file), url=database)
    with file.open("rb") as opened:
        return b"".join(kind + piece for kind, piece in frames(opened))


# ------------------------------------------------------------------------------------------------------- refused


def frames(file: BinaryIO, passphrase: str | None = None) -> list[tuple[bytes, bytes]]:
    reader = FrameReader(file, passphrase)
    found: list[tuple[bytes, bytes]] = []
    while (frame := reader.read()) is not None:
        found.append(frame)
    return found


PIECES = [(b"i", b"{}"), (b"t", b"users"), (b"r", b"x" * FRAME), (b"r", os.urandom(FRAME)), (b"r", b"end")]


def written(passphrase: str | None) -> tuple[bytes, list[int]]:
    """A file, and where each of its frames ends."""
    file = BytesIO()
    writer = FrameWriter(file, passphrase, cost=4)
    ends = [file.tell()]
    for kind, piece in PIECES:
        writer.write(kind, piece)
        ends.append(file.tell())
    writer.finish()
    assert writer.bytes == file.tell()
    return file.getvalue(), ends


@pytest.mark.parametrize("passphrase", [None, PASSPHRASE])
def test_what_was_cut_off_changed_or_put_elsewhere_is_refused(passphrase: str | None) -> None:
    whole, ends = written(passphrase)
    assert frames(BytesIO(whole), passphrase) == PIECES
    if passphrase:
        assert b"users" not in whole
        with pytest.raises(Invalid, match="The passphrase is not that of this backup"):
            frames(BytesIO(whole), "another one of theirs")
        with pytest.raises(Misconfigured, match="is encrypted"):
            frames(BytesIO(whole))
    else:
        with pytest.raises(Misconfigured, match="is not encrypted: anybody may have made it"):
            frames(BytesIO(whole), PASSPHRASE)
    bad: list[bytes] = [whole[:end] for end in ends]  # at every frame
    bad += [whole[: end + 3] for end in ends] + [whole[:-1], whole + b"\0", whole + whole]
    bad += [changed(whole, place) for end in ends for place in (end - 1, end + 1, end + 5, len(whole) - 1)]
    first, second = whole[ends[0] : ends[1]], whole[ends[1] : ends[2]]
    bad += [
        whole[: ends[0]] + second + first + whole[ends[2] :],
        whole[: ends[1]] + whole[ends[2] :],
        whole[: ends[2]] + second + whole[ends[2] :],
        whole[: ends[0]] + written(passphrase)[0][ends[0] :] if passphrase else whole[: ends[0]],
    ]
    for one in bad:
        assert one != whole
        with pytest.raises(Invalid):
            frames(BytesIO(one), passphrase)
    for other in (b"", b"PGDMP\0\0", b"keepstone backup\n"):
        with pytest.raises(Invalid):
            frames(BytesIO(other), passphrase)
    with pytest.raises(Invalid, match="made by a newer Keepstone"):
        frames(BytesIO(whole.replace(b'"layout": 1', b'"layout": 2')), passphrase)


def changed(whole: bytes, place: int) -> bytes:
    return whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]


@of_one_postgres
async def test_what_can_not_be_restored_is_refused_and_changes_nothing(
    peopled: World, database: str, empty_database: str, home: Path, tmp_path: Path
) -> None:
    file, there = tmp_path / "a.backup", tmp_path / "there"
    await done(home, "backup", str(file), url=database)
    whole = file.read_bytes()

    async def is_refused(content: bytes, told: str, *words: str, url: str = empty_database, **environ: str) -> None:
        file.write_bytes(content)
        assert told in await refused(there, "restore", str(file), *words, url=url, **environ)
        assert await rows(empty_database, "SELECT to_regnamespace('keepstone')") == [(None,)]
        assert not there.exists() or not {path.name for path in there.iterdir()} & set(SECRETS)

    await is_refused(whole[:-40], "cut off")
    await is_refused(changed(whole, len(whole) // 2), "damaged")
    await is_refused(b"something else", "no backup of Keepstone's")
    await is_refused(whole, "a passphrase was given".capitalize(), KEEPSTONE_BACKUP_PASSPHRASE=PASSPHRASE)
    await is_refused(rewritten(whole, lambda told: told["migrations"].append("9999_later.sql")), "newer Keepstone")
    await is_refused(rewritten(whole, one_row_less), "is not what went in: users has 3 rows, and had 2")
    await is_refused(whole, "has accounts already", url=database)
    mine = "SELECT count(*) FROM users"
    assert await rows(database, mine) == [(3,)]
    await rows(database, "UPDATE users SET name = 'later' RETURNING 1")
    await is_refused(whole[:-40], "cut off", "--replace", url=database)
    assert await rows(database, "SELECT DISTINCT name FROM users") == [("later",)]
    file.write_bytes(whole)
    await done(there, "restore", str(file), "--replace", url=database)
    assert await rows(database, "SELECT count(*) FROM users WHERE name = 'later'") == [(0,)]
    assert await rows(database, mine) == [(3,)]
    checked = await done(there, "restore", str(file), "--check", "--json", url=empty_database)
    assert json.loads(checked.stdout)["rows"] > 0
    assert await rows(empty_database, "SELECT to_regnamespace('keepstone')") == [(None,)]


def rewritten(whole: bytes, change: Callable[[Any], None]) -> bytes:
    """The same backup, saying something else of what is in it."""
    (_, told), *rest = frames(BytesIO(whole))
    inventory = json.loads(told)
    change(inventory)
    file = BytesIO()
    writer = FrameWriter(file)
    for kind, piece in [(b"i", json.dumps(inventory).encode()), *rest]:
        writer.write(kind, piece)
    writer.finish()
    return file.getvalue()


def one_row_less(told: Any) -> None:
    [users] = [table for table in told["tables"] if table["name"] == "users"]
    users["measure"]["rows"] -= 1


# -------------------------------------------------------------------------------------------------------- killed


async def test_a_backup_that_is_killed_leaves_nothing_that_looks_like_one(
    peopled: World, database: str, home: Path, tmp_path: Path
) -> None:
    file, part = tmp_path / "a.backup", tmp_path / "a.backup.part"
    environ = {"KEEPSTONE_HOME": str(home), "KEEPSTONE_DATABASE_URL": url_of(database)}
    async with await psycopg.AsyncConnection.connect(database) as conn:
        await conn.execute("LOCK TABLE keepstone.users")  # it waits here
        running = prepared.start("backup", str(file), environ=environ)
        await happens(part.exists)
        assert "under way" in await refused(home, "backup", str(file), url=database)
        await killed(running)
    assert [path.name for path in tmp_path.glob("a.*")] == [part.name]
    assert stat.S_IMODE(part.stat().st_mode) == 0o600
    await done(home, "backup", str(file), url=database)
    assert [path.name for path in tmp_path.glob("a.*")] == [file.name]
    before = file.read_bytes()
    full = await refused(home, "backup", "/dev/full", url=database)
    assert "can't be written" in full
    assert "can't be written" in await refused(home, "backup", str(tmp_path / "none" / "a"), url=database)
    assert file.read_bytes() == before


@of_one_postgres
async def test_a_restore_that_is_killed_leaves_the_database_as_it_was(
    peopled: World, database: str, empty_database: str, home: Path, tmp_path: Path
) -> None:
    file, pipe, there = tmp_path / "a.backup", tmp_path / "pipe", tmp_path / "there"
    await done(home, "backup", str(file), url=database)
    whole = file.read_bytes()
    os.mkfifo(pipe)
    environ = {"KEEPSTONE_HOME": str(there), "KEEPSTONE_DATABASE_URL": url_of(empty_database)}
    running = prepared.start("restore", str(pipe), environ=environ)
    with await asyncio.to_thread(pipe.open, "wb", buffering=0) as given:
        given.write(whole[:-10])
        copying = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        await happens(lambda: rows(empty_database, f"{copying} AND state LIKE 'idle in transaction%%'"))
        await killed(running)
    assert await rows(empty_database, "SELECT to_regnamespace('keepstone')") == [(None,)]
    assert not set(SECRETS) & {path.name for path in there.iterdir()}
    await done(there, "restore", str(file), url=empty_database)
    assert secrets_of(there) == secrets_of(home)


async def test_what_is_kept_back_of_the_disk_is_no_room_for_a_backup(tmp_path: Path) -> None:
    server = Live()
    try:
        file = server.home / "a.backup"
        told = await refused(server.home, "backup", str(file), KEEPSTONE_DISK_RESERVE_MB="1000000000")
        assert "write the backup to another" in told
        assert not list(server.home.glob("a.backup*"))
    finally:
        assert server.stop() == 0


# ------------------------------------------------------------------------------------------------- many machines


@on_a_cluster
async def test_a_cluster_goes_to_one_postgres_and_one_postgres_to_a_cluster(
    postgres: Server, knowing: Services, world: World, database: str, empty_database: str, home: Path,
    models: tuple[Embedder, ...],
) -> None:  # fmt: skip
    assert isinstance(postgres, Distributed)
    owners = [
        postgres.cluster.conninfo(str(conninfo_to_dict(one)["dbname"]), citus.OWNER)
        for one in (database, empty_database)
    ]
    kept = await stocked.stock(knowing, world.owner)
    before = await stocked.found(knowing, kept)
    file = str(home / "a.backup")
    await done(home, "backup", file, "--check", url=owners[0])  # in an embedded Postgres
    assert "is distributed" in await refused(home, "restore", file, "--replace", url=owners[0])
    await done(home, "restore", file, url=owners[1])
    await done(home, "distribute", "--json", url=owners[1])
    async with stocked.services_on(home, empty_database, models) as restored:
        assert await stocked.found(restored, kept) == before
