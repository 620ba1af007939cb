"""SemiSupervisedClassifier: scikit-learn's own checks, and answers that are known."""

import functools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from tfssl import InputError, SemiSupervisedClassifier
from tfssl.training import sequence
from tfssl.training.fit import Fitted
from tfssl.training.weights import SelectedWeights

# A fit of this size is little more than TensorFlow tracing its training step.
FAST = {
    "hidden_units": (16,),
    "latent_dim": 2,
    "epochs": 60,
    "batch_size": 300,
    "learning_rate": 0.03,
    "supervised_steps": 0,
    "classification_weight": 10.0,  # with so few steps, labels must count for more
    "random_state": 0,
    "calibrate": False,  # which trains three times more
}
FOR_BANDS = {"hidden_units": (50, 50), "latent_dim": 1, "epochs": 200, "learning_rate": 0.01}


def fast(model="m2", **parameters):
    return SemiSupervisedClassifier(model, **{**FAST, **parameters})


EXPECTED_FAILURES = {
    # Ends with -1 and 1 as two classes. scikit-learn spares its own semi-supervised classifiers
    # this by their names: `test_classes` borrows one, `test_strings_as_labels` has the other half.
    "check_classifiers_classes": "-1 means no label",
}


@parametrize_with_checks([fast("m2")], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_classes():
    estimator_checks.check_classifiers_classes("SelfTrainingClassifier", fast("m2"))


@pytest.mark.parametrize("model", ["m1", "m1m2"])
@pytest.mark.parametrize(
    "check",
    [
        "check_dict_unchanged",
        "check_estimators_pickle",
        "check_fit_idempotent",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_transformer_general",
    ],
)
def test_scikit_learn_checks_of_other_models(model, check):
    """Those that reach the model; the others see the same code, and every fit costs seconds."""
    getattr(estimator_checks, check)("SemiSupervisedClassifier", fast(model))


def clusters():
    """Three clusters: X [150, 5], y [150] and y with all but two labels per class taken away."""
    X, y = make_blobs(150, 5, centers=3, random_state=0)
    return X, y, keep_labels(y, 2)


def keep_labels(y, per_class):
    kept = np.concatenate([np.flatnonzero(y == k)[:per_class] for k in np.unique(y)])
    return np.where(np.isin(np.arange(len(y)), kept), y, -1)


def bands(seed):
    """Two long bands, where three labels of each suggest a slanting border between them.

    Returns:
      X: [300, 2].
      y: [300], which band.
      partial: [300], the labels, else -1.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(300) % 2
    along, across = rng.uniform(-4, 4, 300), 2 * y - 1 + 0.2 * rng.normal(size=300)
    partial = np.full(300, -1)
    for band, side in ((0, -1), (1, 1)):
        candidates = (y == band) & (side * along > 0.4) & (side * along < 1.0)
        partial[np.flatnonzero(candidates)[:3]] = band
    return np.stack([along, across], axis=1), y, partial


@functools.cache
def fit_clusters(model):
    X, _, partial = clusters()
    return fast(model).fit(X, partial)


@pytest.fixture(params=["m1", "m2", "m1m2"])
def fitted(request):
    """Each model, trained on the clusters; tests must not change it."""
    return fit_clusters(request.param)


@pytest.fixture
def untrained(monkeypatch):
    """Networks keep their initial weights, for tests of what goes in and comes out."""
    monkeypatch.setattr(sequence, "fit", lambda *_: Fitted([], 0.0, SelectedWeights()))


def test_two_labels_per_cluster_are_enough(fitted):
    X, y, partial = clusters()
    unlabelled = partial == -1
    assert fitted.score(X[unlabelled], y[unlabelled]) > 0.95
    assert fitted.score(X, partial) == 1.0  # of the six labels


def test_probabilities(fitted):
    X, _, _ = clusters()
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (150, 3)
    assert probabilities.min() >= 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_array_equal(fitted.predict(X), probabilities.argmax(axis=1))


def test_latents(fitted):
    X, y, _ = clusters()
    latents = fitted.transform(X)
    assert latents.shape == (150, 2)
    assert fitted.get_feature_names_out().shape == (2,)
    if fitted.model != "m2":  # z1 tells the clusters apart
        assert LogisticRegression().fit(latents, y).score(latents, y) > 0.8
        return
    # M2's z tells what the class leaves open: two of five directions, which are alike.
    classes = np.eye(3)[y]
    both = np.concatenate([classes, latents], axis=1)
    by_class, by_both = (
        LinearRegression().fit(given, X).score(given, X) for given in (classes, both)
    )
    assert (by_both - by_class) / (1 - by_class) > 0.25


def test_pickle_keeps_every_bit(fitted):
    X, _, _ = clusters()
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(copy.transform(X), fitted.transform(X))


def test_the_place_of_a_point_does_not_change_its_result(fitted):
    X, _, _ = clusters()
    order = np.random.default_rng(0).permutation(150)
    np.testing.assert_array_equal(fitted.predict_proba(X)[order], fitted.predict_proba(X[order]))


def test_large_inputs_go_in_batches(fitted):
    X, _, _ = clusters()
    many = np.tile(X, (10, 1))
    assert fitted.transform(many).shape == (1500, 2)
    np.testing.assert_allclose(
        fitted.predict_proba(many), np.tile(fitted.predict_proba(X), (10, 1)), atol=1e-6
    )


@pytest.mark.parametrize("seed", range(3))
def test_unlabelled_points_find_the_gap(seed):
    X, y, partial = bands(seed)
    labelled = partial != -1
    m2 = fast(**FOR_BANDS, random_state=seed).fit(X, partial)
    assert m2.score(X, y) > 0.99
    assert LogisticRegression().fit(X[labelled], y[labelled]).score(X, y) < 0.75


def test_labels_alone_do_not_find_the_gap():
    X, y, partial = bands(0)
    labelled = partial != -1
    assert fast(**FOR_BANDS).fit(X[labelled], y[labelled]).score(X, y) < 0.75


def test_defaults_of_m2():
    X, y, partial = bands(0)
    classifier = SemiSupervisedClassifier("m2", calibrate=False, random_state=0).fit(X, partial)
    assert classifier.score(X, y) > 0.99
    assert set(classifier.history_) == {"m2"}


@pytest.mark.parametrize("model", ["m1", "m2"])
def test_a_temperature_from_held_out_labels(model):
    X, y, _ = clusters()
    partial = keep_labels(y, 4)
    raw, scaled = (fast(model, calibrate=c).fit(X, partial) for c in (False, "auto"))
    assert raw.calibration_ is None
    assert (scaled.calibration_.fitted_on, scaled.calibration_.points) == ("labelled", 12)
    np.testing.assert_array_equal(raw.predict(X), scaled.predict(X))
    np.testing.assert_allclose(
        scaled.predict_proba(X), scaled.calibration_(raw.predict_proba(X)), atol=1e-6
    )
    one_each = fast(model, calibrate="auto").fit(X, keep_labels(y, 1))
    assert one_each.calibration_ is None


def test_clone_forgets_the_fit_and_repeats_it(fitted):
    X, _, partial = clusters()
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    np.testing.assert_array_equal(copy.fit(X, partial).predict_proba(X), fitted.predict_proba(X))


def test_another_random_state_gives_another_fit():
    X, _, partial = clusters()
    other = fast("m2", random_state=1).fit(X, partial).predict_proba(X)
    assert np.abs(other - fit_clusters("m2").predict_proba(X)).max() > 1e-3


def test_progress_changes_nothing_but_the_output(capsys):
    X, _, partial = clusters()
    shown = fast("m2", verbose=True).fit(X, partial)
    assert "m2: 60 epochs" in capsys.readouterr().out
    silent = fit_clusters("m2")
    assert shown.history_ == silent.history_
    np.testing.assert_array_equal(shown.predict_proba(X), silent.predict_proba(X))


def test_strings_as_labels():
    X, y, _ = clusters()
    names = np.array(["one", "two", "three"])[y]
    classifier = fast("m2").fit(X, names)
    assert classifier.classes_.tolist() == ["one", "three", "two"]
    assert classifier.score(X, names) > 0.95


@pytest.mark.parametrize(
    ("names", "dtype"),
    [
        (["a", "b", "c"], object),
        (["a", "b", "c"], str),  # NumPy turns -1 into "-1"
        ([2.0, 3.0, 5.0], float),
        ([1, 2, 250], np.int16),
    ],
)
@pytest.mark.usefixtures("untrained")
def test_names_of_classes(names, dtype):
    X, _, partial = clusters()
    y = np.array([-1 if k == -1 else names[k] for k in partial], dtype=dtype)
    named, numbered = fast("m2").fit(X, y), fast("m2").fit(X, partial)
    assert named.classes_.tolist() == names
    assert named.predict(X).tolist() == [names[k] for k in numbered.predict(X)]
    assert named.model_.num_labelled == 6
    assert named.model_.num_unlabelled == 144
    assert named.score(X, y) == numbered.score(X, partial)


@pytest.mark.usefixtures("untrained")
def test_unsigned_labels_have_no_mark():
    X, y, _ = clusters()
    classifier = fast("m2").fit(X, np.where(y == 2, 255, y).astype(np.uint8))
    assert classifier.classes_.tolist() == [0, 1, 255]
    assert classifier.model_.num_unlabelled == 0


def test_pipeline():
    X, y, partial = clusters()
    X = X * [1e-3, 1, 1, 1, 1e3]
    pipeline = make_pipeline(StandardScaler(), fast("m2")).fit(X, partial)
    assert pipeline.score(X, y) > 0.95


def test_grid_search_takes_unlabelled_points():
    X, y, _ = clusters()
    grid = {"learning_rate": np.array([1e-6, 0.03])}
    search = GridSearchCV(fast("m2"), grid, cv=2).fit(X, keep_labels(y, 4))
    assert search.best_params_["learning_rate"] == 0.03
    assert search.best_score_ > 0.9
    assert search.score(X, y) > 0.95


def test_binary_features_get_a_bernoulli_likelihood():
    X, y, partial = clusters()
    binary = np.where(np.median(X, axis=0) < X, 1, 0)
    classifier = fast("m2").fit(binary, partial)
    assert classifier.model_.likelihood == "bernoulli"
    assert classifier.score(binary, y) > 0.9
    with pytest.raises(InputError, match=r"X: inputs must lie in \[0, 1\]"):
        classifier.predict(X)


def test_counts_get_a_binomial_likelihood():
    X, y, partial = clusters()
    counts = np.clip(np.round(X / 2 + 8), 0, 16)
    classifier = fast("m2", levels=16).fit(counts, partial)
    assert classifier.model_.likelihood == "binomial"
    assert classifier.model_.total_count == 16
    assert classifier.score(counts, y) > 0.9


@pytest.mark.parametrize(
    ("class_prior", "expected"),
    [
        ("labelled", [5 / 11, 3 / 11, 3 / 11]),
        ("uniform", None),
        (np.array([0.2, 0.3, 0.5]), [0.2, 0.3, 0.5]),
    ],
)
@pytest.mark.usefixtures("untrained")
def test_class_prior(class_prior, expected):
    X, y, partial = clusters()
    partial[np.flatnonzero(y == 0)[:4]] = 0  # 4, 2 and 2 labels
    assert fast("m2", class_prior=class_prior).fit(X, partial).model_.class_prior == expected


@pytest.mark.usefixtures("untrained")
def test_m1_has_sizes_of_its_own():
    X, _, partial = clusters()
    classifier = fast("m1m2", m1_latent_dim=np.int64(3), m1_hidden_units=[8, 4]).fit(X, partial)
    assert classifier.transform(X).shape == (150, 3)
    assert classifier.model_.m1.hidden_units == (8, 4)
    assert classifier.model_.m2.hidden_units == (16,)
    assert classifier.model_.m2.latent_dim == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"model": "m3"}, "`model`: .*'m1', 'm2' or 'm1m2'.*'m3'"),
        ({"likelihood": "poisson"}, "`likelihood`: .*'poisson'"),
        ({"levels": 0}, "`levels` must be a positive integer or None. Received: levels=0"),
        ({"latent_dim": 0}, r"`m1.latent_dim`: .* greater than 0. Received: 0"),
        ({"epochs": 1.5}, r"`m1.epochs`: .* valid integer. Received: 1.5"),
        ({"hidden_units": ()}, r"`m2.hidden_units`"),
        ({"classifier": "tree"}, r"`m1.classifier`: .*'tree'"),
        ({"class_prior": "guess"}, '`class_prior` must be "learned", "labelled", "uniform" or'),
        ({"class_prior": [0.5, 0.5]}, "one probability per class"),
        ({"class_prior": [0.5, 0.2, 0.2]}, "must sum to 1"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, _, partial = clusters()
    with pytest.raises(InputError, match=message):
        fast(**parameters).fit(X, partial)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([-1] * 6, InputError, "at least two classes besides -1.*Received: classes=\\[\\]"),
        ([-1, -1, 1, 1, 1, -1], InputError, "at least two classes besides -1"),
        (np.array([-1] * 6, dtype=object), InputError, "at least two classes besides -1"),
        ([-1, 0.5, 1.5, 2.5, -1, -1], ValueError, "Unknown label type"),
        (np.array(["a", "b", 1, -1, -1, -1], dtype=object), TypeError, "uniformly strings"),
        ([0, 1, 1], ValueError, "inconsistent numbers of samples"),
    ],
)
def test_wrong_labels(y, error, message):
    with pytest.raises(error, match=message):
        fast().fit(np.arange(12.0).reshape(6, 2), y)


def test_numbers_too_large_for_float32():
    too_large = np.full((4, 2), 1e300)
    with pytest.raises(InputError, match="too large for float32"):
        fast().fit(too_large, [0, 1, 0, 1])


@pytest.mark.usefixtures("untrained")
def test_whitening():
    X, _, partial = clusters()
    images = np.round(200 * (X - X.min()) / np.ptp(X))
    estimator = fast(whitening=3, levels=255).fit(images, partial)
    assert (estimator.model_.likelihood, estimator.model_.input_dim) == ("gaussian", 3)
    seen = estimator.preprocessing_(images)
    np.testing.assert_allclose(np.cov(np.transpose(seen), ddof=0), np.eye(3), atol=1e-3)
    assert estimator.predict_proba(images).shape == (150, 3)
    with pytest.raises(InputError, match="components=6, directions=5"):
        fast(whitening=6).fit(X, partial)


def test_a_spread_far_from_zero():
    """Twelve digits of which the last ones tell the clusters apart."""
    X, y, partial = clusters()
    assert fast().fit(X + 1e9, partial).score(X + 1e9, y) > 0.95


def test_a_score_needs_labels():
    X, _, _ = clusters()
    with pytest.raises(InputError, match="a score needs points that have a label"):
        fit_clusters("m2").score(X, np.full(150, -1))
