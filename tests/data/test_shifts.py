"""Moved images against NumPy's own padding and cutting."""

import numpy as np
import pytest
import tensorflow as tf

from tfssl.data.shifts import shift_at_random


def moved(image, down, right, most):
    """The image moved down and to the right, its edge repeated."""
    sides = [(most, most)] * 2 + [(0, 0)] * (image.ndim - 2)
    height, width = image.shape[:2]
    padded = np.pad(image, sides, mode="edge")
    return padded[most - down : most - down + height, most - right : most - right + width]


@pytest.mark.parametrize("shape", [(6, 5), (5, 6, 3)])
def test_every_image_is_moved_by_a_whole_number_of_pixels_and_every_move_happens(shape):
    x = np.random.default_rng(0).integers(0, 256, (400, *shape)).astype(np.uint8)
    result = shift_at_random(x, 2, seed=[1, 2])
    assert result.dtype == tf.uint8
    counts = np.zeros((5, 5), int)
    for before, after in zip(x, result.numpy(), strict=True):
        hits = [
            (down, right)
            for down in range(-2, 3)
            for right in range(-2, 3)
            if np.array_equal(after, moved(before, down, right, 2))
        ]
        assert len(hits) == 1
        counts[hits[0][0] + 2, hits[0][1] + 2] += 1
    # 16 of each are expected, with a standard deviation of 4.
    assert counts.min() >= 3
    assert counts.max() <= 35


def test_moves_depend_on_the_seed_alone():
    x = np.random.default_rng(0).random((50, 8, 8), np.float32)
    first, again, other = (shift_at_random(x, 1, seed).numpy() for seed in ([3, 4], [3, 4], [3, 5]))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)


def test_no_shift_leaves_images_as_they_are():
    x = np.random.default_rng(0).random((5, 8, 8), np.float32)
    np.testing.assert_array_equal(shift_at_random(x, 0, seed=[0, 0]), x)
