"""Preprocessing: values, inverse, borders, round trip."""

import numpy as np
import pytest

from tfssl.data.preprocessing import Preprocessing
from tfssl.errors import InputError


def test_images_become_flat_intensities(rng):
    x = rng.integers(0, 256, size=(5, 4, 3)).astype(np.uint8)
    preprocessing = Preprocessing.fit(x, 255, "bernoulli")
    np.testing.assert_allclose(preprocessing(x), x.reshape(5, 12) / 255, rtol=1e-6)
    np.testing.assert_allclose(preprocessing.inverse(preprocessing(x)), x, rtol=1e-5)


def test_features_are_standardised_for_a_gaussian(rng):
    x = rng.normal([5, -3, 0], [2, 0.1, 30], size=(2000, 3)).astype(np.float32)
    x = np.concatenate([x, np.full((2000, 1), 7, np.float32)], axis=1)
    preprocessing = Preprocessing.fit(x, None, "gaussian")
    seen = preprocessing(x).numpy()
    np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(seen.std(axis=0), [1, 1, 1, 0], atol=1e-3)
    np.testing.assert_allclose(preprocessing.inverse(seen), x, rtol=1e-4, atol=1e-3)


def test_arrays_round_trip(tmp_path, rng):
    x = rng.normal(size=(10, 4)).astype(np.float32)
    preprocessing = Preprocessing.fit(x, None, "gaussian")
    np.savez(tmp_path / "p.npz", **preprocessing.arrays())
    with np.load(tmp_path / "p.npz") as arrays:
        again = Preprocessing.from_arrays(arrays)
    np.testing.assert_array_equal(again(x), preprocessing(x))
    assert (again.shape, again.levels, again.likelihood) == ((4,), None, "gaussian")


@pytest.mark.parametrize(
    ("likelihood", "levels", "x", "message"),
    [
        ("bernoulli", None, [[0.5, 1.5]], r"must lie in \[0, 1\].*largest=1.5"),
        ("bernoulli", None, [[-0.1, 0.5]], r"must lie in \[0, 1\].*smallest=-0.1"),
        ("binomial", 16, [[17.0, 0.0]], r"must lie in \[0, 16\]"),
        ("binomial", 16, [[1.5, 0.0]], "must be whole numbers"),
        ("gaussian", None, [[np.nan, 0.0]], "must be finite"),
        ("gaussian", None, [[1.0, 2.0, 3.0]], r"must have the shape \[N, 2\]"),
        ("gaussian", None, [["a", "b"]], "must be numbers"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(likelihood, levels, x, message):
    preprocessing = Preprocessing.fit(np.zeros((3, 2), np.float32), levels, likelihood)
    with pytest.raises(InputError, match=message):
        preprocessing.check(np.array(x), "here")
