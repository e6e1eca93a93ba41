"""The lanes of the queue: what is done first, and how much of each kind is done at once, so that no kind of work keeps
another waiting. A lane is a queue of procrastinate's.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lane:
    """`priority`: of the jobs that may begin, those of the highest do."""

    name: str
    priority: int


FIRST = Lane("first", 3)  # erasure, and what a person waits for
READING = Lane("reading", 2)
EMBEDDING = Lane("embedding", 1)
HOUSEKEEPING = Lane("housekeeping", 0)
IMPORTING = Lane("importing", 0)
LATER_EMBEDDING = Lane(EMBEDDING.name, -1)  # in the same slot, when nobody else waits for it
LANES = (FIRST, READING, EMBEDDING, IMPORTING, HOUSEKEEPING)

UNSORTED = "default"  # the queue of jobs that an older version added


def open_queues(running: Iterable[str], slots: int) -> list[str]:
    """The queues that another job may be taken from, while jobs of these are running in a worker of so many slots.

    Embedding, imports and housekeeping have a slot each, reading all but two. The last free slot of several is kept for
    what is done first, which may take half of them.
    """
    most = {FIRST: slots // 2, READING: slots - 2, EMBEDDING: 1, IMPORTING: 1, HOUSEKEEPING: 1}
    busy = Counter(lane_of(queue) for queue in running)
    others = busy.total() - busy[FIRST]
    free = [lane for lane in LANES if busy[lane] < max(1, most[lane]) and (lane is FIRST or others < max(1, slots - 1))]
    return [lane.name for lane in free] + ([UNSORTED] if READING in free else [])


def lane_of(queue: str) -> Lane:
    return next((lane for lane in LANES if lane.name == queue), READING)
