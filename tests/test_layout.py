"""Layout: neighbours stay neighbours on the map, and the map stays as it was."""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from keepstone.engine.layout import _graph, _memberships, _nearest, layout

Floats = npt.NDArray[np.float32]


def topics(points: int, *, groups: int = 8, dimensions: int = 64, noise: float = 0.12, seed: int = 1) -> Floats:
    """Unit vectors around some centres, as those of texts on so many topics; row i is on topic i % groups."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(groups, dimensions))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rows = centres[np.arange(points) % groups] + noise * random.normal(size=(points, dimensions))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def distances(points: Floats) -> Floats:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def trustworthiness(vectors: Floats, places: Floats, k: int = 10) -> float:
    """1 when the nearest on the map are the nearest in truth, about 0.5 by chance (Venna and Kaski)."""
    n = len(vectors)
    ranks = distances(vectors).argsort(axis=1).argsort(axis=1)
    near = distances(places).argsort(axis=1)[:, 1 : k + 1]
    intruders = np.maximum(np.take_along_axis(ranks, near, axis=1) - k, 0)
    return 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * float(intruders.sum())


def moved(places: Floats, old: Floats) -> float:
    """How far points went on average, in parts of how far they lie from the centre."""
    return float(np.linalg.norm(places - old, axis=1).mean() / np.linalg.norm(old - old.mean(axis=0), axis=1).mean())


def remembered(places: Floats) -> dict[int, tuple[float, float]]:
    return {row: (float(x), float(y)) for row, (x, y) in enumerate(places)}


def turned(places: Floats, degrees: float) -> Floats:
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return (places @ turn).astype(np.float32)


def test_the_nearest_on_the_map_are_near_in_truth() -> None:
    vectors = topics(400)
    chance = np.random.default_rng(2).uniform(-1, 1, size=(400, 2)).astype(np.float32)
    assert trustworthiness(vectors, chance) < 0.6
    assert trustworthiness(vectors, layout(vectors)) > 0.9


def test_a_curve_through_many_dimensions_is_a_curve_on_the_map() -> None:
    """What lies along a line keeps its order: it is not only groups that are shown."""
    along = np.linspace(0, 3, 300)[:, None]
    waves = np.random.default_rng(3).normal(size=(2, 64))
    vectors = np.cos(along * waves[:1] + waves[1:]).astype(np.float32)
    assert trustworthiness(vectors, layout(vectors)) > 0.98


def test_topics_lie_apart() -> None:
    places = layout(topics(400))
    topic = np.arange(400) % 8
    centres = np.array([places[topic == each].mean(axis=0) for each in range(8)])
    nearest = np.linalg.norm(places[:, None] - centres[None], axis=2).argmin(axis=1)
    assert (nearest == topic).mean() > 0.95


def test_the_map_fills_its_frame() -> None:
    places = layout(topics(200))
    assert places.dtype == np.float32
    assert np.abs(places).max() == pytest.approx(1)
    assert places.min(axis=0) == pytest.approx(-places.max(axis=0), abs=1e-5)


def test_the_nearest_neighbours_are_exact_over_many_blocks() -> None:
    vectors = topics(4000, dimensions=8)
    rows, found = _nearest(vectors, 15)
    assert (rows != np.arange(4000)[:, None]).all()
    some = np.arange(0, 4000, 97)
    expected = np.sort(1 - vectors[some] @ vectors.T, axis=1)[:, 1:16]
    assert np.allclose(np.sort(found[some], axis=1), expected, atol=1e-5)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 15])
def test_the_memberships_of_a_point_sum_up_to_the_same(k: int) -> None:
    distances = np.random.default_rng(5).uniform(0.1, 1, size=(50, k)).astype(np.float32)
    members = _memberships(distances)
    assert members.sum(axis=1) == pytest.approx(np.log2(k + 1), rel=1e-3)
    assert members.max(axis=1) == pytest.approx(1)


def test_an_edge_weighs_what_either_end_says() -> None:
    """0 and 1 have each other; 2 has 0, which does not have it."""
    rows = np.array([[1], [0], [0]])
    graph = _graph(rows, np.array([[0.2], [0.2], [0.5]], dtype=np.float32))
    assert list(zip(graph.head.tolist(), graph.tail.tolist(), strict=True)) == [(0, 1), (0, 2)]
    assert graph.weight[:, 0] == pytest.approx((1, 1))
    assert graph.degree[:, 0] == pytest.approx((2, 1, 1))


def test_the_same_vectors_give_the_same_map() -> None:
    vectors = topics(150)
    assert np.array_equal(layout(vectors, seed=7), layout(vectors, seed=7))
    assert not np.array_equal(layout(vectors, seed=7), layout(vectors, seed=8))


def test_the_length_of_a_vector_makes_no_difference() -> None:
    vectors = topics(60)
    assert trustworthiness(vectors, layout(vectors * np.arange(1, 61, dtype=np.float32)[:, None])) > 0.8


def test_old_points_stay_when_a_few_are_added() -> None:
    vectors = topics(420)
    old = layout(vectors[:400])
    places = layout(vectors, before=remembered(old))
    assert moved(places[:400], old) < 0.1
    assert trustworthiness(vectors, places) > 0.9


def test_new_points_lie_with_their_topic() -> None:
    vectors = topics(420)
    places = layout(vectors, before=remembered(layout(vectors[:400])))
    topic = np.arange(420) % 8
    nearest = distances(places)[400:, :400].argmin(axis=1)
    assert (topic[nearest] == topic[400:]).mean() > 0.9


def test_a_map_that_was_turned_and_mirrored_stays_so() -> None:
    vectors = topics(300)
    old = turned(layout(vectors), 130) * np.array([1, -1], dtype=np.float32)
    assert moved(layout(vectors, before=remembered(old)), old) < 0.1


def test_the_map_stays_over_many_small_changes() -> None:
    vectors = topics(400)
    first = layout(vectors[:300])
    places = first
    for points in range(320, 401, 20):
        places = layout(vectors[:points], before=remembered(places))
    assert moved(places[:300], first) < 0.3
    assert 0.5 < np.abs(places).max() < 1.5
    assert trustworthiness(vectors, places) > 0.9


def test_a_new_topic_far_from_all_others_finds_a_place_of_its_own() -> None:
    """Its points know only each other, so no neighbour says where to start."""
    vectors = topics(320, groups=8)
    order = np.argsort(np.arange(320) % 8 == 7, kind="stable")
    vectors = vectors[order]
    places = layout(vectors, before=remembered(layout(vectors[:280])))
    near = distances(places)[280:].argsort(axis=1)[:, 1:6]
    assert (near >= 280).mean() > 0.9


def test_one_old_point_or_all_at_one_place_are_no_map_to_keep_to() -> None:
    vectors = topics(60)
    for before in ({3: (0.2, 0.4)}, dict.fromkeys(range(60), (0.0, 0.0))):
        assert trustworthiness(vectors, layout(vectors, before=before)) > 0.8


@pytest.mark.parametrize(("points", "dimensions"), list(product((0, 1, 2, 3, 4, 16, 17), (1, 2, 8))))
def test_a_few_points_have_a_map(points: int, dimensions: int) -> None:
    vectors = np.random.default_rng(4).normal(size=(points, dimensions)).astype(np.float32)
    places = layout(vectors)
    assert places.shape == (points, 2)
    assert np.isfinite(places).all()
    again = layout(vectors, before=remembered(places[: points // 2]))
    assert again.shape == (points, 2)
    assert np.isfinite(again).all()


@pytest.mark.parametrize("points", [2, 3, 30, 100])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_vectors_that_are_all_the_same_have_a_map(points: int, value: float) -> None:
    places = layout(np.full((points, 8), value, dtype=np.float32))
    assert np.isfinite(places).all()
    assert len(np.unique(places, axis=0)) == points


def test_duplicates_lie_together_and_do_not_disturb_the_others() -> None:
    vectors = topics(200)
    vectors[:40] = vectors[0]
    places = layout(vectors)
    spread = np.linalg.norm(places, axis=1).mean()
    assert np.linalg.norm(places[:40] - places[:40].mean(axis=0), axis=1).mean() < spread / 2
    assert trustworthiness(vectors[40:], places[40:]) > 0.8
