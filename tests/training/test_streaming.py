"""Training inputs that stay on disk: the same batches, and less memory than the data."""

import subprocess
import sys

import numpy as np
import pytest

from tfssl.data import batches
from tfssl.data.loading import source_of
from tfssl.data.on_disk import Rows, joined
from tfssl.data.preprocessing import Preprocessing
from tfssl.settings import load_settings
from tfssl.training.run import train

SMALL = [
    "model=m2",
    "likelihood=bernoulli",
    "data.num_labelled=20",
    "data.num_test=20",
    "m2.epochs=1",
    "m2.hidden_units=[10]",
    "m2.latent_dim=3",
    "m2.supervised_steps=2",
]


def write(folder, count, rng, side=28):
    """A folder with x.npy and y.npy: square images, the first 100 of which have a label."""
    folder.mkdir()
    np.save(folder / "x.npy", rng.integers(0, 256, size=(count, side, side), dtype=np.uint8))
    np.save(folder / "y.npy", np.where(np.arange(count) < 100, np.arange(count) % 2, -1))


def on_disk(tmp_path, array):
    np.save(tmp_path / "x.npy", array)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def test_rows_read_what_they_are_asked_for(tmp_path, rng):
    array = rng.normal(size=(20, 3)).astype(np.float32)
    numbers = rng.permutation(20)[:12]
    rows = Rows(on_disk(tmp_path, array), numbers)
    assert (len(rows), rows.shape, rows.ndim, rows.dtype) == (12, (12, 3), 2, np.float32)
    np.testing.assert_array_equal(rows, array[numbers])
    np.testing.assert_array_equal(rows[2:5], array[numbers[2:5]])
    np.testing.assert_array_equal(rows[[4, 1]], array[numbers[[4, 1]]])
    assert type(rows[2:5]) is np.ndarray
    both = joined(Rows(rows.array, [3, 1]), Rows(rows.array, [2]))
    np.testing.assert_array_equal(both, array[[3, 1, 2]])


@pytest.mark.parametrize("max_shift", [0, 1])
def test_batches_from_disk_are_those_from_memory(max_shift, tmp_path, rng):
    x = rng.integers(0, 256, size=(30, 2, 2)).astype(np.uint8)
    label = np.arange(10) % 3
    mapped = on_disk(tmp_path, x)
    sets = [
        (x[:10], x[10:]),
        (Rows(mapped, np.arange(10)), Rows(mapped, np.arange(10, 30))),
    ]
    streams = [
        batches.semi_supervised(
            (a, label), b, 3, (4, 7), seed=1, start_step=2, max_shift=max_shift
        ).take(5)
        for a, b in sets
    ]
    for one, other in zip(*streams, strict=True):
        for a, b in zip(one["labelled"], other["labelled"], strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one["unlabelled"], other["unlabelled"])
        assert one["unlabelled"].shape == other["unlabelled"].shape
    passes = [batches.evaluation(a, label, 3, batch_size=4) for a, _ in sets]
    for one, other in zip(*passes, strict=True):
        np.testing.assert_array_equal(one["unlabelled"], other["unlabelled"])


@pytest.mark.parametrize("whitening", [None, 3])
def test_preprocessing_of_rows_is_that_of_arrays(whitening, tmp_path, rng):
    x = rng.normal(3.0, 2.0, size=(5000, 4))  # more than one chunk
    rows = Rows(on_disk(tmp_path, x), np.arange(5000))
    fitted = [Preprocessing.fit(part, None, "gaussian", whitening) for part in (x, rows)]
    np.testing.assert_array_equal(fitted[0](x[:9]), fitted[1](rows[:9]))
    np.testing.assert_allclose(fitted[0].shift, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fitted[0].scale, x.std(axis=0), rtol=1e-12)


def test_a_model_trained_from_disk_is_that_trained_from_memory(tmp_path, rng):
    write(tmp_path / "data", 2000, rng)
    models = []
    for limit in (1, 1000):
        overrides = [*SMALL, f'data.name="{tmp_path / "data"}"', f"data.memory_limit_mb={limit}"]
        settings = load_settings(None, overrides)
        assert isinstance(source_of(settings.data).x, np.memmap) == (limit == 1)
        models.append(train(settings, tmp_path / f"run{limit}").model)
    for a, b in zip(models[0].get_weights(), models[1].get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


CHILD = """
import resource, sys
from pathlib import Path
import tensorflow as tf, tensorflow_probability
from tfssl.training.run import train
from tfssl.settings import load_settings
folder, headroom, *overrides = sys.argv[1:]
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
warm = load_settings(None, [*overrides, f'data.name="{folder}/small"'])
train(warm, folder + "/warm")
(line,) = [l for l in Path("/proc/self/status").read_text().splitlines() if "VmData" in l]
allowed = int(line.split()[1]) * 1024 + int(headroom)
# What a process allocates; files that it maps to read do not count.
resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
large = [*overrides, f'data.name="{folder}/large"']
for limit in (1, 1000):  # MB of data to load into memory rather than read from disk
    train(load_settings(None, [*large, f"data.memory_limit_mb={limit}"]), f"{folder}/run{limit}")
    print("trained with", limit, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_DATA counts mmap on Linux only")
def test_training_needs_less_memory_than_its_data(tmp_path, rng):
    """240 MB of images, 100 MB to train with: enough from disk, not enough in memory."""
    write(tmp_path / "small", 1300, rng, side=40)
    write(tmp_path / "large", 147_000, rng, side=40)
    assert (tmp_path / "large" / "x.npy").stat().st_size > 230e6
    # The stack of every thread counts in full, though little of it is used.
    shell = ["sh", "-c", 'ulimit -s 1024 && exec "$@"', "sh"]
    arguments = [tmp_path, 100 * 10**6, *SMALL, "m2.batch_size=500"]
    child = subprocess.run(
        [*shell, sys.executable, "-c", CHILD, *map(str, arguments)], capture_output=True, text=True
    )
    assert "trained with 1\n" in child.stdout, child.stderr[-2000:]
    assert child.returncode != 0
    assert "trained with 1000" not in child.stdout
