"""One meaning of "labelled": in settings, in the estimator and in the transductive SVM."""

import numpy as np

from tfssl import SemiSupervisedClassifier
from tfssl.classifiers.tsvm import TransductiveSVM
from tfssl.data.experiment import Experiment
from tfssl.data.source import Source
from tfssl.settings import load_settings
from tfssl.settings.priors import labelled_prior

SHARES = [8 / 12, 4 / 12]  # (7 + 1) / (10 + 2), (3 + 1) / (10 + 2)


def points(rng):
    """Ten labelled points, 7 and 3 of a class, and twenty without."""
    y = np.array([0] * 7 + [1] * 3 + [-1] * 20)
    return rng.normal(size=(30, 2)) + 4.0 * (np.arange(30) % 3 == 0)[:, np.newaxis], y


def experiment(x, y, num_labelled):
    source = Source("points", x, y, x[:0], y[:0], ("a", "b"), None)
    overrides = ["model=m2", "likelihood=gaussian", "data.num_test=0", "m2.class_prior=labelled"]
    return Experiment.prepare(load_settings(None, [*overrides, num_labelled]), source)


def test_labelled_means_the_same_everywhere(rng):
    x, y = points(rng)
    np.testing.assert_allclose(labelled_prior(y[y >= 0], 2), SHARES)
    prepared = experiment(x, y, 'data.num_labelled="all"')
    np.testing.assert_allclose(prepared.class_prior, SHARES)
    short = {"epochs": 1, "supervised_steps": 1, "class_prior": "labelled"}
    estimator = SemiSupervisedClassifier("m2", **short, random_state=0).fit(x, y)
    np.testing.assert_allclose(estimator.model_.class_prior, SHARES)
    names = np.where(y == 1, 7, np.where(y == 0, 3, -1))  # of classes that are not 0 and 1
    svm = TransductiveSVM("linear").fit(x, names)
    np.testing.assert_allclose(svm.class_prior_, SHARES)


def test_labels_in_equal_numbers_give_equal_shares_whatever_the_data(rng):
    x, y = points(rng)
    assert experiment(x, y, "data.num_labelled=4").class_prior == [0.5, 0.5]
