"""Clusters: what is near to each other is one, they stand still under small changes, and numbers stay with them."""

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from keepstone.engine.atlas import make
from keepstone.engine.clusters import NOISE, Edge, clusters, renumbered

Labels = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


def linked(*sizes: int, across: float = 0.01, seed: int = 1) -> list[Edge]:
    """Groups in which each knows eight others, and a few links from one to the next."""
    random = np.random.default_rng(seed)
    edges: list[Edge] = []
    start = 0
    for size in sizes:
        for row in range(start, start + size):
            near = random.choice(size, size=min(8, size), replace=False) + start
            edges += [(row, int(other), 1.0) for other in near if other != row]
        if start:
            edges += [(start - 1, start, across)]
        start += size
    return edges


def topics(points: int, *, groups: int = 12, noise: float = 0.1, seed: int = 1) -> Floats:
    """Unit vectors around some centres; row i is on topic i % groups."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(groups, 64))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rows = centres[np.arange(points) % groups] + noise * random.normal(size=(points, 64))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def groups(labels: Labels) -> set[frozenset[int]]:
    """The clusters without their numbers."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {NOISE}}


NOTHING = (np.empty(0, np.int64), np.empty((0, 2), np.float32), np.empty(0, np.int64))


def test_groups_that_hang_together_are_clusters_numbered_from_the_largest() -> None:
    labels = clusters(200, linked(40, 100, 60), min_size=10)
    assert (labels[:40] == labels[0]).all()
    assert len({int(labels[0]), int(labels[60]), int(labels[180])}) == 3
    sizes = np.bincount(labels[labels != NOISE])
    assert (np.diff(sizes) <= 0).all()


def test_who_knows_nobody_is_in_no_cluster() -> None:
    labels = clusters(43, linked(20, 20), min_size=5)
    assert (labels[40:] == NOISE).all()
    assert len(groups(labels)) == 2


def test_a_group_below_the_least_size_goes_to_who_holds_it_or_to_none() -> None:
    labels = clusters(46, [*linked(20, 20), (40, 0, 1.0), (41, 40, 0.5), (43, 44, 1.0)], min_size=4)
    assert labels[40] == labels[0]
    assert (labels[43:] == NOISE).all()


def test_topics_of_five_texts_each_are_clusters_and_nearly_all_belong_to_one() -> None:
    made = make(topics(60), *NOTHING)
    topic = np.arange(60) % 12
    assert (made.labels != NOISE).mean() > 0.9
    assert len(groups(made.labels)) == 12
    assert all(len(set(topic[made.labels == label].tolist())) == 1 for label in set(made.labels.tolist()))


def test_after_an_edit_a_merge_and_five_new_ones_nearly_all_keep_cluster_and_place() -> None:
    vectors = topics(65)
    first = make(vectors[:60], *NOTHING)
    edited, merged = 7, 12
    vectors[edited] = topics(61, seed=3)[3]
    rows = np.array([row for row in range(65) if row != merged])
    held = np.array([place for place, row in enumerate(rows) if row < 60 and row != edited])
    second = make(vectors[rows], held, first.points[rows[held]], first.labels[rows[held]])
    assert (second.labels[held] == first.labels[rows[held]]).mean() >= 0.9
    assert np.abs(second.points[held] - first.points[rows[held]]).max() < 1e-5
    assert set(second.labels.tolist()) == set(first.labels.tolist())


def test_a_new_topic_becomes_a_cluster_of_its_own_and_the_others_stay() -> None:
    vectors = topics(96)
    old = np.flatnonzero(np.arange(96) % 12 != 11)
    first = make(vectors[old], *NOTHING)
    second = make(vectors, old, first.points, first.labels)
    assert (second.labels[old] == first.labels).mean() >= 0.9
    assert len(set(second.labels[11::12].tolist())) == 1
    assert int(second.labels[11]) not in set(first.labels.tolist())


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
    labels = clusters(200, linked(40, 100, 60), min_size=10)
    assert np.array_equal(renumbered(labels, {}), labels)
    assert np.array_equal(renumbered(labels, dict(enumerate(labels.tolist()))), labels)


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 6)), max_size=30))
def test_new_numbers_tell_the_same_clusters_apart(pairs: list[tuple[int, int]]) -> None:
    labels = np.array([new for new, _ in pairs], dtype=np.int64)
    numbers = renumbered(labels, {row: old for row, (_, old) in enumerate(pairs)})
    assert len(set(zip(labels.tolist(), numbers.tolist(), strict=True))) == len(set(labels.tolist()))
    assert groups(numbers) == groups(labels)
