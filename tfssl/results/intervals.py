"""Means over several splits, and how sure they are."""

import numpy as np
from scipy import stats


def mean_and_interval(values):
    """Mean and half-width of its 95% t-interval over independent splits (0 for one split)."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return float(values.mean()), 0.0
    half_width = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return float(values.mean()), float(half_width)
