"""Arrays behind the pictures, against the models' own answers one at a time."""

import numpy as np
import pytest
import tensorflow as tf

from tfssl.models import M1, M2, LatentM2, StackedM1M2
from tfssl.pictures import of_model


def make(name):
    if name == "m2":
        return M2(12, 4, 5, 5, 2, (8,), seed=1)
    m1 = M1(12, 3, (8,), seed=1)
    return StackedM1M2(m1, LatentM2(2, 4, 5, 5, 2, (8,), "gaussian", seed=2), active=[0, 2])


def test_the_style_plane_has_z0_to_the_right_and_z1_upwards():
    plane = of_model.style_plane(5.0, 3).reshape(3, 3, 2)
    np.testing.assert_array_equal(plane[0], [[-5, 5], [0, 5], [5, 5]])
    np.testing.assert_array_equal(plane[2], [[-5, -5], [0, -5], [5, -5]])


@pytest.mark.parametrize("name", ["m2", "stack"])
def test_an_analogy_is_generated_in_the_style_read_with_the_true_label(name, rng):
    model, label = make(name), [3, 0]
    x = rng.uniform(size=(2, 12)).astype(np.float32)
    got = of_model.analogies(model, x, label, max_classes=3).reshape(2, 3, 12)
    for row, column in np.ndindex(2, 3):
        style = model.styles(x[row : row + 1], tf.one_hot([label[row]], 4))
        expected = model.generate(tf.one_hot([column], 4), style)[0]
        np.testing.assert_allclose(got[row, column], expected, rtol=1e-5)
    wrong = of_model.analogies(model, x, [0, 0], max_classes=3).reshape(2, 3, 12)
    assert np.abs(got - wrong)[0].max() > 1e-4


def test_styles_have_the_size_of_the_models_style():
    assert of_model.prior_styles(make("m2"), 7).shape == (7, 2)
    assert of_model.prior_styles(make("stack"), 7).shape == (7, 2)
    assert of_model.prior_styles(M1(12, 3, (8,)), 7).shape == (7, 3)


def test_two_dimensions_stay_and_more_keep_clusters_together(rng):
    flat = rng.normal(size=(6, 2))
    np.testing.assert_array_equal(of_model.planar(flat), flat)
    label = np.arange(60) % 3
    latents = (5.0 * np.eye(3)[label] + 0.1 * rng.normal(size=(60, 3))).astype(np.float32)
    points = of_model.planar(latents)
    distance = np.linalg.norm(points[:, None] - points, axis=-1) + 1e9 * np.eye(60)
    np.testing.assert_array_equal(label[distance.argmin(axis=1)], label)
    np.testing.assert_array_equal(points, of_model.planar(latents))
