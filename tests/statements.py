"""Which statements a piece of work sends to the database: counted, because a time would depend on the machine."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from psycopg import AsyncCursor, sql

from keepstone.store.pool import ScopedCursor


@contextmanager
def sent() -> Generator[list[str]]:
    """The texts of all that scoped connections send meanwhile, one after the other, without line breaks."""
    texts: list[str] = []
    execute, several = ScopedCursor.execute, ScopedCursor.executemany

    def text_of(cursor: AsyncCursor[Any], query: Any) -> str:
        text = query.as_string(cursor) if isinstance(query, sql.Composable) else query
        return " ".join((text.decode() if isinstance(text, bytes) else text).split())

    async def noted(self: ScopedCursor, query: Any, params: Any = None, **options: Any) -> ScopedCursor:
        texts.append(text_of(self, query))
        return await execute(self, query, params, **options)

    async def all_noted(self: ScopedCursor, query: Any, params_seq: Any, **options: Any) -> None:
        rows = list(params_seq)
        texts.extend([text_of(self, query)] * len(rows))
        await several(self, query, rows, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScopedCursor, "execute", noted)
        patch.setattr(ScopedCursor, "executemany", all_noted)
        yield texts
