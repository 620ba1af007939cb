"""Evaluation: known answers."""

import numpy as np
import pytest
from scipy import stats

from tfssl.results.intervals import mean_and_interval
from tfssl.runs.evaluation import bounds
from tfssl.runs.metrics import calibration_error, classification_metrics
from tfssl.runs.predicting import class_probabilities


def test_error_and_wilson_interval():
    probabilities = np.eye(2)[[0] * 90 + [1] * 10]
    metrics = classification_metrics(probabilities, np.zeros(100, int))
    assert metrics["error"] == 0.1
    z, p, n = stats.norm.ppf(0.975), 0.1, 100
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    np.testing.assert_allclose(
        [metrics["error_low"], metrics["error_high"]], [centre - half, centre + half], rtol=1e-6
    )
    assert metrics["examples"] == 100


def test_log_loss_is_minus_the_mean_log_probability():
    probabilities = np.array([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5]])
    metrics = classification_metrics(probabilities, np.array([0, 0, 1]))
    np.testing.assert_allclose(metrics["log_loss"], -np.mean(np.log([0.8, 0.4, 0.5])))


def test_log_loss_of_an_impossible_class_is_finite():
    metrics = classification_metrics(np.array([[1.0, 0.0]]), np.array([1]))
    assert 80 < metrics["log_loss"] < 90


def test_calibration_error_is_the_gap_between_confidence_and_accuracy():
    """80% sure and right 3 times of 4 (gap 0.05); 60% sure and right once of 2 (gap 0.1)."""
    probabilities = np.array([[0.8, 0.2]] * 4 + [[0.6, 0.4]] * 2)
    labels = np.array([0, 0, 0, 1, 0, 1])
    expected = (4 * 0.05 + 2 * 0.1) / 6
    np.testing.assert_allclose(calibration_error(probabilities, labels), expected)


def test_perfect_confidence_is_perfectly_calibrated():
    assert calibration_error(np.eye(3), np.arange(3)) == 0.0


def test_mean_and_t_interval():
    values = [1.0, 2.0, 4.0]
    mean, half_width = mean_and_interval(values)
    low, high = stats.t.interval(0.95, 2, loc=np.mean(values), scale=stats.sem(values))
    np.testing.assert_allclose([mean - half_width, mean + half_width], [low, high])
    assert mean_and_interval([3.0]) == (3.0, 0.0)


def test_bounds_of_whitened_inputs_are_those_of_the_pixels(rng):
    """Terms with -log p(x) change by the volume of the map, which NumPy computes here."""
    from tfssl.data.preprocessing import Preprocessing
    from tfssl.models import M1, M2, LatentM2, StackedM1M2

    x = rng.integers(0, 256, size=(60, 2, 2)).astype(np.uint8)
    label = np.arange(60) % 2
    preprocessing = Preprocessing.fit(x, 255, "gaussian", components=4)
    volume = np.linalg.slogdet(np.cov(x.reshape(60, 4).T / 255, ddof=0))[1] / 2
    m1 = M1(4, 3, (8,), "gaussian")
    m2 = M2(4, 2, 30, 30, 3, (8,), "gaussian")
    stack = StackedM1M2(m1, LatentM2(3, 2, 30, 30, 3, (8,), "gaussian"), [0, 1, 2])
    changed = {
        m1: {"loss", "reconstruction"},
        m2: {"loss", "reconstruction", "labelled_loss", "unlabelled_loss"},
        stack: set(),
    }
    for model, names in changed.items():
        got = bounds(model, preprocessing, x, label, 2)
        seen = preprocessing(x).numpy()
        plain = Preprocessing(
            seen.shape[1:], np.zeros(4), np.ones(4), levels=None, likelihood="gaussian"
        )
        whitened = bounds(model, plain, seen, label, 2)
        assert got.keys() == set(model.loss_names)
        for name, value in whitened.items():
            expected = value + volume if name in names else value
            np.testing.assert_allclose(got[name], expected, rtol=1e-4, err_msg=name)


@pytest.mark.parametrize("rows", [1, 7, 10])
def test_probabilities_do_not_depend_on_the_batch_size(rows, rng):
    from tfssl.data.preprocessing import Preprocessing
    from tfssl.models import M2

    x = rng.normal(size=(10, 4)).astype(np.float32)
    model = M2(4, 3, 5, 5, 2, (8,), likelihood="gaussian")
    preprocessing = Preprocessing.fit(x, None, "gaussian")
    got = class_probabilities(model, None, preprocessing, x, batch_size=rows)
    np.testing.assert_allclose(got, model(preprocessing(x)), rtol=1e-5)
