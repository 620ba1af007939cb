"""FusedAdam against Keras' Adam, and the schedule."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfssl.models.optimizers import FusedAdam, HoldThenDecay


def trained(make, gradients, **options):
    """A variable, and the optimizer's, after a step in a graph for each gradient."""
    variable = keras.Variable(np.ones((3, 4), np.float32))
    optimizer = make(**options)
    optimizer.build([variable])

    @tf.function
    def step(gradient):
        optimizer.apply_gradients([(gradient, variable)])

    for gradient in gradients:
        step(gradient)
    return [v.numpy() for v in (variable, *optimizer.variables)]


@pytest.mark.parametrize(
    "averaging",
    [{}, {"use_ema": True, "ema_momentum": 0.5}, {"global_clipnorm": 2.0}, {"clipnorm": 2.0}],
)
@pytest.mark.parametrize("rate", [0.1, HoldThenDecay(0.1, 10, 0.5)])
def test_fused_adam_equals_keras_adam(rate, averaging, rng):
    gradients = [tf.constant(g, tf.float32) for g in rng.normal(size=(10, 3, 4))]
    ours, theirs = (
        trained(make, gradients, learning_rate=rate, **averaging)
        for make in (FusedAdam, keras.optimizers.Adam)
    )
    for our, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(our, their, rtol=1e-5, atol=1e-5)


def test_fused_adam_takes_the_sparse_gradient_of_a_gather():
    """Rows 2 (twice) and 0 of three: as the same gradient written out densely."""
    rows = tf.IndexedSlices(tf.ones([3, 4]), tf.constant([2, 2, 0]), tf.constant([3, 4]))
    dense = tf.constant([[1.0] * 4, [0.0] * 4, [2.0] * 4])
    for sparse, full in zip(
        trained(FusedAdam, [rows] * 3), trained(FusedAdam, [dense] * 3), strict=True
    ):
        np.testing.assert_array_equal(sparse, full)


def test_the_norm_that_is_clipped_is_that_of_all_gradients_with_repeated_rows_added():
    variables = [keras.Variable(np.zeros(shape, np.float32)) for shape in ((3, 4), (2,))]
    optimizer = FusedAdam(0.1, beta_1=0.0, global_clipnorm=1.0)
    optimizer.build(variables)
    rows = tf.IndexedSlices(tf.ones([3, 4]), tf.constant([2, 2, 0]), tf.constant([3, 4]))
    optimizer.apply_gradients(zip([rows, tf.constant([3.0, 4.0])], variables, strict=True))
    norm = np.sqrt(4 * 2.0**2 + 4 * 1.0**2 + 3.0**2 + 4.0**2)
    # With beta_1 = 0 the momentum is the gradient.
    found = [m.numpy() for m in optimizer._momentums]
    np.testing.assert_allclose(found[0], np.outer([1, 0, 2], np.ones(4)) / norm, rtol=1e-5)
    np.testing.assert_allclose(found[1], np.array([3, 4]) / norm, rtol=1e-5)


@pytest.mark.parametrize(
    ("step", "rate"), [(0, 0.1), (49, 0.1), (50, 0.1), (75, 0.05), (100, 0.0), (120, 0.0)]
)
def test_the_rate_is_held_then_falls_to_zero(step, rate):
    schedule = HoldThenDecay(0.1, steps=100, decay_start=0.5)
    np.testing.assert_allclose(schedule(step), rate, atol=1e-8)
    copy = keras.optimizers.schedules.deserialize(
        keras.optimizers.schedules.serialize(schedule), {"HoldThenDecay": HoldThenDecay}
    )
    np.testing.assert_allclose(copy(step), rate, atol=1e-8)
