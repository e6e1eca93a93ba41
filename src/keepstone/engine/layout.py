"""Layout: vectors to a map in two dimensions on which neighbours stay neighbours.

Owns UMAP as McInnes, Healy and Melville describe it: nearest neighbours, the weighted graph of them, and the forces
that lay it out. It must not know what the points are, nor group them (`clusters.py`). The same input gives the same
map, and with the positions of the last one the map stays put: people find things by where they were.

One thing is different: instead of one edge after the other, drawn at random, a step moves all points at once, each by
the mean over all its edges. That is what numpy is fast at; a sum would throw points with many edges off the map.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

NEIGHBOURS = 15
FEWEST = 5
EPOCHS = 500
# How far a step follows the forces at the start; less where most points have their places already.
RATE = 2.0
RESUMED_RATE = 0.2
# Up to this part of new points the old ones are not moved at all.
HELD = 0.2
# How far a point keeps from others, in parts of what each has: so that a dot is seen for itself. And how often a place
# is looked for, or made.
ROOM = 0.5
TRIES = 24
PUSHES = 160
COMPARED = 8
# What is left of the pull between points of different groups.
ACROSS = np.float32(0.15)
# 1 / (1 + A d^2B) says how near two points are on the map; fitted to a least distance of 0.1 and a spread of 1.
A, B = np.float32(1.576943), np.float32(0.895061)
# In each epoch a point is pushed by so many others at random, who stand for all.
SAMPLES = 10
REPULSION = np.float32(2.5)
# However near another is, its push has an end.
SOFT = np.float32(1e-3)
LIMIT = np.float32(2.0)
TINY = np.float32(1e-9)
# Cosine distances below are rounding.
ZERO = np.float32(1e-6)
# So many products at a time: what bounds the memory, whatever the number of points.
BLOCK = 1 << 22


@dataclass(slots=True)
class NeighbourGraph:
    """Who is near to whom, each pair once, and how surely (0 to 1); `degree` is the sum of that for each point."""

    points: int
    head: Rows
    tail: Rows
    weight: Floats
    degree: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.degree = self.around(np.ones((self.points, 1), dtype=np.float32))

    def around(self, values: Floats) -> Floats:
        """For each point the weighted sum of its neighbours' rows."""
        there, here = self.weight * values[self.tail], self.weight * values[self.head]
        return self.gathered(self.head, there) + self.gathered(self.tail, here)

    def gathered(self, ends: Rows, rows: Floats) -> Floats:
        """For each point the sum of the rows of the edges that end at it."""
        sums = [np.bincount(ends, column, self.points) for column in rows.T]
        return np.stack(sums, axis=1).astype(np.float32)


def neighbours(vectors: Floats) -> NeighbourGraph:
    """Who is near to whom. Of few points each has few neighbours, or everybody would be everybody's."""
    unit = _unit(vectors)
    return _graph(*_nearest(unit, min(NEIGHBOURS, max(FEWEST, len(unit) // 8), len(unit) - 1)))


def layout(
    vectors: Floats,
    *,
    before: Mapping[int, tuple[float, float]] | None = None,
    graph: NeighbourGraph | None = None,
    seed: int = 0,
) -> Floats:
    """A position for each vector, in a frame of about -1 to 1.

    `before` has the positions of the last map, by row, for those that were on it. They stay about where they were; and
    exactly there, where little is new. `graph` is who is near to whom, if that is known already.
    """
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2), dtype=np.float32)
    unit = _unit(vectors)
    graph = graph or neighbours(vectors)
    random = np.random.default_rng(seed)
    rows = np.array(list(before or ()), dtype=np.int64)
    old = np.array(list((before or {}).values()), dtype=np.float32).reshape(-1, 2)
    if len(old) == 0 or np.ptp(old, axis=0).max() == 0:  # one place is no map to keep to
        settled = _framed(_settled(graph, _jittered(_principal(unit), random), RATE, random))
        return _framed(_roomy(settled, random))
    if len(unit) - len(rows) <= HELD * len(unit):
        return _added(graph, unit, rows, old, random)
    start = _jittered(_resumed(graph, unit, rows, old), random)
    rate = max(RESUMED_RATE, RATE * (1 - len(rows) / len(unit)))
    return _roomy(_aligned(_settled(graph, _balanced(graph, start, random), rate, random), rows, old), random)


def parted(graph: NeighbourGraph, labels: npt.NDArray[np.int64]) -> NeighbourGraph:
    """The same neighbours, with less pull between those of different groups, so that groups lie apart."""
    same = (labels[graph.head] == labels[graph.tail])[:, None]
    return NeighbourGraph(graph.points, graph.head, graph.tail, np.where(same, graph.weight, ACROSS * graph.weight))


def _added(graph: NeighbourGraph, unit: Floats, rows: Rows, old: Floats, random: np.random.Generator) -> Floats:
    """The last map with new points amid their neighbours; nothing else moves, but none lies upon another."""
    places = _resumed(graph, unit, rows, old)
    gap = np.float32(ROOM / len(unit) ** 0.5)
    for row in np.setdiff1d(np.arange(len(unit)), rows).tolist():
        middle, others = places[row].copy(), np.delete(places, row, axis=0)
        for turn in range(TRIES):
            if ((others - places[row]) ** 2).sum(axis=1).min() >= gap**2:
                break
            angle, far = random.uniform(0, 2 * np.pi), gap * (1 + turn / 4)
            places[row] = middle + far * np.array((np.cos(angle), np.sin(angle)), dtype=np.float32)
    return places


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


# --- the graph


def _nearest(unit: Floats, k: int) -> tuple[Rows, Floats]:
    """The k nearest others of each point, in no order, and their cosine distances. Exact."""
    points = len(unit)
    rows = np.empty((points, k), dtype=np.int64)
    distances = np.empty((points, k), dtype=np.float32)
    step = max(1, BLOCK // points)
    for start in range(0, points, step):
        block = slice(start, min(start + step, points))
        far = -(unit[block] @ unit.T)
        own = np.arange(block.stop - block.start)
        far[own, own + start] = np.inf
        rows[block] = np.argpartition(far, k - 1, axis=1)[:, :k]
        distances[block] = 1 + np.take_along_axis(far, rows[block], axis=1)
    distances[distances < ZERO] = 0
    return rows, distances


def _graph(rows: Rows, distances: Floats) -> NeighbourGraph:
    """The fuzzy union: two points are neighbours as surely as either says so, p + q - pq."""
    points = len(rows)
    here, there = np.repeat(np.arange(points), rows.shape[1]), rows.ravel()
    pairs = np.minimum(here, there) * points + np.maximum(here, there)
    order = np.argsort(pairs, kind="stable")
    pairs, first = np.unique(pairs[order], return_index=True)
    doubt = np.multiply.reduceat(1 - _memberships(distances).ravel()[order], first)
    return NeighbourGraph(points, pairs // points, pairs % points, 1 - doubt[:, None])


def _memberships(distances: Floats) -> Floats:
    """How surely each is a neighbour: the nearest one fully, the others by how much farther they are.

    What counts as far is each point's own affair: the scale is such that its memberships sum up to log2(k + 1), so that
    dense and sparse regions look alike.
    """
    k = distances.shape[1]
    nearest = np.min(distances, axis=1, keepdims=True, where=distances > 0, initial=np.inf)
    gaps = np.maximum(distances - np.where(np.isfinite(nearest), nearest, 0), 0)
    # At twice the largest gap the sum is above the target for every k, so the scale is in between.
    high: Floats = 2 * gaps.max(axis=1, keepdims=True) + ZERO
    low = np.zeros_like(high)
    for _ in range(32):
        middle = (low + high) / np.float32(2)
        less = np.exp(-gaps / middle).sum(axis=1, keepdims=True) < np.log2(k + 1)
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    # Many duplicates fill the sum by themselves; the others should not vanish for that.
    scale = np.maximum(high, 1e-3 * distances.mean(axis=1, keepdims=True))
    return np.exp(-gaps / scale)


# --- where points start


def _principal(unit: Floats) -> Floats:
    """The first two principal components, ten wide."""
    mean = unit.mean(axis=0)
    _, axes = np.linalg.eigh(unit.T @ unit / len(unit) - np.outer(mean, mean))
    places = np.zeros((len(unit), 2), dtype=np.float32)
    flat = (unit - mean) @ axes[:, :-3:-1]
    places[:, : flat.shape[1]] = flat
    return 10 * _framed(places)


def _resumed(graph: NeighbourGraph, unit: Floats, rows: Rows, old: Floats) -> Floats:
    """Old points where they were, new ones amid their neighbours."""
    # Whoever has no path to an old point starts in its region at least, by the best linear map from vectors to places.
    fit = unit[rows].T @ unit[rows] + np.eye(unit.shape[1], dtype=np.float32)
    places = (unit @ np.linalg.solve(fit, unit[rows].T @ old)).astype(np.float32)
    places[rows] = old
    placed = np.zeros((len(unit), 1), dtype=bool)
    placed[rows] = True
    while True:
        sums = graph.around(np.hstack((places, np.ones_like(placed))) * placed)
        reached = np.flatnonzero(~placed[:, 0] & (sums[:, 2] > 0))
        if not len(reached):
            return places
        places[reached] = sums[reached, :2] / sums[reached, 2:]
        placed[reached] = True


def _balanced(graph: NeighbourGraph, places: Floats, random: np.random.Generator) -> Floats:
    """The places at the size at which attraction and repulsion even out, which was lost when they were framed."""
    places = places - places.mean(axis=0)
    low, high = 1e-1, 1e3
    for _ in range(16):
        middle = (low * high) ** 0.5
        outward = float((_force(graph, middle * places, random) * places).sum())
        low, high = (middle, high) if outward > 0 else (low, middle)
    return places * np.float32(low)


def _jittered(places: Floats, random: np.random.Generator) -> Floats:
    """No two at one place: between those there is no direction to part in."""
    return places + random.normal(scale=1e-3, size=places.shape).astype(np.float32)


# --- forces


def _settled(graph: NeighbourGraph, places: Floats, rate: float, random: np.random.Generator) -> Floats:
    """The places after all epochs, with steps that get shorter."""
    for epoch in range(EPOCHS):
        places = places + np.multiply(_force(graph, places, random), rate * (1 - epoch / EPOCHS))
    return places


def _force(graph: NeighbourGraph, places: Floats, random: np.random.Generator) -> Floats:
    """Where each point is drawn by its neighbours, in the weighted mean, and pushed by a few others at random."""
    apart = places[graph.tail] - places[graph.head]
    square = _squared(apart)
    near = _curve(square)
    pull: Floats = apart * graph.weight * np.divide(near, square * (1 + near))
    pulled = graph.gathered(graph.head, pull) - graph.gathered(graph.tail, pull)
    apart = places[:, None] - places[random.integers(graph.points, size=(graph.points, SAMPLES))]
    square = _squared(apart)
    push: Floats = np.divide(apart, (square + SOFT) * (1 + _curve(square)))
    return pulled / graph.degree + REPULSION * push.clip(-LIMIT, LIMIT).mean(axis=1)


def _curve(square: Floats) -> Floats:
    return A * np.power(square, B)


def _squared(apart: Floats) -> Floats:
    return (apart * apart).sum(axis=-1, keepdims=True) + TINY


# --- the frame


def _roomy(places: Floats, random: np.random.Generator) -> Floats:
    """The same with room around each point, so that what means nearly the same doesn't lie in one spot.

    Whoever shares a cell of a grid is compared with a few others in it; the grid lies elsewhere each time.
    """
    gap = np.float32(ROOM / len(places) ** 0.5)
    for _ in range(PUSHES):
        cell = np.floor((places + random.uniform(0, 2 * gap, size=2).astype(np.float32)) / (2 * gap)).astype(np.int64)
        number = cell[:, 0] * 4_194_301 + cell[:, 1]
        order = np.lexsort((random.random(len(places)), number))
        push = np.zeros_like(places)
        for step in range(1, min(COMPARED, len(places) - 1) + 1):
            one, other = order[:-step], order[step:]
            apart = places[one] - places[other]
            far = np.sqrt(_squared(apart))
            close = (number[one] == number[other])[:, None] & (far < gap)
            each = np.where(close, apart / far * (gap - far) / 4, 0).astype(np.float32)
            push[one] += each
            push[other] -= each
        places = places + push
    return places


def _framed(places: Floats) -> Floats:
    """In the middle of the frame, and as large as it."""
    centred = places - (places.min(axis=0) + places.max(axis=0)) / 2
    size = float(np.abs(centred).max())
    return centred / np.float32(size) if size > 0 else centred


def _aligned(places: Floats, rows: Rows, old: Floats) -> Floats:
    """Turned, mirrored, scaled and moved so that the old points lie on their old places as well as they can."""
    centre, old_centre = places[rows].mean(axis=0), old.mean(axis=0)
    here, there = places[rows] - centre, old - old_centre
    size, old_size = float(np.linalg.norm(here)), float(np.linalg.norm(there))
    if not size or not old_size:
        return _framed(places)
    left, _, right = np.linalg.svd(here.T @ there)
    aligned = ((places - centre) @ (left @ right) * (old_size / size) + old_centre).astype(np.float32)
    # A map that has outgrown the frame, or shrunk in it, gets a new one.
    return aligned if 0.5 < np.abs(aligned).max() < 1.5 else _framed(aligned)
