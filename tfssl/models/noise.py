"""Random numbers that depend only on a seed: not on global state, and not on the devices.

A seed is a tensor of two integers. On several replicas each one takes its rows of the noise of the
whole batch, so that a run gives the same losses on one device as on many.
"""

import numpy as np
import tensorflow as tf


def fold(seed, number):
    """A new seed from a seed and a number (a step, the index of a draw)."""
    return tf.random.experimental.stateless_fold_in(seed, tf.cast(number, tf.int32))


def normal(shape, seed):
    """N(0, 1), shape [batch, ...]."""
    return _replica_rows(tf.random.stateless_normal, shape, seed)


def uniform(shape, seed):
    """U(0, 1), shape [batch, ...]."""
    return _replica_rows(tf.random.stateless_uniform, shape, seed)


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
