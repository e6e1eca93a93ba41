"""Row-level security: a forgotten filter finds nothing, and a transaction without a scope fails."""

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from bench import citus
from procrastinate.exceptions import ConnectorException
from psycopg import sql

from conftest import PASSWORD, World
from keepstone.access import invite_links, sessions
from keepstone.access.readscope import account_scope
from keepstone.model.ids import new_id
from keepstone.model.principal import ReadScope, Visibility
from keepstone.services import Services
from keepstone.store import spaces
from keepstone.store.inspect import role_is_held, unguarded_tables
from keepstone.store.roles import ROLES

ALL: tuple[Visibility, ...] = ("public", "shared", "private")


@asynccontextmanager
async def as_owner(database: str) -> AsyncGenerator[psycopg.AsyncConnection[Any]]:
    """The owner of the tables, past all policies: for looking at the catalogue."""
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone, public")
        yield conn


async def tables(conn: psycopg.AsyncConnection[Any]) -> list[str]:
    rows = await (
        await conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'keepstone' ORDER BY 1")
    ).fetchall()
    return [name for (name,) in rows]


async def fill(services: Services, account: int, name: str, visibility: Visibility = "private") -> int:
    """A space with a row in every table that holds something of it."""
    async with services.db.transaction(ReadScope(account=account)) as conn:
        space = await spaces.ensure(conn, kind="room", name=name)
    async with services.db.transaction(ReadScope(account=account, spaces=(space,), visibilities=ALL)) as conn:
        message, one, two = new_id("msg"), new_id("mem"), new_id("mem")
        at = {"space": space, "visibility": visibility, "message": message, "one": one, "two": two, "name": name}
        statements: list[Any] = [
            "INSERT INTO messages (space, id, speaker, text, at, visibility)"
            " VALUES (%(space)s, %(message)s, 's', 'text', now(), %(visibility)s)",
            "INSERT INTO statements (space, id, message_id, part, subject, kind, key, text, at, visibility)"
            " VALUES (%(space)s, %(message)s, %(message)s, 0, 's', 'place', 'place:home', 'text', now(),"
            " %(visibility)s)",
            "INSERT INTO statement_versions (space, statement_id, version, change, subject, text, visibility)"
            " VALUES (%(space)s, %(message)s, 1, 'created', 's', 'text', %(visibility)s)",
            "INSERT INTO memories (space, id, kind, content, content_hash, size_bytes, visibility)"
            " SELECT %(space)s, id, 'node', 'text', '', 0, %(visibility)s FROM unnest(ARRAY[%(one)s, %(two)s]) id"
            " RETURNING 1",
            "INSERT INTO memory_versions (space, memory_id, version, change, content, visibility)"
            " VALUES (%(space)s, %(one)s, 1, 'created', 'text', %(visibility)s)",
            "INSERT INTO edges (space, id, from_id, to_id, type)"
            " VALUES (%(space)s, 'edge_' || right(%(one)s, 24), %(one)s, %(two)s, 'about')",
            "INSERT INTO facts (space, scope_kind, scope_id, key, value, visibility)"
            " VALUES (%(space)s, 'room', %(name)s, 'k', '1', %(visibility)s)",
            "INSERT INTO summaries (space, id, tier, content, starts_at, ends_at, message_count, visibility)"
            " VALUES (%(space)s, 'sum_' || right(%(one)s, 24), 'day', 'text', now(), now(), 1, %(visibility)s)",
            "INSERT INTO documents (space, id, kind, name, media_type, content, size_bytes, sha256, visibility)"
            " VALUES (%(space)s, 'doc_' || right(%(one)s, 24), 'file', 'n', 'text/plain', 'text', 4, '',"
            " %(visibility)s)",
            "INSERT INTO document_versions (space, document_id, version, change, name, media_type, content, size_bytes,"
            " visibility) SELECT space, id, 1, 'created', name, media_type, content, size_bytes, visibility"
            " FROM documents WHERE id = 'doc_' || right(%(one)s, 24) RETURNING 1",
            "INSERT INTO chats (space, id) VALUES (%(space)s, 'chat_' || right(%(one)s, 24))",
            "INSERT INTO threads (space, id, opened_at) VALUES (%(space)s, 'thr_' || right(%(one)s, 24), now())",
            "INSERT INTO distillations (space, kind, chat_id, source_id)"
            " VALUES (%(space)s, 'tool', 'chat_' || right(%(one)s, 24), %(message)s)",
            "INSERT INTO tool_calls (space, client_call, id, position, name, arguments)"
            " VALUES (%(space)s, 'call', 'own', 0, 'x_recall_memory', '{}')",
            "INSERT INTO passages (space, source_kind, source_id, at, text, terms, term_count, visibility)"
            " VALUES (%(space)s, 'message', %(message)s, now(), 'text', '{text}', 1, %(visibility)s)",
            "INSERT INTO terms (space, term, passage, frequency, length)"
            " SELECT space, 'text', passage, 1, 1 FROM passages WHERE source_id = %(message)s RETURNING 1",
            "INSERT INTO vector_sets (vector_set, model, dimension) VALUES (1, 'm', 3) ON CONFLICT DO NOTHING",
            "INSERT INTO vectors (space, vector_set, passage, embedding)"
            " SELECT space, 1, passage, '[1,2,3]' FROM passages WHERE source_id = %(message)s RETURNING 1",
            "INSERT INTO token_vectors (space, vector_set, passage, tokens)"
            " SELECT space, 1, passage, 'bits' FROM passages WHERE source_id = %(message)s RETURNING 1",
            "INSERT INTO constellations (space, capsules, points, clusters) VALUES (%(space)s, 0, '[]', '[]')",
        ]
        for statement in statements:
            await conn.execute(statement, at)
    return space


# Of the whole server: they name no account.
SERVERS = {"migrations", "schema_level", "plans", "provider_settings", "job_faults", "guesses", "servers"}
SEEN = (
    "messages", "statements", "memories", "memory_versions", "facts", "summaries", "documents", "document_versions",
    "passages",
)  # fmt: skip
KEPT = (
    *SEEN, "chats", "threads", "distillations", "tool_calls", "edges", "terms", "vectors", "token_vectors",
    "constellations",
)  # fmt: skip


async def counts(conn: psycopg.AsyncConnection[Any], names: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        rows = await (await conn.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))).fetchall()
        found[name] = rows[0][0]
    return found


async def test_every_table_has_row_security_and_a_policy(database: str) -> None:
    async with as_owner(database) as conn:
        assert await unguarded_tables(conn) == []
        for role in ROLES:
            assert await role_is_held(conn, role)
        await conn.execute("CREATE TABLE forgotten (account int)")
        assert await unguarded_tables(conn) == ["forgotten"]


async def test_the_server_works_as_a_role_that_owns_nothing(services: Services) -> None:
    async with services.db.one_statement() as conn:
        assert await (await conn.execute("SELECT current_user::text")).fetchone() == ("keepstone_app",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await conn.execute("ALTER TABLE messages DISABLE ROW LEVEL SECURITY")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await conn.execute("CREATE TABLE keepstone.mine (x int)")


async def test_without_a_scope_every_query_on_what_is_there_fails(
    services: Services, world: World, database: str
) -> None:
    account, user = world.owner.user.account, world.owner.user
    space = await fill(services, account, "room")
    await sessions.make_link(services, user)
    await invite_links.create(services, world.owner.principal)
    browser = sessions.Browser(address="127.0.0.1", user_agent=None)
    await sessions.log_in(services, email=user.email, password=PASSWORD, browser=browser)
    async with services.db.transaction(ReadScope(account=account)) as conn:
        await conn.execute("INSERT INTO members (space, user_id) VALUES (%s, %s)", [space, user.id])
        await conn.execute(
            "INSERT INTO invitations (id, space, user_id, invited_by) VALUES ('i', %s, %s, %s)",
            [space, user.id, user.id],
        )
        await conn.execute("INSERT INTO usage_ledger (call_id, action) VALUES ('c', 'recall')")
        await conn.execute("INSERT INTO usage_months (month) VALUES ('2026-07-01')")
        await conn.execute("INSERT INTO billing_events (id) VALUES ('evt_1')")
        await conn.execute("INSERT INTO second_factors (user_id, secret) VALUES (%s, 'x')", [user.id])
        await conn.execute("INSERT INTO agents (slug, name, context_window) VALUES ('a', 'A', 1000)")
        await conn.execute("INSERT INTO rooms (space) VALUES (%s)", [space])
        await conn.execute("INSERT INTO entities (space, user_id) VALUES (%s, 'anna')", [space])
        await conn.execute("INSERT INTO room_agents (space, agent) VALUES (%s, 'a')", [space])
        await conn.execute("INSERT INTO room_reads (space, user_id, seq) VALUES (%s, %s, 1)", [space, user.id])
        await conn.execute(
            "INSERT INTO queries (id, graph_id, filters, max_results, min_relevance, returned, total, milliseconds)"
            " VALUES ('q', 'g', '{}', 1, 0, 0, 0, 1)"
        )
        await conn.execute(
            "INSERT INTO traces (id, at, kind, surface, readers, tokens, milliseconds, content)"
            " VALUES ('t', now(), 'recall', '', '{}', 0, 1, '{}')"
        )
        await conn.execute(
            "INSERT INTO imports (id, user_id, source, name, size_bytes, options, dry_run)"
            " VALUES ('i', %s, 'jsonl', 'x', 1, '{}', false)",
            [user.id],
        )
        await conn.execute("INSERT INTO provider_responses (id, provider) VALUES ('resp_1', 'p')")
        await conn.execute("INSERT INTO import_parts (import_id, part, data) VALUES ('i', 0, 'x')")
        await conn.execute(
            "INSERT INTO import_arrivals (user_id, journal, key, digest) VALUES (%s, 'j', 'k', 'd')", [user.id]
        )
        await services.queue.add(conn, "erase_user", account=account, user_id="usr_nobody")
    async with as_owner(database) as owner:
        await owner.execute(
            "INSERT INTO keepstone.revisions (account, space, older, newer, certainty)"
            " SELECT account, space, passage, passage, 1 FROM keepstone.passages LIMIT 1"
        )
        await owner.execute(
            "INSERT INTO keepstone.space_changes (account, space, version, passages)"
            " SELECT account, space, 1, ARRAY[passage] FROM keepstone.passages LIMIT 1"
        )
        await owner.execute(
            "INSERT INTO keepstone.message_versions (account, space, message_id, version, change, text, visibility)"
            " SELECT account, space, id, 1, 'created', text, visibility FROM keepstone.messages LIMIT 1"
        )
        await owner.execute(
            "INSERT INTO keepstone.trashed_messages (account, space, id, seq, speaker, text, at, recorded_at,"
            " visibility, attachments, version, reread, deleted_at)"
            " SELECT account, space, id, seq, speaker, text, at, recorded_at, visibility, '[]', 1, false, now()"
            " FROM keepstone.messages LIMIT 1"
        )
        names = [name for name in await tables(owner) if name not in SERVERS]
        filled = await counts(owner, tuple(names))
    for name in names:
        assert filled[name] > 0 or name in {"procrastinate_periodic_defers", "procrastinate_workers"}, name
        async with services.db.unscoped() as conn:
            with pytest.raises(psycopg.Error) as raised:
                await conn.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name)))
            assert raised.value.sqlstate in {"42704", "22P02", "42501"}, name


async def test_a_query_without_any_filter_sees_only_its_scope(services: Services, world: World) -> None:
    mine = await fill(services, world.owner.user.account, "mine")
    other_room = await fill(services, world.owner.user.account, "another room")
    elsewhere = await fill(services, world.stranger.user.account, "elsewhere")
    scope = ReadScope(account=world.owner.user.account, spaces=(mine,), visibilities=ALL)
    async with services.db.transaction(scope) as conn:
        found = await counts(conn, KEPT)
        rows = await (await conn.execute("SELECT DISTINCT space FROM messages")).fetchall()
    assert found == dict.fromkeys(KEPT, 1) | {"memories": 2}
    assert rows == [(mine,)]
    assert len({mine, other_room, elsewhere}) == 3
    forged = ReadScope(account=world.owner.user.account, spaces=(elsewhere,), visibilities=ALL)
    async with services.db.transaction(forged) as conn:
        assert await counts(conn, KEPT) == dict.fromkeys(KEPT, 0), "a space of another account is not in this one"
    async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
        assert await counts(conn, KEPT) == dict.fromkeys(KEPT, 0), "no spaces, no memory"


async def test_what_is_not_visible_is_not_there(services: Services, world: World) -> None:
    account = world.owner.user.account
    private = await fill(services, account, "private", "private")
    shared = await fill(services, account, "shared", "shared")
    scope = ReadScope(account=account, spaces=(private, shared), visibilities=("public", "shared"))
    async with services.db.transaction(scope) as conn:
        for name in SEEN:
            rows = await (
                await conn.execute(sql.SQL("SELECT DISTINCT space FROM {}").format(sql.Identifier(name)))
            ).fetchall()
            assert rows == [(shared,)], name


async def test_nothing_can_be_written_into_another_account_or_space(services: Services, world: World) -> None:
    mine = await fill(services, world.owner.user.account, "mine")
    theirs = await fill(services, world.stranger.user.account, "theirs")
    scope = ReadScope(account=world.owner.user.account, spaces=(mine,), visibilities=ALL)
    insert = "INSERT INTO messages (account, space, id, speaker, text, at) VALUES (%s, %s, %s, 's', 't', now())"
    for account, space in ((world.stranger.user.account, theirs), (world.owner.user.account, theirs)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with services.db.transaction(scope) as conn:
                await conn.execute(insert, [account, space, new_id("msg")])
    async with services.db.transaction(scope) as conn:
        done = await conn.execute("UPDATE memories SET content = 'changed'")
        assert done.rowcount == 2, "only its own two"
        assert (await conn.execute("DELETE FROM documents")).rowcount == 1
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
        async with services.db.transaction(scope) as conn:  # on a cluster no row ever changes its account
            await conn.execute("UPDATE memories SET account = %s", [world.stranger.user.account])


async def test_what_was_said_moves_with_its_chat_and_no_further(services: Services, world: World) -> None:
    here, there = [await fill(services, world.owner.user.account, name) for name in ("here", "there")]
    elsewhere = await fill(services, world.stranger.user.account, "elsewhere")
    both = ReadScope(account=world.owner.user.account, spaces=(here, there), visibilities=ALL)
    async with services.db.transaction(both) as conn:
        done = await conn.execute("UPDATE messages SET space = %s WHERE space = %s", [there, here])
        assert done.rowcount == 1
    for spaces_of, to in (((there,), here), ((there,), elsewhere)):
        scope = ReadScope(account=world.owner.user.account, spaces=spaces_of, visibilities=ALL)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with services.db.transaction(scope) as conn:
                await conn.execute("UPDATE messages SET space = %s", [to])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE messages SET text = ''",
        "DELETE FROM messages",
        "UPDATE message_versions SET text = ''",
        "DELETE FROM message_versions",
        "DELETE FROM trashed_messages",
        "UPDATE audit SET action = ''",
        "DELETE FROM audit",
        "UPDATE usage_ledger SET credits = 0",
        "DELETE FROM usage_ledger",
        "DELETE FROM usage_months",
        "DELETE FROM billing_events",
        "UPDATE plans SET capacity_bytes = NULL",
    ],
)
async def test_what_was_said_and_done_cant_be_rewritten(services: Services, world: World, statement: Any) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        async with services.db.transaction(account_scope(world.owner.principal.account)) as conn:
            await conn.execute(statement)


async def test_the_worker_role_sees_jobs_and_no_memory(services: Services, database: str) -> None:
    async with as_owner(database) as conn:
        await conn.execute("SET ROLE keepstone_worker")
        await conn.execute("SELECT * FROM procrastinate_jobs")
        for name in await tables(conn):
            of_queue = {"migrations", "schema_level", "job_faults", "servers"}
            if not name.startswith("procrastinate_") and name not in of_queue:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await conn.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name)))


async def test_a_job_cant_be_added_for_another_account(services: Services, world: World) -> None:
    scope = account_scope(world.owner.principal.account)
    with pytest.raises(ConnectorException) as raised:
        async with services.db.transaction(scope) as conn:
            await services.queue.add(conn, "erase_user", account=world.stranger.user.account, user_id="x")
    assert isinstance(raised.value.__cause__, psycopg.errors.InsufficientPrivilege)
    assert (await services.queue.counts())["todo"] == 0


async def test_random_scopes_never_see_more_than_they_name(services: Services, world: World) -> None:
    chance = random.Random(20)
    accounts = (world.owner.user.account, world.stranger.user.account)
    placed: dict[int, tuple[int, Visibility]] = {}
    for number in range(12):
        account, visibility = chance.choice(accounts), chance.choice(ALL)
        placed[await fill(services, account, f"room {number}", visibility)] = (account, visibility)
    for _ in range(40):
        scope = ReadScope(
            account=chance.choice(accounts),
            spaces=tuple(chance.sample(sorted(placed), chance.randint(0, 12))),
            visibilities=tuple(chance.sample(ALL, chance.randint(0, 3))),
        )
        allowed = {
            space
            for space in scope.spaces
            if placed[space][0] == scope.account and placed[space][1] in scope.visibilities
        }
        async with services.db.transaction(scope) as conn:
            for name in SEEN:
                rows = await (
                    await conn.execute(sql.SQL("SELECT DISTINCT space FROM {}").format(sql.Identifier(name)))
                ).fetchall()
                assert {space for (space,) in rows} == allowed, name


async def test_the_account_leads_every_key_unique_constraint_and_foreign_key(database: str) -> None:
    async with as_owner(database) as conn:
        rows = await (
            await conn.execute(
                """
                SELECT c.conrelid::regclass::text, c.conname,
                       (SELECT attname FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = c.conkey[1])
                  FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
                 WHERE t.relnamespace = 'keepstone'::regnamespace AND c.contype IN ('p', 'u', 'f')
                """
            )
        ).fetchall()
        unique = await (
            await conn.execute(
                """
                SELECT t.relname, x.relname,
                       (SELECT attname FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = i.indkey[0])
                  FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
                 WHERE t.relnamespace = 'keepstone'::regnamespace AND i.indisunique
                """
            )
        ).fetchall()
    # procrastinate's queue, the plans and the record of migrations belong to the whole server.
    ours = [row for row in (*rows, *unique) if not row[0].startswith("procrastinate_") and row[0] not in SERVERS]
    assert len(ours) > 40
    assert [row for row in ours if row[2] != "account"] == []


async def test_vectors_of_any_dimension_stand_side_by_side_in_their_own_row(
    services: Services, world: World, database: str
) -> None:
    space = await fill(services, world.owner.user.account, "room")
    scope = ReadScope(account=world.owner.user.account, spaces=(space,), visibilities=ALL)
    async with services.db.transaction(scope) as conn:
        for number, dimension in ((2, 384), (3, 1536), (4, 3072), (5, 4096)):
            await conn.execute(
                "INSERT INTO vector_sets (vector_set, model, dimension) VALUES (%s, %s, %s)",
                [number, f"model {number}", dimension],
            )
            vector = "[" + ",".join(str(random.random()) for _ in range(dimension)) + "]"
            await conn.execute(
                "INSERT INTO vectors (space, vector_set, passage, embedding)"
                " SELECT space, %s, passage, %s FROM passages RETURNING 1",
                [number, vector],
            )
        rows = await (
            await conn.execute("SELECT vector_set, vector_dims(embedding) FROM vectors ORDER BY 1")
        ).fetchall()
    assert rows == [(1, 3), (2, 384), (3, 1536), (4, 3072), (5, 4096)]
    async with as_owner(database) as conn:
        toasted = await (
            await conn.execute("SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'vectors'::regclass")
        ).fetchone()
    assert toasted is not None
    assert toasted[0] <= 2 * 8192, "only the one of 4096 dimensions, which no page can hold, is out of line"


@pytest.mark.skipif(bool(citus.PROGRAMS), reason="a distributed table has no trigger: who writes SQL names the space")
async def test_a_fact_can_be_inserted_as_the_document_shows_it(services: Services, world: World) -> None:
    member = world.member.user
    async with services.db.transaction(account_scope(member.account)) as conn:
        (rows,) = await (
            await conn.execute("SELECT space FROM spaces WHERE kind = 'profile' AND owner = %s", [member.id])
        ).fetchall()
    scope = ReadScope(account=member.account, spaces=rows, visibilities=ALL)
    async with services.db.transaction(scope) as conn:
        await conn.execute(
            "INSERT INTO facts (scope_kind, scope_id, key, value)"
            " VALUES ('user', %s, 'preferred_jwt_expiry', '\"30m\"')",
            [world.member.user.id],
        )
        (row,) = await (await conn.execute("SELECT value, valid_from, recorded_at, valid_to FROM facts")).fetchall()
    assert row[0] == "30m"
    assert row[1] is not None
    assert row[2] is not None
    assert row[3] is None
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        async with services.db.transaction(scope) as conn:
            await conn.execute(
                "INSERT INTO facts (scope_kind, scope_id, key, value) VALUES ('user', 'usr_nobody', 'k', '1')"
            )
