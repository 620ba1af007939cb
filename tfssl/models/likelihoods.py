"""p(x|...) by name."""

from tfssl.errors import expect
from tfssl.models import distributions
from tfssl.models.columns import binary_and_real

LAYERS = {
    "bernoulli": distributions.Bernoulli,
    "binomial": distributions.Binomial,
    "gaussian": distributions.DiagonalGaussian,
    "isotropic": distributions.IsotropicGaussian,
}


# Of a table, whose columns are not all alike: made of such layers.
COLUMNS = "columns"
NAMES = (*LAYERS, COLUMNS)


def make_likelihood(name, dim, input_dim, total_count, seed, binary_columns=()):
    """The distribution layer of p(x|...) by name, one of `NAMES`.

    Args:
      name: one of `NAMES`.
      dim: D, the size of x.
      input_dim: the size of the features.
      total_count: n of the binomial likelihood.
      seed: seed of the initial weights.
      binary_columns: which columns of x hold 0 and 1, for "columns".
    """
    expect(name in NAMES, f"`likelihood` must be one of {', '.join(NAMES)}", likelihood=name)
    if name == COLUMNS:
        return binary_and_real(dim, input_dim, binary_columns, seed)
    expect(
        not binary_columns,
        '`binary_columns` are for likelihood = "columns"',
        likelihood=name,
        binary_columns=binary_columns,
    )
    counts = {"total_count": total_count} if name == "binomial" else {}
    return LAYERS[name](dim, input_dim, seed=seed, **counts)
