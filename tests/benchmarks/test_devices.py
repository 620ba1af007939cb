"""Exported classifiers beside the Keras model."""

import numpy as np
import pytest

from benchmarks.shipping.device_worker import comparison


def test_comparison_of_a_device_with_keras():
    expected = np.array([[0.6, 0.4, 0.0], [0.45, 0.0, 0.55], [0.0, 1.0, 0.0]])
    found = np.array([[0.6, 0.4, 0.0], [0.51, 0.0, 0.49], [0.0, 0.9, 0.1]])
    result = comparison(found, expected, np.array([0, 2, 0]))
    assert result["error"] == pytest.approx(2 / 3)
    assert result["labels_changed"] == 1
    assert result["changed_lead"] == pytest.approx(0.1)
    assert result["largest_difference"] == pytest.approx(0.1)
    assert result["mean_difference"] == pytest.approx((0.0 + 0.06 + 0.1) / 3)
