"""Random numbers that depend only on a seed: not on global state, and not on the devices.

A seed is a tensor of two integers. On several replicas each one takes its rows of the noise of the
whole batch, so that a run gives the same losses on one device as on many.
"""

import numpy as np
import tensorflow as tf

BLOCK = 128  # rows of `normal_rows` that are drawn together


def fold(seed, number):
    """A new seed from a seed and a number (a step, the index of a draw)."""
    return tf.random.experimental.stateless_fold_in(seed, tf.cast(number, tf.int32))


def normal(shape, seed):
    """N(0, 1), shape [batch, ...]."""
    return _replica_rows(tf.random.stateless_normal, shape, seed)


def uniform(shape, seed):
    """U(0, 1), shape [batch, ...]."""
    return _replica_rows(tf.random.stateless_uniform, shape, seed)


def normal_rows(first, rows, dim, seed):
    """Some rows of an endless table of N(0, 1), [rows, dim].

    The table is drawn in blocks of rows, so that a part of it costs no more for lying further down.

    Args:
      first: number of the first row, an integer or a scalar tensor.
      rows: how many, an integer.
      dim: numbers of a row.
      seed: of the table.
    """
    # As many blocks as the rows touch if the first of them is the last of its block.
    blocks = first // BLOCK + tf.range((rows + BLOCK - 2) // BLOCK + 1)
    drawn = tf.map_fn(
        lambda block: tf.random.stateless_normal([BLOCK, dim], fold(seed, block)),
        blocks,
        fn_output_signature=tf.float32,
    )
    return tf.slice(tf.reshape(drawn, [-1, dim]), [first % BLOCK, 0], [rows, dim])


def _replica_rows(draw, shape, seed):
    replica = tf.distribute.get_replica_context()
    replicas = 1 if replica is None else replica.num_replicas_in_sync
    if replicas == 1:
        return draw(shape, seed)
    rows = shape[0]
    everyone = draw(tf.concat([[replicas * rows], shape[1:]], axis=0), seed)
    first = replica.replica_id_in_sync_group * rows
    return everyone[first : first + rows]


def stream(seed, *names):
    """An independent seed for a named use of `seed`: 31 bits."""
    text = [int.from_bytes(name.encode(), "little") for name in names]
    return int(np.random.SeedSequence([seed, *text]).generate_state(1)[0] & 0x7FFFFFFF)
