"""What is sent along without waiting: also where it is more than the socket takes at once."""

import asyncio

import pytest

from conftest import Server
from keepstone.store.db import Connection


@pytest.mark.parametrize("size", [300_000, 1_200_000, 8_000_000])
async def test_a_pipeline_within_another_sends_all_of_a_large_statement_before_it_waits(
    postgres: Server, size: int
) -> None:
    async with asyncio.timeout(60), await Connection.connect(postgres.conninfo) as conn:
        for _ in range(5):
            async with conn.pipeline():
                first = await conn.execute("SELECT length(%(text)s)", {"text": "x" * size})
                async with conn.pipeline():
                    second = await conn.execute("SELECT 1")
            assert (await first.fetchone(), await second.fetchone()) == ((size,), (1,))


async def test_a_transaction_within_a_pipeline_does_too(postgres: Server) -> None:
    async with asyncio.timeout(60), await Connection.connect(postgres.conninfo, autocommit=True) as conn:
        async with conn.pipeline():
            first = await conn.execute("SELECT length(%(text)s)", {"text": "x" * 8_000_000})
            async with conn.transaction():
                await conn.execute("SELECT 1")
        assert await first.fetchone() == (8_000_000,)


async def test_a_fault_in_the_middle_is_raised_and_the_connection_lives_on(postgres: Server) -> None:
    async def fail() -> None:
        async with conn.pipeline():
            await conn.execute("SELECT length(%(text)s)", {"text": "x" * 8_000_000})
            await conn.execute("SELECT 1 / 0")
            async with conn.pipeline():
                await conn.execute("SELECT 2")

    async with asyncio.timeout(60), await Connection.connect(postgres.conninfo, autocommit=True) as conn:
        with pytest.raises(Exception, match="division by zero"):
            await fail()
        assert await (await conn.execute("SELECT 3")).fetchone() == (3,)
