"""What the page loads of real, tiny runs: models that agree with Keras, and what describes them."""

import json
import shutil

import numpy as np
import pytest

from tfssl.data import loading
from tfssl.demo import bundle, default_run
from tfssl.errors import InputError
from tfssl.pictures import of_model
from tfssl.settings import load_settings
from tfssl.training.run import train


@pytest.fixture(scope="module")
def runs(run_folder, tmp_path_factory):
    """{"m1": folder, "m2": folder} of runs on the digits."""
    folders = {
        "m1": run_folder("model=m1", "m1.classifier=logistic"),
        "m2": run_folder("model=m2"),
    }
    root = tmp_path_factory.mktemp("runs")
    return {name: shutil.copytree(run, root / f"digits_{name}") for name, run in folders.items()}


def write(path, folder):
    """The bundle of a run: (run, demo.json)."""
    run = bundle.open_run(path)
    bundle.write_bundle(run, folder, report=pytest.fail)
    return run, json.loads((folder / "demo.json").read_text())


def interpreter(path):
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(model_path=str(path))
    assert list(model.get_signature_list()) == ["serving_default"]
    return model.get_signature_runner()


def test_the_models_agree_with_keras_on_a_test_image(runs, tmp_path):
    run, about = write(runs["m2"], tmp_path)
    classify, encode, decode = (
        interpreter(tmp_path / address.removeprefix("models/"))
        for address in (about["models"][name] for name in ("classify", "encode", "decode"))
    )
    sample = about["samples"][7]
    stored = np.array(sample["pixels"], np.uint8).reshape(1, 8, 8)
    x = stored.astype(np.float32) / about["image"]["levels"]

    probabilities = classify(x=x)["probabilities"]
    np.testing.assert_allclose(probabilities, run.probabilities(stored), atol=1e-5)
    label = probabilities.argmax(axis=1).astype(np.int32)
    z = encode(x=x)["loc"]
    expected = of_model.analogies(run.model, run.preprocessing(stored), label)
    pictures = [decode(y=np.array([k], np.int32), z=z)["x"] for k in range(10)]
    np.testing.assert_allclose(np.concatenate(pictures).reshape(10, 64), expected, atol=1e-5)


def test_demo_json_describes_the_run(runs, tmp_path):
    run, about = write(runs["m2"], tmp_path)
    assert about["model"] == "M2"
    assert about["data"] == "digits"
    assert about["labels"] == 50
    assert about["error"] == run.folder.read_json("metrics.json")["test"]["error"]
    assert about["classes"] == [str(digit) for digit in range(10)]
    assert about["has_classes"] is True
    assert about["image"] == {"height": 8, "width": 8, "channels": 1, "levels": 16}
    assert about["output"] == {"height": 8, "width": 8, "channels": 1}
    assert about["style_dim"] == 3
    assert np.shape(about["axes"]) == (2, 3)
    assert [sample["label"] for sample in about["samples"]] == sorted([*range(10)] * 2)
    pool = {tuple(image.ravel().tolist()) for image in loading.load_source("digits").x}
    assert all(tuple(sample["pixels"]) in pool for sample in about["samples"])


def test_m1_has_no_classes_to_decode(runs, tmp_path):
    run, about = write(runs["m1"], tmp_path)
    assert about["has_classes"] is False
    assert about["model"] == "M1+logistic regression"
    decode = interpreter(tmp_path / "decode.tflite")
    z = np.ones((1, run.model.latent_dim), np.float32)
    expected = run.model.generate(z).numpy()
    np.testing.assert_allclose(decode(z=z)["x"].reshape(1, 64), expected, atol=1e-5)


def test_a_run_whose_data_is_gone_is_shown_without_test_images(runs, tmp_path, monkeypatch):
    def gone(data):
        raise InputError(f"{data.name} is gone.")

    monkeypatch.setattr("tfssl.data.experiment.source_of", gone)
    lines = []
    bundle.write_bundle(bundle.open_run(runs["m2"]), tmp_path, lines.append)
    assert json.loads((tmp_path / "demo.json").read_text())["samples"] == []
    assert lines == ["no test images on the page: digits is gone."]


def test_a_folder_that_cannot_be_written_is_an_input_error(runs, tmp_path):
    with pytest.raises(InputError, match=r"cannot write the models to .*No such file"):
        bundle.write_bundle(bundle.open_run(runs["m2"]), tmp_path / "none")


def test_only_images_have_a_page(tmp_path, rng):
    x = rng.normal(size=(60, 4))
    np.savez(tmp_path / "features.npz", x=x, y=np.arange(60) % 2)
    settings = [
        "model=m2",
        "m2.epochs=1",
        "m2.hidden_units=[10]",
        "m2.supervised_steps=2",
        "likelihood=gaussian",
        f"data.name={tmp_path / 'features.npz'}",
        "data.num_labelled=10",
        "data.num_test=10",
    ]
    train(load_settings(None, settings), tmp_path / "run")
    with pytest.raises(InputError, match="the page shows models of images"):
        bundle.open_run(tmp_path / "run")


def test_the_default_run_is_the_first_finished_one(runs, tmp_path):
    folder = runs["m2"].parent
    assert default_run.find(folder) == runs["m2"]
    assert default_run.find(tmp_path) is None
    unfinished = tmp_path / "mnist_m1m2"
    unfinished.mkdir()
    (unfinished / "run.json").write_text('{"format": 1, "status": "running"}')
    assert default_run.find(tmp_path) is None
    (unfinished / "run.json").write_text('{"format": 1, "status": "finished"}')
    assert default_run.find(tmp_path) == unfinished
