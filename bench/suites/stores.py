"""LangGraph's tests of stores: our store where they make theirs. What they do to their databases is done by nobody."""

import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from langgraph.store import memory

from bench.suites.plugin import named
from keepstone_client import AsyncKeepstone, Keepstone
from keepstone_client.adapters.langgraph import KeepstoneStore


class _Nobody:
    """A connection to a database of theirs."""

    def __class_getitem__(cls, _: object) -> Any:
        return cls

    @classmethod
    def connect(cls, *_: Any, **__: Any) -> Any:
        return nullcontext(cls())

    def execute(self, *_: Any, **__: Any) -> Any:
        return nullcontext()


class _AsyncNobody:
    def __class_getitem__(cls, _: object) -> Any:
        return cls

    @classmethod
    async def connect(cls, *_: Any, **__: Any) -> Any:
        return nullcontext(cls())

    async def execute(self, *_: Any, **__: Any) -> None: ...


class _Store(KeepstoneStore):
    """With what the makers' stores have beyond the interface, which has nothing to do here."""

    MIGRATIONS: tuple[Any, ...] = ()

    def __init__(self, name: str = ":memory:", *, index: Any = None, ttl: Any = None, client: Any = None) -> None:
        more: dict[str, Any] = {"async_client": client} if client else {"client": Keepstone()}
        fields = (index or {}).get("fields") or (index or {}).get("text_fields")
        super().__init__(name=named(name), fields=fields, ttl=ttl, **more)
        self.index_config = {**index, "embed": index.get("embed")} if index else None


class Store(_Store):
    def setup(self) -> Any:
        return nullcontext()

    @classmethod
    @contextmanager
    def from_conn_string(cls, name: str, *, index: Any = None, ttl: Any = None, **_: Any) -> Generator[Any]:
        yield cls(name, index=index, ttl=ttl)

    def start_ttl_sweeper(self, *_: Any) -> None: ...
    def stop_ttl_sweeper(self, *_: Any) -> None: ...

    @contextmanager
    def _cursor(self, **_: Any) -> Generator[Any]:
        yield _Nobody()


class AsyncStore(_Store):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, name: str, *, index: Any = None, ttl: Any = None, **_: Any) -> AsyncGenerator[Any]:
        async with AsyncKeepstone() as client:
            yield cls(name, index=index, ttl=ttl, client=client)

    async def setup(self) -> None: ...
    async def start_ttl_sweeper(self, *_: Any) -> None: ...
    async def stop_ttl_sweeper(self, *_: Any) -> None: ...

    @asynccontextmanager
    async def _cursor(self, **_: Any) -> AsyncGenerator[Any]:
        yield _AsyncNobody()


def _module(name: str, **held: Any) -> None:
    """A module that is not installed: what the tests take from it and never call is there too."""
    module = ModuleType(name)
    module.__getattr__ = lambda attribute: type(attribute, (), {})  # type: ignore[method-assign]
    vars(module).update(held, __path__=[])
    sys.modules[name] = module


class _Mocker:
    """As much of pytest-mock as they use."""

    MagicMock = stub = mock.MagicMock

    def spy(self, owner: Any, name: str) -> Any:
        return mock.patch.object(owner, name, autospec=True, side_effect=getattr(owner, name)).start()


@pytest.fixture
def mocker() -> Generator[_Mocker]:
    yield _Mocker()
    mock.patch.stopall()


@pytest.fixture
def fake_embeddings() -> object:
    """Theirs is made in a file of fixtures that is left out here."""
    made: Any = sys.modules["tests.embed_test_utils"]
    return made.CharacterEmbeddings(dims=500)


memory.InMemoryStore = Store  # type: ignore[misc]
_module("langgraph.store.sqlite", SqliteStore=Store, AsyncSqliteStore=AsyncStore)
_module("langgraph.store.sqlite.base")
_module("langgraph.store.postgres", PostgresStore=Store, AsyncPostgresStore=AsyncStore)
_module("langgraph.store.postgres.base")
_module("langgraph.checkpoint.postgres")
_module("psycopg", Connection=_Nobody, AsyncConnection=_AsyncNobody)
_module("psycopg.errors")
_module("psycopg.rows")
_module("pytest_mock")
