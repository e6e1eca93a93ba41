"""The throttle: free at first, then slower and slower, and it forgets."""

import subprocess
import sys

from fakes import Ticks
from keepstone.tallies import SharedMemory
from keepstone.throttle import SHARED_SIZE, Buckets, Limit, Throttle


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


def test_failures_are_forgotten() -> None:
    clock = Ticks()
    throttle = Throttle(clock=clock, forget_after=100)
    for _ in range(5):
        throttle.failed("max")
    assert throttle.wait("max", free=4) == 2
    clock.now += 101
    assert throttle.wait("max", free=0) == 0


def test_it_remembers_a_bounded_number() -> None:
    throttle = Throttle(capacity=100, clock=Ticks())
    for number in range(1000):
        throttle.failed(str(number))
    assert throttle.wait("999", free=1) == 1
    assert throttle.wait("0", free=1) == 0


def test_processes_that_share_memory_count_together() -> None:
    first = SharedMemory(SHARED_SIZE)
    second = SharedMemory(SHARED_SIZE, first.file)  # as another process has it
    clock = Ticks(1000.0)
    one, other = Throttle(clock=clock, memory=first), Throttle(clock=clock, memory=second)
    for throttle in (one, other, one):
        throttle.failed("max")
    assert one.wait("max", free=3) == other.wait("max", free=3) == 1
    limit = [Limit(name="max", per_minute=2)]
    buckets = [Buckets(clock=clock, memory=memory) for memory in (first, second)]
    assert [bucket.take(limit) > 0 for bucket in buckets * 2] == [False, False, True, True]


def test_no_count_is_lost_when_processes_count_at_once() -> None:
    memory = SharedMemory(SHARED_SIZE)
    script = (
        "import sys; from keepstone.tallies import SharedMemory; from keepstone.throttle import SHARED_SIZE, Throttle;"
        "throttle = Throttle(memory=SharedMemory(SHARED_SIZE, int(sys.argv[1])));"
        "[throttle.failed('max') for _ in range(2000)]"
    )
    counting = [
        subprocess.Popen([sys.executable, "-c", script, str(memory.file)], pass_fds=[memory.file]) for _ in range(2)
    ]
    assert [process.wait(timeout=60) for process in counting] == [0, 0]
    throttle = Throttle(memory=memory, longest=1e9)  # the wait tells the count
    assert throttle.wait("max", free=3990) > 500
    assert throttle.wait("max", free=4001) == 0
    assert 0 < throttle.wait("max", free=3) <= 1e9, "however many there are"
