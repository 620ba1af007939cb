"""q(z|x,y) of M2, by what its scale depends on.

"xy": N(mu(x, y), diag(sigma(x, y)^2)), both from the same features, as in the authors' code
"x":  N(mu(x, y), diag(sigma(x)^2)), as in the paper
"""

import keras

from tfssl.errors import expect
from tfssl.models.distributions import PACKAGE, DiagonalGaussian, GaussianLayer, diagonal_gaussian
from tfssl.models.networks import MLP, child_seeds, dense


@keras.saving.register_keras_serializable(PACKAGE)
class ScaleOfX(GaussianLayer):
    """N(mu(x, y), diag(sigma(x)^2)), sigma from a network of its own.

    Args:
      dim: the size of z.
      input_dim: the size of the features of (x, y).
      scale_encoder: the network of sigma, an `MLP` of x.
      **kwargs: as in `GaussianLayer`.
    """

    def __init__(self, dim, input_dim, scale_encoder, **kwargs):
        super().__init__(dim, input_dim, **kwargs)
        (head_seed,) = child_seeds(self.seed, 1)
        units = scale_encoder.hidden_units[-1]
        self.scale_linear = dense(dim, units, head_seed, dtype="float32")
        self.scale_encoder = scale_encoder

    def call(self, features, x):  # type: ignore[override]  # two inputs
        raw_scale = self.scale_linear(self.scale_encoder(x))
        return self.linear(features), self.floored(raw_scale)

    def given(self, features, x):
        return diagonal_gaussian(*self(features, x))

    def get_config(self):
        encoder = keras.saving.serialize_keras_object(self.scale_encoder)
        return {**super().get_config(), "scale_encoder": encoder}

    @classmethod
    def from_config(cls, config):
        encoder = keras.saving.deserialize_keras_object(config["scale_encoder"])
        return cls(**{**config, "scale_encoder": encoder})


def make_posterior(scale_of, dim, x_dim, hidden_units, seeds, dtype):
    """The layer that gives q(z|x,y) as `given(features of (x, y), x)`.

    Args:
      scale_of: what sigma depends on, "xy" or "x".
      dim: the size of z.
      x_dim: the size of x.
      hidden_units: sizes of the hidden layers of a network of x.
      seeds: two, of the layer itself and of sigma's network.
      dtype: precision of that network.
    """
    if scale_of == "xy":
        return DiagonalGaussian(dim, hidden_units[-1], seed=seeds[0])
    expect(scale_of == "x", '`posterior_scale` must be "x" or "xy"', posterior_scale=scale_of)
    scale_encoder = MLP(x_dim, hidden_units, seed=seeds[1], dtype=dtype)
    return ScaleOfX(dim, hidden_units[-1], scale_encoder, seed=seeds[0])
