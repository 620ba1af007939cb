"""Network bodies: inputs in, features out. The distribution layers sit on top of them."""

import keras
import numpy as np
import tensorflow as tf

from tfssl.errors import expect
from tfssl.models import kernels

PACKAGE = "tfssl"


def child_seeds(seed, count):
    """`count` independent seeds from one, so that no two layers start with the same weights."""
    return [int(state) for state in np.random.SeedSequence(seed).generate_state(count)]


def dense(units, input_dim, seed, **kwargs):
    """A built linear layer that starts at N(0, 1 / fan_in), truncated."""
    initialiser = keras.initializers.LecunNormal(seed=seed)
    layer = keras.layers.Dense(units, kernel_initializer=initialiser, **kwargs)
    layer.build((None, input_dim))
    return layer


@keras.saving.register_keras_serializable(PACKAGE)
class MLP(keras.layers.Layer):
    """f(W_n ... f(W_x x + W_c c + b)), fully connected, with an optional condition c.

    The condition has a first-layer matrix of its own and the two products are added with
    broadcasting, which equals one layer over the concatenation [x, c]. So x of shape [batch, 1, D]
    and every class at once, c = I of shape [K, K], give features [batch, K, H] with W_x x computed
    once per example. A one-hot c may be given as its index, an integer.

    Args:
      input_dim: D, the size of x.
      hidden_units: sizes of the layers, at least one.
      condition_dim: the size of c, 0 for none.
      activation: name of the non-linearity, softplus in the paper.
      seed: seed of the initial weights.
    """

    def __init__(
        self, input_dim, hidden_units, condition_dim=0, activation="softplus", seed=0, **kwargs
    ):
        super().__init__(**kwargs)
        hidden_units = tuple(hidden_units)
        expect(
            bool(hidden_units) and all(isinstance(u, int) and u > 0 for u in hidden_units),
            "`hidden_units` must be a non-empty sequence of positive integers",
            hidden_units=hidden_units,
        )
        self.input_dim = input_dim
        self.hidden_units = hidden_units
        self.condition_dim = condition_dim
        self.activation = activation
        self.seed = seed
        function = keras.activations.get(activation)
        self.activate = (
            kernels.softplus if activation == "softplus" else lambda a, b: function(a + b)
        )
        *layer_seeds, condition_seed = child_seeds(seed, len(hidden_units) + 1)
        input_dims = (input_dim, *hidden_units[:-1])
        self.linears = [
            dense(units, fan_in, layer_seed, dtype=self.dtype_policy)
            for units, fan_in, layer_seed in zip(hidden_units, input_dims, layer_seeds, strict=True)
        ]
        self.condition_linear = (
            dense(
                hidden_units[0],
                condition_dim,
                condition_seed,
                use_bias=False,
                dtype=self.dtype_policy,
            )
            if condition_dim
            else None
        )
        self.built = True

    def call(self, x, condition=None):
        first, *rest = self.linears
        products = tf.tensordot(x, tf.convert_to_tensor(first.kernel), 1)
        features = self.activate(products, first.bias + self._condition_products(condition))
        for linear in rest:
            products = tf.tensordot(features, tf.convert_to_tensor(linear.kernel), 1)
            features = self.activate(products, tf.convert_to_tensor(linear.bias))
        return features

    def _condition_products(self, condition):
        """W_c c, [..., H]; of a class index it is the row of W_c that its one-hot c picks."""
        if self.condition_linear is None:
            return 0.0
        if tf.as_dtype(condition.dtype).is_integer:
            return tf.gather(self.condition_linear.kernel, condition)
        return self.condition_linear(condition)

    def get_config(self):
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "hidden_units": list(self.hidden_units),
            "condition_dim": self.condition_dim,
            "activation": self.activation,
            "seed": self.seed,
        }
