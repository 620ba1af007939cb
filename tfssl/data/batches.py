"""tf.data pipelines: inputs in memory or on disk to batches {"labelled": (x, y), "unlabelled": x}.

A set is read as an endless stream of permutations, one per pass, cut into full batches: nothing is
dropped, any number of examples works, and all batches have one static shape. The order is a pure
function of (seed, pass), and so are random shifts of images: `start_step` continues an interrupted
run with exactly the batches it would have seen, and several devices share the batches of one. Rows
are gathered a batch at a time, which is much faster than one by one, and keep their compact dtype
until then.
"""

import math

import numpy as np
import tensorflow as tf

from tfssl.data.on_disk import Rows
from tfssl.data.shifts import random_shifts, shift
from tfssl.errors import expect

# Two streams of one run must not be shuffled or shifted alike.
LABELLED_STREAM, UNLABELLED_STREAM = 0, 1
# Nor are the shifts to depend on the order.
SHIFTS = 1

# Matrix products take rows in blocks, and what is left over differently.
BLOCK = 64

# Nothing here is left to tune, and tuning every pass as if it were new takes longer and longer.
FIXED = tf.data.Options()
FIXED.autotune.enabled = False


def steps_per_epoch(num_unlabelled, batch_size):
    """How many batches cover the unlabelled set once, the last one reaching into the next pass."""
    return math.ceil(num_unlabelled / batch_size)


def unlabelled(x, batch_size, seed, transform=None, start_step=0, max_shift=0):
    """Endless batches {"unlabelled": x}, for M1.

    Args:
      x: [N, ...] array or `Rows`.
      batch_size: rows per batch.
      seed: seed of the order and of the shifts.
      transform: applied to each gathered x, e.g. `Preprocessing`.
      start_step: the first batch to give.
      max_shift: by how many pixels to move each image at most, before `transform`.
    """
    stream = (seed, UNLABELLED_STREAM)
    rows = _shuffled_rows(len(x), batch_size, stream, start_step, max_shift)
    inputs = _inputs(x, transform, max_shift)
    return rows.map(lambda *rows: {"unlabelled": inputs(*rows)}).prefetch(2)


def semi_supervised(
    labelled,
    unlabelled,
    num_classes,
    batch_sizes,
    seed,
    transform=None,
    start_step=0,
    max_shift=0,
):
    """Endless batches {"labelled": (x, y), "unlabelled": x}, y one-hot.

    Args:
      labelled: (x, label), [N_l, ...] array or `Rows`, and [N_l] array of integers.
      unlabelled: x, [N_u, ...] array or `Rows`, or None to train on labels alone.
      num_classes: K.
      batch_sizes: rows (labelled, unlabelled) per batch.
      seed: seed of the order and of the shifts.
      transform: applied to each gathered x, e.g. `Preprocessing`.
      start_step: the first batch to give.
      max_shift: by how many pixels to move each image at most, before `transform`.
    """
    x, labels = labelled[0], tf.constant(labelled[1])
    stream = (seed, LABELLED_STREAM)
    rows = _shuffled_rows(len(labels), batch_sizes[0], stream, start_step, max_shift)
    labelled_inputs = _inputs(x, transform, max_shift)

    def labelled_part(i, shifts):
        return labelled_inputs(i, shifts), tf.one_hot(tf.gather(labels, i), num_classes)

    if unlabelled is None:
        return rows.map(lambda *rows: {"labelled": labelled_part(*rows)}).prefetch(2)
    stream = (seed, UNLABELLED_STREAM)
    more_rows = _shuffled_rows(len(unlabelled), batch_sizes[1], stream, start_step, max_shift)
    unlabelled_inputs = _inputs(unlabelled, transform, max_shift)

    def batch(labelled_rows, unlabelled_rows):
        return {
            "labelled": labelled_part(*labelled_rows),
            "unlabelled": unlabelled_inputs(*unlabelled_rows),
        }

    return tf.data.Dataset.zip(rows, more_rows).map(batch).prefetch(2)


def in_batches(function, x, batch_size=1024):
    """function(rows of x) for all rows, a batch at a time: [N, ...] -> array [N, ...].

    Every batch is full, filled up with rows of x: matrix products round the rows of an incomplete
    one differently. So what a point gets does not depend on its place among the others.

    Args:
      function: [n, ...] stored inputs -> [n, ...] tensor or array.
      x: [N, ...] array or `Rows`.
      batch_size: n; less for fewer rows, but a multiple of `BLOCK`.
    """
    size = min(batch_size, max(1, math.ceil(len(x) / BLOCK)) * BLOCK)
    found = []
    for first in range(0, max(len(x), 1), size):
        rows = np.asarray(x[first : first + size])
        full = np.concatenate([rows, np.repeat(rows[:1], size - len(rows), axis=0)])
        found.append(np.asarray(function(full))[: len(rows)])
    return np.concatenate(found)


def evaluation(x, labels, num_classes, batch_size, transform=None):
    """One pass in order, remainder included, as M2 evaluates it: both bounds on the same x."""
    gather, transform = _gatherer(x), transform or _as_float

    def batch(i, label):
        x = transform(gather(i))
        return {"labelled": (x, tf.one_hot(label, num_classes)), "unlabelled": x}

    return tf.data.Dataset.from_tensor_slices((range(len(x)), labels)).batch(batch_size).map(batch)


def _gatherer(x):
    """Row numbers [n] -> these rows of x, from memory or from disk."""
    if not isinstance(x, Rows):
        x = tf.constant(x)
        return lambda i: tf.gather(x, i)

    def read(i):
        rows = tf.numpy_function(x.__getitem__, [i], x.dtype, stateful=False)
        return tf.ensure_shape(rows, [*i.shape, *x.shape[1:]])

    return read


def _inputs(x, transform, max_shift):
    """(row numbers [n], shifts [n, 2]) -> what the model is given of these rows of x."""
    gather, transform = _gatherer(x), transform or _as_float

    def inputs(i, shifts):
        rows = gather(i)
        return transform(shift(rows, shifts) if max_shift else rows)

    return inputs


def _as_float(x):
    return tf.cast(x, tf.float32)


def _shuffled_rows(count, batch_size, stream, start_step, max_shift):
    """Endless (row numbers [batch_size], shifts [batch_size, 2]), permutation after permutation."""
    expect(count > 0, "a training set must not be empty", count=count)
    expect(batch_size > 0, "`batch_size` must be positive", batch_size=batch_size)
    first_pass, skipped = divmod(start_step * batch_size, count)
    seed = np.random.SeedSequence(stream).generate_state(1)[0] & 0x7FFFFFFF

    def permutation(number):
        seeds = tf.stack([tf.cast(seed, tf.int64), number])
        order = tf.random.experimental.stateless_shuffle(tf.range(count), seeds)
        own_seed = tf.random.experimental.stateless_fold_in(seeds, SHIFTS)
        shifts = random_shifts(count, max_shift, own_seed)
        return tf.data.Dataset.from_tensor_slices((order, shifts))

    passes = tf.data.Dataset.range(first_pass, np.iinfo(np.int64).max)
    rows = passes.flat_map(permutation).skip(skipped).batch(batch_size, drop_remainder=True)
    return rows.with_options(FIXED)
