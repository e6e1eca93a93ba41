"""Replies: the same is worked out once, and forgotten after a while."""

import asyncio

import pytest

from fakes import Ticks
from keepstone.replies import Replies, Snapshots


class Work:
    def __init__(self) -> None:
        self.begun = 0

    async def __call__(self) -> int:
        self.begun += 1
        await asyncio.sleep(0)
        return self.begun


def any_answer(_: object) -> bool:
    return True


async def test_the_same_is_worked_out_once_also_by_many_at_once() -> None:
    replies, work = Replies(clock=Ticks()), Work()
    assert await asyncio.gather(*(replies.once("a", work, keep=any_answer) for _ in range(5))) == [1] * 5
    assert await replies.once("a", work, keep=any_answer) == 1
    assert await replies.once("b", work, keep=any_answer) == 2


async def test_it_is_forgotten_after_its_time_and_when_there_are_too_many() -> None:
    clock, work = Ticks(), Work()
    replies = Replies(seconds=10, capacity=2, clock=clock)
    for key in ("a", "b", "c", "d"):
        await replies.once(key, work, keep=any_answer)
    assert await replies.once("d", work, keep=any_answer) == 4
    assert await replies.once("a", work, keep=any_answer) == 5
    clock.now += 10
    assert await replies.once("a", work, keep=any_answer) == 6


async def test_what_failed_or_is_too_large_is_not_kept() -> None:
    replies, work = Replies(clock=Ticks()), Work()

    async def fail() -> int:
        raise RuntimeError

    for _ in range(2):
        with pytest.raises(RuntimeError):
            await replies.once("a", fail, keep=any_answer)
    assert await replies.once("a", work, keep=lambda number: number > 1) == 1
    assert await replies.once("a", work, keep=lambda number: number > 1) == 2
    assert await replies.once("a", work, keep=any_answer) == 2


async def test_one_who_goes_away_does_not_take_the_answer_from_the_others() -> None:
    replies, work = Replies(clock=Ticks()), Work()
    first = asyncio.create_task(replies.once("a", work, keep=any_answer))
    second = asyncio.create_task(replies.once("a", work, keep=any_answer))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 1


async def test_a_snapshot_holds_for_its_version_and_the_oldest_makes_room() -> None:
    snapshots, made = Snapshots(capacity=10), list[str]()

    async def asked(key: str, version: int, text: str) -> str:
        async def make() -> str:
            made.append(key)
            return text

        return await snapshots.at(key, version, make, size=len)

    assert [await asked("a", 1, "1234"), await asked("a", 1, "other")] == ["1234", "1234"]
    assert await asked("a", 2, "5678") == "5678"
    assert await asked("b", 1, "1234") == "1234"
    assert await asked("a", 2, "") == "5678", "asked for, so it is not the oldest"
    await asked("c", 1, "1234")
    assert [await asked("a", 2, ""), await asked("b", 1, "4321")] == ["5678", "4321"]
    assert made == ["a", "a", "b", "c", "b"]
    assert await asked("huge", 1, "x" * 11) == "x" * 11, "given, but not kept"
    await asked("huge", 1, "x" * 11)
    assert made[-2:] == ["huge", "huge"]


async def test_what_another_process_works_on_is_waited_for_and_kept() -> None:
    replies, work = Replies(clock=Ticks()), Work()
    assert await replies.claim("a") is None, "it is theirs to do"
    here, elsewhere = (
        asyncio.create_task(replies.once("a", work, keep=any_answer)),
        asyncio.create_task(replies.claim("a")),
    )
    await asyncio.sleep(0)
    replies.settle("a", (7,), keep=True)
    assert (await here, await elsewhere) == (7, (7,))
    assert await replies.claim("a") == (7,)
    assert work.begun == 0


async def test_what_another_process_left_undone_is_done_by_whoever_waits() -> None:
    replies, work = Replies(clock=Ticks()), Work()
    assert await replies.claim("a") is None
    waiting = asyncio.create_task(replies.once("a", work, keep=any_answer))
    await asyncio.sleep(0)
    replies.settle("a", None, keep=False)
    assert await waiting == 1
    assert await replies.claim("b") is None
    replies.settle("b", ("too large",), keep=False)
    assert await replies.claim("b") is None, "what is not to be kept is for nobody after them"


async def test_further_processes_ask_the_first_before_they_begin() -> None:
    first, work = Replies(clock=Ticks()), Work()
    others = [Replies(clock=Ticks(), first=first) for _ in range(2)]
    assert await asyncio.gather(*(each.once("a", work, keep=any_answer) for each in (*others, first))) == [1] * 3

    async def fail() -> int:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await others[0].once("b", fail, keep=any_answer)
    assert await others[1].once("b", work, keep=any_answer) == 2
    assert await first.once("b", work, keep=any_answer) == 2


async def test_a_failure_in_the_first_process_is_tried_again_elsewhere() -> None:
    first, work = Replies(clock=Ticks()), Work()

    async def fail() -> int:
        await asyncio.sleep(0)
        raise RuntimeError

    failing = asyncio.create_task(first.once("a", fail, keep=any_answer))
    elsewhere = asyncio.create_task(Replies(clock=Ticks(), first=first).once("a", work, keep=any_answer))
    with pytest.raises(RuntimeError):
        await failing
    assert await elsewhere == 1
