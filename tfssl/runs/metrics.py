"""What probabilities of classes tell: entropy, error, calibration."""

from typing import NamedTuple

import numpy as np
from scipy import special, stats


def entropy(probabilities):
    """H(p) = -sum_k p_k log p_k in nats, [N], from [N, K]."""
    return special.entr(probabilities).sum(axis=1)


class Reliability(NamedTuple):
    """Bins of the confidence max_k p_k, each [bins]; means of empty bins are NaN."""

    confidence: np.ndarray
    accuracy: np.ndarray
    points: np.ndarray


def reliability(probabilities, label, bins=15):
    """Mean confidence and accuracy in equal bins of the confidence.

    Args:
      probabilities: [N, K].
      label: [N] integers.
      bins: how many.
    """
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = probabilities.argmax(axis=1) == label
    bin_of = np.minimum((confidence * bins).astype(int), bins - 1)
    points = np.bincount(bin_of, minlength=bins)
    sums = [np.bincount(bin_of, weights, minlength=bins) for weights in (confidence, right)]
    with np.errstate(invalid="ignore"):
        return Reliability(sums[0] / points, sums[1] / points, points)


def classification_metrics(probabilities, label):
    """Error with its 95% Wilson interval, log-loss and calibration error.

    Args:
      probabilities: [N, K].
      label: [N] integers.
    """
    wrong = probabilities.argmax(axis=1) != label
    interval = stats.binomtest(int(wrong.sum()), len(wrong)).proportion_ci(method="wilson")
    chosen = probabilities[np.arange(len(label)), label]
    return {
        "error": float(wrong.mean()),
        "error_low": float(interval.low),
        "error_high": float(interval.high),
        "log_loss": float(-np.log(np.maximum(chosen, np.finfo(np.float32).tiny)).mean()),
        "calibration_error": calibration_error(probabilities, label),
        "examples": len(label),
    }


def calibration_error(probabilities, label, bins=15):
    """Expected calibration error: sum_b (n_b / N) |accuracy_b - confidence_b|.

    Args:
      probabilities: [N, K].
      label: [N] integers.
      bins: number of equal bins of the confidence max_y q(y|x).
    """
    found = reliability(probabilities, label, bins)
    gaps = found.points * np.abs(found.accuracy - found.confidence)
    return float(np.nansum(gaps) / len(label))
