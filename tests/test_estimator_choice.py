"""The default of SemiSupervisedClassifier: it chooses by evidence, whatever it is given."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tfssl import InputError, SemiSupervisedClassifier

# Seconds that leave the quickest candidates alone: TensorFlow traces no network.
QUICK = 0.3


def quick(**parameters):
    return SemiSupervisedClassifier(**{"budget": QUICK, "random_state": 0, **parameters})


def partly(y, per_class):
    """The labels with all but a few of each class taken away."""
    kept = np.concatenate([np.flatnonzero(y == k)[:per_class] for k in np.unique(y)])
    return np.where(np.isin(np.arange(len(y)), kept), y, -1)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, 5, centers=3, random_state=0)


@parametrize_with_checks(
    [quick()], expected_failed_checks=lambda _: {"check_classifiers_classes": "-1 is no label"}
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_default_says_what_it_rests_on(blobs, capsys):
    X, y = blobs
    model = quick(verbose=True).fit(X, partly(y, 4))
    assert model.score(X, y) > 0.95
    assert model.model_ is None
    names = [row["name"] for row in model.choice_.rows]
    assert len(set(names)) == len(names) > 5
    weights = [row["weight"] for row in model.choice_.rows]
    assert sum(weights) == pytest.approx(1.0)
    assert "log-loss" in str(model.choice_)
    assert "candidates left" in capsys.readouterr().out
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_with_all_its_time_it_tries_m2(blobs):
    X, y = blobs
    model = SemiSupervisedClassifier(random_state=0).fit(X, partly(y, 4))
    errors = {row["name"]: row["error"] for row in model.choice_.rows}
    assert np.isfinite([errors["M2"], errors["M2, labels first"]]).all()
    assert model.score(X, y) > 0.95


def test_images_are_taken_as_images():
    digits = load_digits()
    y = partly(digits.target, 5)
    stacked, flat = quick().fit(digits.images, y), quick().fit(digits.data, y)
    np.testing.assert_array_equal(
        stacked.predict_proba(digits.images[:50]), flat.predict_proba(digits.data[:50])
    )
    assert stacked.preprocessing_.levels == 16
    coloured = quick().fit(np.repeat(digits.images[..., None], 3, axis=3), y)
    assert coloured.n_features_in_ == 192


def test_grid_search_and_pipeline(blobs):
    X, y = blobs
    search = GridSearchCV(quick(), {"budget": [0.1, 0.3]}, cv=2).fit(X, partly(y, 6))
    assert search.score(X, y) > 0.9
    assert make_pipeline(StandardScaler(), quick()).fit(X, partly(y, 4)).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("rows", "columns", "classes", "per_class"),
    [(50, 4, 2, 3), (300, 2, 2, 5), (120, 5000, 3, 5), (900, 10, 100, 3), (60, 3, 3, 1)],
)
def test_odd_sizes(rows, columns, classes, per_class):
    rng = np.random.default_rng(0)
    y = np.arange(rows) % classes
    X = rng.normal(size=(rows, columns))
    X[:, 0] += 5 * y
    model = quick().fit(X, partly(y, per_class))
    found = model.predict_proba(X)
    assert found.shape == (rows, classes)
    assert np.isfinite(found).all()


def test_constant_columns_duplicates_and_all_labels(blobs):
    X, y = blobs
    odd = np.column_stack([X, np.ones(150), X[:, 0] > 0])
    assert quick().fit(odd, y).score(odd, y) > 0.95
    twice, labels = np.concatenate([X, X[:4]]), np.concatenate([partly(y, 5), (y[:4] + 1) % 3])
    assert quick().fit(twice, labels).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((4, 2)), None, "requires y to be passed.*-1 where there is none"),
        (np.ones((4, 2)), [0.0, 1.0, np.nan, -1.0], "y must not contain missing.*-1 to points"),
        (np.ones((4, 2)), np.array([0, 1, None, 0], object), "y must not contain missing"),
        ([[1.0, np.nan]] * 4, [0, 1, -1, -1], "X must not contain missing values.*SimpleImputer"),
        ([[1.0, np.inf]] * 4, [0, 1, -1, -1], "X must not contain missing values"),
        (np.ones((4, 2)), [1, 1, -1, -1], "labels of at least two classes"),
    ],
)
def test_bad_input_is_explained(X, y, message):
    with pytest.raises(InputError, match=f"(?s){message}"):
        quick().fit(X, y)
