"""The transductive SVM: its equations, its constraint, and problems with a known answer."""

import pickle
import time

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from tfssl.classifiers.tsvm import (
    ANNEALING,
    TransductiveSVM,
    labelled_loss,
    objective,
    unlabelled_loss,
)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """On a busy machine the threads of tiny products mostly wait for each other."""
    with threadpool_limits(1):
        yield


def blobs(n_classes, n_per_class, seed, radius=3.0):
    """Gaussian blobs on a circle; one label for each class, the rest unlabelled."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_classes), n_per_class)
    angle = 2.0 * np.pi * truth / n_classes
    x = radius * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(len(truth), 2))
    y = np.full(len(truth), -1)
    first = np.arange(n_classes) * n_per_class
    y[first] = truth[first]
    return x, y, truth


def stripes(seed, n=200):
    """Two thin horizontal stripes, above and below zero, labelled at opposite ends.

    The labelled points are twice as far apart along the stripes as across them, so that the widest
    margin between them, which is all an inductive SVM can know, cuts through both stripes.
    """
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1], n)
    x = np.column_stack([rng.normal(0.0, 0.8, 2 * n), rng.normal(0.0, 0.1, 2 * n)])
    x[:, 1] += np.where(truth == 1, 1.0, -1.0)
    x[[0, n]] = [[-2.0, -1.0], [2.0, 1.0]]
    y = np.full(2 * n, -1)
    y[[0, n]] = [0, 1]
    return x, y, truth


# The equations.


def test_labelled_loss_by_hand():
    loss, gradient = labelled_loss(np.array([[3.0, 0.5, -1.0]]), np.array([[1.0, 1.0, 1.0]]))
    np.testing.assert_allclose(loss, [[0.0, 0.25, 4.0]])
    np.testing.assert_allclose(gradient, [[0.0, -1.0, -4.0]])
    mirrored, opposite = labelled_loss(np.array([[1.0]]), np.array([[-1.0]]))
    assert (mirrored[0, 0], opposite[0, 0]) == (4.0, 4.0)


def test_unlabelled_loss_by_hand():
    loss, gradient = unlabelled_loss(np.array([[0.0, 1.0, -1.0]]))
    np.testing.assert_allclose(loss, [[1.0, np.exp(-3.0), np.exp(-3.0)]])
    np.testing.assert_allclose(gradient, [[0.0, -6.0 * np.exp(-3.0), 6.0 * np.exp(-3.0)]])


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    labelled = np.column_stack([rng.normal(size=(7, 4)), np.ones(7)])
    unlabelled = np.column_stack([rng.normal(size=(11, 4)), np.ones(11)])
    signs = np.where(rng.integers(0, 3, 7)[:, None] == np.arange(3), 1.0, -1.0)
    return 0.4 * rng.normal(size=(5, 3)), labelled, signs, unlabelled


def test_objective_equals_a_loop_over_points_and_classes(problem):
    parameters, labelled, signs, unlabelled = problem
    expected = 0.0
    for k in range(3):
        w, b = parameters[:-1, k], parameters[-1, k]
        expected += 0.5 * w @ w
        for x, sign in zip(labelled, signs[:, k], strict=True):
            expected += 2.0 * max(0.0, 1.0 - sign * (x[:-1] @ w + b)) ** 2
        for x in unlabelled:
            expected += 0.7 * np.exp(-3.0 * (x[:-1] @ w + b) ** 2)
    value, _ = objective(parameters, labelled, signs, unlabelled, 2.0, 0.7)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("c_star", [0.0, 0.7])
def test_objective_gradient_equals_finite_differences(problem, c_star):
    parameters, *data = problem
    shape = parameters.shape
    numeric = approx_fprime(
        parameters.ravel(), lambda p: objective(p.reshape(shape), *data, 2.0, c_star)[0], 1e-7
    )
    _, gradient = objective(parameters, *data, 2.0, c_star)
    np.testing.assert_allclose(gradient.ravel(), numeric, rtol=1e-4, atol=1e-4)


def test_single_precision_changes_rounding_only(problem):
    parameters, labelled, signs, unlabelled = problem
    value, gradient = objective(parameters, labelled, signs, unlabelled, 2.0, 0.7)
    value32, gradient32 = objective(
        parameters, labelled, signs, unlabelled.astype(np.float32), 2.0, 0.7
    )
    assert value32 == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(gradient32, gradient, atol=1e-5)
    assert gradient32.dtype == np.float64


def test_annealing_rises_from_nothing_to_everything():
    assert (ANNEALING[0], ANNEALING[-1]) == (0.0, 1.0)
    assert (np.diff(ANNEALING) > 0).all()


# Problems with a known answer.


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(3))
def test_stripes_where_an_inductive_svm_is_wrong(kernel, seed):
    x, y, truth = stripes(seed)
    has_label = y != -1
    inductive = SVC(kernel=kernel, C=10.0).fit(x[has_label], y[has_label])
    transductive = TransductiveSVM(kernel=kernel, random_state=0).fit(x, y)
    assert inductive.score(x, truth) < 0.8
    assert transductive.score(x, truth) == 1.0


def test_unlabelled_points_make_the_difference():
    x, y, truth = stripes(0)
    almost_without = TransductiveSVM("linear", unlabelled_weight=1e-6).fit(x, y)
    assert almost_without.score(x, truth) < 0.9


@pytest.mark.parametrize("n_classes", [3, 5])
def test_more_than_two_classes(n_classes):
    x, y, truth = blobs(n_classes, 60, seed=1, radius=6.0)
    model = TransductiveSVM(random_state=0).fit(x, y)
    assert model.decision_function(x).shape == (len(x), n_classes)
    assert model.score(x, truth) > 0.99


def test_digits_beat_the_supervised_svm():
    x, truth = load_digits(return_X_y=True)
    x = x / 16.0
    errors = []
    for seed in (0, 1):
        order = np.random.default_rng(seed).permutation(len(x))
        test, train = order[:500], order[500:]
        labelled = np.concatenate([train[truth[train] == k][:5] for k in range(10)])
        y = np.full(len(x), -1)
        y[labelled] = truth[labelled]
        models = (
            TransductiveSVM(random_state=0).fit(x[train], y[train]),
            SVC(C=10.0).fit(x[labelled], truth[labelled]),
        )
        errors.append([1.0 - model.score(x[test], truth[test]) for model in models])
    ours, supervised = np.mean(errors, axis=0)
    assert ours < 0.75 * supervised


# The constraint, and what is left without it.


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("class_prior", "shares"),
    [
        ("labelled", [2 / 7, 2 / 7, 3 / 7]),
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ([0.2, 0.5, 0.3], [0.2, 0.5, 0.3]),
    ],
)
def test_balance_holds_exactly(kernel, class_prior, shares):
    x, y, _ = blobs(3, 40, seed=2)
    y[119] = 2
    model = TransductiveSVM(kernel, class_prior=class_prior, random_state=0).fit(x + 100.0, y)
    np.testing.assert_allclose(model.class_prior_, shares)
    mean = model.decision_function(x[y == -1] + 100.0).mean(axis=0)
    np.testing.assert_allclose(mean, 2.0 * np.array(shares) - 1.0, atol=1e-9)


def test_balance_with_two_classes_is_that_of_the_second():
    x, y, _ = stripes(0)
    model = TransductiveSVM("linear", class_prior=[0.3, 0.7]).fit(x, y)
    assert model.decision_function(x[y == -1]).mean() == pytest.approx(0.4, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_unlabelled_points_it_is_linear_svc(n_classes):
    x, _, truth = blobs(n_classes, 40, seed=3, radius=1.0)
    x += [5.0, -3.0]
    model = TransductiveSVM("linear", C=0.5, tol=1e-13).fit(x, truth)
    # LinearSVC penalises its bias as one more weight: a large scale makes that negligible.
    reference = LinearSVC(C=0.5, intercept_scaling=1e3, tol=1e-10, max_iter=1_000_000, dual=False)
    reference.fit(x, truth)
    np.testing.assert_allclose(model.coef_.T, reference.coef_, atol=1e-3)
    np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=5e-3)


def test_all_points_as_components_give_the_exact_kernel():
    x, y, _ = blobs(3, 30, seed=4)
    phi = TransductiveSVM(gamma=0.3, random_state=0).fit(x, y).feature_map_.transform(x)
    distances = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(phi @ phi.T, np.exp(-0.3 * distances), atol=1e-6)


# scikit-learn's interface.


@parametrize_with_checks(
    [TransductiveSVM("linear"), TransductiveSVM("rbf", n_components=50)],
    expected_failed_checks=lambda _: {
        "check_classifiers_classes": "labels are integers, strings are refused"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_constructor_only_stores_and_clone_keeps_everything():
    prior = np.array([0.5, 0.5])
    model = TransductiveSVM("linear", 2.0, 3.0, 0.1, 7, prior, 8, 1e-3, 9)
    assert model.get_params() == {
        "kernel": "linear",
        "C": 2.0,
        "unlabelled_weight": 3.0,
        "gamma": 0.1,
        "n_components": 7,
        "class_prior": prior,
        "max_iter": 8,
        "tol": 1e-3,
        "random_state": 9,
    }
    assert model.class_prior is prior
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert not hasattr(clone(model), "classes_")


def test_classes_are_sorted_and_need_not_be_consecutive():
    x, y, truth = stripes(0)
    model = TransductiveSVM("linear").fit(x, np.where(y == -1, -1, 30 - 20 * y))
    assert model.classes_.tolist() == [10, 30]
    np.testing.assert_array_equal(model.predict(x), 30 - 20 * truth)
    assert model.decision_function(x).shape == (len(x),)
    assert (model.decision_function(x[truth == 0]) > 0).all()


def test_pickle_gives_equal_scores():
    x, y, _ = blobs(3, 30, seed=5)
    model = TransductiveSVM(n_components=20, random_state=0).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(x), model.decision_function(x))


def test_random_state_decides_the_result():
    x, y, _ = blobs(3, 60, seed=6)
    first, same, other = (
        TransductiveSVM(n_components=20, random_state=seed).fit(x, y).decision_function(x)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, same)
    assert np.abs(first - other).max() > 1e-3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_order_of_rows_does_not_matter(kernel):
    x, y, _ = blobs(3, 60, seed=7)
    order = np.random.default_rng(0).permutation(len(x))
    model = TransductiveSVM(kernel, n_components=20, tol=1e-9, random_state=0)
    straight = model.fit(x, y).decision_function(x)
    shuffled = model.fit(x[order], y[order]).decision_function(x)
    np.testing.assert_allclose(shuffled, straight, atol=2e-3)


def test_many_unlabelled_points_in_bounded_time():
    x, y, truth = blobs(4, 5000, seed=8, radius=5.0)
    start = time.process_time()
    model = TransductiveSVM(n_components=100, random_state=0).fit(x, y)
    assert time.process_time() - start < 30.0
    assert model.score(x, truth) > 0.98


def test_stopping_early_warns():
    x, y, _ = blobs(3, 30, seed=9)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        TransductiveSVM(max_iter=1, random_state=0).fit(x, y)


def test_stopping_early_warns_whichever_step_it_was():
    """Of these steps the last two need fewer iterations than those before them."""
    x, y, _ = blobs(3, 30, seed=9)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=9 .*in [1-9] of 11 steps"):
        TransductiveSVM(max_iter=9, random_state=0).fit(x, y)


# Bad input.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "poly"}, r"`kernel` must be \"linear\" or \"rbf\". Received: kernel='poly'"),
        ({"C": 0.0}, r"`C` must be a positive number. Received: C=0.0"),
        ({"C": np.nan}, r"`C` must be a positive number. Received: C=nan"),
        ({"C": "1"}, r"`C` must be a positive number. Received: C='1'"),
        ({"unlabelled_weight": -1.0}, r"`unlabelled_weight` .* Received: unlabelled_weight=-1.0"),
        ({"gamma": "auto"}, r"`gamma` must be \"scale\" or positive. Received: gamma='auto'"),
        ({"n_components": 2.5}, r"`n_components` must be a positive integer or .*Received: .*=2.5"),
        ({"max_iter": 0}, r"`max_iter` must be a positive integer. Received: max_iter=0"),
        ({"tol": np.inf}, r"`tol` must be a positive number. Received: tol=inf"),
        ({"class_prior": "flat"}, r"`class_prior` must be .* Received: class_prior='flat'"),
        ({"class_prior": [0.5, 0.5]}, r"3 probabilities. Received: class_prior=\[0.5, 0.5\]"),
        ({"class_prior": [0.5, 0.6, 0.1]}, r"3 probabilities. Received"),
        ({"class_prior": [1.5, -0.5, 0.0]}, r"3 probabilities. Received"),
        ({"class_prior": None}, r"3 probabilities. Received: class_prior=None"),
    ],
)
def test_bad_arguments(arguments, message):
    x, y, _ = blobs(3, 10, seed=0)
    with pytest.raises(ValueError, match=message):
        TransductiveSVM(**arguments).fit(x, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (x, np.full_like(y, -1)), r"more than one class.*Received: classes=\[\]"),
        (lambda x, y: (x, np.minimum(y, 0)), r"more than one class.*Received: classes=\[0\]"),
        (lambda x, y: (x, y.astype(str)), r"must hold integers.*Received: dtype='<U"),
        (lambda x, y: (x, y + 0.5), "Unknown label type"),
        (lambda x, y: (x[:-1], y), "inconsistent numbers of samples"),
        (lambda x, y: (np.where(x > 0, np.nan, x), y), "contains NaN"),
        (lambda x, y: (np.where(x > 0, np.inf, x), y), "contains infinity"),
        (lambda x, y: (x[:, 0], y), "Expected 2D array"),
    ],
)
def test_bad_data(change, message):
    x, y, _ = blobs(3, 10, seed=0)
    with pytest.raises(ValueError, match=message):
        TransductiveSVM().fit(*change(x, y))


def test_bad_data_to_predict():
    x, y, _ = blobs(3, 10, seed=0)
    model = TransductiveSVM(random_state=0).fit(x, y)
    with pytest.raises(ValueError, match=r"has 1 features, but .* is expecting 2"):
        model.predict(x[:, :1])
    with pytest.raises(ValueError, match="contains NaN"):
        model.predict(x * np.nan)


@pytest.mark.parametrize(("points", "features"), [(60, 60), (600, 500), (18_000, 600)])
def test_the_number_of_kernel_features_grows_with_the_points(points, features, rng):
    x, y = rng.normal(size=(points, 2)), np.full(points, -1)
    y[:2] = 0, 1
    model = TransductiveSVM(max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(x, y)
    assert model.coef_.shape[0] == features
