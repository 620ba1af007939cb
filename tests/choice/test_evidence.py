"""Out-of-fold probabilities: never of labels that were seen, and their errors."""

import math

import numpy as np
import pytest

from tfssl.choice.candidates import SHALLOW, Supervised
from tfssl.choice.evidence import Evidence, calibrated, folds_of, out_of_fold


class Recorder:
    """A classifier that remembers what it was fitted to, and says what it was told."""

    def fit(self, x, y):
        self.classes_ = np.unique(y)
        self.known = {tuple(row) for row in x}
        return self

    def predict_proba(self, x):
        assert not self.known & {tuple(row) for row in x}
        return np.full((len(x), len(self.classes_)), 1 / len(self.classes_))


def recorder():
    return Supervised(name="recorder", view="plain", make=lambda _: Recorder(), work=lambda _: 0.0)


def test_a_held_out_label_is_never_seen(pool):
    found = out_of_fold(recorder(), pool, folds_of(pool.label, seed=0, repeats=3))
    np.testing.assert_allclose(found, 1 / 3)


@pytest.mark.parametrize("candidate", SHALLOW, ids=lambda c: c.name)
def test_labels_of_held_out_rows_do_not_matter(pool, candidate):
    """Whatever they are, the fit to the other rows gives the same."""
    rows = folds_of(pool.label, seed=0)[0][0]
    held_out = np.setdiff1d(np.arange(pool.num_labelled), rows)
    x = pool.view(candidate.view)[held_out]
    before = candidate.fit(pool, rows).predict(x)
    pool.label[held_out] = (pool.label[held_out] + 1) % 3
    np.testing.assert_array_equal(candidate.fit(pool, rows).predict(x), before)


def test_held_out_points_are_among_the_unlabelled(pool):
    rows = np.arange(3, pool.num_labelled)
    assert set(range(3)) <= set(pool.unlabelled(rows))
    assert not set(rows) & set(pool.unlabelled(rows))


def test_folds_are_balanced_and_hold_out_each_point_once_a_repeat():
    label = np.repeat([0, 1], [9, 12])
    folds = folds_of(label, seed=3, repeats=2)
    assert len(folds) == 10
    np.testing.assert_array_equal(np.bincount(np.concatenate([f[1] for f in folds])), 2)
    assert all(len(np.unique(label[rows])) == 2 for rows, _ in folds)
    assert len(folds_of(np.array([0, 0, 1, 1, 1]), seed=0)) == 2  # a class has two
    assert folds_of(np.array([0, 0, 1]), seed=0) == []


def test_errors_and_losses_of_known_probabilities():
    p = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])
    evidence = Evidence(None, p, 1.0, np.array([0, 1, 1, 1]), 0.0)
    losses = -np.log([0.8, 0.4, 0.7, 0.9])
    np.testing.assert_allclose(evidence.losses, losses)
    assert evidence.log_loss == pytest.approx(losses.mean())
    assert evidence.log_loss_spread == pytest.approx(losses.std(ddof=1) / 2)
    assert evidence.error == 0.25
    assert evidence.error_spread == pytest.approx(math.sqrt((2 / 6) * (4 / 6) / 4))


def test_one_that_was_given_up_is_judged_by_what_there_is(pool):
    folds = folds_of(pool.label, seed=0)
    found = out_of_fold(recorder(), pool, folds, lambda p: np.isfinite(p[:, 0]).sum() >= 7)
    known = np.isfinite(found[:, 0])
    assert known.sum() == 8  # two folds of four
    evidence = calibrated(recorder(), found, pool.label, 0.0)
    assert not evidence.is_whole
    assert evidence.log_loss == pytest.approx(math.log(3))
