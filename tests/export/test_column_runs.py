"""Runs whose likelihood is that of columns: measured, exported and converted as all others."""

import hashlib
import json

import numpy as np
import pytest

from tfssl.devices import conversion
from tfssl.devices.ondevice import DeviceModel
from tfssl.export import check, saved_model
from tfssl.export.functions import functions
from tfssl.export.versions import Version
from tfssl.runs.evaluation import estimate_likelihood
from tfssl.runs.opened import experiment_of
from tfssl.runs.trained import TrainedRun
from tfssl.settings import load_settings
from tfssl.training.run import train

SMALL = (
    "likelihood=columns",
    "data.num_test=40",
    "m1.epochs=4",
    "m2.epochs=12",
    "m1.hidden_units=[8]",
    "m2.hidden_units=[8]",
    "m1.latent_dim=3",
    "m2.latent_dim=2",
    "m2.supervised_steps=10",
    "m2.active_threshold=0.001",
    "m2.class_prior=learned",
)


@pytest.fixture(scope="module", params=["m1", "m2", "m1m2"])
def run(request, made_once):
    def write(folder):
        rng = np.random.default_rng(0)
        y = np.arange(200) % 2
        flags = rng.random((200, 3)) < 0.2 + 0.5 * y[:, np.newaxis]
        x = np.column_stack([rng.normal(4 * y, 1.0), flags, rng.normal(50, 9, 200)])
        np.savez(folder / "mixed.npz", x=x, y=y)

    data = made_once(["mixed columns"], write) / "mixed.npz"
    overrides = [*SMALL, f"data.name={data}", f"model={request.param}"]

    def make(folder):
        train(load_settings(None, overrides), folder / "run")

    return TrainedRun(made_once(["columns", request.param], make) / "run")


def test_a_run_knows_its_columns(run):
    assert run.preprocessing.binary_columns == (1, 2, 3)
    of_x = getattr(run.model, "m1", run.model)
    assert of_x.binary_columns == (1, 2, 3)
    assert of_x.likelihood == "columns"


def test_a_learned_prior_is_kept_with_the_run(run):
    if run.model.has_classes:
        m2 = getattr(run.model, "m2", run.model)
        shares = m2.learned_prior.shares.numpy()
        np.testing.assert_allclose(shares.sum(), 1.0, rtol=1e-5)
        assert np.abs(shares - 0.5).max() > 1e-4
        expected = np.log(0.5 * shares + 0.25)
        np.testing.assert_allclose(m2.log_prior_y(np.arange(2)), expected, rtol=1e-5)


def test_its_log_likelihood_can_be_estimated(run):
    experiment = experiment_of(run)
    found = estimate_likelihood(experiment, run.model, "test", 20, 5)
    assert np.isfinite(found["log_likelihood"])
    assert found["bound"] <= found["log_likelihood"]


def test_what_it_generates_is_a_row_in_its_own_units(run):
    model = run.settings.model
    given = {"noise": np.zeros((2, {"m1": 3, "m2": 2, "m1m2": 5}[model]), np.float32)}
    given |= {} if model == "m1" else {"y": np.array([1, 0])}
    x = functions(run)["generate"].call(**given)["x"].numpy()
    assert x.shape == (2, 5)
    assert np.all((x[:, 1:4] > 0) & (x[:, 1:4] < 1))
    assert np.all(np.abs(x[:, 4] - 50) < 30)


def test_its_export_agrees_in_the_cpp_loader(run, tmp_path):
    saved_model.export(run.folder.path, tmp_path, "mixed")
    comparisons = check.check_version(Version.open(tmp_path / "mixed"))
    assert {"classify", "log_likelihood"} <= {c.signature for c in comparisons}
    assert max(c.deviation for c in comparisons) <= 1e-5


def test_its_device_file_agrees(run, tmp_path):
    function = conversion.device_functions(run)["decode"]
    content = conversion.convert(function, "f32")
    (tmp_path / "f.tflite").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    about = {"function": "decode", "batch": None, "sha256": digest}
    (tmp_path / "metadata.json").write_text(json.dumps({"files": {"f.tflite": about}}))
    given = {"z": np.ones((1, 3 if run.settings.model == "m1" else 2), np.float32)}
    given |= {} if run.settings.model == "m1" else {"y": np.array([1], np.int32)}
    found = DeviceModel(tmp_path / "f.tflite")(**given)["x"]
    np.testing.assert_allclose(found, function.call(**given)["x"], rtol=1e-4, atol=1e-4)
