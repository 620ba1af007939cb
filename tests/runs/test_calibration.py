"""Temperature scaling against a brute-force search, known temperatures and its border cases."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special
from sklearn.metrics import log_loss

from tfssl.classifiers.temperature import scaled
from tfssl.errors import InputError
from tfssl.runs import calibration
from tfssl.runs.folder import RunFolder
from tfssl.runs.temperature import FILE, Calibration


def draw(rng, temperature, count=4000, num_classes=4):
    """Probabilities softmax(s) of labels that were drawn from softmax(s / temperature)."""
    scores = 3 * rng.standard_normal((count, num_classes))
    noise = rng.gumbel(size=scores.shape)
    return special.softmax(scores, axis=1), (scores / temperature + noise).argmax(axis=1)


@pytest.mark.parametrize("temperature", [0.1, 1.0, 4.0])
def test_the_temperature_that_made_the_labels_is_found(temperature, rng):
    probabilities, label = draw(rng, temperature)
    np.testing.assert_allclose(
        calibration.fit_temperature(probabilities, label), temperature, rtol=0.08
    )


@pytest.mark.parametrize("count", [7, 50, 1000])
def test_the_fit_equals_a_brute_force_search(count, rng):
    probabilities, label = draw(rng, 2.0, count)

    def loss(log_t):
        """By scikit-learn, with the extra point as a K-th of every class at every point."""
        p = probabilities ** (1 / np.exp(log_t[0]))
        p /= p.sum(axis=1, keepdims=True)
        own = log_loss(label, p, labels=range(4))
        everyone = np.mean([log_loss(np.full(count, k), p, labels=range(4)) for k in range(4)])
        return (count * own + everyone) / (count + 1)

    best = np.exp(optimize.brute(loss, [(-4.0, 4.0)], Ns=81, finish=optimize.fmin)[0])
    fitted = calibration.fit_temperature(probabilities, label)
    np.testing.assert_allclose(fitted, best, rtol=1e-3)
    np.testing.assert_allclose(
        calibration.smoothed_log_loss(probabilities, label, fitted), loss([np.log(fitted)])
    )


@given(st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_scaling_keeps_the_order_and_sums_to_one(temperature, seed):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((5, 3))
    p = special.softmax(scores, axis=1)
    softened = scaled(p, temperature)
    np.testing.assert_allclose(softened.sum(axis=1), 1.0)
    np.testing.assert_allclose(softened, special.softmax(scores / temperature, axis=1), atol=1e-6)
    np.testing.assert_array_equal(softened.argmax(axis=1), p.argmax(axis=1))


def test_few_points_that_are_all_right_do_not_make_it_certain():
    p, label = np.tile([0.6, 0.4], (4, 1)), np.zeros(4, int)
    confidence = scaled(p, calibration.fit_temperature(p, label))[0, 0]
    np.testing.assert_allclose(confidence, 4.5 / 5, atol=1e-3)  # 4 points and half of another


def test_votes_without_any_doubt_get_the_share_that_is_right():
    """1-NN says 0 or 1: the temperature turns that into its accuracy."""
    p, label = np.eye(4)[np.arange(1000) % 4].astype(np.float32), np.arange(1000) % 4
    label[::5] = (label[::5] + 1) % 4  # a fifth is wrong
    confidence = scaled(p, calibration.fit_temperature(p, label)).max(axis=1)
    np.testing.assert_allclose(confidence, 0.8, atol=2e-3)


def test_cross_fitting_never_predicts_what_it_was_fitted_to():
    label, seen = np.arange(30) % 3, []

    def fit_and_predict(kept, held_out):
        assert not set(kept) & set(held_out)
        assert sorted([*kept, *held_out]) == list(range(30))
        assert set(label[kept]) == {0, 1, 2}
        seen.extend(held_out)
        return np.tile(held_out[:, np.newaxis], 3)

    outputs = calibration.cross_fitted(fit_and_predict, label, 3, folds=5)
    np.testing.assert_array_equal(outputs[:, 0], np.arange(30))
    assert sorted(seen) == list(range(30))


def test_it_is_stored_and_read_back(tmp_path):
    folder = RunFolder(tmp_path)
    assert Calibration.load(folder) is None
    fitted = Calibration(0.5, "labelled", 50, 5)
    fitted.save(folder)
    assert Calibration.load(folder) == fitted
    assert str(fitted) == "temperature 0.5 from 50 labelled points, cross-fitted in 5 folds"


@pytest.mark.parametrize(
    "change",
    [{"temperature": 0}, {"temperature": "hot"}, {"temperature": float("nan")}, {"more": 1}],
)
def test_a_damaged_file_is_refused(change, tmp_path):
    record = {"temperature": 1.0, "fitted_on": "validation", "points": 9, **change}
    (tmp_path / FILE).write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"calibration\.json"):
        Calibration.load(RunFolder(tmp_path))
