"""Distribution layers: densities against SciPy, extreme inputs, symbolic use, serialisation."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from tfssl.errors import InputError
from tfssl.models import distributions
from tfssl.models.columns import ScalePerColumn, binary_and_real
from tfssl.models.distributions import (
    Bernoulli,
    Binomial,
    BinomialFraction,
    Categorical,
    DiagonalGaussian,
    IsotropicGaussian,
)

LAYERS = [
    DiagonalGaussian(3, 4, seed=1),
    IsotropicGaussian(3, 4, seed=1),
    Bernoulli(3, 4, seed=1),
    Binomial(3, 4, total_count=16, seed=1),
    Categorical(3, 4, seed=1),
    ScalePerColumn(3, 4, seed=1),
    binary_and_real(3, 4, (1,), seed=1),
]


def test_diagonal_gaussian_density(rng):
    layer = DiagonalGaussian(3, 4)
    features = rng.normal(size=(5, 4)).astype(np.float32)
    loc, scale = layer(features)
    assert loc.shape == scale.shape == (5, 3)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    expected = stats.norm(loc, scale).logpdf(x).sum(axis=1)
    np.testing.assert_allclose(layer.distribution(features).log_prob(x), expected, rtol=1e-5)


def test_isotropic_gaussian_density(rng):
    layer = IsotropicGaussian(3, 4, min_scale=0.01)
    layer.raw_scale.assign(-1.0)
    features = rng.normal(size=(5, 4)).astype(np.float32)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    scale = 0.01 + np.log1p(np.exp(-1.0))
    expected = stats.norm(layer(features), scale).logpdf(x).sum(axis=1)
    np.testing.assert_allclose(layer.log_prob(features, x), expected, rtol=1e-5)
    np.testing.assert_allclose(layer.distribution(features).mean(), layer(features), rtol=1e-6)


def test_bernoulli_density(rng):
    layer = Bernoulli(3, 4)
    features = rng.normal(size=(5, 4)).astype(np.float32)
    x = rng.integers(0, 2, size=(5, 3)).astype(np.float32)
    p = tf.sigmoid(layer(features)).numpy()
    expected = stats.bernoulli(p).logpmf(x).sum(axis=1)
    np.testing.assert_allclose(layer.distribution(features).log_prob(x), expected, rtol=1e-5)


def test_binomial_density_mean_and_variance_of_the_fraction(rng):
    layer = Binomial(3, 4, total_count=16)
    features = rng.normal(size=(5, 4)).astype(np.float32)
    counts = rng.integers(0, 17, size=(5, 3))
    reference = stats.binom(16, tf.sigmoid(layer(features)).numpy())
    p_x = layer.distribution(features)
    expected = reference.logpmf(counts).sum(axis=1)
    np.testing.assert_allclose(p_x.log_prob((counts / 16).astype(np.float32)), expected, rtol=1e-4)
    np.testing.assert_allclose(p_x.mean(), reference.mean() / 16, rtol=1e-5)
    np.testing.assert_allclose(p_x.variance(), reference.var() / 16**2, rtol=1e-5)


def test_binomial_fraction_probabilities_sum_to_one():
    p = BinomialFraction(16, tf.constant(0.3)).prob(tf.range(17, dtype=tf.float32) / 16)
    np.testing.assert_allclose(np.sum(p), 1.0, rtol=1e-5)


def test_binomial_fraction_samples_have_its_moments():
    distribution = BinomialFraction(16, tf.constant([-1.0, 2.0]))
    samples = distribution.sample(20000, seed=[1, 2]).numpy()
    assert set(np.unique(samples * 16)) <= set(range(17))
    np.testing.assert_allclose(samples.mean(axis=0), distribution.mean(), atol=5e-3)
    np.testing.assert_allclose(samples.var(axis=0), distribution.variance(), rtol=0.05)


def test_categorical_is_over_one_hot_classes(rng):
    layer = Categorical(3, 4)
    features = rng.normal(size=(5, 4)).astype(np.float32)
    log_q = layer.distribution(features).log_prob(np.eye(3, dtype=np.float32)[:, np.newaxis])
    np.testing.assert_allclose(log_q, tf.transpose(tf.nn.log_softmax(layer(features))), rtol=1e-5)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_extreme_features_give_finite_densities_and_gradients(layer, size):
    features = tf.Variable(np.full((1, 4), size, np.float32))
    x = tf.constant([[0.0, 1.0, 0.0]])
    with tf.GradientTape() as tape:
        log_p = layer.distribution(features).log_prob(x)
    assert np.all(np.isfinite(log_p))
    assert np.all(np.isfinite(tape.gradient(log_p, features)))


def test_gaussian_scale_has_a_floor():
    layer = DiagonalGaussian(1, 1, min_scale=0.01)
    layer.linear.set_weights([np.array([[0.0, 1.0]]), np.zeros(2)])
    np.testing.assert_allclose(layer(np.array([[-1e4]]))[1], [[0.01]])


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
def test_layers_work_on_symbolic_inputs_and_survive_saving(layer, tmp_path, rng):
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layer(inputs))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    features = rng.normal(size=(5, 4)).astype(np.float32)
    for got, expected in zip(
        tf.nest.flatten(loaded(features)), tf.nest.flatten(layer(features)), strict=True
    ):
        np.testing.assert_array_equal(got, expected)


def test_densities_stay_in_float32_under_mixed_precision():
    layer = DiagonalGaussian(2, 4, dtype="mixed_float16")
    loc, scale = layer(tf.ones((1, 4), tf.float16))
    assert loc.dtype == scale.dtype == tf.float32


def test_standard_normal():
    log_p = distributions.standard_normal(3).log_prob(tf.zeros(3))
    np.testing.assert_allclose(log_p, 3 * stats.norm.logpdf(0), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiagonalGaussian(0, 4), r"`dim` must be a positive integer\. Received: dim=0"),
        (lambda: DiagonalGaussian(2, 4, min_scale=0.0), "`min_scale` must be positive"),
        (lambda: Binomial(2, 4, total_count=None), "`total_count` must be a positive integer"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(InputError, match=message):
        make()
