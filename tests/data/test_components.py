"""Components: unit covariance, the axes of scikit-learn's PCA, exact volume, honest limits."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tfssl.data.components import Components
from tfssl.errors import InputError


def correlated(rng, count=500, dim=6, rank=6):
    """[count, dim] points around (1, 2, ...) in `rank` directions of different spread."""
    directions = rng.normal(size=(rank, dim)) * np.geomspace(1, 0.05, rank)[:, np.newaxis]
    return np.arange(1, dim + 1) + rng.normal(size=(count, rank)) @ directions


def fit(x, keep, scaling="each"):
    return Components.fit(np.array_split(x, 7), x[:2].mean(axis=0), keep, scaling)


@pytest.mark.parametrize("keep", [6, 4, 0.9])
def test_training_inputs_get_unit_covariance(keep, rng):
    x = correlated(rng)
    components = fit(x, keep)
    whitened = components(x.astype(np.float32)).numpy()
    np.testing.assert_allclose(whitened.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(np.cov(whitened.T, ddof=0), np.eye(components.dim), atol=1e-3)


def test_the_axes_are_those_of_scikit_learn(rng):
    x = correlated(rng)
    pca = PCA(4, whiten=True, svd_solver="full").fit(x)
    expected = pca.transform(x) * np.sqrt(len(x) / (len(x) - 1))  # it divides by N - 1
    whitened = fit(x, 4)(x.astype(np.float32)).numpy()
    signs = np.sign((expected * whitened).sum(axis=0))
    np.testing.assert_allclose(whitened, expected * signs, rtol=1e-3, atol=1e-4)
    inverse = fit(x, 4).inverse(whitened)
    np.testing.assert_allclose(inverse, pca.inverse_transform(pca.transform(x)), rtol=1e-4)


def test_components_that_are_scaled_alike_keep_their_proportions(rng):
    x = correlated(rng)
    variances = fit(x, 4, scaling="all")(x.astype(np.float32)).numpy().var(axis=0)
    expected = PCA(4, svd_solver="full").fit(x).explained_variance_
    np.testing.assert_allclose(variances, expected / expected.mean(), rtol=1e-3)


@pytest.mark.parametrize(("share", "count"), [(0.5, 1), (0.64, 1), (0.66, 2), (0.99, 3)])
def test_a_share_of_the_variance(share, count):
    """Variances 13/20, 6/20, 1/20 of the whole."""
    x = np.diag(np.sqrt([13.0, 6.0, 1.0]))
    components = fit(np.concatenate([x, -x]), share)
    assert components.dim == count


@pytest.mark.parametrize("scaling", ["each", "all"])
def test_all_components_lose_nothing(scaling, rng):
    x = correlated(rng).astype(np.float32)
    components = fit(x.astype(np.float64), 6, scaling)
    np.testing.assert_allclose(components.inverse(components(x)), x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scaling", ["each", "all"])
def test_log_det_is_that_of_the_linear_map(scaling, rng):
    components = fit(correlated(rng), 6, scaling)
    origin = components(np.zeros((1, 6), np.float32)).numpy()
    jacobian = components(np.eye(6, dtype=np.float32)).numpy() - origin
    np.testing.assert_allclose(components.log_det, np.linalg.slogdet(jacobian)[1], rtol=1e-4)


@pytest.mark.parametrize(
    ("rank", "keep", "message"),
    [
        (3, 4, r"no more components than there are directions.*components=4, directions=3"),
        (6, 7, r"components=7, directions=6"),
        (0, 0.9, r"components=1, directions=0"),
    ],
)
def test_more_components_than_the_data_have_are_refused(rank, keep, message, rng):
    with pytest.raises(InputError, match=message):
        fit(correlated(rng, rank=rank), keep)
