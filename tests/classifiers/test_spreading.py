"""Label spreading: closed forms, and points that are not in the graph."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from tfssl.classifiers.spreading import SpreadingClassifier, nearest, neighbour_graph, spread
from tfssl.errors import InputError


def test_the_solution_solves_its_equation(rng):
    graph = neighbour_graph(rng.normal(size=(60, 3)), k=5)
    y = rng.random((60, 4))
    found = spread(graph.similarity, y, 0.99)
    dense = np.linalg.solve(np.eye(60) - 0.99 * graph.similarity.toarray(), y)
    np.testing.assert_allclose(found, dense, rtol=1e-3)


def test_three_points_in_a_row():
    """At 0, 1 and 3 with one neighbour each: w = exp(-1 / (1 1)), and exp(-4 / (2 1))."""
    graph = neighbour_graph(np.array([[0.0], [1.0], [3.0]]), k=1)
    near, far = np.exp(-1.0), np.exp(-2.0)
    degrees = np.array([near, near + far, far])
    expected = np.array([[0, near, 0], [near, 0, far], [0, far, 0]])
    expected /= np.sqrt(degrees[:, None] * degrees)
    np.testing.assert_allclose(graph.similarity.toarray(), expected, atol=1e-6)


def test_neighbours_are_the_nearest(rng):
    x, points = rng.normal(size=(7, 2)), rng.normal(size=(30, 2))
    distances, rows = nearest(x, points, 4)
    every = np.linalg.norm(x[:, None] - points, axis=2)
    np.testing.assert_array_equal(rows, every.argsort(axis=1)[:, :4])
    np.testing.assert_allclose(distances, np.sort(every, axis=1)[:, :4])


def test_labels_follow_the_moons():
    x, y = make_moons(400, noise=0.06, random_state=0)
    labels = np.full(400, -1)
    for k in (0, 1):
        labels[np.flatnonzero(y == k)[:3]] = k
    ours = SpreadingClassifier().fit(x[:300], labels[:300])
    assert (ours.predict(x[300:]) == y[300:]).mean() > 0.97


def test_totals_of_the_classes_are_equal():
    """A class with one label among many points is not drowned by one with twenty labels."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 4])
    y = np.full(200, -1)
    y[:20], y[100] = 0, 1
    fitted = SpreadingClassifier().fit(x, y)
    truth = np.repeat([0, 1], 100)
    assert (fitted.predict(x) == truth).mean() > 0.95


def test_only_angles_count_with_the_cosine(rng):
    x = rng.normal(size=(80, 5))
    y = np.where(np.arange(80) < 20, (x[:, 0] > 0).astype(int), -1)
    lengths = rng.uniform(0.1, 10, (80, 1))
    one, two = (SpreadingClassifier(metric="cosine").fit(z, y) for z in (x, x * lengths))
    np.testing.assert_allclose(one.predict_proba(x), two.predict_proba(x * lengths), rtol=1e-6)


def test_a_graph_that_is_there_gives_the_same(rng):
    x, y = rng.normal(size=(50, 2)), np.where(np.arange(50) < 10, np.arange(50) % 2, -1)
    own = SpreadingClassifier().fit(x, y)
    given = clone(own).fit(x, y, graph=neighbour_graph(x))
    np.testing.assert_array_equal(own.predict_proba(x), given.predict_proba(x))


def test_points_that_coincide_stay_joined(rng):
    """20 equal points of one class, 20 of the other: more than k, so their reach is 0."""
    x = np.repeat(10.0 * rng.normal(size=(2, 40)), 20, axis=0)
    spread_out = 10.0 * rng.normal(size=(40, 40))
    y = np.full(80, -1)
    y[[0, 20]] = 0, 1
    classifier = SpreadingClassifier().fit(np.concatenate([x, spread_out]), y)
    found = classifier.predict_proba(x)
    assert found[:20, 0].min() > 0.9
    assert found[20:, 1].min() > 0.9


def test_as_near_as_the_farthest_counts_too():
    """Of points equally near, the order in which they lie in memory is no matter."""
    x = np.array([[0.0], [1.0], [-1.0], [-1.0], [5.0], [6.0]])
    classifier = SpreadingClassifier(n_neighbors=2).fit(x, np.array([-1, 0, 1, 1, 0, 0]))
    found = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]):
        for name in ("points_", "reach_", "shares_"):
            setattr(classifier, name, getattr(classifier, name)[order])
        found.append(classifier.predict_proba([[0.0]]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    assert found[0][0, 1] > 0.3  # two of the three at distance 1 are of class 1


def test_far_away_there_is_a_nearest_point():
    x, label = make_blobs([150, 100, 50], 4, cluster_std=0.5, random_state=3)
    classifier = SpreadingClassifier().fit(x, np.where(np.arange(300) < 30, label, -1))
    away = x[:1] + 1e4 * (x[:1] - x.mean(axis=0))
    nearest_one = ((x - away) ** 2).sum(axis=1).argmin()
    assert classifier.predict(away) == label[nearest_one]
    assert classifier.predict_proba(away).max() > 0.5


def test_one_class_is_refused(rng):
    with pytest.raises(InputError, match="at least two classes besides -1"):
        SpreadingClassifier().fit(rng.normal(size=(5, 2)), [0, -1, -1, 0, 0])


@parametrize_with_checks(
    [SpreadingClassifier(n_neighbors=3)],
    expected_failed_checks=lambda _: {"check_classifiers_classes": "-1 means no label"},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
