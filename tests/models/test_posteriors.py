"""q(z|x,y): what its scale depends on, and that it is saved whole."""

import keras
import numpy as np
import pytest

from tfssl.models.posteriors import make_posterior


def posterior(scale_of):
    return make_posterior(scale_of, 2, 3, (4,), (1, 2), "float32")


@pytest.mark.parametrize("scale_of", ["x", "xy"])
def test_the_mean_is_of_x_and_y_and_the_scale_of_what_it_says(scale_of, rng):
    layer = posterior(scale_of)
    features, others = rng.normal(size=(2, 5, 4)).astype(np.float32)
    x, other_x = rng.normal(size=(2, 5, 3)).astype(np.float32)
    given, of_others, of_other_x = (
        layer.given(*inputs).distribution
        for inputs in ((features, x), (others, x), (features, other_x))
    )
    assert np.abs(given.loc - of_others.loc).min() > 1e-4
    np.testing.assert_array_equal(given.loc, of_other_x.loc)
    changing, same = (of_others, of_other_x) if scale_of == "xy" else (of_other_x, of_others)
    assert np.abs(given.scale - changing.scale).min() > 1e-6
    np.testing.assert_array_equal(given.scale, same.scale)


@pytest.mark.parametrize("scale_of", ["x", "xy"])
def test_it_is_built_again_from_its_settings(scale_of, rng):
    layer = posterior(scale_of)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    features, x = rng.normal(size=(5, 4)), rng.normal(size=(5, 3))
    features, x = features.astype(np.float32), x.astype(np.float32)
    for got, want in zip(again.get_weights(), layer.get_weights(), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(again.given(features, x).mean(), layer.given(features, x).mean())
