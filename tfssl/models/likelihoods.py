"""p(x|...) by name, and what a model that has learned nothing loses by it."""

import math

import numpy as np

from tfssl.errors import expect
from tfssl.models import distributions

LAYERS = {
    "bernoulli": distributions.Bernoulli,
    "binomial": distributions.Binomial,
    "gaussian": distributions.DiagonalGaussian,
    "isotropic": distributions.IsotropicGaussian,
}
COINS = ("bernoulli", "binomial")


def make_likelihood(name, dim, input_dim, total_count, seed):
    """The distribution layer of p(x|...) by name: one of `LAYERS`."""
    expect(name in LAYERS, f"`likelihood` must be one of {', '.join(LAYERS)}", likelihood=name)
    counts = {"total_count": total_count} if name == "binomial" else {}
    return LAYERS[name](dim, input_dim, seed=seed, **counts)


def chance_loss(likelihood, dim, x, total_count=None):
    """What a model that knows nothing loses on average, in nats: coins for pixels, or N(0, 1).

    Args:
      likelihood: one of `LAYERS`.
      dim: D, the size of what the model generates.
      x: [N, ...], what it is given; of q(z1|x), mean and standard deviation side by side, the sum
        of whose squares is that of z1.
      total_count: n of the binomial likelihood.
    """
    if likelihood in COINS:
        return dim * math.log(2.0) * (total_count if likelihood == "binomial" else 1)
    return 0.5 * (dim * math.log(2.0 * math.pi) + float(np.square(x).sum(axis=-1).mean()))
