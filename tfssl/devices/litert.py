"""Run a folder of .tflite files in a process of its own, which must not load TensorFlow.

  python -m tfssl.devices.litert FOLDER INPUTS.npz OUTPUTS.npz

INPUTS holds arrays named <function>/<input>, OUTPUTS gets arrays named <file>/<output>; what a
device would compute, to be compared with the Keras model by those who have it. This module is
light on both sides: `run_apart` starts the process, `main` is what runs there.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tfssl.errors import expect
from tfssl.storage.archives import read_arrays

# How the files store and compute, see `tfssl.devices.conversion`.
QUANTISATIONS = ("f32", "f16", "dynamic", "int8")


def run_apart(folder, inputs):
    """What LiteRT makes of inputs: {file: {output: array}}.

    Args:
      folder: of .tflite files with their metadata.json.
      inputs: {function: {input: array [N, ...]}}; files of other functions are left out.
    """
    with tempfile.TemporaryDirectory() as temporary:
        given, made = Path(temporary) / "inputs.npz", Path(temporary) / "outputs.npz"
        np.savez(given, **_flat(inputs))
        command = [sys.executable, "-m", __name__, str(folder), str(given), str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        expect(
            done.returncode == 0,
            f"LiteRT must run the files: {done.stderr.strip().rpartition(chr(10))[2]}",
        )
        return _read(made)


def _flat(nested):
    return {f"{a}/{b}": value for a, values in nested.items() for b, value in values.items()}


def _read(path):
    """The inverse of writing `_flat`."""
    nested: dict = {}
    for name, array in read_arrays(path).items():
        first, _, second = name.partition("/")
        nested.setdefault(first, {})[second] = array
    return nested


def main(folder, inputs_path, outputs_path):
    from tfssl.devices.ondevice import DeviceModel

    inputs, outputs = _read(inputs_path), {}
    for path in sorted(Path(folder).glob("*.tflite")):
        model = DeviceModel(path)
        given = inputs.get(model.about["function"])
        if given is not None:
            outputs[path.name] = model(**given) | {"operations": np.array(model.operations)}
    assert "tensorflow" not in sys.modules, "the client must do without TensorFlow"
    np.savez(outputs_path, **_flat(outputs))


if __name__ == "__main__":
    main(*sys.argv[1:])
