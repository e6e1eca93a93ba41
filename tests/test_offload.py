"""Long texts are read in other processes: bounded, ended when they take too long, gone with the server."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from functools import partial

import psutil
import pytest

from keepstone.engine.cutting import Source, cut_by_length, cut_sources
from keepstone.engine.index import passages_of
from keepstone.errors import Malformed, Unavailable
from keepstone.model.ids import new_id
from keepstone.offload import LONG, SHORT, Offload
from keepstone.services import Services

LONG_TEXT = "The ferry to Kiel leaves on Monday. " * (LONG // 30)


@pytest.fixture
async def offload() -> AsyncGenerator[Offload]:
    offload = Offload(cpu_seconds=20)
    yield offload
    await offload.close()


def is_there(process: int) -> bool:
    """Also what has ended and was not waited for is gone."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def gone(*processes: int) -> None:
    async with asyncio.timeout(20):
        while any(map(is_there, processes)):
            await asyncio.sleep(0.02)


async def test_what_is_short_is_done_here_and_what_is_long_elsewhere(offload: Offload) -> None:
    here = os.getpid()
    assert await offload.run(SHORT, os.getpid) == here
    assert await offload.run(LONG, os.getpid) == here
    elsewhere = await offload.run(LONG + 1, os.getpid)
    assert elsewhere != here
    assert await offload.run(LONG + 1, os.getpid) == elsewhere, "the next has the same process"
    await offload.close()
    await gone(elsewhere)


async def test_it_comes_back_as_it_would_have_been_made_here(services: Services) -> None:
    source = Source(kind="memory", id=new_id("mem"), text=LONG_TEXT, at=datetime.now(UTC))
    made = await passages_of(services, [source], visibility="private")
    assert len(made) > 64, "it comes in several parts"
    assert made == cut_sources([source], cut_by_length, "private")


async def test_two_at_once_and_the_third_waits_but_not_for_ever(offload: Offload) -> None:
    both = await asyncio.gather(*(offload.run(LONG + 1, os.getpid) for _ in range(2)))
    many = await asyncio.gather(*(offload.run(LONG + 1, os.getpid) for _ in range(10)))
    assert set(many) <= set(both)
    hasty = Offload(at_once=1, cpu_seconds=20, patience=0)
    busy = asyncio.create_task(hasty.run(LONG + 1, time.sleep, 60))
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await hasty.run(LONG + 1, os.getpid)
    busy.cancel()
    with pytest.raises(asyncio.CancelledError):
        await busy
    hasty = Offload(at_once=1, cpu_seconds=20)
    assert await hasty.run(LONG + 1, os.getpid) > 0
    await hasty.close()


async def test_work_that_takes_too_long_is_ended_and_the_next_goes_on() -> None:
    hasty = Offload(at_once=1, cpu_seconds=0.5)
    before = await hasty.run(LONG + 1, os.getpid)
    with pytest.raises(Malformed, match="smaller pieces"):
        await hasty.run(LONG + 1, sum, range(10**12))
    await gone(before)
    assert await hasty.run(LONG + 1, os.getpid) not in {before, os.getpid()}
    await hasty.close()


async def test_whoever_goes_away_ends_the_work(offload: Offload) -> None:
    process = await offload.run(LONG + 1, os.getpid)
    work = asyncio.create_task(offload.run(LONG + 1, sum, range(10**12)))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await gone(process)


async def test_a_process_that_was_killed_is_replaced(offload: Offload) -> None:
    process = await offload.run(LONG + 1, os.getpid)
    os.kill(process, signal.SIGKILL)
    await gone(process)
    with pytest.raises(Unavailable):
        await offload.run(LONG + 1, os.getpid)
    assert await offload.run(LONG + 1, os.getpid) != process


async def test_a_fault_is_the_same_fault_and_what_cant_be_sent_is_done_here(offload: Offload) -> None:
    with pytest.raises(ZeroDivisionError):
        await offload.run(LONG + 1, divmod, 1, 0)
    assert await offload.run(LONG + 1, lambda: "here") == "here"
    assert await offload.run(LONG + 1, partial(known_to_this_test, 3)) == 6


def known_to_this_test(number: int) -> int:
    return 2 * number


def test_the_processes_of_a_server_that_is_killed_end_too() -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )  # fmt: skip
    assert server.stdout is not None
    processes = [int(number) for number in server.stdout.readline().split()]
    assert len(processes) == 2
    assert all(map(is_there, processes))
    server.kill()
    server.wait()
    server.stdout.close()
    asyncio.run(gone(*processes))


SERVER = """
import asyncio, os, time
from keepstone.offload import Offload, LONG

async def main():
    offload = Offload(cpu_seconds=2)
    first = await offload.run(LONG + 1, os.getpid)
    work = asyncio.create_task(offload.run(LONG + 1, sum, range(10**12)))
    await asyncio.sleep(0)
    print(first, await offload.run(LONG + 1, os.getpid), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_the_processes_import_no_model_and_no_database() -> None:
    """They stay small."""
    code = (
        "import sys, keepstone.offload, keepstone.engine.cutting, keepstone.providers.wordpieces;"
        "import keepstone.engine.people.statements, keepstone.engine.summarise, keepstone.engine.curate;"
        "import keepstone.engine.titles, keepstone.engine.keyphrases, keepstone.engine.extract.memories;"
        "import keepstone.engine.takeaways.messages;"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"psycopg", "onnxruntime", "fastapi", "pydantic", "httpx", "keepstone.services"} & set(loaded)
