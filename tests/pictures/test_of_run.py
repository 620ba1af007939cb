"""The pictures of real, tiny runs: which there are, what is in them, and what is refused."""

import json

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from tfssl.data.experiment import Experiment
from tfssl.errors import InputError
from tfssl.pictures import drawing, of_run
from tfssl.runs import opened
from tfssl.settings import load_settings
from tfssl.training.run import train

SMALL = [
    "m1.epochs=1",
    "m2.epochs=1",
    "m1.hidden_units=[10]",
    "m2.hidden_units=[10]",
    "m1.latent_dim=2",
    "m2.latent_dim=2",
    "m2.supervised_steps=2",
    "m1.classifier=svm",
]
OTHERS = ["samples", "reconstructions", "latent_map", "learning_curves"]


def train_small(folder, *overrides):
    return train(load_settings(None, [*SMALL, *overrides]), folder)


@pytest.fixture(scope="module")
def m1(tmp_path_factory):
    return train_small(tmp_path_factory.mktemp("runs") / "m1", "model=m1")


@pytest.fixture(scope="module")
def m2(tmp_path_factory):
    return train_small(tmp_path_factory.mktemp("runs") / "m2", "model=m2")


@pytest.fixture(scope="module")
def colour_stack(tmp_path_factory):
    """The stack on 90 colour images of 7 x 5 pixels and 3 classes."""
    folder, rng = tmp_path_factory.mktemp("colour"), np.random.default_rng(0)
    label = np.arange(90) % 3
    x = rng.integers(0, 100, (90, 7, 5, 3)) + 150 * np.eye(3, dtype=int)[label][:, None, None]
    np.savez(folder / "data.npz", x=x.astype(np.uint8), y=label, class_names=["r", "g/1", "b"])
    data = [f"data.name={folder / 'data.npz'}", "data.num_labelled=9", "data.num_test=30"]
    latents = ["m1.latent_dim=4", "m2.latent_dim=3", "m2.active_threshold=0"]
    return train_small(folder / "run", "model=m1m2", "likelihood=bernoulli", *data, *latents)


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """M2 on data that are not images, without test points."""
    folder, rng = tmp_path_factory.mktemp("features"), np.random.default_rng(0)
    np.savez(folder / "data.npz", x=rng.normal(size=(40, 2, 3)), y=np.arange(40) % 2)
    data = [f"data.name={folder / 'data.npz'}", "data.num_labelled=10", "data.num_test=0"]
    return train_small(folder / "run", "model=m2", "likelihood=gaussian", *data)


def pixels(images):
    """[..., height, width, channels] in [0, 1] as a PNG holds them."""
    return np.asarray(drawing.magnified(np.asarray(images)[np.newaxis, np.newaxis])[0, 0])


def read(path):
    with Image.open(path) as picture:
        return np.asarray(picture)


def written(folder):
    names = sorted(path.stem for path in folder.iterdir())
    for path in folder.iterdir():
        assert path.suffix == ".png"
        assert path.stat().st_size < 300_000
        assert min(read(path).shape[:2]) > 50
    return names


def test_m1_of_two_dimensions(m1, tmp_path, grid_tile, call):
    code, output, error = call("figures", m1.folder.path, "--to", tmp_path / "new" / "folder")
    assert code == 0, error
    folder = tmp_path / "new" / "folder"
    assert written(folder) == sorted([*OTHERS, "style_grid"])
    assert "skipped analogies: M1 does not know classes" in output
    assert output.count("wrote") == 5
    corners = {(0, 0): (-5, 5), (0, 14): (5, 5), (14, 0): (-5, -5), (7, 7): (0, 0)}
    for (row, column), z in corners.items():
        image = m1.model.generate(tf.constant([z], tf.float32)).numpy().reshape(8, 8)
        got = grid_tile(read(folder / "style_grid.png"), (15, 15, 56, 56), row, column)
        np.testing.assert_array_equal(got, pixels(image[..., np.newaxis])[..., 0])


def test_m2_of_two_dimensions(m2, grid_tile, call):
    folder = m2.folder / "figures"
    code, output, error = call("figures", m2.folder.path, "--indices", "3, 0,499")
    assert code == 0, error
    grids = [f"style_grid_{k}" for k in range(10)]
    assert written(folder) == sorted([*OTHERS, "analogies", *grids])
    assert "skipped" not in output

    for k in (2, 9):
        image = m2.model.generate(tf.one_hot([k], 10), tf.constant([[-5.0, 5.0]]))
        got = grid_tile(read(folder / f"style_grid_{k}.png"), (15, 15, 56, 56), 0, 0)
        np.testing.assert_array_equal(got, pixels(image.numpy().reshape(8, 8, 1))[..., 0])

    parts = Experiment.prepare(m2.settings).split
    picture = read(folder / "analogies.png")
    for row, index in enumerate((3, 0, 499)):
        image = parts.x_test[index] / 16
        got = grid_tile(picture, (3, 11, 56, 56), row, 0)
        np.testing.assert_array_equal(got, pixels(image[..., np.newaxis])[..., 0])
        true = tf.one_hot([parts.label_test[index]], 10)
        style = m2.model.encode(image.reshape(1, 64).astype(np.float32), true).distribution.loc
        for k in range(10):
            image = m2.model.generate(tf.one_hot([k], 10), style).numpy().reshape(8, 8, 1)
            got = grid_tile(picture, (3, 11, 56, 56), row, 1 + k).astype(int)
            assert np.abs(got - pixels(image)[..., 0]).max() <= 1  # of the rounding


def test_the_stack_on_colour_images(colour_stack, tmp_path, grid_tile, call):
    code, output, error = call("figures", colour_stack.folder.path, "--to", tmp_path)
    assert code == 0, error
    assert written(tmp_path) == sorted([*OTHERS, "analogies"])
    assert "skipped style_grid: it takes a latent space of 2 dimensions, and this one has 3" in (
        output
    )
    parts = Experiment.prepare(colour_stack.settings).split
    picture = read(tmp_path / "analogies.png")
    shape = (3, 4, 56, 40)
    for k in range(3):  # one test image per class
        image = grid_tile(picture, shape, k, 0)
        matches = [np.array_equal(pixels(x / 255), image) for x in parts.x_test]
        assert parts.label_test[matches.index(True)] == k


def test_data_that_are_not_images(features, tmp_path, call):
    code, output, error = call("figures", features.folder.path, "--to", tmp_path)
    assert code == 0, error
    assert written(tmp_path) == ["learning_curves"]
    for name in ("style_grid", "analogies", "samples", "reconstructions"):
        assert f"skipped {name}: the data are not images" in output
    assert "skipped latent_map: there are 0 test points, and it takes 5" in output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--indices", "3,500"], "from 0 to 499"),
        (["--indices", "3,x"], "must be numbers with commas"),
        (["--indices", "-1"], "must be numbers with commas"),
        (["--indices", ""], "must be numbers with commas"),
        (["--indices", ",".join(["1"] * 51)], "1 to 50 numbers"),
    ],
)
def test_bad_indices_exit_with_2(options, message, m1, tmp_path, call):
    code, output, error = call("figures", m1.folder.path, "--to", tmp_path / "new", *options)
    assert (code, message in output + error) == (2, True), output + error
    assert not (tmp_path / "new").exists()


def test_a_run_must_be_finished_and_the_folder_writable(m1, tmp_path, call):
    (tmp_path / "file").write_text("mine")
    code, _, error = call("figures", m1.folder.path, "--to", tmp_path / "file")
    assert (code, "cannot create" in error) == (2, True)
    assert (tmp_path / "file").read_text() == "mine"
    record = m1.folder.read_json("run.json")
    try:
        (m1.folder / "run.json").write_text(json.dumps({**record, "status": "running"}))
        code, _, error = call("figures", m1.folder.path, "--to", tmp_path / "new")
    finally:
        (m1.folder / "run.json").write_text(json.dumps(record))
    assert (code, "must be finished" in error) == (2, True)
    code, _, error = call("figures", tmp_path / "nowhere")
    assert (code, "must be a run folder" in error) == (2, True)


def test_other_data_are_refused(features, monkeypatch):
    monkeypatch.setattr(features, "class_names", ("other", "classes"))
    monkeypatch.setattr(opened, "TrainedRun", lambda _: features)
    with pytest.raises(InputError, match="must have the classes"):
        of_run.write_figures(features.folder.path)


def test_the_rows_of_figure_1_are_for_all_test_images_only(rng):
    label = rng.integers(0, 10, 10_000)
    for (name, count), indices in of_run.INDICES.items():
        assert of_run.default_indices(name, rng.integers(0, 10, count)) == indices
        assert len(set(indices)) == of_run.MAX_ROWS
        assert max(indices) < count
    for name, labels in (("mnist", label[:500]), ("digits", label)):
        chosen = of_run.default_indices(name, labels)
        assert [labels[i] for i in chosen] == list(range(10))
    assert of_run.default_indices("digits", label[:0]) == []
    assert len(of_run.default_indices("many", np.arange(100))) == of_run.MAX_ROWS
