"""The fused expressions equal the plain ones in value and gradient, compiled or not."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from tfssl.models import distributions, kernels

tfd = tfp.distributions


@pytest.fixture(params=["compiled", "plain graph", "eager"])
def run(request, monkeypatch):
    """Run a function of tensors in the three ways that a user may meet it."""
    monkeypatch.setattr(kernels, "MIN_ELEMENTS", 1 if request.param == "compiled" else 10**12)
    return (lambda f, *args: f(*args)) if request.param == "eager" else _in_graph


def _in_graph(function, *args):
    return tf.function(function, autograph=False)(*args)


def values_and_gradients(function, *args):
    """function(*args), and the gradient in each of them of a weighted sum of its elements."""
    with tf.GradientTape() as tape:
        tape.watch(args)
        value = function(*args)
        weights = tf.reshape(tf.cos(tf.range(tf.size(value), dtype=tf.float32)), tf.shape(value))
        total = tf.reduce_sum(weights * value)
    return [value, *tape.gradient(total, args)]


def tensor(rng, *shape, scale=1.0):
    return tf.constant(scale * rng.normal(size=shape), tf.float32)


@pytest.mark.parametrize(
    ("shape_a", "shape_b"), [((5, 4), (4,)), ((6, 1, 4), (3, 4)), ((6, 3, 4), (3, 4)), ((2,), (2,))]
)
def test_softplus_of_a_sum(run, shape_a, shape_b, rng):
    a, b = tensor(rng, *shape_a, scale=10.0), tensor(rng, *shape_b)
    actual = run(lambda *args: values_and_gradients(kernels.softplus, *args), a, b)
    expected = values_and_gradients(lambda a, b: tf.nn.softplus(a + b), a, b)
    for got, want in zip(actual, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_softplus_is_finite_at_the_extremes(run):
    a = tf.constant([-1e30, -200.0, 0.0, 200.0, 1e30])
    value, gradient = run(
        lambda a: values_and_gradients(lambda a: kernels.softplus(a, tf.zeros(5)), a), a
    )
    np.testing.assert_allclose(value, [0.0, 0.0, np.log(2.0), 200.0, 1e30], atol=1e-6)
    slopes = gradient / np.cos(np.arange(5.0))
    np.testing.assert_allclose(slopes, [0.0, 0.0, 0.5, 1.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("classes", [None, 3])
def test_bernoulli_log_prob(run, classes, rng):
    """Against TFP; per class with x broadcast over the classes, or one x per row."""
    leading = (5,) if classes is None else (5, classes)
    features = tensor(rng, *leading, 4, scale=3.0)
    kernel, bias = tensor(rng, 4, 7), tensor(rng, 7)
    x = tf.constant(rng.integers(0, 2, (5, 7) if classes is None else (5, 1, 7)), tf.float32)

    def plain(features, kernel, bias):
        logits = tf.tensordot(features, kernel, 1) + bias
        return tfd.Independent(tfd.Bernoulli(logits=logits, dtype=tf.float32), 1).log_prob(x)

    def ours(features, kernel, bias):
        return kernels.bernoulli_log_prob(features, kernel, bias, x)

    actual = run(lambda *args: values_and_gradients(ours, *args), features, kernel, bias)
    expected = values_and_gradients(plain, features, kernel, bias)
    for got, want in zip(actual, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def test_bernoulli_log_prob_with_products_in_bfloat16(run, rng):
    """The value is a float32, and it and the gradients are within bfloat16's 8 bits of theirs."""
    features, kernel, bias = tensor(rng, 50, 40), tensor(rng, 40, 70, scale=0.2), tensor(rng, 70)
    x = tf.constant(rng.integers(0, 2, (50, 70)), tf.float32)

    def ours(features, kernel, bias):
        return kernels.bernoulli_log_prob(features, kernel, bias, x)

    half = tf.cast(features, tf.bfloat16)
    actual = run(lambda *args: values_and_gradients(ours, *args), half, kernel, bias)
    assert [part.dtype for part in actual] == [tf.float32, tf.bfloat16, tf.float32, tf.float32]
    expected = values_and_gradients(ours, features, kernel, bias)
    for got, want in zip(actual, expected, strict=True):
        error = tf.cast(got, tf.float32) - want
        assert np.linalg.norm(error) < 2.0**-7 * np.linalg.norm(want)


def test_bernoulli_log_prob_of_huge_logits(run):
    """A pixel that is certain and wrong costs |logit| nats, and the gradient does not vanish."""
    kernel, bias, x = tf.constant([[1.0, 1.0]]), tf.zeros(2), tf.constant([[1.0, 0.0]])
    value, gradient = run(
        lambda h: values_and_gradients(lambda h: kernels.bernoulli_log_prob(h, kernel, bias, x), h),
        tf.constant([[500.0]]),
    )
    np.testing.assert_allclose(value, [-500.0])
    np.testing.assert_allclose(gradient, [[-1.0]])


def test_the_layer_gives_the_log_prob_of_its_distribution(rng):
    layer = distributions.Bernoulli(7, 4, seed=1)
    features, x = tensor(rng, 5, 3, 4), tf.constant(rng.integers(0, 2, (5, 1, 7)), tf.float32)
    np.testing.assert_allclose(
        layer.log_prob(features, x), layer.distribution(features).log_prob(x), rtol=1e-5
    )


def test_a_graph_for_any_batch_size_is_not_compiled(monkeypatch):
    """Exported models must run where XLA is not: TF Serving, TFLite."""
    monkeypatch.setattr(kernels, "MIN_ELEMENTS", 1)

    def calls(shape):
        function = tf.function(lambda a: kernels.softplus(a, a))
        graph = function.get_concrete_function(tf.TensorSpec(shape)).graph
        return [op.type for op in graph.get_operations() if "Call" in op.type]

    assert not calls([None, 4])
    assert calls([3, 4])


def test_a_graph_for_any_batch_keeps_plain_operations():
    """Even where the bias alone, [classes, units], is large enough to pay."""

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None, 1, 600])])
    def activate(products):
        return kernels.softplus(products, tf.ones([100, 600]))

    library = activate.get_concrete_function().graph.as_graph_def().library
    assert not any(inner.attr["_XlaMustCompile"].b for inner in library.function)
