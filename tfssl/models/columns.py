"""p(x|...) of a table: each column by a distribution of its own kind.

  p(x|h) = prod_g p_g(x_g|h), over groups g of columns

A column of 0 and 1 is a coin. A real one is a Gaussian whose scale is learned, but is the same
whatever h is: a scale that depends on h lets a rare column, which is nearly constant where it is
not 1, offer y thousands of nats for saying where it is. Each scale has a floor in units of the
standardised column, so that no column can outbid the labels.
"""

import math

import keras
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from tfssl.errors import expect
from tfssl.models.distributions import (
    PACKAGE,
    Bernoulli,
    GaussianLayer,
    diagonal_gaussian,
)
from tfssl.models.networks import child_seeds

tfd, tfb = tfp.distributions, tfp.bijectors

# Of a standardised column.
MIN_SCALE = 0.1


@keras.saving.register_keras_serializable(PACKAGE)
class ScalePerColumn(GaussianLayer):
    """N(mu, diag(sigma^2)), sigma learned but free of the features: -> loc [..., dim]."""

    def __init__(self, dim, input_dim, min_scale=MIN_SCALE, **kwargs):
        super().__init__(dim, input_dim, min_scale, **kwargs)
        self.raw_scale = self.add_weight(shape=(dim,), initializer="zeros", name="raw_scale")

    @property
    def scale(self):
        """sigma, [dim]."""
        return self.floored(tf.convert_to_tensor(self.raw_scale))

    def distribution(self, features):
        return diagonal_gaussian(self(features), self.scale)

    def log_prob(self, features, x):
        # The scale's part is one number: it is not spread over examples and classes.
        scale = self.scale
        constant = tf.reduce_sum(tf.math.log(scale)) + 0.5 * self.dim * math.log(2.0 * math.pi)
        deviations = (x - self(features)) / scale
        return -0.5 * tf.reduce_sum(tf.square(deviations), axis=-1) - constant


@keras.saving.register_keras_serializable(PACKAGE)
class ColumnGroups(keras.layers.Layer):
    """Independent groups of columns, each with a distribution layer: [..., features] -> tuple.

    Args:
      layers: distribution layers on the same features.
      columns: for each layer, which columns of x it is of; every column in one of them.
    """

    def __init__(self, layers, columns, **kwargs):
        super().__init__(**{**kwargs, "dtype": "float32"})
        self.layers = list(layers)
        self.columns = tuple(tuple(int(c) for c in group) for group in columns)
        order = [c for group in self.columns for c in group]
        expect(
            sorted(order) == list(range(len(order))) and len(self.columns) == len(self.layers),
            "`columns` must name every column of x once, in a group for each layer",
            columns=self.columns,
        )
        # Where x has each column, among the groups put side by side.
        self._places = np.argsort(order).astype(np.int32)
        self.built = True

    def call(self, features):
        return tuple(layer(features) for layer in self.layers)

    def distribution(self, features):
        """p(x|features) as one distribution, event [D]."""
        groups = tfd.Blockwise([layer.distribution(features) for layer in self.layers])
        return tfb.Permute(self._places)(groups)

    def log_prob(self, features, x):
        """log p(x|features); features [..., input_dim], x [..., D] broadcasts -> [...]."""
        parts = zip(self.layers, self._of_groups(x), strict=True)
        return tf.add_n([layer.log_prob(features, part) for layer, part in parts])

    def chance_loss(self, x):
        """As `DistributionLayer.chance_loss`: the sum over the groups."""
        parts = zip(self.layers, self.columns, strict=True)
        return sum(layer.chance_loss(x[..., list(group)]) for layer, group in parts)

    def _of_groups(self, x):
        return [tf.gather(x, group, axis=-1) for group in self.columns]

    def get_config(self):
        layers = [keras.saving.serialize_keras_object(layer) for layer in self.layers]
        return {**super().get_config(), "layers": layers, "columns": self.columns}

    @classmethod
    def from_config(cls, config):
        layers = [keras.saving.deserialize_keras_object(layer) for layer in config["layers"]]
        return cls(**{**config, "layers": layers})


def binary_and_real(dim, input_dim, binary_columns, seed):
    """`ColumnGroups` of coins for the columns of 0 and 1, and of Gaussians for the others.

    Args:
      dim: D, the number of columns.
      input_dim: the size of the features.
      binary_columns: which columns hold 0 and 1.
      seed: seed of the initial weights.
    """
    binary = sorted(set(binary_columns))
    expect(
        all(isinstance(c, int) and 0 <= c < dim for c in binary),
        f"`binary_columns` must be numbers of columns, from 0 to {dim - 1}",
        binary_columns=tuple(binary_columns),
    )
    real = sorted(set(range(dim)) - set(binary))
    kinds = zip((Bernoulli, ScalePerColumn), (binary, real), child_seeds(seed, 2), strict=True)
    made = [(kind(len(c), input_dim, seed=own), c) for kind, c, own in kinds if c]
    layers, columns = zip(*made, strict=True)
    return ColumnGroups(layers, columns)
