"""Fitted classifiers as TensorFlow operations on their arrays.

The softmax of each equals `tfssl.classifiers.probabilities` of the fitted classifier. They compute
in float64: the weights of an RBF machine are large and of both signs, and float32 would leave few
digits of their sum. `dtype` is for devices that have no float64.
"""

import functools
from itertools import combinations

import numpy as np
import tensorflow as tf

from tfssl.classifiers.spreading import EQUAL, NOWHERE
from tfssl.errors import InputError
from tfssl.export.tree_graphs import forest_graph


def classifier_graph(classifier, dtype=tf.float64):
    """The function features [N, F] -> scores [N, K], unnormalised log p(y|x) in `dtype`.

    Args:
      classifier: fitted, one that `tfssl.classifiers.make_classifier` or a candidate makes.
      dtype: the floating type to compute in.
    """
    kind = type(classifier).__name__
    if kind not in SCORES:
        raise InputError(f"cannot put a {kind} into a graph: expected one of {', '.join(SCORES)}.")
    scores = SCORES[kind](classifier, dtype)
    return lambda features: scores(tf.cast(features, dtype))


def _transductive_svm(classifier, dtype):
    """f(x) = phi(x) w + b with phi(x) = k(x, c) M^T, so that f(x) = k(x, c) (M^T w) + b."""
    weights, bias = classifier.coef_, _variable(classifier.intercept_, dtype)
    if classifier.kernel == "linear":
        weights = _variable(weights, dtype)
        return lambda x: _both_classes(tf.matmul(x, weights) + bias)
    nystroem = classifier.feature_map_
    kernel = _rbf(nystroem.components_, nystroem.gamma, dtype)
    weights = _variable(nystroem.normalization_.T @ weights, dtype)
    return lambda x: _both_classes(tf.matmul(kernel(x), weights) + bias)


def _svc(classifier, dtype):
    """One machine for each pair of classes; with more than two classes, their votes.

    The machine of the classes i < j sums over the support vectors of both: those of i have their
    coefficients in row j - 1 of `dual_coef_`, those of j in row i.
    """
    kernel = _rbf(classifier.support_vectors_, classifier._gamma, dtype)
    bias = _variable(classifier.intercept_, dtype)
    num_classes, coefficients = len(classifier.classes_), classifier.dual_coef_
    if num_classes == 2:
        weights = _variable(coefficients.T, dtype)
        return lambda x: _both_classes(tf.matmul(kernel(x), weights) + bias)
    pairs = np.array(list(combinations(range(num_classes), 2)))
    owner = np.repeat(np.arange(num_classes), classifier.n_support_)
    weights = [
        np.where(owner == i, coefficients[j - 1], 0.0) + np.where(owner == j, coefficients[i], 0.0)
        for i, j in pairs
    ]
    weights = _variable(np.transpose(weights), dtype)
    first, second = (_variable(np.eye(num_classes)[side], dtype) for side in pairs.T)

    def scores(x):
        margins = tf.matmul(kernel(x), weights) + bias  # positive for the first class of a pair
        wins = tf.cast(margins >= 0.0, dtype)
        votes = tf.matmul(wins, first) + tf.matmul(1.0 - wins, second)
        confidence = tf.matmul(margins, first) - tf.matmul(margins, second)
        # Squeezed to less than half a vote: it decides between classes of equally many.
        return votes + confidence / (3.0 * (tf.abs(confidence) + 1.0))

    return scores


def _nearest_neighbour(classifier, dtype):
    """The class of the nearest point has the probability 1: a score of 0, the others -inf."""
    from sklearn.preprocessing import normalize

    points = classifier._fit_X.astype(np.float64)
    squares = (points**2).sum(axis=1)
    if classifier.metric == "cosine":  # Euclid's order among unit vectors, whatever the length of x
        points, squares = normalize(points), np.ones(len(points))
    centres, squares = _variable(points.T, dtype), _variable(squares, dtype)
    label = _variable(classifier._y, tf.int32)
    num_classes = len(classifier.classes_)

    def scores(x):
        nearest = tf.argmin(squares - 2.0 * tf.matmul(x, centres), axis=-1)
        return tf.math.log(tf.one_hot(tf.gather(label, nearest), num_classes, dtype=dtype))

    return scores


def _linear(classifier, dtype):
    weights, bias = (_variable(a, dtype) for a in (classifier.coef_.T, classifier.intercept_))
    return lambda x: _both_classes(tf.matmul(x, weights) + bias)


def _self_training(classifier, dtype):
    return classifier_graph(classifier.estimator_, dtype)


def _naive_bayes(classifier, dtype):
    """log p(k) - sum_f [log sigma_kf + z_kf^2 / 2] with z_kf = (x_f - mu_kf) / sigma_kf.

    Of a feature that hardly varies, sigma is tiny and z^2 is huge in all classes: what they have in
    common, min_k z_kf^2, is taken off before the sum, or few digits would be left of the rest.
    """
    deviation = np.sqrt(classifier.var_.astype(np.float64))
    log_prior = np.log(classifier.class_prior_) - np.log(deviation).sum(axis=1)
    loc, scale = _variable(classifier.theta_, dtype), _variable(deviation, dtype)

    def scores(x):
        squares = [tf.square((x - loc[k]) / scale[k]) for k in range(len(log_prior))]
        common = functools.reduce(tf.minimum, squares)
        sums = [tf.reduce_sum(square - common, axis=-1) for square in squares]
        return tf.constant(log_prior, dtype) - tf.stack(sums, axis=-1) / 2.0

    return scores


def _forest(classifier, dtype):
    shares = forest_graph(classifier, dtype)
    return lambda x: tf.math.log(shares(x))


def _spreading(classifier, dtype):
    """The mean of the points near x, weighed by exp(-|x - p|^2 / (r r_p))."""
    points, k = classifier.points_.astype(np.float64), classifier.n_neighbors
    k = min(k, len(points))
    centres, squares = _variable(points.T, dtype), _variable((points**2).sum(axis=1), dtype)
    reach, shares = _variable(classifier.reach_, dtype), _variable(classifier.shares_, dtype)
    least, by_angle = float(classifier.reach_.min()), classifier.metric == "cosine"
    equal = max(EQUAL, 10.0 * np.finfo(dtype.as_numpy_dtype).eps)

    def scores(x):
        if by_angle:
            length = tf.sqrt(tf.reduce_sum(tf.square(x), axis=-1, keepdims=True))
            x = x / tf.where(length > 0.0, length, tf.ones_like(length))
        own = tf.reduce_sum(tf.square(x), axis=-1, keepdims=True)
        distances = tf.nn.relu(own - 2.0 * tf.matmul(x, centres) + squares)
        farthest = -tf.math.top_k(-distances, k).values[:, -1:]
        near = distances <= farthest + equal * (own + farthest)
        exponents = distances / (tf.maximum(tf.sqrt(farthest), least) * reach)
        weights = tf.nn.softmax(tf.where(near, -exponents, tf.fill(tf.shape(exponents), dtype.min)))
        return tf.math.log(tf.matmul(weights, shares) + NOWHERE)

    return scores


SCORES = {
    "TransductiveSVM": _transductive_svm,
    "SVC": _svc,
    "KNeighborsClassifier": _nearest_neighbour,
    "LogisticRegression": _linear,
    "LinearDiscriminantAnalysis": _linear,
    "SelfTrainingClassifier": _self_training,
    "GaussianNB": _naive_bayes,
    "RandomForestClassifier": _forest,
    "ExtraTreesClassifier": _forest,
    "SpreadingClassifier": _spreading,
}


def _rbf(centres, gamma, dtype):
    """x [N, F] -> exp(-gamma |x - c|^2), [N, C], by |x|^2 - 2 x.c + |c|^2."""
    centres = np.asarray(centres, np.float64)
    squares, centres = _variable((centres**2).sum(axis=1), dtype), _variable(centres.T, dtype)

    def kernel(x):
        own = tf.reduce_sum(tf.square(x), axis=-1, keepdims=True)
        return tf.exp(-gamma * tf.nn.relu(own - 2.0 * tf.matmul(x, centres) + squares))

    return kernel


def _both_classes(scores):
    """The scores [N, 1] of the second of two classes -> [-s/2, s/2]; other scores stay."""
    return scores if scores.shape[-1] > 1 else tf.concat([-scores, scores], axis=-1) / 2.0


def _variable(array, dtype):
    """A fitted array; as a variable it is stored once however many graphs use it."""
    return tf.Variable(np.asarray(array), dtype=dtype, trainable=False)
