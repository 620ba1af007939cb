"""Exported SavedModels: run by TensorFlow's C++ loader, whole or not there."""

import csv
import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from tfssl.errors import InputError
from tfssl.export import check, saved_model, versions, warmup
from tfssl.export.contract import read_ranges
from tfssl.export.cpp_loader import SavedModelSession
from tfssl.export.functions import functions
from tfssl.export.reference import load_reference
from tfssl.runs.opened import experiment_of
from tfssl.runs.trained import TrainedRun
from tfssl.storage import hashes

MODELS = ("m1", "m2", "m1m2")


@pytest.fixture(params=MODELS)
def version(request, exported):
    return exported(f"model={request.param}")


def test_the_layout_is_tf_servings(version):
    assert sorted(p.name for p in version.model_dir.iterdir()) == ["1", "cards"]
    files = {p.relative_to(version.path).as_posix() for p in version.path.rglob("*") if p.is_file()}
    assert {"saved_model.pb", "variables/variables.index", warmup.PATH} <= files
    assert not any("card" in file or file.endswith(".npz") for file in files)


def test_every_signature_runs_in_the_cpp_loader_and_agrees(version):
    comparisons = check.check_version(version)
    names = {c.signature for c in comparisons}
    assert {"serving_default", "classify", "classify_float", "generate", "log_likelihood"} <= names
    assert all(c.deviation <= 1e-5 for c in comparisons)
    assert all(c.rows >= 10 for c in comparisons)


def test_any_batch_in_the_cpp_loader(version, trained, digits):
    model = {"m1": "M1", "m2": "M2", "m1m2": "M1+M2"}
    card = json.loads((version.card / "card.json").read_text())
    (name,) = (k for k, v in model.items() if card["model"].startswith(f"{v}:"))
    expected = trained(f"model={name}").calibrated_probabilities(digits)
    with SavedModelSession(version.path) as session:
        for rows in (1, 7, 30):
            found = session.run("serving_default", {"x": digits[:rows]})
            np.testing.assert_allclose(found["probabilities"], expected[:rows], atol=1e-5)
        with pytest.raises(InputError, match="the signature classify fails"):
            session.run("classify", {"x": np.zeros([1, 3, 3], np.uint8)})


def test_what_only_python_can_load_is_refused(trained, tmp_path):
    """A module that holds a Keras 3 model: tf.saved_model.load reads it, a server cannot."""
    run = trained("model=m2")
    module = tf.Module()
    module.model = run.model
    classify = functions(run)["classify"]
    graph = tf.function(classify.call, autograph=False)
    module.classify = graph
    tf.saved_model.save(
        module,
        str(tmp_path / "bad"),
        signatures={"serving_default": graph.get_concrete_function(**classify.inputs)},
    )
    reference = {"serving_default": ({"x": np.ones([2, 8, 8], np.uint8)}, {})}
    assert tf.saved_model.load(str(tmp_path / "bad")).signatures
    with pytest.raises(InputError, match="variable"):
        check.check_saved_model(tmp_path / "bad", reference)


def test_the_check_finds_other_weights(exported, tmp_path, trained):
    shutil.copytree(exported("model=m2").model_dir, tmp_path / "tiny")
    version = versions.Version(tmp_path / "tiny", 1)
    reference = load_reference(version.card / "reference.npz")
    run = trained("model=m2")
    run.model.set_weights([w + np.float32(1e-3) for w in run.model.get_weights()])
    saved_model.write_saved_model(tmp_path / "other", [run.model], functions(run))
    with pytest.raises(InputError, match="of the reference"):
        check.check_saved_model(tmp_path / "other", reference)
    with pytest.raises(InputError, match="of the reference"):
        check.check_version(version, run)
    (version.path / "variables" / "variables.data-00000-of-00001").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="must hold what was exported"):
        check.check_version(version)


def test_warmup_requests_can_be_replayed(version):
    path = version.path / warmup.PATH
    records = [
        prediction_log_pb2.PredictionLog.FromString(record.numpy())
        for record in tf.data.TFRecordDataset(str(path))
    ]
    with SavedModelSession(version.path) as session:
        seen = set()
        for record in records:
            request = record.predict_log.request
            assert request.model_spec.name == "tiny"
            inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
            assert session.run(request.model_spec.signature_name, inputs)
            seen.add(request.model_spec.signature_name)
        assert seen == set(session.signatures)
    assert len(records) == 2 * len(seen) < 1000  # the most that TF Serving replays


def test_the_card_tells_data_errors_versions_and_hashes(version):
    card = json.loads((version.card / "card.json").read_text())
    assert card["version"] == 1
    assert card["data"]["labels_for_training"] == 50
    assert len(card["data"]["classes"]) == 10
    test = card["errors"]["test"]
    assert test["error_low"] <= test["error"] <= test["error_high"]
    assert card["exported_with"]["tensorflow"] == tf.__version__
    assert card["files"] == hashes.folder_hashes(version.path)
    assert "model.keras" in card["run_files"]
    text = (version.card / "card.md").read_text()
    assert f"| test | {100 * test['error']:.2f} |" in text
    contract = json.loads((version.card / "contract.json").read_text())
    for name in contract["signatures"]:
        assert f"| {name} |" in text
    assert "| classify | x: uint8 [?, 8, 8] in [0, 16] |" in text


def test_the_contract_is_what_the_cpp_loader_finds(version):
    """Names, dtypes and shapes of all inputs and outputs; ranges are checked by the server."""
    contract = json.loads((version.card / "contract.json").read_text())
    assert contract["classes"] == [str(k) for k in range(10)]

    def found(tensors):
        return {
            key: {
                "dtype": tf.as_dtype(tensor.dtype).name,
                "shape": tf.TensorShape(tensor.tensor_shape).as_list(),
            }
            for key, tensor in tensors.items()
        }

    def promised(tensors):
        return {key: {k: about[k] for k in ("dtype", "shape")} for key, about in tensors.items()}

    with SavedModelSession(version.path) as session:
        assert set(session.signatures) == set(contract["signatures"])
        for name, signature in session.signatures.items():
            sides = contract["signatures"][name]
            assert found(signature.inputs) == promised(sides["inputs"])
            for key, about in found(signature.outputs).items():
                assert about["dtype"] == sides["outputs"][key]["dtype"]
                shape = tf.TensorShape(about["shape"])
                assert shape.is_compatible_with(sides["outputs"][key]["shape"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "must be a contract of format 1"),
        ({"signatures": [1]}, "must have a table `signatures`"),
        ({"signatures": {"classify": 3}}, "must have a table `inputs`"),
        ({"signatures": {"classify": {"inputs": {"x": 3}}}}, "must have a table `x`"),
        (
            {"signatures": {"classify": {"inputs": {"x": {"minimum": "low"}}}}},
            "must have numbers for the range of x",
        ),
    ],
)
def test_a_damaged_contract_is_refused(change, message, tmp_path):
    version = versions.Version(tmp_path, 1)
    version.card.mkdir(parents=True)
    good = {"format": 1, "signatures": {"classify": {"inputs": {"x": {"minimum": 0}}}}}
    (version.card / "contract.json").write_text(json.dumps(good))
    assert read_ranges(version) == {"classify": {"x": (0, None)}}
    (version.card / "contract.json").write_text(json.dumps(good | change))
    with pytest.raises(InputError, match=message):
        read_ranges(version)


def test_a_calibrated_run_exports_what_predict_gives(run_folder, exported, digits, tmp_path, call):
    """Training calibrates this run; without its temperature it is as an older one."""
    version, run = exported("model=m1"), run_folder("model=m1")
    np.savez(tmp_path / "new.npz", x=digits)
    predicted = tmp_path / "predicted.csv"
    options = ["--output", predicted, "--samples", 0]
    code, _, error = call("predict", run, tmp_path / "new.npz", *options)
    assert code == 0, error
    fitted = json.loads((run / "calibration.json").read_text())
    other = shutil.copytree(run, tmp_path / "run")
    (other / "calibration.json").unlink()
    uncalibrated, _ = saved_model.export(other, tmp_path / "models", "tiny")

    with SavedModelSession(version.path) as session:
        found = session.run("classify", {"x": digits})
    with SavedModelSession(uncalibrated.path) as session:
        plain = session.run("classify", {"x": digits})
    rows = list(csv.reader(predicted.read_text().splitlines()))
    assert rows[0][4] == "calibrated p(0)"
    np.testing.assert_allclose(
        found["probabilities"], [[float(p) for p in row[4:]] for row in rows[1:]], atol=1e-5
    )
    assert [name.decode() for name in found["label_name"]] == [row[1] for row in rows[1:]]
    np.testing.assert_array_equal(found["label"], plain["label"])
    assert np.abs(found["probabilities"] - plain["probabilities"]).max() > 0.05

    card = json.loads((version.card / "card.json").read_text())
    assert card["calibration"] == fitted
    assert "calibration.json" in card["run_files"]
    assert f"scaled by a temperature {fitted['temperature']:.3g}" in (
        version.card / "card.md"
    ).read_text(encoding="utf-8")
    assert json.loads((uncalibrated.card / "card.json").read_text())["calibration"] is None
    assert all(c.deviation <= 1e-5 for c in check.check_version(version, TrainedRun(run)))
    with pytest.raises(InputError, match=r"must have the calibration.*run=None"):
        check.check_version(version, TrainedRun(other))


def lose_data(run):
    settings = json.loads((run / "settings.json").read_text())
    settings["data"]["name"] = "gone.npz"
    (run / "settings.json").write_text(json.dumps(settings))


def test_an_export_needs_the_run_alone(broken, tmp_path):
    """Its data may be gone; an older run, which kept no examples, needs them."""
    older = shutil.copytree(broken, tmp_path / "older")
    (older / "examples.npz").unlink()
    version, _ = saved_model.export(older, tmp_path / "models", "tiny")
    assert all(c.deviation <= 1e-5 for c in check.check_version(version, TrainedRun(older)))
    lose_data(broken)
    version, comparisons = saved_model.export(broken, tmp_path / "models", "tiny")
    assert all(c.rows >= 10 for c in comparisons)
    assert all(c.deviation <= 1e-5 for c in check.check_version(version, TrainedRun(broken)))
    lose_data(older)
    with pytest.raises(InputError, match=r"cannot read gone\.npz"):
        saved_model.export(older, tmp_path / "models", "tiny")


def test_the_examples_are_training_inputs(trained):
    run = trained("model=m1")
    seen = {x.tobytes() for x in experiment_of(run).split.x_train}
    assert {x.tobytes() for x in run.examples} <= seen
    assert run.examples.shape == (50, 8, 8)
    assert run.examples.dtype == np.uint8


def test_the_next_version_is_chosen(tmp_path):
    for name in ("1", "9", "007", "cards", "tflite"):  # two of them versions
        (tmp_path / name).mkdir()
    with versions.new_version(tmp_path) as stage:
        stage.saved_model.mkdir()
        (stage.saved_model / "saved_model.pb").touch()
        assert versions.versions(tmp_path) == [1, 9]
    assert versions.versions(tmp_path) == [1, 9, 10]
    assert versions.Version.open(tmp_path) == versions.Version.open(tmp_path / "10")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "/a", "a b", "-a", ".a", "a\n", "ä", "a" * 101, "a:b", "a%2F"]
)
def test_names_with_tricks_are_refused(run_folder, tmp_path, name):
    with pytest.raises(InputError, match="name must be"):
        saved_model.export(run_folder("model=m2"), tmp_path / "models", name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", ["write_saved_model", "write_warmup", "check_saved_model"])
@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        tf.errors.ResourceExhaustedError(None, None, "file; No space left on device"),
        InputError("not the same"),
        KeyboardInterrupt(),
    ],
)
def test_what_fails_leaves_nothing_behind(run_folder, tmp_path, monkeypatch, step, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(saved_model, "make_reference", lambda *_: {})
    monkeypatch.setattr(saved_model.contract, "make_contract", lambda *_: {})
    monkeypatch.setattr(saved_model, "write_saved_model", lambda path, *_: path.mkdir())
    monkeypatch.setattr(saved_model, step, fail)
    with pytest.raises((InputError, KeyboardInterrupt)):
        saved_model.export(run_folder("model=m2"), tmp_path / "new" / "models", "tiny")
    assert not list(tmp_path.iterdir())


def test_a_version_that_another_export_has_taken_is_left_alone(tmp_path):
    def export():
        with versions.new_version(tmp_path / "tiny") as stage:
            stage.saved_model.mkdir()
            stage.version.path.mkdir()

    with pytest.raises(InputError, match="another export"):
        export()
    assert [p.name for p in (tmp_path / "tiny").iterdir()] == ["1"]


def test_what_a_killed_export_left_is_swept_away(tmp_path):
    (tmp_path / ".export-123" / "card").mkdir(parents=True)
    (tmp_path / ".lock").touch()
    with versions.new_version(tmp_path) as stage:
        stage.saved_model.mkdir()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1", "cards"]


def test_two_exports_of_one_model_at_a_time_are_refused(tmp_path):
    with versions.new_version(tmp_path) as stage:
        stage.saved_model.mkdir()
        with pytest.raises(InputError, match="another process is working on the model"):
            versions.new_version(tmp_path).__enter__()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1", "cards"]


def test_a_terminated_export_leaves_nothing_behind(run_folder, tmp_path):
    command = [sys.executable, "-m", "tfssl.cli", "export", str(run_folder("model=m2"))]
    command += ["--name", "tiny", "--to", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while not (tmp_path / "tiny").exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143
    assert not list(tmp_path.iterdir())


@pytest.fixture
def broken(run_folder, tmp_path):
    """A copy of a run, to break."""
    return shutil.copytree(run_folder("model=m1"), tmp_path / "run")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("model.keras", b"nonsense"),
        ("preprocessing.npz", None),
        ("preprocessing.npz", b"nonsense"),
        ("examples.npz", b"nonsense"),
        ("classifier.skops", None),
        ("classifier.skops", b"nonsense"),
        ("metrics.json", None),
    ],
)
def test_a_broken_run_is_refused(broken, tmp_path, file, content):
    if content is None:
        (broken / file).unlink()
    else:
        (broken / file).write_bytes(content)
    with pytest.raises(InputError, match=str(broken)):
        saved_model.export(broken, tmp_path / "models", "tiny")
    assert not (tmp_path / "models").exists()


def test_an_unfinished_run_is_refused(broken, tmp_path):
    record = json.loads((broken / "run.json").read_text())
    (broken / "run.json").write_text(json.dumps(record | {"status": "running"}))
    with pytest.raises(InputError, match="must be finished"):
        saved_model.export(broken, tmp_path / "models", "tiny")
    assert not (tmp_path / "models").exists()


def test_only_an_export_can_be_checked(exported, tmp_path):
    for path in (tmp_path, tmp_path / "none", exported("model=m2").model_dir / "cards"):
        with pytest.raises(InputError, match="must be an exported model"):
            versions.Version.open(path)
