"""The likelihood of a table: coins and Gaussians side by side, in the order of its columns."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from tfssl.errors import InputError
from tfssl.models import M1, M2, noise
from tfssl.models.columns import MIN_SCALE, ColumnGroups, ScalePerColumn, binary_and_real
from tfssl.models.enumeration import loss_per_class

BINARY = (3, 0)
REAL = [1, 2, 4]
SEED = tf.constant([3, 4])


@pytest.fixture
def table(rng):
    """[7, 5]: columns 0 and 3 are 0 or 1, the others real."""
    x = rng.normal(size=(7, 5)).astype(np.float32)
    x[:, [0, 3]] = x[:, [0, 3]] > 0
    return x


@pytest.fixture
def layer(rng):
    layer = binary_and_real(5, 4, BINARY, seed=1)
    layer.layers[1].raw_scale.assign(rng.normal(size=3))
    return layer


def parameters(layer, features):
    """p of the coins [..., 2]; mean [..., 3] and standard deviation [3] of the real columns."""
    logits, loc = layer(features)
    scale = MIN_SCALE + np.log1p(np.exp(layer.layers[1].raw_scale.numpy()))
    return tf.sigmoid(logits).numpy(), loc.numpy(), scale


def test_the_density_is_the_product_over_the_columns(layer, table, rng):
    features = rng.normal(size=(7, 4)).astype(np.float32)
    p, loc, scale = parameters(layer, features)
    expected = stats.bernoulli(p).logpmf(table[:, [0, 3]]).sum(axis=1)
    expected += stats.norm(loc, scale).logpdf(table[:, REAL]).sum(axis=1)
    np.testing.assert_allclose(layer.log_prob(features, table), expected, rtol=1e-5)
    np.testing.assert_allclose(layer.distribution(features).log_prob(table), expected, rtol=1e-5)


def test_means_and_samples_are_in_the_order_of_the_columns(layer, rng):
    features = rng.normal(size=(1, 4)).astype(np.float32)
    p, loc, scale = parameters(layer, features)
    p_x = layer.distribution(features)
    np.testing.assert_allclose(p_x.mean()[0].numpy()[[0, 3]], p[0], rtol=1e-6)
    np.testing.assert_allclose(p_x.mean()[0].numpy()[REAL], loc[0], rtol=1e-6)
    samples = p_x.sample(20_000, seed=[1, 2]).numpy()[:, 0]
    assert set(np.unique(samples[:, [0, 3]])) == {0.0, 1.0}
    np.testing.assert_allclose(samples[:, [0, 3]].mean(axis=0), p[0], atol=0.02)
    np.testing.assert_allclose(samples[:, REAL].mean(axis=0), loc[0], atol=0.04)
    np.testing.assert_allclose(samples[:, REAL].std(axis=0), scale, rtol=0.03)


def test_gradients_of_a_scale_in_closed_form(rng):
    """d log p / d sigma = sum_b (r^2 / sigma^3 - 1 / sigma), d log p / d mu = r / sigma^2."""
    layer = ScalePerColumn(2, 3, seed=1)
    layer.raw_scale.assign([-1.0, 2.0])
    features, x = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(layer.log_prob(tf.constant(features, tf.float32), np.float32(x)))
    by_scale, by_bias = tape.gradient(total, [layer.raw_scale.value, layer.linear.bias.value])
    scale, slope = layer.scale.numpy(), 1 / (1 + np.exp([1.0, -2.0]))  # of softplus
    r = x - layer(np.float32(features)).numpy()
    expected = (r**2 / scale**3 - 1 / scale).sum(axis=0) * slope
    np.testing.assert_allclose(by_scale, expected, rtol=1e-4)
    np.testing.assert_allclose(by_bias, (r / scale**2).sum(axis=0), rtol=1e-4)


def test_no_column_can_be_worth_more_than_its_floor():
    layer = ScalePerColumn(1, 1)
    layer.raw_scale.assign([-1e4])
    layer.linear.set_weights([np.zeros((1, 1)), np.zeros(1)])
    best = layer.log_prob(np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32))
    np.testing.assert_allclose(best, stats.norm(0, MIN_SCALE).logpdf([0]), rtol=1e-5)


def test_classes_broadcast_as_a_loop_over_them(table):
    m2 = M2(5, 3, 10, 90, 2, (6,), "columns", binary_columns=BINARY, seed=1)
    epsilon = noise.normal([7, 2], SEED)
    losses = loss_per_class(m2, tf.constant(table), epsilon)
    for k in range(3):
        one_hot = tf.one_hot([k] * 7, 3)
        expected = m2.loss_terms(tf.constant(table), one_hot, epsilon)[0]
        np.testing.assert_allclose(losses[:, k], expected, rtol=1e-5)


@pytest.mark.parametrize("binary", [(), range(5), (2,)])
def test_models_keep_their_columns_when_they_are_saved(binary, table, tmp_path):
    import keras

    m1 = M1(5, 2, (6,), "columns", binary_columns=binary, seed=1)
    m1.save(tmp_path / "m1.keras")
    loaded = keras.saving.load_model(tmp_path / "m1.keras")
    assert loaded.binary_columns == tuple(binary)
    epsilon = noise.normal([7, 2], SEED)
    np.testing.assert_array_equal(
        loaded.losses(table, epsilon)["loss"], m1.losses(table, epsilon)["loss"]
    )
    assert m1.generate(epsilon).shape == (7, 5)


def test_columns_of_0_and_1_are_no_intensities(table):
    m1 = M1(5, 2, (6,), "columns", binary_columns=BINARY)
    np.testing.assert_array_equal(m1.observe(tf.constant(table * 0.5), SEED), table * 0.5)


def test_chance_is_coins_and_standard_normals(layer, table):
    expected = 2 * np.log(2) - stats.norm.logpdf(table[:, REAL]).sum(axis=1).mean()
    np.testing.assert_allclose(layer.chance_loss(table), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: binary_and_real(3, 4, (3,), seed=0), r"from 0 to 2. Received: .*\(3,\)"),
        (lambda: M1(3, likelihood="gaussian", binary_columns=(1,)), "`binary_columns` are for"),
        (lambda: ColumnGroups([ScalePerColumn(2, 4)], [(0, 0)]), "every column of x once"),
    ],
)
def test_columns_that_do_not_fit_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
