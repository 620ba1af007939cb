"""Moved images against NumPy's own padding and cutting."""

import numpy as np
import pytest
import tensorflow as tf

from tfssl.data.shifts import random_shifts, shift


def moved(image, down, right, most):
    """The image moved down and to the right, its edge repeated."""
    sides = [(most, most)] * 2 + [(0, 0)] * (image.ndim - 2)
    height, width = image.shape[:2]
    padded = np.pad(image, sides, mode="edge")
    return padded[most - down : most - down + height, most - right : most - right + width]


@pytest.mark.parametrize("shape", [(6, 5), (5, 6, 3)])
def test_every_image_is_moved_by_its_own_shift(shape):
    x = np.random.default_rng(0).integers(0, 256, (25, *shape)).astype(np.uint8)
    shifts = np.stack(np.meshgrid(*[np.arange(-2, 3, dtype=np.int32)] * 2), axis=-1).reshape(25, 2)
    result = shift(x, shifts)
    assert result.dtype == tf.uint8
    for before, after, (down, right) in zip(x, result.numpy(), shifts, strict=True):
        np.testing.assert_array_equal(after, moved(before, down, right, 2))


def test_every_shift_happens_about_as_often():
    shifts = random_shifts(400, 2, seed=[1, 2]).numpy()
    counts = np.zeros((5, 5), int)
    np.add.at(counts, tuple(shifts.T + 2), 1)
    # 16 of each are expected, with a standard deviation of 4.
    assert counts.min() >= 3
    assert counts.max() <= 35


def test_shifts_depend_on_the_seed_alone():
    first, again, other = (random_shifts(50, 1, seed).numpy() for seed in ([3, 4], [3, 4], [3, 5]))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)
    assert not random_shifts(50, 0, [3, 4]).numpy().any()
