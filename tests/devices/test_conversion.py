"""The .tflite files compute what the Keras model computes, without TensorFlow."""

import copy
import hashlib
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tfssl.classifiers.temperature import scaled
from tfssl.cli import app
from tfssl.devices import conversion, files, litert
from tfssl.devices.ondevice import DeviceModel
from tfssl.errors import InputError
from tfssl.export.functions import functions
from tfssl.export.reference import make_reference
from tfssl.export.versions import new_version
from tfssl.runs.temperature import Calibration

# The largest |difference| on trained digits.
TOLERANCES = {"f32": 1e-5, "f16": 2e-3, "dynamic": 5e-2, "int8": 2e-2}


@pytest.fixture(scope="module")
def stack(trained):
    """Trained until its classes are clear: fewer bits may change the label of a tie."""
    return trained("model=m1m2", "m1.epochs=30", "m2.epochs=60", "seed=1")


@pytest.fixture(scope="module")
def device_folder(stack, digits, tmp_path_factory):
    """The stack's files, of f32 and int8, as `export` writes them."""
    folder = tmp_path_factory.mktemp("devices") / "tflite"
    reference = make_reference(stack, functions(stack), digits)
    files.write_device_files(folder, stack, ("f32", "int8"), reference)
    return folder


def inputs_of(run, function, digits):
    """Inputs like those that calibrate, but other points."""
    found = conversion.device_functions(run)
    return found[function], conversion.calibration_inputs(run, found, digits)[function]


def largest_difference(tmp_path, function, inputs, content, batch):
    (tmp_path / "f.tflite").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    about = {"function": function.name, "batch": batch, "sha256": digest}
    (tmp_path / "metadata.json").write_text(json.dumps({"files": {"f.tflite": about}}))
    found = DeviceModel(tmp_path / "f.tflite")(**inputs)
    expected = {key: value.numpy() for key, value in function.call(**inputs).items()}
    assert found.keys() == expected.keys()
    return max(np.abs(found[key] - expected[key]).max() for key in expected)


@pytest.mark.parametrize("model", ["m1", "m2"])
def test_functions_of_the_other_models(model, trained, digits, tmp_path):
    run = trained(f"model={model}")
    names = set(conversion.device_functions(run))
    assert names == set(conversion.NAMES) - ({"analogies"} if model == "m1" else set())
    for name in ("classify", "encode", "decode"):
        function, inputs = inputs_of(run, name, digits)
        content = conversion.convert(function, "f32")
        # M1's kernel machine sums large numbers of both signs: float32 leaves fewer digits.
        tolerance = 1e-3 if model == "m1" and name == "classify" else TOLERANCES["f32"]
        assert largest_difference(tmp_path, function, inputs, content, None) < tolerance, name


@pytest.mark.parametrize("quantisation", ["f16", "dynamic"])
@pytest.mark.parametrize("batch", [None, 1])
def test_stored_in_fewer_bits(quantisation, batch, stack, digits, tmp_path):
    function, inputs = inputs_of(stack, "decode", digits)
    content = conversion.convert(function, quantisation, batch)
    difference = largest_difference(tmp_path, function, inputs, content, batch)
    assert 0 < difference < TOLERANCES[quantisation]


def test_activations_of_16_bits_are_much_better_than_of_8(stack, digits, tmp_path):
    function, inputs = inputs_of(stack, "classify", digits)
    differences = {
        bits: largest_difference(
            tmp_path,
            function,
            inputs,
            conversion.convert(function, "int8", None, inputs, bits),
            None,
        )
        for bits in (8, 16)
    }
    assert differences[16] < TOLERANCES["int8"]
    assert differences[16] < differences[8] / 2


# To sharpen multiplies what eight bits round off, by 1 / T.
@pytest.mark.parametrize(("quantisation", "temperature"), [("f32", 0.3), ("int8", 2.0)])
def test_files_are_calibrated_if_the_run_is(quantisation, temperature, stack, digits, tmp_path):
    run = copy.copy(stack)  # the other tests have it as it is
    raw = run.probabilities(digits)
    run.calibration = Calibration(temperature, "validation", 9)
    function, inputs = inputs_of(run, "classify", digits)
    content = conversion.convert(function, quantisation, None, inputs)
    (tmp_path / "f.tflite").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    about = {"f.tflite": {"function": "classify", "batch": None, "sha256": digest}}
    (tmp_path / "metadata.json").write_text(json.dumps({"files": about}))
    model = DeviceModel(tmp_path / "f.tflite")
    assert not [op for op in model.operations if op.startswith(("Flex", "Custom"))]
    found = model(x=(digits / 16).astype(np.float32))
    assert np.abs(scaled(raw, temperature) - raw).max() > 0.05
    np.testing.assert_allclose(
        found["probabilities"], scaled(raw, temperature), atol=TOLERANCES[quantisation]
    )
    np.testing.assert_array_equal(found["label"], raw.argmax(axis=1))
    assert files.describe(run)["calibration"]["temperature"] == temperature


def test_files_agree_with_keras(device_folder, stack, digits):
    metadata = json.loads((device_folder / "metadata.json").read_text())
    assert metadata["labels"] == [str(k) for k in range(10)]
    assert metadata["input"]["shape"] == [8, 8]
    assert metadata["input"]["levels"] == 16
    found = metadata["files"]
    assert {path.name for path in device_folder.iterdir()} == {*found, "metadata.json"}
    assert len(found) == len(conversion.NAMES) * 2 * 2

    x = (digits / 16).astype(np.float32)
    expected = stack.probabilities(digits)
    for name, about in found.items():
        assert about["difference"]["mean"] <= files.LIMITS[about["quantisation"]][0]
        assert about["bytes"] == (device_folder / name).stat().st_size
        if about["function"] != "classify":
            continue
        model = DeviceModel(device_folder / name)
        assert not [op for op in model.operations if op.startswith(("Flex", "Custom"))]
        # softplus must not make the converter compute a product twice.
        assert model.operations.count("FULLY_CONNECTED") == 4
        found = model(x=x)
        np.testing.assert_allclose(
            found["probabilities"], expected, atol=TOLERANCES[about["quantisation"]]
        )
        np.testing.assert_array_equal(found["label"], found["probabilities"].argmax(axis=1))
        assert about["inputs"] == {"x": {"shape": [about["batch"], 8, 8], "dtype": "float32"}}


def test_int8_stores_its_weights_in_a_byte_with_a_scale_for_each_unit(device_folder):
    from ai_edge_litert.interpreter import Interpreter

    details = Interpreter(str(device_folder / "classify_int8.tflite")).get_tensor_details()
    first = [t for t in details if tuple(t["shape"]) == (20, 64)]
    assert [t["dtype"] for t in first] == [np.int8]
    assert len(first[0]["quantization_parameters"]["scales"]) == 20


def test_the_check_runs_without_tensorflow(device_folder, digits):
    x = (digits / 16).astype(np.float32)
    outputs = litert.run_apart(device_folder, {"classify": {"x": x}})
    assert set(outputs) == {path.name for path in device_folder.glob("classify*")}


@pytest.mark.parametrize("limits", [(-1.0, 1.0), (1.0, -1.0)])
def test_what_deviates_is_refused(limits, device_folder, stack, digits, monkeypatch):
    metadata = json.loads((device_folder / "metadata.json").read_text())
    found = {"classify_f32.tflite": metadata["files"]["classify_f32.tflite"]}
    reference = files.device_reference(
        conversion.device_functions(stack), make_reference(stack, functions(stack), digits)
    )
    monkeypatch.setitem(files.LIMITS, "f32", limits)
    with pytest.raises(InputError, match="must be within"):
        files.compare(device_folder, found, reference)


def test_calibration_sees_styles_of_the_data_and_of_the_prior(stack, digits):
    _, inputs = inputs_of(stack, "decode", digits)
    assert inputs["z"].shape == (60, 3)
    assert inputs["y"].shape == (60,)
    assert inputs["y"].dtype == np.int32
    _, inputs = inputs_of(stack, "generate", digits)
    assert inputs["noise"].shape == (30, 3 + 6)


@pytest.mark.parametrize("text", ["int4", "f32,,f16", "", "f32,f32", "F32"])
def test_unknown_quantisations(text, run_folder, tmp_path):
    arguments = ["export", str(run_folder("model=m1m2")), "--to", str(tmp_path / "to")]
    result = CliRunner().invoke(app, [*arguments, "--tflite", text])
    assert isinstance(result.exception, InputError)
    assert "--tflite must be some of f32, f16, dynamic, int8" in str(result.exception)
    assert not (tmp_path / "to").exists()


def test_files_are_published_with_their_version(tmp_path):
    with new_version(tmp_path / "model") as stage:
        stage.saved_model.mkdir()
        stage.tflite.mkdir()
        (stage.tflite / "a.tflite").write_text("a")
    assert (tmp_path / "model" / "tflite" / "1" / "a.tflite").read_text() == "a"


def test_a_refused_conversion_leaves_nothing(tmp_path):
    def refuse():
        with new_version(tmp_path / "model") as stage:
            stage.tflite.mkdir()
            raise InputError("refused")

    with pytest.raises(InputError, match="refused"):
        refuse()
    assert not (tmp_path / "model").exists()


def test_what_has_no_builtin_operation_is_refused():
    import tensorflow as tf

    from tfssl.export.functions import Function

    spec = {"x": tf.TensorSpec([None, 3, 3], tf.float32, "x")}
    function = Function("classify", lambda x: {"y": tf.linalg.cholesky(x)}, spec)
    with pytest.raises(InputError, match="cannot convert classify to f32"):
        conversion.convert(function, "f32")
