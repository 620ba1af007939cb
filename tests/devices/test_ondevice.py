"""The client for devices: it needs no TensorFlow, reads images, and says what is wrong."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from tfssl.cli import app
from tfssl.devices import ondevice
from tfssl.errors import InputError

IMAGES = {"shape": [4, 3], "levels": 16}
COLOURS = {"shape": [4, 3, 3], "levels": 255}
FEATURES = {"shape": [5], "levels": None}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A classifier of 4x3 images by whether the first pixel is dark, as a .tflite file."""
    import tensorflow as tf

    from tfssl.devices.conversion import convert
    from tfssl.export.functions import Function

    def call(x):
        first = tf.reshape(x, [-1, 12])[:, :1]
        return {"probabilities": tf.nn.softmax(4.0 * tf.concat([0.5 - first, first - 0.5], axis=1))}

    def never_ready(x):  # whatever the batch, its numbers do not fill the shape
        return call(tf.nn.softmax(tf.reshape(x, [7, 12])))

    def no_number(x):
        return {"probabilities": call(x)["probabilities"] * tf.math.log(-1.0 - x[:, 0, :2])}

    def not_for_two(x):
        return call(x + tf.ones([3, 4, 3]))

    def converted(call, batch=None):
        spec = {"x": tf.TensorSpec([None, 4, 3], tf.float32, "x")}
        return convert(Function("classify", call, spec), "f32", batch)

    folder = tmp_path_factory.mktemp("model")
    contents = {
        "a.tflite": converted(call),
        "one.tflite": converted(call, 1),
        "never_ready.tflite": converted(never_ready),
        "no_number.tflite": converted(no_number),
        "not_for_two.tflite": converted(not_for_two),
        "broken.tflite": b"no flatbuffer at all",
    }
    contents["decode.tflite"] = contents["a.tflite"]
    files = {}
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        files[name] = {
            "function": "decode" if name == "decode.tflite" else "classify",
            "batch": 1 if name == "one.tflite" else None,
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    metadata = {"labels": ["dark", "light"], "input": IMAGES, "files": files}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder / "a.tflite"


@pytest.fixture
def light(tmp_path):
    Image.fromarray(np.full((4, 3), 255, np.uint8)).save(tmp_path / "light.png")
    return tmp_path / "light.png"


def probability_of_light(intensity):
    return 1 / (1 + np.exp(-8.0 * (intensity - 0.5)))


@pytest.mark.parametrize("name", ["a.tflite", "one.tflite"])
def test_classifies_files(name, model, light, tmp_path):
    np.save(tmp_path / "two.npy", np.stack([np.zeros((4, 3)), np.full((4, 3), 0.25)]))
    files = [light, tmp_path / "two.npy"]
    found = list(ondevice.classify_files(model.with_name(name), files))
    assert [where for where, *_ in found] == [str(light), f"{files[1]}[0]", f"{files[1]}[1]"]
    light_probabilities = [probabilities[1] for _, probabilities, _ in found]
    np.testing.assert_allclose(
        light_probabilities, [probability_of_light(p) for p in (1.0, 0.0, 0.25)], atol=1e-6
    )


def test_command(model, light):
    result = CliRunner().invoke(app, ["classify-on-device", str(model), str(light), "--invert"])
    assert result.exit_code == 0
    assert result.stdout.strip() == f"{light}: dark (0.982)  light 0.018"


def test_a_copy_of_the_file_needs_neither_tfssl_nor_tensorflow(model, light, tmp_path):
    copy = tmp_path / "client.py"
    copy.write_text(Path(ondevice.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    script = (
        "import runpy, sys; sys.modules['tfssl'] = sys.modules['tensorflow'] = None;"
        "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [sys.executable, "-c", script, str(copy), str(model), str(light)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{light}: light (0.982)  dark 0.018"


def test_the_command_does_not_load_tensorflow(model, light):
    script = (
        "import sys; from tfssl import cli; sys.argv[0] = 'tfssl';"
        "cli.app(standalone_mode=False); assert 'tensorflow' not in sys.modules"
    )
    command = [sys.executable, "-c", script, "classify-on-device", str(model), str(light)]
    subprocess.run(command, check=True, capture_output=True)


def test_grey_levels_intensities_and_features(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.full((4, 3), 8, np.uint8))
    np.testing.assert_array_equal(ondevice.read_inputs(path, IMAGES), np.full((1, 4, 3), 0.5))
    np.save(path, np.full((2, 4, 3), 0.25))
    np.testing.assert_array_equal(ondevice.read_inputs(path, IMAGES), np.full((2, 4, 3), 0.25))
    np.save(path, np.full((5,), -7.5))
    np.testing.assert_array_equal(ondevice.read_inputs(path, FEATURES), np.full((1, 5), -7.5))


def test_colours_and_sizes(tmp_path):
    pixels = np.zeros((4, 3, 3), np.uint8)
    pixels[0, 2] = 255, 0, 51
    Image.fromarray(pixels).save(tmp_path / "c.png")
    x = ondevice.read_inputs(tmp_path / "c.png", COLOURS)
    np.testing.assert_allclose(x[0, 0, 2], [1.0, 0.0, 0.2], rtol=1e-6)
    Image.fromarray(pixels.repeat(2, axis=0).repeat(2, axis=1)).save(tmp_path / "large.png")
    large = ondevice.read_inputs(tmp_path / "large.png", COLOURS, resize=True)
    np.testing.assert_allclose(large, x, atol=1e-6)
    Image.fromarray(pixels).save(tmp_path / "c.jpg")
    assert ondevice.read_inputs(tmp_path / "c.jpg", IMAGES).shape == (1, 4, 3)


BAD_INPUTS = {
    "no such file": (None, "cannot read"),
    "another shape": (np.zeros((3, 4)), "of the shape"),
    "none at all": (np.zeros((0, 4, 3)), "of the shape"),
    "words": (np.full((4, 3), "a"), "must hold numbers"),
    "NaN": (np.full((4, 3), np.nan), "finite"),
    "too bright": (np.full((4, 3), 17), "from 0 to 16"),
    "levels as floats": (np.full((4, 3), 16.0), "from 0 to 16"),
    "objects": (np.array([[None]]), "cannot read"),
}


@pytest.mark.parametrize(("array", "message"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_bad_inputs(array, message, tmp_path):
    path = tmp_path / "x.npy"
    if array is not None:
        np.save(path, array, allow_pickle=True)
    with pytest.raises(ValueError, match=message):
        ondevice.read_inputs(path, IMAGES)


def test_bad_images(tmp_path, light):
    with pytest.raises(ValueError, match="expected 5x9 pixels, received 3x4; --resize"):
        ondevice.read_inputs(light, {"shape": [9, 5], "levels": 255})
    with pytest.raises(ValueError, match=r"takes \.npy files only"):
        ondevice.read_inputs(light, FEATURES)
    (tmp_path / "text.png").write_text("this is no picture")
    with pytest.raises(ValueError, match="cannot read"):
        ondevice.read_inputs(tmp_path / "text.png", IMAGES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.tflite", "there is no file"),
        ("decode.tflite", "must be a classifier"),
        ("broken.tflite", "is not a .tflite file"),
        ("never_ready.tflite", "is not a .tflite file"),
        ("no_number.tflite", "probabilities that are not finite"),
    ],
)
def test_bad_models(name, message, model, light):
    result = CliRunner().invoke(app, ["classify-on-device", str(model.with_name(name)), str(light)])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_what_fails_as_it_runs_ends_with_a_sentence(model, tmp_path):
    np.save(tmp_path / "two.npy", np.zeros((2, 4, 3)))
    with pytest.raises(ValueError, match=r"not_for_two\.tflite cannot compute"):
        list(ondevice.classify_files(model.with_name("not_for_two.tflite"), [tmp_path / "two.npy"]))


def run_alone(*arguments):
    """The client as a device runs it: (exit code, what it prints, what it complains of)."""
    command = [sys.executable, ondevice.__file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_alone_it_ends_with_2_and_a_sentence(model, light):
    for arguments in ((model.with_name("no_number.tflite"), light), (model, "missing.png"), ()):
        code, printed, error = run_alone(*arguments)
        assert (code, printed) == (2, ""), arguments
        assert "Traceback" not in error
        assert "usage: python ondevice.py" in error


@pytest.mark.parametrize("byte", [0, 40, -1])
def test_a_changed_file_is_refused_before_it_is_loaded(byte, model, tmp_path, monkeypatch):
    """LiteRT aborts the process at some of them."""
    folder = shutil.copytree(model.parent, tmp_path / "copy")
    content = bytearray((folder / "a.tflite").read_bytes())
    content[byte] ^= 1
    (folder / "a.tflite").write_bytes(content)
    monkeypatch.setattr(ondevice, "Interpreter", lambda *_, **__: pytest.fail("it was loaded"))
    with pytest.raises(ValueError, match="is not the file that was exported"):
        ondevice.open_classifier(folder / "a.tflite")


@pytest.mark.parametrize(
    "damage",
    [
        lambda m: m["files"]["a.tflite"].pop("sha256"),
        lambda m: m["files"]["a.tflite"].pop("function"),
        lambda m: m["files"].update({"a.tflite": 3}),
        lambda m: m.update(files=["a.tflite"]),
        lambda m: m.update(labels=["one"]),
        lambda m: m.pop("labels"),
        lambda m: m.update(input={"shape": [4, 3]}),
        lambda m: m.update(input={"shape": 4, "levels": 16}),
    ],
)
def test_damaged_metadata_end_with_a_sentence(damage, model, light, tmp_path):
    folder = shutil.copytree(model.parent, tmp_path / "copy")
    metadata = json.loads((folder / "metadata.json").read_text())
    damage(metadata)
    (folder / "metadata.json").write_text(json.dumps(metadata))
    with pytest.raises(ValueError, match=r"metadata\.json is damaged"):
        list(ondevice.classify_files(folder / "a.tflite", [light]))


def test_bad_metadata(model, tmp_path):
    alone = tmp_path / "a.tflite"
    alone.write_bytes(model.read_bytes())
    with pytest.raises(ValueError, match=r"metadata\.json is missing"):
        ondevice.open_classifier(alone)
    (tmp_path / "metadata.json").write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        ondevice.open_classifier(alone)
    (tmp_path / "metadata.json").write_text('{"files": {}}')
    with pytest.raises(ValueError, match=r"does not know a\.tflite"):
        ondevice.open_classifier(alone)
