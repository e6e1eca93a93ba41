"""The life of a memory, the same for every kind that has one: kept, changed, put in the trash and brought back."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from capsules import rows
from conftest import World
from fakes import FakeEmbedder
from keepstone.errors import Conflict, Invalid, Malformed, NotFound
from keepstone.memory import capsule_merging, capsules, chat_memories, entity_memories, graphs, stores
from keepstone.memory.chat_memories import NewMemory
from keepstone.memory.entity_memories import Change, NewMemories
from keepstone.model.capsule import OVERHEAD, NewCapsule
from keepstone.model.entity import EntityMessage, Ids
from keepstone.model.item import Delete, Get, Put
from keepstone.model.page import PageRequest
from keepstone.model.principal import Principal
from keepstone.providers.embedders import Embedders
from keepstone.services import Services

ONE, TWO, THREE = "The ferry leaves at nine.", "Max is allergic to nuts.", "Tea is in the blue tin."
KEY = ["shelf"]


@dataclass(frozen=True, slots=True)
class Life:
    """A kind of memory as these tests use it. `unique`: two that hold may not say the same."""

    unique: bool
    keep: Callable[[Services, Principal, str], Awaitable[str]]
    text: Callable[[Services, Principal, str], Awaitable[str]]
    change: Callable[[Services, Principal, str, str], Awaitable[Any]]
    trash: Callable[[Services, Principal, str], Awaitable[Any]]
    restore: Callable[[Services, Principal, str], Awaitable[Any]]
    history: Callable[[Services, Principal, str], Awaitable[list[str]]]


# ----------------------------------------------------------------------------------------------------- the kinds


async def keep_capsule(services: Services, me: Principal, text: str) -> str:
    return (await capsules.create(services, me, NewCapsule(content_md=text, title="T"))).capsule.id


async def capsule_text(services: Services, me: Principal, name: str) -> str:
    return (await capsules.get(services, me, name)).content


async def capsule_history(services: Services, me: Principal, name: str) -> list[str]:
    return [version.change for version in await capsule_merging.history(services, me, name)]


async def keep_chat_memory(services: Services, me: Principal, text: str) -> str:
    saved = await chat_memories.save(services, me, NewMemory(content=text), workspace_id=None)
    return f"{saved.memory.workspace_id}/{saved.memory.id}"


async def chat_memory_text(services: Services, me: Principal, name: str) -> str:
    return (await chat_memories.get(services, me, *name.split("/"))).content


async def change_chat_memory(services: Services, me: Principal, name: str, text: str) -> None:
    place, memory_id = name.split("/")
    await chat_memories.update(services, me, place, memory_id, content=text)


async def chat_memory_history(services: Services, me: Principal, name: str) -> list[str]:
    return [version.change for version in await chat_memories.history(services, me, *name.split("/"))]


async def keep_node(services: Services, me: Principal, text: str) -> str:
    return (await graphs.store_node(services, me, None, content=text, node_type="note", metadata={"n": 1})).node.id


async def node_text(services: Services, me: Principal, name: str) -> str:
    return (await graphs.get_node(services, me, None, name)).content


async def node_history(services: Services, me: Principal, name: str) -> list[str]:
    return [version.change for version in await graphs.node_history(services, me, None, name)]


async def keep_entity_memory(services: Services, me: Principal, text: str) -> str:
    said = [EntityMessage(role="user", content=text)]
    new = NewMemories(ids=Ids(user_id="anna"), messages=said, infer=False, metadata={})
    return (await entity_memories.add(services, me, new))[0].memory.id


async def entity_memory_text(services: Services, me: Principal, name: str) -> str:
    return (await entity_memories.get(services, me, name)).content


async def entity_memory_history(services: Services, me: Principal, name: str) -> list[str]:
    _, versions = await entity_memories.history(services, me, name)
    return [version.change for version in versions][::-1]


async def put_item(services: Services, me: Principal, name: str, text: str) -> str:
    return str((await stores.put(services, me, "notes", Put(namespace=KEY, key=name, value={"text": text}))).key)


async def item_text(services: Services, me: Principal, name: str) -> str:
    return (await stores.get(services, me, "notes", Get(namespace=KEY, key=name))).value["text"]


async def item_history(services: Services, me: Principal, name: str) -> list[str]:
    page = await stores.history(services, me, "notes", KEY, name, PageRequest())
    return [version.change for version in page.items]


LIVES = {
    "capsule": Life(
        True, keep_capsule, capsule_text, lambda s, me, name, text: capsules.update(s, me, name, {"content_md": text}),
        capsules.delete, capsules.restore, capsule_history,
    ),
    "chat": Life(
        True, keep_chat_memory, chat_memory_text, change_chat_memory,
        lambda s, me, name: chat_memories.delete(s, me, *name.split("/")),
        lambda s, me, name: chat_memories.restore(s, me, *name.split("/")), chat_memory_history,
    ),
    "node": Life(
        True, keep_node, node_text, lambda s, me, name, text: graphs.update_node(s, me, None, name, content=text),
        lambda s, me, name: graphs.forget_node(s, me, None, name),
        lambda s, me, name: graphs.restore_node(s, me, None, name), node_history,
    ),
    "entity": Life(
        False, keep_entity_memory, entity_memory_text,
        lambda s, me, name, text: entity_memories.update(s, me, [Change(id=name, text=text)]),
        lambda s, me, name: entity_memories.delete(s, me, [name]), entity_memories.restore, entity_memory_history,
    ),
    "item": Life(
        False, lambda s, me, text: put_item(s, me, text[:10], text), item_text, put_item,
        lambda s, me, name: stores.delete(s, me, "notes", Delete(namespace=KEY, key=name)),
        lambda s, me, name: stores.restore(s, me, "notes", namespace=KEY, key=name), item_history,
    ),
}  # fmt: skip


@pytest.fixture(params=list(LIVES))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def life(kind: str) -> Life:
    return LIVES[kind]


@pytest.fixture
def reading(services: Services) -> Services:
    return replace(services, embedders=Embedders((FakeEmbedder(),)))


def later(services: Services, days: int) -> Services:
    now = services.clock()
    return replace(services, clock=lambda: now + timedelta(days=days))


async def counted(database: str, kind: str) -> tuple[int, int, int]:
    """Memories and bytes as the spaces say, and passages."""
    places = {"capsule": "vault", "chat": "workspace", "node": "graph", "entity": "entity", "item": "store"}
    query = "SELECT sum(memory_count)::int, sum(size_bytes)::int, sum(passages)::int FROM spaces WHERE kind = %s"
    [(number, size, passages)] = await rows(database, query, [places[kind]])
    return number, size, passages


async def counted_by_hand(database: str, kind: str) -> tuple[int, int, int]:
    """Where a plan has a limit, each with its metadata and earlier versions, of which 8 KB are part of what a capsule
    counts for anyway.
    """
    query = """
        SELECT count(*)::int, coalesce(sum(size), 0)::int
          FROM (SELECT size_bytes + greatest(0, coalesce(nullif(octet_length(metadata::text), 2), 0) + coalesce((
                           SELECT sum(octet_length(v.title) + octet_length(v.content)) FROM memory_versions v
                            WHERE v.account = m.account AND v.memory_id = m.id AND v.version < m.version), 0)
                       - %(included)s) AS size
                  FROM memories m WHERE kind = %(kind)s AND deleted_at IS NULL AND cold_at IS NULL) AS each"""
    included = {"capsule": OVERHEAD, "item": 0, "entity": 0}.get(kind, 2**30)
    ((number, size),) = await rows(database, query, {"kind": kind, "included": included})
    ((passages,),) = await rows(database, "SELECT count(*)::int FROM passages WHERE source_kind = 'memory'")
    return number, size, passages


# ----------------------------------------------------------------------------------------------------- the tests


async def test_every_change_is_a_version_and_the_space_counts_what_is_there(
    services: Services, world: World, database: str, kind: str, life: Life
) -> None:
    me = world.owner.principal
    name = await life.keep(services, me, ONE)
    await life.keep(services, me, TWO)
    for work in (
        lambda: life.change(services, me, name, THREE),
        lambda: life.trash(services, me, name),
        lambda: life.restore(services, me, name),
    ):
        await work()
        assert await counted(database, kind) == await counted_by_hand(database, kind)
    assert await life.text(services, me, name) == THREE
    assert await life.history(services, me, name) == ["restored", "deleted", "updated", "created"]


async def test_what_was_kept_or_changed_has_its_first_vector_at_once(
    reading: Services, world: World, database: str, life: Life
) -> None:
    me = world.owner.principal
    name = await life.keep(reading, me, ONE)
    for work in (lambda: life.change(reading, me, name, TWO), lambda: life.trash(reading, me, name)):
        assert await rows(database, "SELECT count(*) FROM passages p JOIN vectors v USING (account, passage)") == [(1,)]
        await work()
    await life.restore(reading, me, name)
    assert await rows(database, "SELECT count(*) FROM vectors") == [(1,)]


async def test_after_thirty_days_in_the_trash_nothing_comes_back(services: Services, world: World, life: Life) -> None:
    me = world.owner.principal
    name = await life.keep(services, me, ONE)
    with pytest.raises((NotFound, Conflict)):
        await life.restore(services, me, name)  # it is not in the trash
    await life.trash(services, me, name)
    with pytest.raises(NotFound):
        await life.text(services, me, name)
    with pytest.raises(NotFound):
        await life.trash(services, me, name)
    with pytest.raises(NotFound):
        await life.restore(later(services, 31), me, name)
    await life.restore(later(services, 29), me, name)
    assert await life.text(services, me, name) == ONE


async def test_a_change_that_would_make_two_the_same_is_refused_where_texts_are_unique(
    services: Services, world: World, life: Life
) -> None:
    me = world.owner.principal
    name, other = await life.keep(services, me, ONE), await life.keep(services, me, TWO)
    if life.unique:
        with pytest.raises(Conflict, match=name.rpartition("/")[2]):
            await life.change(services, me, other, ONE)
        assert await life.history(services, me, other) == ["created"]
    else:
        await life.change(services, me, other, ONE)
    assert await life.text(services, me, other) == (TWO if life.unique else ONE)


async def test_what_was_kept_again_meanwhile_does_not_come_back_beside_it_where_texts_are_unique(
    services: Services, world: World, kind: str, life: Life
) -> None:
    me = world.owner.principal
    name = await life.keep(services, me, ONE)
    await life.trash(services, me, name)
    again = await life.keep(services, me, ONE)
    if kind == "item":
        assert again == name, "at its address it is the same item again"
        return
    assert again != name
    if life.unique:
        with pytest.raises(Conflict):
            await life.restore(services, me, name)
    else:
        await life.restore(services, me, name)


async def test_the_same_again_is_the_one_that_is_there_where_texts_are_unique(
    services: Services, world: World, kind: str, life: Life
) -> None:
    me = world.owner.principal
    name = await life.keep(services, me, ONE)
    assert (await life.keep(services, me, ONE) == name) == (life.unique or kind == "item")


async def test_what_is_too_large_or_only_recalled_is_refused(
    services: Services, world: World, kind: str, life: Life
) -> None:
    me = world.owner.principal
    if kind != "item":  # an item's values are its agent's own
        with pytest.raises(Malformed, match="KB"):
            await life.keep(services, me, "x" * 900_000)
    if kind in {"chat", "node", "entity"}:
        with pytest.raises(Invalid, match="nothing to remember"):
            await life.keep(services, me, "<recalled-memory>Only a quotation</recalled-memory>")
