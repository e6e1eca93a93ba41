"""Guesses of passwords and codes: free at first, then slower and slower, and forgotten, whichever server counts."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from capsules import rows
from fakes import Ticks
from keepstone.access import guesses
from keepstone.errors import RateLimited
from keepstone.jobs.tasks import forget_expired_logins
from keepstone.services import Services

_BEGUN = datetime(2026, 5, 4, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> Ticks:
    return Ticks()


@pytest.fixture
def server(services: Services, clock: Ticks) -> Services:
    return replace(services, clock=lambda: _BEGUN + timedelta(seconds=clock.now))


async def wait(server: Services, *names: str, free: int = 3) -> float:
    try:
        await guesses.begin(server, dict.fromkeys(names, free), "Wait.")
    except RateLimited as refused:
        return refused.retry_after or 0
    return 0


async def test_the_wait_doubles_with_each_failure_up_to_a_bound(server: Services, clock: Ticks) -> None:
    assert [await wait(server, "max") for _ in range(3)] == [0, 0, 0]
    waits: list[float] = []
    for _ in range(11):
        waits.append(await wait(server, "max"))
        assert await wait(server, "max") == waits[-1], "who is refused is not counted"
        clock.now += waits[-1]
        assert await wait(server, "max") == 0
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert await wait(server, "somebody else") == 0


async def test_failures_are_forgiven_and_forgotten(server: Services, clock: Ticks) -> None:
    for name in ("max", "from here"):
        for _ in range(5):
            assert await wait(server, name, free=5) == 0
    await guesses.forgive(server, "max", one_of=("from here",))
    assert await wait(server, "max", "from here", free=5) == 0, "all of the one, one of the other"
    assert await wait(server, "max", "from here", free=5) == 1
    clock.now += 901
    assert await wait(server, "from here", free=1) == 0


async def test_no_guess_is_lost_or_gained_by_guessing_side_by_side(server: Services) -> None:
    for names in (("a", "b"), ("b", "a")):
        waits = await asyncio.gather(*(wait(server, *names, free=5) for _ in range(20)))
        assert [one for one in waits if one == 0] == [0] * (5 if names[0] == "a" else 0)


async def test_strangers_take_turns_and_one_who_need_not_wait_gives_theirs_back(server: Services, clock: Ticks) -> None:
    async def turn() -> None:
        await guesses.wait_for_turn(server, "max", 2, "Too many.")

    await turn()
    await turn()
    with pytest.raises(RateLimited) as refused:
        await turn()
    assert refused.value.retry_after == 30
    await guesses.give_turn_back(server, "max", 2)
    await turn()
    clock.now += 30
    await turn()


async def test_what_is_stored_names_nobody_and_goes_after_a_while(server: Services, database: str) -> None:
    await wait(server, "login:max@example.org:203.0.113.9")
    stored = await rows(database, "SELECT octet_length(name), position('max' in encode(name, 'escape')) FROM guesses")
    assert stored == [(16, 0)]
    other = replace(server, jwt_secret="x" * 48)
    await wait(other, "login:max@example.org:203.0.113.9")
    assert await rows(database, "SELECT count(DISTINCT name) FROM guesses") == [(2,)], (
        "without the secret it can't be told"
    )
    await rows(database, "UPDATE guesses SET at = now() - interval '2 hours' RETURNING 1")
    await forget_expired_logins(server)
    assert await rows(database, "SELECT count(*) FROM guesses") == [(0,)]
