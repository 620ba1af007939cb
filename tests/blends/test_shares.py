"""How common classes are, from probabilities that were fitted to other shares."""

import numpy as np
from scipy.stats import norm

from tfssl.blends.shares import shares_among, with_shares

EVEN = np.array([0.5, 0.5])


def posterior(x, shares):
    """p(y|x) of two unit Gaussians at -1 and 1."""
    joint = shares * np.stack([norm.pdf(x, -1), norm.pdf(x, 1)], axis=1)
    return joint / joint.sum(axis=1, keepdims=True)


def test_true_shares_are_found_from_exact_probabilities(rng):
    y = rng.random(20_000) < 0.9
    x = rng.normal(size=20_000) + np.where(y, 1, -1)
    found = shares_among(posterior(x, EVEN), EVEN, shrinkage=0.0)
    np.testing.assert_allclose(found, [0.1, 0.9], atol=0.01)
    np.testing.assert_allclose(
        with_shares(posterior(x, EVEN), np.array([0.1, 0.9]), EVEN),
        posterior(x, np.array([0.1, 0.9])),
        atol=1e-9,
    )


def test_shrinkage_leans_to_the_labels(rng):
    x = rng.normal(size=5000) + 1
    exact, shrunk = (shares_among(posterior(x, EVEN), EVEN, s)[1] for s in (0.0, 0.3))
    assert 0.5 < shrunk < exact


def test_the_maximum_of_the_likelihood(rng):
    """Without shrinkage EM ends where sum_n log sum_k p_nk pi_k / rho_k is largest."""
    p = rng.dirichlet([1, 1, 1], 300)
    rho = np.array([0.2, 0.3, 0.5])
    found = shares_among(p, rho, shrinkage=0.0)

    def likelihood(shares):
        return np.log((p * shares / rho).sum(axis=1)).sum()

    others = rng.dirichlet([1, 1, 1], 2000)
    assert likelihood(found) >= max(likelihood(other) for other in others) - 1e-2


def test_without_points_the_labels_shares_stay():
    np.testing.assert_array_equal(shares_among(np.empty((0, 2)), EVEN), EVEN)
