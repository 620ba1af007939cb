"""The convolutional network: images of any size, and nothing but images."""

import numpy as np
import pytest

from tfssl.classifiers.cnn import ConvolutionalClassifier
from tfssl.errors import InputError


def halves(rng, shape):
    """[200, *shape] images whose class is which half is bright; 40 have a label."""
    label = np.arange(200) % 2
    x = rng.integers(0, 100, (200, *shape), np.uint8)
    half = shape[1] // 2
    x[label == 0, :, :half] += 100
    x[label == 1, :, half:] += 100
    return x, label, np.where(np.arange(200) < 40, label, -1)


@pytest.mark.parametrize("shape", [(7, 9, 3), (13, 6), (1, 2)])
def test_images_of_any_size_grey_or_colour(rng, shape):
    x, label, y = halves(rng, shape)
    classifier = ConvolutionalClassifier(steps=100, random_state=1).fit(x, y)
    assert np.mean(classifier.predict(x[100:]) != label[100:]) < 0.1
    probabilities = classifier.predict_proba(x[100:103])
    assert probabilities.shape == (3, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-5)


def test_images_without_a_label_are_left_out(rng):
    x, _, y = halves(rng, (4, 4))
    found = [
        ConvolutionalClassifier(steps=5).fit(images, labels).predict_proba(x)
        for images, labels in ((x, y), (x[y != -1], y[y != -1]))
    ]
    np.testing.assert_array_equal(*found)


def test_images_of_one_colour_stay_finite():
    x = np.full((4, 3, 3), 7, np.uint8)
    classifier = ConvolutionalClassifier(steps=2).fit(x, [0, 1, 0, 1])
    np.testing.assert_allclose(classifier.predict_proba(x), 0.5, atol=0.2)


def test_features_are_refused(rng):
    with pytest.raises(InputError, match=r"the CNN needs images.*shape=\(20, 4\)"):
        ConvolutionalClassifier().fit(rng.normal(size=(20, 4)), np.arange(20) % 2)
