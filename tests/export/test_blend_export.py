"""A choice as a SavedModel and as files for devices."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tfssl import load_settings, train
from tfssl.devices.ondevice import DeviceModel
from tfssl.export.cpp_loader import SavedModelSession
from tfssl.export.saved_model import export
from tfssl.storage.files import read_json


@pytest.fixture(scope="module", params=[False, True], ids=["alone", "with M2"])
def exported(request, tmp_path_factory):
    """(run, version) of a choice on iris."""
    place = tmp_path_factory.mktemp("export")
    x, y = load_iris(return_X_y=True)
    np.savez(place / "iris.npz", x=x, y=y)
    values = [
        "model=auto",
        "likelihood=columns",
        f"data.name={place / 'iris.npz'}",
        "data.num_labelled=30",
        "data.num_test=30",
        "auto.budget=12",
        f"auto.with_generative={str(request.param).lower()}",
        "m2.epochs=2",
        "m2.hidden_units=[8]",
        "m2.latent_dim=2",
        "m2.supervised_steps=10",
    ]
    run = train(load_settings(None, values), place / "run")

    def for_devices(stage, trained, reference):
        from tfssl.devices.files import write_device_files

        write_device_files(stage.tflite, trained, ["f32"], reference)

    version, _ = export(run.folder.path, place / "models", "iris", for_devices)
    return run, version


def test_the_server_computes_the_answer(exported):
    run, version = exported
    x = load_iris().data
    with SavedModelSession(version.path) as session:
        beside = {"encode", "decode", "generate", "reconstruct", "analogies", "log_likelihood"}
        expected = {"classify", "serving_default"} | (beside if run.model is not None else set())
        assert set(session.signatures) == expected
        found = session.run("classify", {"x": x})
    np.testing.assert_allclose(found["probabilities"], run.probabilities(x), atol=1e-5)


def test_the_card_says_what_was_blended(exported):
    run, version = exported
    card = read_json(version.card / "card.json")
    assert [m["name"] for m in card["blended"]] == [m.name for m in run.blend.members]
    text = (version.card / "card.md").read_text()
    for member in run.blend.members:
        assert f"| {member.name} | {member.weight:.2f} |" in text
    assert "calibrated by 30 labels" in text
    assert "blend/blend.json" in card["run_files"]


def test_a_device_computes_it_too(exported):
    run, version = exported
    x = load_iris().data.astype(np.float32)
    for batch in ("", "_batch1"):
        model = DeviceModel(version.tflite / f"classify_f32{batch}.tflite")
        found = model(x=x)["probabilities"]
        np.testing.assert_allclose(found, run.probabilities(x), atol=1e-3)
