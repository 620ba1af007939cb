"""p(x|...) by name."""

from tfssl.errors import expect
from tfssl.models import distributions

LAYERS = {
    "bernoulli": distributions.Bernoulli,
    "binomial": distributions.Binomial,
    "gaussian": distributions.DiagonalGaussian,
    "isotropic": distributions.IsotropicGaussian,
}


def make_likelihood(name, dim, input_dim, total_count, seed):
    """The distribution layer of p(x|...) by name: one of `LAYERS`."""
    expect(name in LAYERS, f"`likelihood` must be one of {', '.join(LAYERS)}", likelihood=name)
    counts = {"total_count": total_count} if name == "binomial" else {}
    return LAYERS[name](dim, input_dim, seed=seed, **counts)
