"""Which arrays look like pixels."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from tfssl.data.pixels import levels_of


def smooth_images(rng, top):
    """[200, 64]: blobs of light in 8 x 8 pixels."""
    rows, columns = np.mgrid[:8, :8]
    centre = rng.uniform(1, 6, (200, 2, 1, 1))
    light = np.exp(-((rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2) / 4)
    return np.round(light * top).reshape(200, 64)


def test_digits_are_counts():
    assert levels_of(load_digits().data) == 16


@pytest.mark.parametrize(("top", "levels"), [(255, 255), (200, 255), (15, 16)])
def test_images(rng, top, levels):
    assert levels_of(smooth_images(rng, top)) == levels


def test_intensities(rng):
    assert levels_of(smooth_images(rng, 255) / 255) == 1


def test_tables_words_and_bits_are_none(rng):
    assert levels_of(load_wine().data) is None
    assert levels_of(load_breast_cancer().data) is None
    assert levels_of(rng.poisson(0.05, (300, 400)).astype(float)) is None
    assert levels_of((rng.random((300, 100)) < 0.3).astype(float)) is None
    assert levels_of(rng.normal(size=(300, 100))) is None
    assert levels_of(rng.random((300, 100))) is None
