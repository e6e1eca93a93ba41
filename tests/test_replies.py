"""Replies: the same is worked out once, and forgotten after a while."""

import asyncio

import pytest

from fakes import Ticks
from keepstone.replies import Replies


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
