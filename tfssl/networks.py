"""Network bodies: inputs in, features out. The distribution layers sit on top of them."""

import keras
import numpy as np

from tfssl.errors import expect

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
    once per example.

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
        self.nonlinearity = keras.activations.get(activation)
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
        features = self.linears[0](x)
        if self.condition_linear is not None:
            features = features + self.condition_linear(condition)
        features = self.nonlinearity(features)
        for linear in self.linears[1:]:
            features = self.nonlinearity(linear(features))
        return features

    def get_config(self):
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "hidden_units": list(self.hidden_units),
            "condition_dim": self.condition_dim,
            "activation": self.activation,
            "seed": self.seed,
        }
