"""log p(x) and log p(x, y) by importance sampling, and classification by Bayes' rule.

  p(x, y) = E_q(z|x,y)[w],  w = p(x, y, z) / q(z|x,y),  log p^(x, y) = log 1/S sum_s w_s

The mean of the S weights is unbiased, so its logarithm is too low on average; it grows with S, from
the bound -L(x, y) at S = 1 towards log p(x, y). For the stack z is (z1, z2), and q(z|x,y) is
q(z1|x) q(z2|z1,y). M1 has no y: it counts as a single class.

A Bernoulli density is one of binary images, and `observed` draws such an image from intensities in
[0, 1]. An intensity scored as it is weighs the log-probabilities of its pixel's two values: that is
no density, but classes can be compared by it, without the noise of a draw.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from scipy import special

from tfssl.errors import expect
from tfssl.models import noise, objectives

# Points times classes at a time: enough for fast matrix products, and a bound on memory.
ROWS = 10_000
# Samples of one call into TensorFlow: q(z|x,y) is computed once for them.
SAMPLES_PER_CALL = 25

OBSERVATION_STREAM, SAMPLE_STREAM = 0, 1


class WeightMeans(NamedTuple):
    """Means over the samples of a point's weights, each [N, K] (K = 1 for M1), float64.

    Attributes:
      log_joint: log 1/S sum_s w_s, the estimate of log p(x, y).
      bound: 1/S sum_s log w_s, the estimate of -L(x, y), never above `log_joint`.
    """

    log_joint: np.ndarray
    bound: np.ndarray


def weight_means(model, x, num_samples, seed=0, batch_size=None, progress=iter):
    """The means of the importance weights of every point and class.

    The noise of a point depends on its index in x and the number of the sample, so `batch_size`
    changes nothing but time, memory and rounding.

    Args:
      model: M1, M2 or StackedM1M2.
      x: [N, D], as the model sees it.
      num_samples: S.
      seed: an integer, seed of the samples.
      batch_size: points at a time.
      progress: wraps the list of calls into TensorFlow as it is walked, e.g. rich's `track`.

    Returns:
      means: `WeightMeans`.
    """
    expect(len(x) > 0, "`x` must hold at least one point", points=len(x))
    expect(num_samples >= 1, "`num_samples` must be at least 1", num_samples=num_samples)
    num_classes = model.num_classes if model.has_classes else 1
    batch_size = batch_size or max(1, ROWS // num_classes)
    log_weights = _log_weights_function(model, _stream(seed, SAMPLE_STREAM))
    x = np.asarray(x, np.float32)
    log_sum, sum_of_logs = np.full((len(x), num_classes), -np.inf), np.zeros((len(x), num_classes))
    calls = [
        (point, sample)
        for point in range(0, len(x), batch_size)
        for sample in range(0, num_samples, SAMPLES_PER_CALL)
    ]
    for point, sample in progress(calls):
        rows = slice(point, point + batch_size)
        end = min(sample + SAMPLES_PER_CALL, num_samples)
        log_w = log_weights(*(tf.constant(a) for a in (x[rows], point, sample, end))).numpy()
        log_w = log_w.astype(np.float64).reshape(end - sample, -1, num_classes)
        log_sum[rows] = np.logaddexp(log_sum[rows], special.logsumexp(log_w, axis=0))
        sum_of_logs[rows] += log_w.sum(axis=0)
    return WeightMeans(log_sum - np.log(num_samples), sum_of_logs / num_samples)


def _log_weights_function(model, seed):
    """(x [batch, D], index of its first row, first sample, end) -> [samples, batch, ...]."""

    @tf.function(autograph=False)
    def log_weights(x, point, sample, end):
        proposal = model.proposal(x)

        def weights_of(sample):
            # By the points' numbers: batches of any size see the same noise.
            seed_of_sample = noise.fold(seed, sample)
            epsilon = noise.normal_rows(point, x.shape[0], model.noise_dim, seed_of_sample)
            return model.log_weights(x, proposal, epsilon)

        # One sample after another, because several at once need the memory of several.
        samples = tf.range(sample, end)
        return tf.map_fn(weights_of, samples, parallel_iterations=1, fn_output_signature=tf.float32)

    return log_weights


def _stream(seed, number):
    return noise.fold(tf.constant([seed, 0], tf.int32), number)


def observed(model, x, seed=0):
    """Draw the binary images of a Bernoulli likelihood from intensities; other x stay: [N, D]."""
    return model.observe(tf.convert_to_tensor(x, tf.float32), _stream(seed, OBSERVATION_STREAM))


def log_joint_estimate(model, x, num_samples, seed=0, **options):
    """log p(x, y) for every class, [N, K]; of M1 log p(x), [N, 1]. x is used as given.

    Args:
      model, x, num_samples, seed: as in `weight_means`.
      **options: its others.
    """
    return weight_means(model, x, num_samples, seed, **options).log_joint


def log_likelihood(model, x, num_samples, seed=0, observe=True, **options):
    """log p(x) = log sum_y p(x, y), [N], nats.

    Args:
      model, x, num_samples, seed: as in `weight_means`.
      observe: whether to score `observed(model, x, seed)` rather than x itself.
      **options: `weight_means`' others.
    """
    x = observed(model, x, seed) if observe else x
    return special.logsumexp(log_joint_estimate(model, x, num_samples, seed, **options), axis=1)


def bayes_probabilities(model, x, num_samples, seed=0, **options):
    """p(y|x) = p(x, y) / sum_y' p(x, y'), [N, K]. x is used as given.

    Args:
      model: M2 or StackedM1M2.
      x, num_samples, seed: as in `weight_means`.
      **options: its others.
    """
    expect(model.has_classes, "Bayes' rule needs M2 or M1+M2", model=type(model).__name__)
    return special.softmax(log_joint_estimate(model, x, num_samples, seed, **options), axis=1)


def marginal_bound(model, x, bound):
    """The bound on log p(x) from those on log p(x, y): -U(x) with the model's q(y|x), [N].

    Args:
      model: as in `weight_means`.
      x: [N, D].
      bound: [N, K], `WeightMeans.bound`.
    """
    logits = model.classify(x).logits_parameter() if model.has_classes else tf.zeros(bound.shape)
    return -objectives.unlabelled_loss(-bound, tf.cast(logits, tf.float64)).numpy()
