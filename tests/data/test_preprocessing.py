"""Preprocessing: values, inverse, densities, borders, round trip."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

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


@pytest.fixture
def table(rng):
    """[200, 4]: real, 0 or 1, always 1, real."""
    flags = rng.integers(0, 2, 200)
    numbers = rng.normal([5, -3], [2, 0.1], size=(200, 2))
    return np.column_stack([numbers[:, 0], flags, np.ones(200), numbers[:, 1]])


def test_columns_of_0_and_1_stay_and_the_others_are_standardised(table):
    preprocessing = Preprocessing.fit(table, None, "columns")
    seen = preprocessing(table).numpy()
    assert preprocessing.binary_columns == (1,)
    np.testing.assert_array_equal(seen[:, 1], table[:, 1])
    np.testing.assert_allclose(seen[:, [0, 2, 3]].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(seen[:, [0, 2, 3]].std(axis=0), [1, 0, 1], atol=1e-5)
    np.testing.assert_allclose(preprocessing.inverse(seen), table, rtol=1e-4)


def test_a_value_that_training_did_not_meet_is_the_nearer_of_0_and_1(table):
    preprocessing = Preprocessing.fit(table, None, "columns")
    new = np.array([[5.0, 3.0, 0.0, -3.0], [50.0, -1.0, 1.0, -3.0], [5.0, 0.25, 1.0, -3.0]])
    preprocessing.check(new, "new rows")
    seen = preprocessing(new).numpy()
    np.testing.assert_array_equal(seen[:, 1], [1.0, 0.0, 0.25])
    np.testing.assert_allclose(seen[0, 2], -1.0)
    assert seen[1, 0] > 10
    with pytest.raises(InputError, match="must be finite"):
        preprocessing.check(np.full((1, 4), np.nan), "new rows")


def test_columns_round_trip_and_are_no_images(table, tmp_path):
    preprocessing = Preprocessing.fit(table, None, "columns")
    np.savez(tmp_path / "p.npz", **preprocessing.arrays())
    with np.load(tmp_path / "p.npz") as arrays:
        again = Preprocessing.from_arrays(arrays)
    assert again.binary_columns == (1,)
    np.testing.assert_array_equal(again(2 * table), preprocessing(2 * table))
    with pytest.raises(InputError, match=r"not for images or counts\. Received: levels=255"):
        Preprocessing.fit(np.zeros((3, 4, 4), np.uint8), 255, "columns")


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
        ("gaussian", None, [[1e39, 0.0]], "not too large for float32"),
        ("gaussian", None, [[1.0, 2.0, 3.0]], r"must have the shape \[N, 2\]"),
        ("gaussian", None, [["a", "b"]], "must be numbers"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(likelihood, levels, x, message):
    preprocessing = Preprocessing.fit(np.zeros((3, 2), np.float32), levels, likelihood)
    with pytest.raises(InputError, match=message):
        preprocessing.check(np.array(x), "here")


def test_a_spread_far_from_zero_survives(rng):
    """Times in seconds: float32 would round them to minutes."""
    x = 1.7e9 + rng.normal(size=(200, 2))
    preprocessing = Preprocessing.fit(x, None, "gaussian")
    expected = (x - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(preprocessing(x), expected, atol=1e-5)
    whole = np.round(100 * x).astype(np.int64)
    np.testing.assert_allclose(
        Preprocessing.fit(whole, None, "gaussian")(whole), expected, atol=2e-2
    )


def test_a_constant_feature_stays_constant():
    x = np.full((1000, 1), 0.1)  # its mean is rounded, so its deviation is not 0
    assert x.std() > 0
    np.testing.assert_allclose(Preprocessing.fit(x, None, "gaussian")(x), 0, atol=1e-6)


@pytest.mark.parametrize("channels", [(), (3,)])
def test_downsampling_averages_blocks(channels, rng):
    x = rng.integers(0, 256, size=(5, 6, 4, *channels)).astype(np.uint8)
    preprocessing = Preprocessing.fit(x, 255, "bernoulli", downsample=2)
    expected = np.zeros((5, 3, 2, *channels))
    for row in range(3):
        for column in range(2):
            block = x[:, 2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
            expected[:, row, column] = block.mean(axis=(1, 2))
    seen = preprocessing(x)
    assert preprocessing.image_shape == (3, 2, *channels)
    assert preprocessing.dim == expected[0].size
    np.testing.assert_allclose(seen, expected.reshape(5, -1) / 255, rtol=1e-5)
    np.testing.assert_allclose(preprocessing.inverse(seen), expected, rtol=1e-5)


def images(rng, count=300, shape=(4, 4, 3)):
    """uint8 images with correlated pixels."""
    dim = int(np.prod(shape))
    mix = rng.normal(size=(dim, dim)) * np.geomspace(20, 2, dim)[:, np.newaxis]
    x = 128 + rng.normal(size=(count, dim)) @ mix / 3
    return np.clip(np.round(x), 0, 255).astype(np.uint8).reshape(count, *shape)


def test_whitened_images(rng):
    x = images(rng)
    preprocessing = Preprocessing.fit(x, 255, "gaussian", components=48)
    seen = preprocessing(x).numpy()
    np.testing.assert_allclose(np.cov(seen.T, ddof=0), np.eye(48), atol=1e-3)
    np.testing.assert_allclose(preprocessing.inverse(seen), x, atol=1e-2)
    assert preprocessing.image_shape == (4, 4, 3)


def test_chunks_do_not_matter(rng, monkeypatch):
    x = images(rng)
    whole = Preprocessing.fit(x, 255, "gaussian", components=5)
    monkeypatch.setattr("tfssl.data.on_disk.CHUNK", 7)
    parts = Preprocessing.fit(x, 255, "gaussian", components=5)
    np.testing.assert_allclose(np.abs(parts(x)), np.abs(whole(x)), rtol=1e-3, atol=1e-4)


def test_log_det_changes_the_variables_of_a_gaussian(rng):
    """With the training covariance C, log N(x; mean, C) = log N(whitened x; 0, I) + log_det."""
    x = images(rng, shape=(4, 4), count=400)
    pixels = x.reshape(400, 16) / 255
    averages = x.reshape(400, 2, 2, 2, 2).mean(axis=(2, 4)).reshape(400, 4) / 255
    for intensities, downsample in ((pixels, 1), (averages, 2)):
        dim = intensities.shape[1]
        preprocessing = Preprocessing.fit(x, 255, "gaussian", dim, downsample)
        density = stats.multivariate_normal(intensities.mean(axis=0), np.cov(intensities.T, ddof=0))
        log_p = stats.norm.logpdf(preprocessing(x)).sum(axis=1) + preprocessing.log_det
        np.testing.assert_allclose(log_p, density.logpdf(intensities), rtol=1e-3)


def test_log_det_of_the_kept_subspace(rng):
    """Standardised features in two directions only: the density over the plane they span."""
    x = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 5)) * [1, 20, 300, 4, 0.1] + 7
    preprocessing = Preprocessing.fit(x, None, "gaussian", components=2)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    covariance = np.cov(scaled.T, ddof=0)
    density = stats.multivariate_normal(np.zeros(5), covariance, allow_singular=True)
    log_p = stats.norm.logpdf(preprocessing(x)).sum(axis=1) + preprocessing.log_det
    np.testing.assert_allclose(log_p, density.logpdf(scaled), rtol=1e-3)
    np.testing.assert_allclose(preprocessing.inverse(preprocessing(x)), x, rtol=1e-3, atol=1e-3)


def test_without_whitening_there_is_no_change_of_variables(rng):
    assert Preprocessing.fit(rng.normal(size=(9, 2)), None, "gaussian").log_det == 0.0


@pytest.mark.parametrize(("whitening", "downsample"), [(5, 2), (0.9, 1), (None, 2)])
def test_whitening_and_downsampling_are_saved(whitening, downsample, tmp_path, rng):
    x = images(rng)
    preprocessing = Preprocessing.fit(x, 255, "gaussian", whitening, downsample)
    np.savez(tmp_path / "p.npz", **preprocessing.arrays())
    with np.load(tmp_path / "p.npz") as arrays:
        again = Preprocessing.from_arrays(arrays)
    seen = preprocessing(x)
    np.testing.assert_array_equal(again(x), seen)
    np.testing.assert_array_equal(again.inverse(seen), preprocessing.inverse(seen))
    assert (again.log_det, again.dim) == (preprocessing.log_det, preprocessing.dim)


def test_files_from_before_whitening_load(rng):
    x = rng.normal(size=(9, 2)).astype(np.float32)
    preprocessing = Preprocessing.fit(x, None, "gaussian")
    names = ("shape", "shift", "scale", "levels", "likelihood")
    old = {name: preprocessing.arrays()[name] for name in names}
    np.testing.assert_array_equal(Preprocessing.from_arrays(old)(x), preprocessing(x))


def test_graphs_give_what_arrays_give(rng):
    x = images(rng)
    preprocessing = Preprocessing.fit(x, 255, "gaussian", 5, 2)
    expected = preprocessing(x)
    graph = tf.function(preprocessing.__call__, input_signature=[tf.TensorSpec([None, 4, 4, 3])])
    np.testing.assert_allclose(graph(x.astype(np.float32)), expected, rtol=1e-4, atol=1e-5)
    batches = tf.data.Dataset.from_tensor_slices(x).batch(100).map(preprocessing)
    assert batches.element_spec.shape.as_list() == [None, 5]
    np.testing.assert_allclose(
        np.concatenate(list(batches.as_numpy_iterator())), expected, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("shape", "likelihood", "options", "message"),
    [
        ((4, 4), "bernoulli", {"components": 3}, 'whitening needs likelihood = "gaussian"'),
        ((4, 4), "gaussian", {"components": 17}, "components=17, directions=16"),
        ((4, 4), "binomial", {"downsample": 2}, "averages, not counts"),
        ((4, 6), "gaussian", {"downsample": 4}, r"must divide.*downsample=4, shape=\(4, 6\)"),
        ((16,), "gaussian", {"downsample": 2}, r"must divide.*shape=\(16,\)"),
    ],
)
def test_what_cannot_be_done_is_refused(shape, likelihood, options, message, rng):
    x = rng.integers(0, 256, size=(50, *shape)).astype(np.uint8)
    with pytest.raises(InputError, match=message):
        Preprocessing.fit(x, 255, likelihood, **options)
