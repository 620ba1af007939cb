"""Views: what each column becomes, and that arrays and tensors see the same."""

import numpy as np
import pytest
import tensorflow as tf

from tfssl.blends.views import FARTHEST, Views


@pytest.fixture
def table(rng):
    """Gaussian, log-normal, a rare 0/1 column, a constant one."""
    n = 2000
    columns = [rng.normal(3, 2, n), np.exp(2 * rng.normal(size=n)), rng.random(n) < 0.01]
    return np.stack([*columns, np.full(n, 7.0)], axis=1)


def test_columns_by_kind(table):
    seen = Views.fit(table)("scaled", table)
    np.testing.assert_allclose(seen[:, 0].std(), 1.0, atol=0.01)
    # On a log scale the largest are no longer the only ones that count.
    assert np.abs(seen[:, 1]).max() < np.abs((table[:, 1] - 1) / table[:, 1].std()).max() / 2
    zero, one = np.unique(seen[:, 2])
    np.testing.assert_allclose(one - zero, 1 / 0.3, rtol=1e-3)
    assert not seen[:, 3].any()


def test_nothing_is_farther_than_six(table):
    views = Views.fit(table)
    far = table[:1] + 1e6
    np.testing.assert_array_equal(views("scaled", far)[0, 0], FARTHEST)


def test_pixels_keep_their_proportions(rng):
    x = rng.random((500, 40)) * np.linspace(0.01, 1, 40)
    seen = Views.fit(x, pixels=True)("scaled", x)
    ratio = seen.std(axis=0) / x.std(axis=0)
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-3)


def test_components_are_those_of_the_scaled_columns(rng):
    x = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 10))
    views = Views.fit(x)
    components = views("components", x)
    assert components.shape == (300, 4)
    scaled = views("scaled", x)
    _, singular, _ = np.linalg.svd(scaled - scaled.mean(axis=0), full_matrices=False)
    centred = components - components.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    np.testing.assert_allclose(lengths / lengths[0], singular[:4] / singular[0], rtol=1e-3)
    np.testing.assert_allclose(centred.std(axis=0)[0], 2.0, rtol=1e-3)
    np.testing.assert_allclose(centred.T @ centred, np.diag(lengths**2), atol=1e-2)


def test_more_columns_than_rows_have_the_same_components(rng):
    x = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 200))
    views = Views.fit(x)
    scaled = views("scaled", x)
    axes = views.axes / np.linalg.norm(views.axes, axis=0)
    kept = scaled @ axes @ axes.T
    np.testing.assert_allclose(kept - kept.mean(0), scaled - scaled.mean(0), atol=1e-3)


@pytest.mark.parametrize("name", ["plain", "scaled", "components"])
def test_a_tensor_sees_what_an_array_sees(table, name):
    views = Views.fit(table)
    tensor = views(name, tf.constant(table[:100], tf.float32))
    np.testing.assert_allclose(tensor, views(name, table[:100]), atol=1e-5)


def test_columns_of_two_values_are_bits(table):
    views = Views.fit(table)
    assert views.binary_columns == [2]
    seen = views("columns", table)
    np.testing.assert_array_equal(seen[:, 2], table[:, 2])
    np.testing.assert_array_equal(seen[:, :2], views("scaled", table)[:, :2])
