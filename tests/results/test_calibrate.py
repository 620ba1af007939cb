"""When a run is calibrated: by training or by `tfssl calibrate`, and by nothing else."""

import json
import shutil

import numpy as np
import pytest

from tfssl.runs.temperature import FILE
from tfssl.settings import load_settings
from tfssl.storage.hashes import folder_hashes
from tfssl.training.run import train


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "RUN", "x.npy", "--samples", 0],
        ["suggest", "RUN", "-n", 2],
        ["report", "RUN", "--output", "r.html", "--samples", 1, "--points", 2],
        ["export", "RUN", "--name", "tiny"],
    ],
)
def test_reading_a_run_leaves_it_as_it_is(arguments, copied_run, call, tmp_path, monkeypatch):
    """What is exported does not depend on which of these commands came before."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros((2, 6, 5, 3), np.uint8))
    before = folder_hashes(copied_run)
    code, output, error = call(*(copied_run if a == "RUN" else a for a in arguments))
    assert code == 0, error
    assert f"not calibrated: run `tfssl calibrate {copied_run}`" in output
    assert folder_hashes(copied_run) == before


@pytest.mark.parametrize(
    ("run", "on", "points", "folds"),
    [("image_run", "labelled", 12, 4), ("table_run", "validation", 20, None)],
)
def test_training_calibrates_where_that_is_quick(run, on, points, folds, request, call, tmp_path):
    """Of M1 by cross-fitting the classifier, of other models on validation points."""
    copy = shutil.copytree(request.getfixturevalue(run), tmp_path / "copy")
    stored = json.loads((copy / FILE).read_text())
    assert (stored["fitted_on"], stored["points"], stored["folds"]) == (on, points, folds)
    (copy / FILE).unlink()
    code, _, error = call("calibrate", copy)
    assert code == 0, error
    assert json.loads((copy / FILE).read_text()) == stored


def test_a_resumed_run_is_calibrated_alike(image_run, tmp_path):
    copy = shutil.copytree(image_run, tmp_path / "copy")
    stored = (copy / FILE).read_bytes()
    (copy / FILE).unlink()
    record = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(record | {"status": "running"}))
    train(load_settings(copy / "settings.json"), copy, resume=True)
    assert (copy / FILE).read_bytes() == stored


def test_what_takes_long_is_left_to_the_user(images, other_run, tmp_path, monkeypatch):
    assert not (other_run / FILE).exists()  # M2 without validation points
    monkeypatch.setattr("tfssl.runs.calibration.MOST_TO_CROSS_FIT", 10)
    options = ["m1.epochs=1", "m1.hidden_units=[10]", "m1.latent_dim=3", "m1.classifier=svm"]
    train(load_settings(None, [*images, "model=m1", *options]), tmp_path / "run")
    assert not (tmp_path / "run" / FILE).exists()


def test_validation_points_come_first(table_run, call):
    code, output, error = call("calibrate", table_run)
    assert code == 0, error
    stored = json.loads((table_run / FILE).read_text())
    assert (stored["fitted_on"], stored["points"], stored["folds"]) == ("validation", 20, None)
    assert "from 20 validation points" in " ".join(output.split())


def test_m2_is_cross_fitted_if_asked_to(table_run, call):
    code, _, error = call("calibrate", table_run, "--on", "labelled", "--folds", 2)
    assert code == 0, error
    stored = json.loads((table_run / FILE).read_text())
    assert (stored["fitted_on"], stored["points"], stored["folds"]) == ("labelled", 10, 2)


def test_validation_points_must_be_there(image_run, call):
    code, _, error = call("calibrate", image_run, "--on", "validation")
    assert (code, "must have validation points" in error) == (2, True)
