"""Distribution layers: features in, the parameters of a distribution out.

`layer(features)` returns plain tensors, so a layer works on symbolic inputs and in exported graphs;
`layer.distribution(features)` returns the `tfd.Distribution` that the paper's equations speak of.
Densities are computed in float32 whatever the precision of the networks before them.

For the likelihoods of images, x is an intensity in [0, 1].
"""

import math

import keras
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from tfssl.errors import expect
from tfssl.models import kernels
from tfssl.models.networks import dense

tfd = tfp.distributions

PACKAGE = "tfssl"


def standard_normal(dim):
    """p(z) = N(z | 0, I), event [dim]."""
    return tfd.Independent(tfd.Normal(tf.zeros(dim), tf.ones(dim)), 1)


class BinomialFraction(tfd.Distribution):  # type: ignore[name-defined]  # TFP is lazy
    """x = k / n with k ~ Binomial(n, sigmoid(logits)): grey levels as counts, scaled to [0, 1].

    log p(x) = log C(n, n x) + n (x logits - softplus(logits)), finite for every finite logit.

    Args:
      total_count: n, the number of grey levels above black.
      logits: [...], log-odds of the probability of one count.
    """

    def __init__(self, total_count, logits, name="BinomialFraction"):
        parameters = dict(locals())
        self.total_count = float(total_count)
        self.logits = tf.convert_to_tensor(logits)
        super().__init__(
            dtype=self.logits.dtype,
            reparameterization_type=tfd.NOT_REPARAMETERIZED,
            validate_args=False,
            allow_nan_stats=True,
            parameters=parameters,
            name=name,
        )

    @classmethod
    def _parameter_properties(cls, dtype, num_classes=None):
        properties = tfp.util.ParameterProperties
        return {"total_count": properties(), "logits": properties()}

    def _event_shape(self):
        return tf.TensorShape([])

    def _event_shape_tensor(self):
        return tf.constant([], tf.int32)

    def _log_prob(self, x):
        n = self.total_count
        log_coefficient = (
            tf.math.lgamma(n + 1.0) - tf.math.lgamma(n * x + 1.0) - tf.math.lgamma(n - n * x + 1.0)
        )
        return log_coefficient + n * (x * self.logits - tf.nn.softplus(self.logits))

    def _mean(self):
        return tf.sigmoid(self.logits)

    def _variance(self):
        return tf.sigmoid(self.logits) * tf.sigmoid(-self.logits) / self.total_count

    def _sample_n(self, n, seed=None):
        counts = tfd.Binomial(self.total_count, logits=self.logits).sample(n, seed=seed)
        return counts / self.total_count


class DistributionLayer(keras.layers.Layer):
    """A linear map from features to the parameters of a distribution, in float32.

    Args:
      dim: the size of the event.
      input_dim: the size of the features.
      seed: seed of the initial weights.
    """

    parameters_per_dim = 1

    def __init__(self, dim, input_dim, seed=0, **kwargs):
        # Densities need float32 even when the networks run in a lower precision.
        super().__init__(**{**kwargs, "dtype": "float32"})
        expect(isinstance(dim, int) and dim > 0, "`dim` must be a positive integer", dim=dim)
        self.dim = dim
        self.input_dim = input_dim
        self.seed = seed
        self.linear = dense(self.parameters_per_dim * dim, input_dim, seed, dtype="float32")
        self.built = True

    def call(self, features):
        return self.linear(features)

    def log_prob(self, features, x):
        """log p(x|features); features [..., input_dim], x [..., dim] broadcasts -> [...]."""
        return self.distribution(features).log_prob(x)

    def chance_loss(self, x):
        """What a likelihood that knows nothing loses on x on average, in nats.

        Args:
          x: [N, ...], what the model is given; of q(z1|x), mean and standard deviation side by
            side, the sum of whose squares is that of z1.
        """
        raise NotImplementedError

    def get_config(self):
        return {
            **super().get_config(),
            "dim": self.dim,
            "input_dim": self.input_dim,
            "seed": self.seed,
        }


class GaussianLayer(DistributionLayer):
    """A `DistributionLayer` whose scale has a floor.

    Args:
      dim: the size of the event.
      input_dim: the size of the features.
      min_scale: floor of sigma; a constant feature would otherwise have an infinite density.
      **kwargs: as in `DistributionLayer`.
    """

    def __init__(self, dim, input_dim, min_scale=1e-3, **kwargs):
        super().__init__(dim, input_dim, **kwargs)
        expect(min_scale > 0, "`min_scale` must be positive", min_scale=min_scale)
        self.min_scale = min_scale

    def floored(self, raw_scale):
        """sigma = min_scale + softplus(raw_scale)."""
        return self.min_scale + tf.nn.softplus(raw_scale)

    def given(self, features, x):
        """q(z|x,y) from features of (x, y); x itself is for layers with networks of their own."""
        return self.distribution(features)

    def chance_loss(self, x):
        """That of N(0, I)."""
        squares = float(np.square(x).sum(axis=-1).mean())
        return 0.5 * (self.dim * math.log(2.0 * math.pi) + squares)

    def get_config(self):
        return {**super().get_config(), "min_scale": self.min_scale}


@keras.saving.register_keras_serializable(PACKAGE)
class DiagonalGaussian(GaussianLayer):
    """N(mu, diag(sigma^2)): features [..., input_dim] -> loc, scale, each [..., dim]."""

    parameters_per_dim = 2

    def call(self, features):
        loc, raw_scale = tf.split(self.linear(features), 2, axis=-1)
        return loc, self.floored(raw_scale)

    def distribution(self, features):
        return diagonal_gaussian(*self(features))


@keras.saving.register_keras_serializable(PACKAGE)
class IsotropicGaussian(GaussianLayer):
    """N(mu, sigma^2 I) with one learned sigma: features [..., input_dim] -> loc [..., dim].

    A scale for each dimension can follow that dimension's own variance, and then z has nothing to
    gain from what is linear. With one scale, z must explain whatever is larger than it.
    """

    def __init__(self, dim, input_dim, **kwargs):
        super().__init__(dim, input_dim, **kwargs)
        self.raw_scale = self.add_weight(shape=(), initializer="zeros", name="raw_scale")

    def distribution(self, features):
        scale = self.floored(tf.convert_to_tensor(self.raw_scale))
        return diagonal_gaussian(self(features), scale)


def diagonal_gaussian(loc, scale):
    """N(loc, diag(scale^2)), event [dim]; the two broadcast."""
    return tfd.Independent(tfd.Normal(loc, scale), 1)


@keras.saving.register_keras_serializable(PACKAGE)
class Bernoulli(DistributionLayer):
    """Independent binary pixels: [..., features] -> logits [..., dim]."""

    def distribution(self, features):
        return tfd.Independent(tfd.Bernoulli(logits=self(features), dtype=tf.float32), 1)

    def log_prob(self, features, x):
        # The same value from fewer passes over memory; a sum over pixels can leave float16's range.
        features = tf.cast(features, tf.float32) if features.dtype == tf.float16 else features
        kernel, bias = (tf.convert_to_tensor(w) for w in (self.linear.kernel, self.linear.bias))
        return kernels.bernoulli_log_prob(features, kernel, bias, x)

    def chance_loss(self, x):
        """That of fair coins."""
        return self.dim * math.log(2.0)


@keras.saving.register_keras_serializable(PACKAGE)
class Binomial(DistributionLayer):
    """Independent grey levels k/n, k ~ Binomial(n, p): [..., features] -> logits [..., dim].

    Args:
      dim: the size of the event.
      input_dim: the size of the features.
      total_count: n.
      seed: seed of the initial weights.
    """

    def __init__(self, dim, input_dim, total_count, seed=0, **kwargs):
        super().__init__(dim, input_dim, seed=seed, **kwargs)
        expect(
            isinstance(total_count, int) and total_count > 0,
            "`total_count` must be a positive integer",
            total_count=total_count,
        )
        self.total_count = total_count

    def distribution(self, features):
        return tfd.Independent(BinomialFraction(self.total_count, self(features)), 1)

    def chance_loss(self, x):
        """That of `total_count` fair coins each."""
        return self.total_count * self.dim * math.log(2.0)

    def get_config(self):
        return {**super().get_config(), "total_count": self.total_count}


@keras.saving.register_keras_serializable(PACKAGE)
class Categorical(DistributionLayer):
    """Cat(pi) over `dim` classes as a one-hot y: [..., features] -> logits [..., dim]."""

    def distribution(self, features):
        return tfd.OneHotCategorical(logits=self(features), dtype=tf.float32)
