"""The classifiers' graphs against the fitted classifiers themselves."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from tfssl import classifiers
from tfssl.blends.blend import class_probabilities
from tfssl.choice.candidates import SHALLOW
from tfssl.choice.pool import Pool
from tfssl.classifiers.tsvm import TransductiveSVM
from tfssl.errors import InputError
from tfssl.export.blend_graphs import blend_graph, member_graph
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


# By how much a graph may be off, 1e-9 where nothing is said: scikit-learn's naive Bayes is that far
# off itself, where features hardly vary.
DOUBLE = {"naive Bayes": 1e-5}
# In float32, as devices compute, 1e-5.
SINGLE = {"SVM": 1e-4, "TSVM": 1e-2, "label spreading": 1e-4, "label spreading by angle": 1e-4}
# And the share of points where float32 may be off by more: points that naive Bayes finds impossible
# in all classes, and those whose last neighbour is hardly nearer than the next one.
LOST = {"naive Bayes": 0.01, "label spreading": 0.002, "label spreading by angle": 0.002}


@pytest.mark.parametrize("num_classes", [2, 10])
@pytest.mark.parametrize("candidate", SHALLOW, ids=lambda candidate: candidate.name)
def test_the_graph_of_a_candidate(candidate, num_classes):
    x, label, others = features(num_classes)
    pool = Pool(x, label, others, num_classes)
    classifier = candidate.fit(pool, np.arange(len(x)))
    seen = pool.view(candidate.view)
    expected = class_probabilities(classifier, seen, num_classes)
    precisions = (
        (tf.float64, DOUBLE.get(candidate.name, 1e-9), 0.0),
        (tf.float32, SINGLE.get(candidate.name, 1e-5), LOST.get(candidate.name, 0.0)),
    )
    for dtype, tolerance, share in precisions:
        graph = tf.function(classifier_graph(classifier, dtype), autograph=False)
        found = tf.nn.softmax(graph(tf.constant(seen))).numpy()
        off = np.abs(found - expected).max(axis=1) > tolerance
        assert off.mean() <= share
    assert set(np.unique(found.argmax(axis=1))) == set(range(num_classes))


def test_many_equal_points_are_all_near():
    """More of them than a point has neighbours: which ones it takes is no matter."""
    x = np.repeat(features(3)[0][:8], 30, axis=0)
    y = np.where(np.arange(240) % 30 == 0, np.arange(240) // 30 % 3, -1)
    spreading = next(c for c in SHALLOW if c.name == "label spreading")
    classifier = spreading.make(0).fit(x, y)
    new = np.concatenate([x, x + 0.01])
    found = tf.nn.softmax(classifier_graph(classifier)(tf.constant(new))).numpy()
    np.testing.assert_allclose(found, classifiers.probabilities(classifier, new), atol=1e-9)


def test_a_threshold_between_two_numbers_of_float32():
    """The trees compare float32 with a float64 threshold."""
    x = np.array([[1.0], [np.nextafter(np.float32(1.0), np.float32(2.0))]], np.float32)
    for far in (0.0, 1e-7, 3.0):
        points = np.concatenate([x + far, x + far + 1.0])
        forest = next(c for c in SHALLOW if c.name == "random forest").make(0)
        forest.fit(points, [0, 1, 0, 1])
        found = np.exp(classifier_graph(forest, tf.float32)(tf.constant(points)).numpy())
        np.testing.assert_allclose(found, forest.predict_proba(points), atol=1e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [(tf.float64, 1e-6), (tf.float32, 1e-3)])
def test_the_graph_of_a_blend_gives_its_answer(dtype, tolerance, blend, pixels):
    x = pixels[0][600:900]
    graph = tf.function(blend_graph(blend, dtype), autograph=False)
    found = tf.nn.softmax(graph(tf.constant(x))).numpy()
    np.testing.assert_allclose(found, blend(x), atol=tolerance)


def test_the_graph_of_a_network_is_its_classifier(blend, pixels):
    member = next(m for m in blend.members if m.name == "M2")
    x = pixels[0][:50]
    found = tf.nn.softmax(member_graph(member.classifier, tf.float64)(tf.constant(x))).numpy()
    np.testing.assert_allclose(found, class_probabilities(member.classifier, x, 10), atol=1e-6)


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
