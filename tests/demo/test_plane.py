"""The pad's directions, against a decoder whose answer is known, and of real models."""

import numpy as np
import pytest
import tensorflow as tf

from tfssl.demo.plane import style_axes
from tfssl.models import M1, M2


class LinearDecoder:
    """E[x|y,z] = z A: changes most along A's leading left singular vectors."""

    num_classes = 3
    has_classes = True

    def __init__(self, matrix):
        self.matrix = matrix
        self.style_dim = len(matrix)

    def generate(self, y, z):
        assert y.shape == (*z.shape[:-2], 1)
        return tf.linalg.matmul(z, self.matrix)


def test_the_axes_are_those_that_change_pictures_most(rng):
    matrix = rng.normal(size=(5, 9)).astype(np.float32)
    left, _, _ = np.linalg.svd(matrix, full_matrices=False)
    axes = style_axes(LinearDecoder(matrix))
    np.testing.assert_allclose(np.abs(axes @ left[:, :2]), np.eye(2), atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        M1(input_dim=6, latent_dim=4, hidden_units=(5,)),
        M2(input_dim=6, num_classes=3, num_labelled=9, num_unlabelled=9, latent_dim=4),
    ],
    ids=["m1", "m2"],
)
def test_the_axes_are_orthonormal_and_the_same_at_every_call(model):
    axes = style_axes(model)
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-6)
    np.testing.assert_array_equal(axes, style_axes(model))


@pytest.mark.parametrize(("dim", "expected"), [(1, [[1], [0]]), (2, [[1, 0], [0, 1]])])
def test_small_style_spaces_are_shown_as_they_are(dim, expected):
    np.testing.assert_array_equal(style_axes(M1(input_dim=6, latent_dim=dim)), expected)
