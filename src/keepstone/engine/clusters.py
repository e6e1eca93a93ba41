"""Clusters: which points belong together by who is near to whom, and the numbers that clusters keep.

Owns Louvain's method as Blondel and others describe it, on the graph of neighbours (`layout.py`), and what makes it
stand still: a new run begins with the clusters of the last one, a point leaves its cluster only for one that holds it
clearly more, and another division takes its place only when it is clearly better. It must not know what the points are.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.int64]
Edge = tuple[int, int, float]
# For each point its neighbours and how surely they are.
Links = list[dict[int, float]]

NOISE = -1
# Above 1 clusters are more and smaller than modularity alone would have them.
RESOLUTION = 1.3
# A point leaves its cluster when another holds so much more of its links, as a part of all of them.
LEAVES = 0.25
# Another division takes the place of the last one when its modularity is so much higher.
BETTER = 0.08
_ROUNDS = 50
_EPSILON = 1e-9


def clusters(points: int, edges: Sequence[Edge], *, min_size: int, before: Mapping[int, int] | None = None) -> Labels:
    """The number of each point's cluster, from 0 for the largest; -1 for a point that belongs to none.

    `before` has the numbers of the last run, by row. What was there then keeps its number (`renumbered`).
    """
    links = _links(points, edges)
    fresh = _gathered(links, _louvain(links, list(range(points))), min_size)
    if not before or len(set(before.values()) - {NOISE}) < 2:
        return _by_size(fresh) if not before else renumbered(_by_size(fresh), before)
    held = _gathered(links, _resumed(links, before), min_size)
    best = fresh if _modularity(links, fresh) > _modularity(links, held) + BETTER else held
    return renumbered(_by_size(best), before)


def renumbered(labels: Labels, before: Mapping[int, int]) -> Labels:
    """The same clusters, each with the number of the old one that it shares most points with.

    `before` has the old numbers, by row, of the points that were there. An old number is given once: of a cluster that
    fell in two the larger part keeps it. New clusters get numbers above all old ones.
    """
    shared = Counter((number, int(labels[row])) for row, number in before.items())
    given: dict[int, int] = {NOISE: NOISE}
    for old, new in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        if old != NOISE and new not in given and old not in given.values():
            given[new] = old
    fresh = max(before.values(), default=NOISE) + 1
    for new in sorted(set(labels.tolist()) - given.keys()):
        given[new], fresh = fresh, fresh + 1
    return np.array([given[label] for label in labels.tolist()], dtype=np.int64)


def _links(points: int, edges: Sequence[Edge]) -> Links:
    links: Links = [{} for _ in range(points)]
    for one, other, weight in edges:
        if one != other and weight > 0:
            links[one][other] = links[one].get(other, 0.0) + weight
            links[other][one] = links[other].get(one, 0.0) + weight
    return links


def _louvain(links: Links, labels: list[int]) -> list[int]:
    """Points move to where they are held most; then clusters do, as points, until nothing moves."""
    labels = _moved(links, labels, own=[0.0] * len(links), stays=0.0)
    while True:
        names = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        labels = [names[label] for label in labels]
        folded: Links = [{} for _ in names]
        own = [0.0] * len(names)
        for point, near in enumerate(links):
            for other, weight in near.items():
                here, there = labels[point], labels[other]
                if here == there:
                    own[here] += weight
                else:
                    folded[here][there] = folded[here].get(there, 0.0) + weight
        joined = _moved(folded, list(range(len(names))), own=own, stays=0.0)
        if len(set(joined)) == len(names):
            return labels
        labels = [joined[label] for label in labels]


def _resumed(links: Links, before: Mapping[int, int]) -> list[int]:
    """The clusters of the last run with what is new in them. What is new and belongs to none of them forms its own."""
    alone = max(before.values()) + 1
    labels = [before.get(point, NOISE) for point in range(len(links))]
    free = [point for point, label in enumerate(labels) if label == NOISE]
    for number, point in enumerate(free):
        labels[point] = alone + number
    return _moved(links, labels, own=[0.0] * len(links), stays=LEAVES, loose=frozenset(free))


def _moved(
    links: Links, labels: list[int], *, own: list[float], stays: float, loose: frozenset[int] = frozenset()
) -> list[int]:
    """Local moves, in the order of the points, until none is worth it. `own` are the links of a point to itself; only
    those that are `loose` move for the smallest gain when there is a least one.
    """
    labels = list(labels)
    degree = [sum(near.values()) + own[point] for point, near in enumerate(links)]
    whole = sum(degree) or 1.0
    total: defaultdict[int, float] = defaultdict(float)
    for point, label in enumerate(labels):
        total[label] += degree[point]
    for _ in range(_ROUNDS):
        moved = False
        for point, near in enumerate(links):
            if not near:
                continue
            here = labels[point]
            held: defaultdict[int, float] = defaultdict(float)
            for other, weight in near.items():
                held[labels[other]] += weight
            total[here] -= degree[point]
            gains = {label: held[label] - RESOLUTION * degree[point] * total[label] / whole for label in (here, *held)}
            best = max(gains, key=lambda label: (gains[label], -label))
            least = 0.0 if point in loose else stays * degree[point]
            if best != here and gains[best] > gains[here] + least + _EPSILON:
                labels[point] = best
                moved = True
            total[labels[point]] += degree[point]
        if not moved:
            break
    return labels


def _gathered(links: Links, labels: list[int], min_size: int) -> list[int]:
    """Clusters below the least size go, point by point, to the one that holds most of their links; or to none."""
    sizes = Counter(labels)
    large = {label for label, size in sizes.items() if size >= min_size}
    found = [label if label in large else NOISE for label in labels]
    for _ in range(2):  # a point may hang on one that hung on a cluster
        settled = list(found)
        for point, near in enumerate(links):
            if found[point] == NOISE:
                held: defaultdict[int, float] = defaultdict(float)
                for other, weight in near.items():
                    held[found[other]] += weight
                best = max(held, key=lambda label: (held[label], -label), default=NOISE)
                if best != NOISE:
                    settled[point] = best
        found = settled
    return found


def _modularity(links: Links, labels: Sequence[int]) -> float:
    """How much more of the links lies within clusters than by chance. What is in none counts as alone."""
    inner, degrees = 0.0, defaultdict[int, float](float)
    whole = 0.0
    for point, near in enumerate(links):
        label = labels[point]
        mine = sum(near.values())
        whole += mine
        degrees[label if label != NOISE else -2 - point] += mine
        if label != NOISE:
            inner += sum(weight for other, weight in near.items() if labels[other] == label)
    if not whole:
        return 0.0
    return inner / whole - RESOLUTION * sum((degree / whole) ** 2 for degree in degrees.values())


def _by_size(labels: Sequence[int]) -> Labels:
    """Numbered from the largest; of equal ones the first that comes."""
    sizes = Counter(label for label in labels if label != NOISE)
    first = {label: place for place, label in reversed(list(enumerate(labels)))}
    order = sorted(sizes, key=lambda label: (-sizes[label], first[label]))
    numbers = {label: number for number, label in enumerate(order)} | {NOISE: NOISE}
    return np.array([numbers[label] for label in labels], dtype=np.int64)
