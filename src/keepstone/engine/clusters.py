"""Clusters: which points lie together, and which lie alone.

Owns HDBSCAN as Campello, Moulavi and Sander describe it, and the numbers that clusters keep from one run to the next.
It must not know what the points are or how they got their places. How many clusters there are is for the points to say;
the order in which they come makes no difference.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
# Two points, and how far they are apart.
Edge = tuple[int, int, float]

NOISE = -1
# So many distances at a time, that they fit into the processor's cache.
BLOCK = 1 << 18
# No points are nearer than this part of the largest distance: density is one over it, and has to end somewhere.
NEAREST = 1e-6


@dataclass(slots=True)
class Tree:
    """Single linkage: what grows together, at which distance. The first nodes are the points, the last is the root."""

    children: list[tuple[int, ...]]
    size: list[int]
    height: list[float]

    def parts(self, node: int) -> list[int]:
        """What a node falls into. All that happens at one distance is one step, as its order would be arbitrary."""
        children, same = list[int](), [node]
        while same:
            for child in self.children[same.pop()]:
                (same if self.height[child] == self.height[node] else children).append(child)
        return children

    def points(self, node: int) -> list[int]:
        leaves, rest = list[int](), [node]
        while rest:
            node = rest.pop()
            rest.extend(self.children[node])
            if not self.children[node]:
                leaves.append(node)
        return leaves


@dataclass(slots=True)
class Branch:
    """A cluster that may be chosen: from the density at which it parts from others to that at which it is gone.

    `mass` is how long its points stay in it, summed up; the excess of mass.
    """

    node: int
    birth: float
    mass: float = 0.0
    inner: "list[Branch]" = field(default_factory=list["Branch"])


def clusters(points: npt.ArrayLike, *, min_size: int, min_samples: int = 5) -> Labels:
    """The number of each point's cluster, from 0 for the largest; -1 for a point that belongs to none.

    Points are dense where the `min_samples`-th other is near; more of it calls more points noise. All points together
    are never a cluster: where nothing parts, everything is noise.
    """
    columns = np.ascontiguousarray(np.asarray(points, dtype=np.float64).T)
    labels = np.full(columns.shape[-1], NOISE, dtype=np.int64)
    if len(labels) < max(2, min_size):
        return labels
    tree = _tree(_spanning(columns, _core(columns, min(min_samples, len(labels) - 1))), len(labels))
    members = [tree.points(branch.node) for branch in _chosen(_condensed(tree, max(2, min_size)))]
    for number, rows in enumerate(sorted(members, key=lambda rows: (-len(rows), min(rows)))):
        labels[rows] = number
    return labels


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


def _core(columns: Floats, k: int) -> Floats:
    """The squared distance of each point to its k-th other."""
    points = columns.shape[1]
    core = np.empty(points, dtype=np.float64)
    step = max(1, BLOCK // points)
    for start in range(0, points, step):
        # A point is its own nearest, so that the k-th other is at place k.
        core[start : start + step] = np.partition(_squares(columns, columns[:, start : start + step]), k, axis=1)[:, k]
    return core


def _squares(columns: Floats, some: Floats) -> Floats:
    """The squared distances of some points to all; the difference itself is exact where points are close."""
    total = np.zeros((some.shape[1], columns.shape[1]), dtype=np.float64)
    for column, values in zip(columns, some, strict=True):
        gap = column - values[:, None]
        total += np.square(gap, out=gap)
    return total


def _spanning(columns: Floats, core: Floats) -> list[Edge]:
    """The minimum spanning tree by mutual reachability: the distance, or what either needs to be dense, if more.

    Prim's way: the tree takes in the nearest point, and looks from there. It never holds more than one row of the
    distances. The first `left` places of each array are the points that are still outside.
    """
    columns, core, rows = columns.copy(), core.copy(), np.arange(len(core))
    near, via = np.full(len(core), np.inf), np.zeros(len(core), dtype=np.int64)
    edges: list[Edge] = []
    nearest = 0
    for left in range(len(core) - 1, 0, -1):
        newest, place, dense = rows[nearest], columns[:, nearest : nearest + 1].copy(), core[nearest]
        for array in (columns.T, core, rows, near, via):
            array[nearest] = array[left]
        reach = np.maximum(_squares(columns[:, :left], place)[0], np.maximum(core[:left], dense))
        closer = reach < near[:left]
        np.copyto(near[:left], reach, where=closer)
        np.copyto(via[:left], newest, where=closer)
        nearest = int(near[:left].argmin())
        edges.append((int(via[nearest]), int(rows[nearest]), float(near[nearest]) ** 0.5))
    return edges


def _tree(edges: list[Edge], points: int) -> Tree:
    """Single linkage: the edges from the shortest on, each joining the two nodes that hold its ends."""
    tree = Tree([()] * points, [1] * points, [0.0] * points)
    above = list(range(2 * points - 1))

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = above[above[node]]
            node = above[node]
        return node

    edges = sorted(edges, key=lambda edge: edge[2])
    least = edges[-1][2] * NEAREST or 1.0
    for node, (left, other, distance) in enumerate(edges, points):
        pair = top(left), top(other)
        above[pair[0]] = above[pair[1]] = node
        tree.children.append(pair)
        tree.size.append(tree.size[pair[0]] + tree.size[pair[1]])
        tree.height.append(max(distance, least))
    return tree


def _condensed(tree: Tree, min_size: int) -> list[Branch]:
    """The branches of the tree, an outer one before its inner ones. A part below the least size is not a branch: its
    points drop out of the one they were in.
    """
    branches = [Branch(len(tree.children) - 1, 0.0)]
    rest = [(branches[0].node, branches[0])]
    while rest:
        node, branch = rest.pop()
        density = 1 / tree.height[node]
        large = [part for part in tree.parts(node) if tree.size[part] >= min_size]
        staying = tree.size[large[0]] if len(large) == 1 else 0
        branch.mass += (tree.size[node] - staying) * (density - branch.birth)
        if staying:
            rest.append((large[0], branch))
            continue
        branch.inner = [Branch(part, density) for part in large]
        branches += branch.inner
        rest += [(inner.node, inner) for inner in branch.inner]
    return branches


def _chosen(branches: list[Branch]) -> list[Branch]:
    """The branches that together have the most mass, none within another, and not the root."""
    best: dict[int, list[Branch]] = {}
    mass: dict[int, float] = {}
    for branch in reversed(branches):
        inner = fsum(mass[child.node] for child in branch.inner)
        whole = branch is not branches[0] and branch.mass >= inner
        mass[branch.node] = branch.mass if whole else inner
        best[branch.node] = [branch] if whole else [chosen for child in branch.inner for chosen in best[child.node]]
    return best[branches[0].node]
