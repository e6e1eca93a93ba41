"""Whoever removes passages, and however: nothing of them stays in the index, and their spaces count them out."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg

from conftest import World
from keepstone.access.readscope import job_scope
from keepstone.jobs import tasks
from keepstone.model.message import NewPassage
from keepstone.services import Services
from keepstone.store import items, passages, spaces, vectors, workspaces

NOW = datetime(2026, 7, 1, tzinfo=UTC)

LEFT = """
    SELECT (SELECT count(*) FROM terms t LEFT JOIN passages p USING (account, space, passage) WHERE p.text IS NULL),
           (SELECT count(*) FROM vectors v LEFT JOIN passages p USING (account, space, passage) WHERE p.text IS NULL),
           (SELECT count(*) FROM token_vectors v LEFT JOIN passages p USING (account, space, passage)
             WHERE p.text IS NULL),
           (SELECT count(*) FROM spaces s
             WHERE (s.passages, s.term_total) <> (SELECT count(*), coalesce(sum(p.term_count), 0) FROM passages p
                                                   WHERE p.account = s.account AND p.space = s.space))
"""


async def ask(database: str, query: Any, params: Any = None) -> list[Any]:
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
        await conn.execute("SET search_path = keepstone, public; SET keepstone.owner = 'on'")
        cursor = await conn.execute(query, params)
        return await cursor.fetchall() if cursor.description else []


async def fill(services: Services, account: int, space: int, kind: str, source_id: str) -> None:
    """Two passages of a source, with everything that hangs on them."""
    async with services.db.transaction(job_scope(account, space)) as conn:
        cut = [
            NewPassage(
                source_kind=kind,
                source_id=source_id,
                part=part,
                speaker=None,
                at=NOW,
                session=None,
                visibility="private",
                text="an old lighthouse",
                foreign=False,
                frequencies={"old": 1, "lighthouse": 2},
            )
            for part in range(2)
        ]
        await passages.insert(conn, space, cut)
        number = await vectors.vector_set(conn, "m", 3)
        ids = [pending.passage for pending in await passages.pending(conn, space, limit=10)]
        await vectors.store_vectors(
            conn, space, number, {i: np.ones(3, dtype=np.float32) for i in ids}, dict.fromkeys(ids, b"bits")
        )


async def place(services: Services, account: int, kind: str, name: str, owner: str | None = None) -> int:
    async with services.db.transaction(job_scope(account)) as conn:
        return await spaces.ensure(conn, kind=kind, name=name, owner=owner)


async def remembered(database: str) -> int:
    return (await ask(database, "SELECT count(*) FROM terms"))[0][0]


async def test_passages_go_with_all_that_hangs_on_them(services: Services, world: World, database: str) -> None:
    account = world.owner.user.account
    here, there = [await place(services, account, "scope", name) for name in ("here", "there")]
    for space, source in ((here, "msg_a"), (here, "msg_b"), (there, "msg_c")):
        await fill(services, account, space, "message", source)
    async with services.db.transaction(job_scope(account, here)) as conn:
        await passages.delete(conn, "message", ["msg_a", "msg_c"])
    assert await ask(database, LEFT) == [(0, 0, 0, 0)]
    rows = await ask(database, "SELECT source_id, count(*) FROM passages GROUP BY 1 ORDER BY 1")
    assert rows == [("msg_b", 2), ("msg_c", 2)], "what the transaction does not reach stays"
    assert await remembered(database) == 8


async def test_a_space_that_is_purged_leaves_nothing(services: Services, world: World, database: str) -> None:
    account = world.owner.user.account
    room = await place(services, account, "room", "room_x")
    part = await place(services, account, "room", "room_x/scout")
    kept = await place(services, account, "room", "room_y")
    await ask(database, "UPDATE spaces SET part_of = %s WHERE space = %s", [room, part])
    for space in (room, part, kept):
        await fill(services, account, space, "memory", f"mem_{space}")
    await ask(database, "UPDATE spaces SET deleted_at = now() - interval '31 days' WHERE space = %s", [room])
    async with services.db.of_server() as conn:
        assert await workspaces.purge(conn, 30) == 1
    assert await ask(database, LEFT) == [(0, 0, 0, 0)]
    assert await ask(database, "SELECT DISTINCT space FROM passages") == [(kept,)]


async def test_an_item_that_expires_leaves_nothing(services: Services, world: World, database: str) -> None:
    account = world.owner.user.account
    store = await place(services, account, "store", "store_x")
    await fill(services, account, store, "memory", "item_a")
    columns = "account, space, id, kind, content, content_hash, size_bytes, valid_to"
    await ask(
        database,
        f"INSERT INTO memories ({columns}) VALUES (%s, %s, 'item_a', 'item', '1', '', 0, %s)",
        [account, store, NOW],
    )
    async with services.db.of_server() as conn:
        assert await items.expired(conn, NOW + timedelta(days=1)) == [(account, store)]
    await tasks.purge_expired_items(services)
    assert await ask(database, LEFT) == [(0, 0, 0, 0)]
    assert await remembered(database) == 0
    assert await ask(database, "SELECT action, object_id FROM audit WHERE via = 'job'") == [("item.expire", "item_a")]


async def test_who_is_erased_leaves_nothing_and_the_last_one_takes_the_account(
    services: Services, world: World, database: str
) -> None:
    account, member = world.owner.user.account, world.member.user.id
    vault = await place(services, account, "vault", member, owner=member)
    shared = await place(services, account, "workspace", "ws_x")
    for space, user in ((vault, member), (shared, member), (shared, world.owner.user.id)):
        memory = f"mem_{space}_{user}"
        await fill(services, account, space, "memory", memory)
        await ask(
            database,
            "INSERT INTO memories (account, space, id, kind, content, content_hash, size_bytes, user_id)"
            " VALUES (%s, %s, %s, 'chat', 'text', '', 0, %s)",
            [account, space, memory, user],
        )
    await ask(database, "UPDATE users SET erased_at = now() WHERE id = %s", [member])
    await tasks.erase_user(services, account, member)
    assert await ask(database, LEFT) == [(0, 0, 0, 0)]
    rows = await ask(database, "SELECT DISTINCT source_id FROM passages")
    assert rows == [(f"mem_{shared}_{world.owner.user.id}",)], "what others saved stays"
    await ask(database, "UPDATE users SET erased_at = now() WHERE account = %s", [account])
    await tasks.erase_user(services, account, world.owner.user.id)
    assert await ask(database, LEFT) == [(0, 0, 0, 0)]
    assert await remembered(database) == 0
    assert await ask(database, "SELECT count(*) FROM accounts WHERE account = %s", [account]) == [(0,)]
