"""Label spreading: closed forms, and points that are not in the graph."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
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
    np.testing.assert_allclose(graph.similarity.toarray(), expected, atol=1e-12)


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


def test_one_class_is_refused(rng):
    with pytest.raises(InputError, match="at least two classes besides -1"):
        SpreadingClassifier().fit(rng.normal(size=(5, 2)), [0, -1, -1, 0, 0])


@parametrize_with_checks(
    [SpreadingClassifier(n_neighbors=3)],
    expected_failed_checks=lambda _: {"check_classifiers_classes": "-1 means no label"},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
