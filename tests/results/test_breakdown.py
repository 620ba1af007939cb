"""Measures against scikit-learn, SciPy and plain loops."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from tfssl.results import breakdown
from tfssl.runs.metrics import calibration_error, entropy, reliability


@pytest.fixture
def outputs(rng):
    """Probabilities [300, 4] and labels that follow them; some confidences occur twice."""
    probabilities = rng.dirichlet([0.5] * 4, 300)
    probabilities[10:30] = probabilities[:20]
    label = np.array([rng.choice(4, p=p) for p in probabilities])
    return probabilities, label


def test_entropy(outputs):
    probabilities, _ = outputs
    np.testing.assert_allclose(entropy(probabilities), stats.entropy(probabilities, axis=1))
    np.testing.assert_array_equal(entropy(np.eye(3)), 0.0)


def test_reliability_adds_up_to_the_calibration_error(outputs):
    bins = reliability(*outputs)
    full = bins.points > 0
    gaps = np.abs(bins.accuracy - bins.confidence)[full] * bins.points[full]
    assert bins.points.sum() == 300
    assert not full.all()  # four classes are never less confident than a quarter
    np.testing.assert_allclose(gaps.sum() / 300, calibration_error(*outputs))


def test_the_coverage_curve_is_the_error_of_what_is_answered(outputs):
    probabilities, label = outputs
    curve = breakdown.coverage_curve(probabilities, label)
    confidence, wrong = probabilities.max(axis=1), probabilities.argmax(axis=1) != label
    assert len(curve.threshold) == len(np.unique(confidence)) < 300
    for threshold, coverage, error in zip(*curve, strict=True):
        answered = confidence >= threshold
        np.testing.assert_allclose(coverage, answered.mean())
        np.testing.assert_allclose(error, wrong[answered].mean())
    assert curve.coverage[-1] == 1.0
    for share in (0.5, 0.9, 1.0):
        threshold, coverage, _ = curve.at(share)
        assert coverage >= share
        assert np.mean(confidence > threshold) < share  # no higher threshold would do


def test_confusion_and_its_rows(outputs):
    probabilities, label = outputs
    predicted = probabilities.argmax(axis=1)
    counts = breakdown.confusion(label, predicted, 5)  # a class that does not occur
    expected = metrics.confusion_matrix(label, predicted, labels=range(5))
    np.testing.assert_array_equal(counts, expected)
    rows = breakdown.class_rows(counts)
    precision, recall, _, support = metrics.precision_recall_fscore_support(
        label, predicted, labels=range(4)
    )
    np.testing.assert_allclose([row.precision for row in rows[:4]], precision)
    np.testing.assert_allclose([row.recall for row in rows[:4]], recall)
    np.testing.assert_array_equal([row.points for row in rows[:4]], support)
    assert all(row.low < row.recall < row.high for row in rows[:4])
    assert np.isnan([rows[4].precision, rows[4].recall]).all()
    assert (rows[4].points, rows[4].mistaken_for) == (0, None)
    assert breakdown.class_rows(np.array([[5, 1, 3], [0, 9, 0], [0, 0, 9]]))[0].mistaken_for == 2
