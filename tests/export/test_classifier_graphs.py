"""The classifiers' graphs against the fitted classifiers themselves."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from tfssl import classifiers
from tfssl.classifiers.tsvm import TransductiveSVM
from tfssl.errors import InputError
from tfssl.export.classifier_graphs import classifier_graph
from tfssl.settings.kinds import CLASSIFIERS

TOLERANCE = 1e-5


def features(num_classes):
    """Pixels of digits as features in float32, as M1's are: labelled, labels, others."""
    digits = load_digits(n_class=num_classes)
    x = (digits.data / 16.0).astype(np.float32)
    return x[:100], digits.target[:100], x[100:]


def fitted(classifier, num_classes):
    x, label, others = features(num_classes)
    return classifiers.fit_classifier(classifier, x, label, others), others


@pytest.mark.parametrize("num_classes", [2, 3, 10])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_graph_gives_the_probabilities_of_the_classifier(name, num_classes):
    classifier, x = fitted(classifiers.make_classifier(name), num_classes)
    graph = tf.function(classifier_graph(classifier), autograph=False)
    found = tf.nn.softmax(graph(tf.constant(x))).numpy()
    expected = classifiers.probabilities(classifier, x)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
    # The probabilities are about something: they name the classes that the classifier names.
    assert set(np.unique(found.argmax(axis=1))) == set(range(num_classes))


def test_a_linear_transductive_svm():
    classifier, x = fitted(TransductiveSVM(kernel="linear"), 3)
    found = tf.nn.softmax(classifier_graph(classifier)(tf.constant(x))).numpy()
    np.testing.assert_allclose(found, classifiers.probabilities(classifier, x), atol=TOLERANCE)


def test_a_nearest_neighbour_by_either_distance():
    """By angles, as for M1's features, the length of x is of no matter; by Euclid's it is."""
    for metric, lengths_matter in (("cosine", False), ("euclidean", True)):
        classifier, x = fitted(KNeighborsClassifier(1, algorithm="brute", metric=metric), 10)
        graph = classifier_graph(classifier)
        found, of_half = (graph(tf.constant(c * x)).numpy().argmax(axis=1) for c in (1.0, 0.5))
        np.testing.assert_array_equal(found, classifier.predict(x))
        assert (found != of_half).any() == lengths_matter


def test_the_kernel_needs_float64():
    classifier, x = fitted(classifiers.make_classifier("tsvm"), 10)
    expected = classifiers.probabilities(classifier, x)
    single = tf.nn.softmax(classifier_graph(classifier, tf.float32)(tf.constant(x))).numpy()
    assert TOLERANCE / 10 < np.abs(single - expected).max() < 1e-2
    np.testing.assert_array_equal(single.argmax(axis=1), expected.argmax(axis=1))


def test_an_unknown_classifier_is_refused():
    with pytest.raises(InputError, match="cannot put a LinearSVC into a graph"):
        classifier_graph(fitted(LinearSVC(), 3)[0])
