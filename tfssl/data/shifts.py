"""Moved images: a digit a pixel further to the left is the same digit."""

import tensorflow as tf


def random_shifts(count, max_shift, seed):
    """Moves down and to the right, [count, 2] whole numbers from -max_shift to max_shift.

    Args:
      count: of how many images.
      max_shift: at least 0.
      seed: two integers; the moves depend on nothing else.
    """
    limits = {"minval": -max_shift, "maxval": max_shift + 1, "dtype": tf.int32}
    return tf.random.stateless_uniform([count, 2], seed, **limits)


def shift(x, shifts):
    """Each image moved by its own number of pixels.

    Pixels that leave the image are lost, and those at its edge fill the place they came from.

    Args:
      x: [N, height, width, ...] tensor.
      shifts: [N, 2], down and to the right.

    Returns:
      x: the same shape and dtype.
    """
    for axis, moves in zip((1, 2), tf.unstack(shifts, axis=1), strict=True):
        size = x.shape[axis]
        source = tf.clip_by_value(tf.range(size) - moves[:, tf.newaxis], 0, size - 1)
        x = tf.gather(x, source, axis=axis, batch_dims=1)
    return x
