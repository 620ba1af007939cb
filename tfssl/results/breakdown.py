"""The errors of a run broken down: by confidence, if it may abstain, and class by class."""

from typing import NamedTuple

import numpy as np
from scipy import stats


class CoverageCurve(NamedTuple):
    """What is answered, and how wrongly, if points below a confidence are left to others.

    Attributes:
      threshold: [M], the confidences that occur, falling: points at least so confident are
        answered.
      coverage: [M], the share of them.
      error: [M], the error among them.
    """

    threshold: np.ndarray
    coverage: np.ndarray
    error: np.ndarray

    def at(self, share):
        """(threshold, coverage, error) of the highest threshold that answers `share` at least."""
        index = int(np.searchsorted(self.coverage, share - 1e-12))
        return tuple(float(column[index]) for column in self)


def coverage_curve(probabilities, label):
    """The `CoverageCurve` of [N, K] probabilities with labels [N]."""
    confidence = probabilities.max(axis=1)
    wrong = probabilities.argmax(axis=1) != label
    order = np.argsort(-confidence, kind="stable")
    answered = np.arange(1, len(label) + 1)
    error = np.cumsum(wrong[order]) / answered
    # Points of one confidence are answered together: only the last of them is a point of the curve.
    confidence = confidence[order]
    last = np.append(np.diff(confidence) != 0, True)
    return CoverageCurve(confidence[last], answered[last] / len(label), error[last])


def confusion(label, predicted, num_classes):
    """[K, K] counts: rows are the true classes, columns what was predicted."""
    pairs = label * num_classes + predicted
    return np.bincount(pairs, minlength=num_classes**2).reshape(num_classes, num_classes)


class ClassRow(NamedTuple):
    """One class of a confusion matrix.

    Attributes:
      points: how many points are of this class.
      precision: the share of it among what was taken for it; NaN if nothing was.
      recall, low, high: the share of it that was found, with its 95% Wilson interval; NaN without
        points.
      mistaken_for: the class it is most often mistaken for, or None.
    """

    points: int
    precision: float
    recall: float
    low: float
    high: float
    mistaken_for: int | None


def class_rows(counts):
    """A `ClassRow` for each class of a confusion matrix [K, K]."""
    rows = []
    for k, row in enumerate(counts):
        points, hits, taken = int(row.sum()), int(row[k]), int(counts[:, k].sum())
        recall, low, high = np.nan, np.nan, np.nan
        if points:
            recall = hits / points
            low, high = stats.binomtest(hits, points).proportion_ci(method="wilson")
        others = np.where(np.arange(len(row)) == k, 0, row)
        mistaken_for = int(others.argmax()) if others.any() else None
        precision = hits / taken if taken else np.nan
        rows.append(ClassRow(points, precision, recall, low, high, mistaken_for))
    return rows
