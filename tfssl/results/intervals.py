"""Means over several splits, how sure they are, and over what.

Splits that draw their test points from one pool share points with each other, and so do their
training sets: the results hang together, and a plain t-interval is too narrow. Nadeau and Bengio
(2003, "Inference for the generalization error") correct the variance of the mean of n splits,

  s^2 / n  ->  s^2 (1 / n + N_test / N_rest),

from the share of its test points that a split expects to see again in another. Splits that draw
labelled sets and are tested on one test set of their own have no such term: their interval is over
labelled sets, and says nothing of other test points.
"""

import math

import numpy as np
from scipy import stats


def mean_and_interval(values, overlap=0.0):
    """Mean and half-width of its 95% t-interval over splits (0 for one split).

    Args:
      values: [n].
      overlap: N_test / N_rest of splits of one pool, 0 of those with a test set of its own.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return float(values.mean()), 0.0
    half_width = stats.t.ppf(0.975, len(values) - 1) * standard_error(values, overlap)
    return float(values.mean()), float(half_width)


def standard_error(values, overlap):
    """Of the mean of at least two values; arguments as above."""
    return float(np.std(values, ddof=1)) * math.sqrt(1.0 / len(values) + overlap)
