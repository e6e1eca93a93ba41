"""The throttle: free at first, then slower and slower, and it forgets."""

from fakes import Ticks
from keepstone.throttle import Throttle


def test_the_wait_doubles_with_each_failure_up_to_a_bound() -> None:
    clock = Ticks()
    throttle = Throttle(longest=10, clock=clock)
    waits: list[float] = []
    for _ in range(9):
        throttle.failed("max")
        waits.append(throttle.wait("max", free=3))
    assert waits == [0, 0, 1, 2, 4, 8, 10, 10, 10]
    clock.now += 4
    assert throttle.wait("max", free=3) == 6
    assert throttle.wait("somebody else", free=3) == 0


def test_failures_are_forgiven_and_forgotten() -> None:
    clock = Ticks()
    throttle = Throttle(clock=clock, forget_after=100)
    for _ in range(5):
        throttle.failed("max")
    throttle.forgive("max")
    assert throttle.wait("max", free=4) == 1
    throttle.forgive("max", all_of_them=True)
    assert throttle.wait("max", free=1) == 0
    throttle.forgive("max")
    throttle.failed("max")
    clock.now += 101
    assert throttle.wait("max", free=0) == 0


def test_it_remembers_a_bounded_number() -> None:
    throttle = Throttle(capacity=100, clock=Ticks())
    for number in range(1000):
        throttle.failed(str(number))
    assert throttle.wait("999", free=1) == 1
    assert throttle.wait("0", free=1) == 0
