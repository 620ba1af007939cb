"""The baselines without a network: any features, and points that no label reaches."""

import numpy as np
import pytest
from sklearn.base import clone

from tfssl.classifiers import fit_classifier, is_transductive, probabilities
from tfssl.classifiers.shallow import make_classifier

NAMES = ["knn", "svm", "tsvm", "label_spreading", "self_training"]


def blobs(rng):
    """Two Gaussian classes in four dimensions, and which of the first 20 points is of which."""
    label = np.arange(200) % 2
    return rng.normal(size=(200, 4)) + 3.0 * label[:, np.newaxis], label


@pytest.mark.parametrize("name", NAMES)
def test_each_takes_any_features_and_a_clone_is_the_same(rng, name):
    x, label = blobs(rng)
    classifier = clone(make_classifier(name, 0, (100, 4)))
    assert is_transductive(classifier) == (name not in ("knn", "svm"))
    fit_classifier(classifier, x[:20], label[:20], x[20:100])
    found = probabilities(classifier, x[100:])
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-5)
    assert np.mean(classifier.classes_[found.argmax(axis=1)] != label[100:]) < 0.1


def test_a_point_that_spreading_does_not_reach_is_uniform():
    """Two far groups, labels in one of them: in the other nothing is known, not even NaN."""
    x = np.concatenate([np.linspace(0, 1, 30), np.linspace(100, 101, 30)])[:, np.newaxis]
    label = np.full(60, -1)
    label[[0, 29]] = [0, 1]
    classifier = make_classifier("label_spreading", 0, x.shape).fit(x, label)
    found = probabilities(classifier, np.array([[0.0], [1.0], [100.5]]))
    np.testing.assert_array_equal(found[:2].argmax(axis=1), [0, 1])
    np.testing.assert_array_equal(found[2], [0.5, 0.5])
