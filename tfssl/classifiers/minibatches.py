"""Arrays to minibatches for the networks of this room: permutation after permutation.

The order is that of `data.batches` for the same stream: the networks among the baselines see their
points as M1 and M2 do.
"""

import numpy as np
import tensorflow as tf

from tfssl.errors import expect

# As in `data.batches`.
LABELLED_STREAM, UNLABELLED_STREAM = 0, 1

# Nothing here is left to tune.
FIXED = tf.data.Options()
FIXED.autotune.enabled = False


def shuffled(arrays, batch_size, stream):
    """Endless tuples of [batch_size, ...], the same rows of every array.

    Args:
      arrays: tuple of [N, ...] arrays.
      batch_size: rows per batch; one that a permutation does not fill reaches into the next.
      stream: integers; the order is a function of them and of N.
    """
    expect(batch_size > 0, "`batch_size` must be positive", batch_size=batch_size)
    tensors, count = [tf.constant(array) for array in arrays], len(arrays[0])
    seed = np.random.SeedSequence(stream).generate_state(1)[0] & 0x7FFFFFFF

    def permutation(number):
        seeds = tf.stack([tf.cast(seed, tf.int64), number])
        order = tf.random.experimental.stateless_shuffle(tf.range(count), seeds)
        return tf.data.Dataset.from_tensor_slices(order)

    passes = tf.data.Dataset.range(np.iinfo(np.int64).max)
    rows = passes.flat_map(permutation).batch(batch_size, drop_remainder=True).with_options(FIXED)
    return rows.map(lambda i: tuple(tf.gather(tensor, i) for tensor in tensors)).prefetch(2)
