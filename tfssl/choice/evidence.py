"""What the labels say for a candidate: its probabilities of points whose labels it has not seen."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from tfssl.blends.blend import class_probabilities
from tfssl.classifiers.temperature import log_scores, scaled
from tfssl.runs.calibration import fit_temperature

# Fewer folds where a class has fewer labels.
FOLDS = 5


@dataclass(frozen=True)
class Evidence:
    """A candidate on labelled points that it was not fitted to.

    Attributes:
      candidate: the `Candidate`.
      probabilities: [N_l, K], out of fold, calibrated; NaN where its folds were not tried.
      temperature: by which they were calibrated.
      label: [N_l].
      seconds: how long it took.
      outputs: [N_l, K], the probabilities before they were calibrated.
    """

    candidate: Any
    probabilities: np.ndarray
    temperature: float
    label: np.ndarray
    seconds: float
    outputs: np.ndarray | None = None

    @property
    def name(self):
        return self.candidate.name

    @property
    def is_whole(self):
        """Whether every point was held out, or it was given up as hopeless before."""
        return bool(np.isfinite(self.probabilities).all())

    @property
    def losses(self):
        """-log p of the label, [N_l] in nats."""
        return point_losses(self.probabilities, self.label)

    @property
    def log_loss(self):
        return float(np.nanmean(self.losses))

    @property
    def log_loss_spread(self):
        """Standard error over the points: which labels one happens to own."""
        return standard_error(self.losses[np.isfinite(self.losses)])

    @property
    def wrong(self):
        """[N_l] of 0 and 1."""
        wrong = (self.probabilities.argmax(axis=1) != self.label).astype(float)
        return np.where(np.isfinite(self.losses), wrong, np.nan)

    @property
    def error(self):
        return float(np.nanmean(self.wrong))

    @property
    def error_spread(self):
        """Standard error of the error, as if one point more were right and one wrong."""
        count = int(np.isfinite(self.wrong).sum())
        share = (self.error * count + 1.0) / (count + 2.0)
        return math.sqrt(share * (1.0 - share) / count)


def point_losses(probabilities, label):
    """-log p of the label, [N] in nats, from [N, K]."""
    return -log_scores(probabilities)[np.arange(len(label)), label]


def standard_error(values):
    """Of the mean of independent values [N]."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def folds_of(label, seed, repeats=1):
    """[(rows to fit to, rows held out)], balanced by class; empty if a class has one label only.

    Args:
      label: [N_l].
      seed: of the folds.
      repeats: how often all points are held out once.
    """
    count = min(FOLDS, int(np.bincount(label).min()))
    if count < 2:
        return []
    splitters = (
        StratifiedKFold(count, shuffle=True, random_state=seed + repeat)
        for repeat in range(repeats)
    )
    return [fold for splitter in splitters for fold in splitter.split(label, label)]


def out_of_fold(candidate, pool, folds, hopeless=None):
    """[N_l, K] probabilities of points held out, the geometric mean over the repeats.

    Args:
      candidate: a `Candidate`.
      pool: a `Pool`.
      folds: as from `folds_of`.
      hopeless: what has been found so far, [N_l, K] with NaN for the rest -> whether to
        give up; None never does.
    """
    label, num_classes = pool.label, pool.num_classes
    log_p, times = np.zeros((len(label), num_classes)), np.zeros((len(label), 1))
    found = np.full_like(log_p, np.nan)
    for rows, held_out in folds:
        x = pool.view(candidate.view)[held_out]
        fitted = candidate.fit(pool, rows)
        log_p[held_out] += log_scores(class_probabilities(fitted, x, num_classes))
        times[held_out] += 1
        known = times[:, 0] > 0
        found[known] = scaled(np.exp(log_p[known] / times[known]), 1.0)
        if hopeless is not None and hopeless(found):
            break
    return found


def calibrated(candidate, outputs, label, seconds):
    """The `Evidence` in out-of-fold probabilities [N_l, K]."""
    known = np.isfinite(outputs[:, 0])
    temperature = fit_temperature(outputs[known], label[known])
    probabilities = np.full_like(outputs, np.nan)
    probabilities[known] = scaled(outputs[known], temperature)
    return Evidence(candidate, probabilities, temperature, label, seconds, outputs)
