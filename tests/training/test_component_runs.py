"""Whitened, downsampled colour images: trained, given back, resumed, reused."""

import dataclasses
import shutil

import numpy as np
import pytest

from tfssl.data.experiment import Experiment
from tfssl.data.preprocessing import Preprocessing
from tfssl.data.source import Source
from tfssl.errors import InputError
from tfssl.pictures import of_model
from tfssl.runs.evaluation import estimate_likelihood, evaluate_experiment
from tfssl.runs.folder import RunFolder
from tfssl.runs.opened import experiment_of
from tfssl.settings import load_settings
from tfssl.training.build import waiting
from tfssl.training.run import train

SMALL = [
    "model=m1m2",
    "likelihood=gaussian",
    "data.num_labelled=20",
    "data.num_validation=20",
    "data.num_test=20",
    "data.downsample=2",
    "data.whitening=6",
    "m1.latent_dim=5",
    "m1.hidden_units=[20]",
    "m1.epochs=2",
    "m2.latent_dim=2",
    "m2.hidden_units=[20]",
    "m2.epochs=2",
    "m2.active_threshold=0",  # M1 has hardly begun to use any
]


def small(*overrides):
    return load_settings(None, [*SMALL, *overrides])


@pytest.fixture(scope="module")
def source():
    """8x8 images, blue ones and red ones."""
    rng = np.random.default_rng(0)
    label = np.arange(200) % 2
    x = 120 + 5 * rng.normal(size=(200, 1, 1, 3)) + 10 * rng.normal(size=(200, 8, 8, 3))
    x += np.array([60, 0, -60]) * (2 * label - 1)[:, np.newaxis, np.newaxis, np.newaxis]
    x = np.clip(np.round(x), 0, 255).astype(np.uint8)
    return Source("colours", x, label, x[:0], label[:0], ("blue", "red"), levels=255)


@pytest.fixture(scope="module")
def run(source, tmp_path_factory):
    return train(small(), tmp_path_factory.mktemp("whitened") / "run", source=source)


def block_means(x):
    """[N, 8, 8, 3] -> [N, 4, 4, 3]."""
    return x.reshape(-1, 4, 2, 4, 2, 3).mean(axis=(2, 4))


def test_a_stack_predicts_and_gives_pixels_back(run, source):
    assert run.model.m1.input_dim == run.preprocessing.dim == 6
    with np.load(run.folder / "split.npz") as rows:
        test = rows["test"]
    wrong = run.probabilities(source.x[test]).argmax(axis=1) != source.label[test]
    assert wrong.mean() == run.folder.read_json("metrics.json")["test"]["error"]
    # By hand: x = mean + V (s * what the model sees), in [0, 1].
    generated = of_model.reconstructions(run.model, run.preprocessing(source.x))
    components = run.preprocessing.components
    pixels = components.mean + (generated * components.deviations) @ components.axes.T
    pictures = run.preprocessing.intensities(generated)
    assert pictures.shape == (200, 4, 4, 3)
    np.testing.assert_allclose(pictures.reshape(200, 48), pixels, atol=1e-5)
    assert (run.folder / "tensorboard" / "sprite.png").exists()


def test_the_whitening_knows_the_training_points_only(run, source):
    with np.load(run.folder / "split.npz") as rows:
        training_rows = np.concatenate([rows["labelled"], rows["unlabelled"]])
    assert len(training_rows) == 160
    seen = run.preprocessing(source.x[training_rows]).numpy()
    np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(np.cov(seen.T, ddof=0), np.eye(seen.shape[1]), atol=1e-3)


def test_inputs_are_whitened_once_and_other_images_stay_compact(run, source):
    whitened = waiting(Experiment.prepare(run.settings, source, run.preprocessing))
    assert whitened.transform is None
    stored = whitened.store(source.x)
    assert stored.dtype == np.float32
    np.testing.assert_allclose(stored, run.preprocessing(source.x), atol=1e-5)
    experiment = Experiment.prepare(load_settings())
    plain, digits = waiting(experiment), experiment.source.x
    assert plain.store(digits) is digits
    np.testing.assert_array_equal(plain.transform(digits), digits.reshape(-1, 64) / np.float32(16))


def test_a_resumed_run_keeps_its_whitening(run, source, tmp_path, monkeypatch):
    """Fitted again on another machine, the axes could point the other way."""
    shutil.copytree(run.folder.path, tmp_path / "cut")
    RunFolder(tmp_path / "cut").write_status("running", run.settings.seed)
    monkeypatch.delattr(Preprocessing, "fit")
    resumed = train(run.settings, tmp_path / "cut", resume=True, source=source)
    for a, b in zip(run.model.get_weights(), resumed.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(resumed.preprocessing(source.x), run.preprocessing(source.x))


def test_a_run_is_evaluated_with_its_own_whitening(run, source, monkeypatch):
    monkeypatch.delattr(Preprocessing, "fit")
    monkeypatch.setattr("tfssl.data.experiment.source_of", lambda _: source)
    experiment = experiment_of(run)
    measured = evaluate_experiment(experiment, run.model, run.classifier)
    assert measured["test"] == run.folder.read_json("metrics.json")["test"]


def test_the_likelihood_is_that_of_the_inputs(source, tmp_path):
    """One sample's bound is the loss that training reports, but for the noise of that sample."""
    settings = small("model=m2", "m2.epochs=20", "data.num_test=100")
    run = train(settings, tmp_path / "run", source=source)
    experiment = Experiment.prepare(run.settings, source, run.preprocessing)
    found = estimate_likelihood(experiment, run.model, "test", 100, 200)
    loss = run.folder.read_json("metrics.json")["test"]["bounds"]["unlabelled_loss"]
    assert abs(run.preprocessing.log_det) > 3
    np.testing.assert_allclose(found["bound"], -loss, atol=0.5)
    assert found["log_likelihood"] > found["bound"]


def test_a_reused_m1_brings_its_whitening(run, source, tmp_path):
    other = ["data.split_seed=1", "data.validation_seed=0", f'm1.run="{run.folder.path}"']
    stack = train(small(*other), tmp_path / "stack", source=source)
    np.testing.assert_array_equal(stack.preprocessing(source.x), run.preprocessing(source.x))
    with pytest.raises(InputError, match=r"must see its inputs as.*'whitening': 6.*'whitening': 5"):
        train(small(*other, "data.whitening=5"), tmp_path / "no", source=source)
    assert not (tmp_path / "no").exists()


def test_an_m1_that_has_seen_held_out_points_is_refused(run, source, tmp_path):
    other = ["data.split_seed=1", f'm1.run="{run.folder.path}"']
    with pytest.raises(InputError, match=r"not have learned from .* test points.*validation_s"):
        train(small(*other), tmp_path / "no", source=source)
    # The test points of a data set that has its own are in no training set.
    own_test = dataclasses.replace(source, x_test=source.x[:20], label_test=source.label[:20])
    settings = small(*other, "data.num_validation=0")
    assert train(settings, tmp_path / "run", source=own_test).model.m1.input_dim == 6


def test_m2_learns_the_colours(source, tmp_path):
    run = train(small("model=m2", "m2.epochs=20"), tmp_path / "run", source=source)
    predicted = run.probabilities(source.x).argmax(axis=1)
    assert np.mean(predicted == source.label) > 0.9
    generated = of_model.reconstructions(run.model, run.preprocessing(source.x))
    colours = run.preprocessing.intensities(generated).mean(axis=(1, 2))
    expected = block_means(source.x).mean(axis=(1, 2)) / 255
    assert np.mean((colours - expected) ** 2) < 0.3 * expected.var(axis=0).mean()


def test_images_of_floats_are_drawn_too(source, tmp_path):
    x = source.x / 255
    floats = dataclasses.replace(source, x=x, x_test=x[:0], levels=None)
    settings = small("model=m1", "m1.epochs=1", "m1.classifier=svm", "data.whitening=40")
    run = train(settings, tmp_path / "run", source=floats)
    images = run.preprocessing.intensities(run.preprocessing(x))
    averages = block_means(x)
    assert np.mean((images - averages) ** 2) < 0.05 * averages.var(axis=0).mean()
