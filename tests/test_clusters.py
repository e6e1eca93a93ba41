"""Clusters: dense places are found, scatter is noise, and numbers stay with their clusters."""

from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from keepstone.engine.clusters import NOISE, _core, _spanning, clusters, renumbered

Floats = npt.NDArray[np.float64]

# Whole numbers, so that many distances are equal: where the order of points could make a difference.
GRID = arrays.arrays(np.float64, st.tuples(st.integers(0, 60), st.just(2)), elements=st.integers(0, 12).map(float))


def blobs(*sizes: int, spread: float = 0.05, seed: int = 1) -> Floats:
    """Round heaps in a row, one apart."""
    random = np.random.default_rng(seed)
    return np.vstack([random.normal((place, 0), spread, size=(size, 2)) for place, size in enumerate(sizes)])


def groups(labels: npt.NDArray[np.int64]) -> set[frozenset[int]]:
    """The clusters without their numbers."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {NOISE}}


def reachabilities(points: Floats, k: int) -> Floats:
    """Mutual reachability between all points, by its definition."""
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    core = np.sort(distances, axis=1)[:, k]
    return np.maximum(distances, np.maximum(core[:, None], core[None]))


def kruskal(distances: Floats) -> list[float]:
    """The lengths in the minimum spanning tree, by another way than Prim's."""
    part, lengths = np.arange(len(distances)), list[float]()
    for one, other in zip(*np.unravel_index(distances.argsort(axis=None), distances.shape), strict=True):
        if part[one] != part[other]:
            part[part == part[one]] = part[other]
            lengths.append(float(distances[one, other]))
    return lengths


@given(points=GRID.filter(lambda points: len(points) > 6), k=st.integers(1, 6))
def test_the_spanning_tree_is_the_shortest_by_mutual_reachability(points: Floats, k: int) -> None:
    edges = _spanning(points.T, _core(points.T, k))
    reach = reachabilities(points, k)
    assert [length for *_, length in edges] == pytest.approx([reach[one, other] for one, other, _ in edges])
    assert sorted(length for *_, length in edges) == pytest.approx(kruskal(reach))


def test_heaps_that_lie_apart_are_clusters_numbered_from_the_largest() -> None:
    labels = clusters(blobs(40, 100, 60), min_size=10)
    heap = np.repeat((2, 0, 1), (40, 100, 60))
    assert set(labels.tolist()) <= {NOISE, 0, 1, 2}
    assert (labels == heap).mean() > 0.95
    assert ((labels == heap) | (labels == NOISE)).all()


def test_scatter_between_heaps_is_noise() -> None:
    scatter = np.random.default_rng(2).uniform((-1, 1), (3, 5), size=(20, 2))
    labels = clusters(np.vstack((blobs(100, 100), scatter)), min_size=15)
    assert set(labels[:200].tolist()) - {NOISE} == {0, 1}
    assert (labels[200:] == NOISE).all()


def test_heaps_of_different_density_are_both_found() -> None:
    dense, sparse = blobs(100, spread=0.01), blobs(100, spread=0.3, seed=2) + np.array((4, 0))
    labels = clusters(np.vstack((dense, sparse)), min_size=15)
    assert set(labels[:100].tolist()) - {NOISE} != set(labels[100:].tolist()) - {NOISE}
    assert (labels[:100] == np.bincount(labels[:100] + 1).argmax() - 1).mean() > 0.9
    assert (labels[100:] == np.bincount(labels[100:] + 1).argmax() - 1).mean() > 0.6


def test_a_ring_around_a_heap_is_a_cluster_of_its_own() -> None:
    angle = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ring = np.column_stack((np.cos(angle), np.sin(angle)))
    labels = clusters(np.vstack((blobs(100), ring)), min_size=20)
    assert len(set(labels[100:].tolist())) == 1
    assert labels[100] not in {NOISE, *labels[:100].tolist()}


def test_a_heap_below_the_least_size_is_noise() -> None:
    labels = clusters(blobs(50, 50, 8), min_size=10)
    assert (labels[100:] == NOISE).all()
    assert set(labels[:100].tolist()) - {NOISE} == {0, 1}


def test_points_of_any_dimension_are_clustered() -> None:
    random = np.random.default_rng(3)
    labels = clusters(np.vstack([random.normal(centre, 0.1, size=(30, 5)) for centre in (0, 2)]), min_size=5)
    assert len(groups(labels)) == 2
    assert set(labels[:30].tolist()) & set(labels[30:].tolist()) <= {NOISE}


@given(points=GRID, order=st.randoms(use_true_random=False), min_size=st.integers(2, 8), min_samples=st.integers(1, 6))
def test_the_order_of_points_makes_no_difference(points: Floats, order: Random, min_size: int, min_samples: int):
    rows = list(range(len(points)))
    order.shuffle(rows)
    straight = clusters(points, min_size=min_size, min_samples=min_samples)
    mixed = clusters(points[rows], min_size=min_size, min_samples=min_samples)
    back = np.empty_like(mixed)
    back[rows] = mixed
    assert groups(straight) == groups(back)


@given(points=GRID, min_size=st.integers(2, 8))
def test_no_cluster_is_below_the_least_size_and_numbers_go_from_0_by_size(points: Floats, min_size: int) -> None:
    labels = clusters(points, min_size=min_size)
    sizes = np.bincount(labels[labels != NOISE])
    assert labels.shape == (len(points),)
    assert (sizes >= min_size).all()
    assert (np.diff(sizes) <= 0).all()


@given(points=GRID)
def test_the_size_of_the_map_makes_no_difference(points: Floats) -> None:
    assert groups(clusters(points, min_size=4)) == groups(clusters(points * 1024, min_size=4))


@pytest.mark.parametrize("points", [0, 1, 2, 9])
def test_fewer_points_than_the_least_size_are_noise(points: int) -> None:
    assert clusters(np.random.default_rng(4).normal(size=(points, 2)), min_size=10).tolist() == [NOISE] * points


def test_points_that_are_all_the_same_are_noise() -> None:
    assert set(clusters(np.ones((40, 2)), min_size=5).tolist()) == {NOISE}


def test_heaps_of_duplicates_are_clusters() -> None:
    labels = clusters(np.repeat(((0.0, 0.0), (1.0, 0.0), (0.0, 3.0)), 20, axis=0), min_size=10)
    assert groups(labels) == {frozenset(range(start, start + 20)) for start in (0, 20, 40)}


def test_a_cluster_keeps_the_number_of_the_old_one_it_shares_most_with() -> None:
    labels = np.array([0, 0, 0, 1, 1, 1, NOISE])
    assert renumbered(labels, {0: 4, 1: 4, 2: 7, 3: 7, 4: 7, 5: NOISE, 6: 7}).tolist() == [4, 4, 4, 7, 7, 7, NOISE]


def test_of_a_cluster_that_fell_in_two_the_larger_part_keeps_the_number() -> None:
    labels = np.array([0, 0, 1, 1, 1])
    assert renumbered(labels, dict.fromkeys(range(5), 3)).tolist() == [4, 4, 3, 3, 3]


def test_two_clusters_that_became_one_have_the_number_of_the_larger() -> None:
    labels = np.array([0, 0, 0, 1])
    assert renumbered(labels, {0: 2, 1: 5, 2: 5}).tolist() == [5, 5, 5, 6]


def test_a_new_cluster_gets_a_new_number() -> None:
    labels = np.array([0, 0, 1, 1])
    assert renumbered(labels, {2: 0, 3: 0}).tolist() == [1, 1, 0, 0]


def test_without_old_numbers_and_with_the_same_nothing_changes() -> None:
    labels = clusters(blobs(40, 100, 60), min_size=10)
    assert np.array_equal(renumbered(labels, {}), labels)
    assert np.array_equal(renumbered(labels, dict(enumerate(labels.tolist()))), labels)


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 6)), max_size=30))
def test_new_numbers_tell_the_same_clusters_apart(pairs: list[tuple[int, int]]) -> None:
    labels = np.array([new for new, _ in pairs], dtype=np.int64)
    numbers = renumbered(labels, {row: old for row, (_, old) in enumerate(pairs)})
    assert len(set(zip(labels.tolist(), numbers.tolist(), strict=True))) == len(set(labels.tolist()))
    assert groups(numbers) == groups(labels)
