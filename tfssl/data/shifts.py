"""Moved images: a digit a pixel further to the left is the same digit."""

import tensorflow as tf


def shift_at_random(x, max_shift, seed):
    """Each image moved by its own whole number of pixels, up to `max_shift` up, down and sideways.

    Pixels that leave the image are lost, and those at its edge fill the place they came from.

    Args:
      x: [N, height, width, ...] tensor.
      max_shift: at least 0.
      seed: two integers; the moves depend on nothing else.

    Returns:
      x: the same shape and dtype.
    """
    limits = {"minval": -max_shift, "maxval": max_shift + 1, "dtype": tf.int32}
    moves = tf.random.stateless_uniform([2, tf.shape(x)[0], 1], seed, **limits)
    for axis, move in zip((1, 2), tf.unstack(moves), strict=True):
        size = x.shape[axis]
        x = tf.gather(
            x, tf.clip_by_value(tf.range(size) - move, 0, size - 1), axis=axis, batch_dims=1
        )
    return x
