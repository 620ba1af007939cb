"""An exported model's .tflite classifiers on the whole test set, beside the Keras model.

  python -m benchmarks.shipping.devices RUN saved_models/NAME \
      --output docs/results/devices/NAME.json

LiteRT runs in a process of its own (`device_worker`), without TensorFlow. Two things are measured
that were not exported, to show where int8 loses: the same with activations of 8 bits, and the Keras
model with nothing but its weights rounded to 8 bits.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from benchmarks.machine import machine
from benchmarks.shipping.device_worker import comparison
from tfssl.devices.ondevice import METADATA
from tfssl.errors import expect
from tfssl.storage.files import write_json

# What the result keeps of a file's metadata.
REPORTED = ("function", "quantisation", "batch", "bytes", "difference")


def measure(run_dir, model_dir, calls):
    """The result: errors, differences, sizes and times of the classifiers; the other files' sizes.

    Args:
      run_dir: the run that was exported.
      model_dir: the exported model; its latest version is measured.
      calls: how many calls to time.
    """
    from tfssl.export.versions import Version
    from tfssl.runs.opened import experiment_of
    from tfssl.runs.trained import TrainedRun

    run, folder = TrainedRun(run_dir), Version.open(model_dir).tflite
    expect((folder / METADATA).is_file(), f"{folder} must hold files for devices: --tflite")
    files = json.loads((folder / METADATA).read_text(encoding="utf-8"))["files"]
    parts = experiment_of(run).split
    probabilities = run.calibrated_probabilities(parts.x_test)
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(shutil.copytree(folder, Path(temporary) / "tflite"))
        _add_eight_bit(copy, run, parts.x_train)
        np.savez(
            Path(temporary) / "test.npz",
            x=(parts.x_test / (run.preprocessing.levels or 1)).astype(np.float32),
            label=parts.label_test,
            probabilities=probabilities,
        )
        command = [sys.executable, "-m", "benchmarks.shipping.device_worker", temporary, str(calls)]
        classifiers = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    round_weights(run.model)
    rounded = run.calibrated_probabilities(parts.x_test)
    classifiers["weights_8bit"] = comparison(rounded, probabilities, parts.label_test)
    return {
        "keras_error": float((probabilities.argmax(axis=1) != parts.label_test).mean()),
        "test_points": len(parts.x_test),
        "classifiers": classifiers,
        "files": {name: {key: about[key] for key in REPORTED} for name, about in files.items()},
    }


def round_weights(model):
    """Round every matrix to 8 bits with a scale for each unit, as the converter does."""
    for weight in model.weights:
        if len(weight.shape) == 2:
            values = weight.numpy()
            scale = np.abs(values).max(axis=0) / 127
            weight.assign(np.round(values / scale) * scale)


def _add_eight_bit(folder, run, x_train):
    """Convert the classifier with 8-bit activations too; its metadata say so."""
    from tfssl.devices import conversion
    from tfssl.devices.files import BATCHES

    found = conversion.device_functions(run)
    inputs = conversion.calibration_inputs(run, found, x_train)["classify"]
    about = json.loads((folder / METADATA).read_text(encoding="utf-8"))
    for batch, suffix in BATCHES.items():
        content = conversion.convert(found["classify"], "int8", batch, inputs, activation_bits=8)
        name = f"classify_int8_8bit{suffix}.tflite"
        (folder / name).write_bytes(content)
        about["files"][name] = {
            "function": "classify",
            "quantisation": "int8_8bit",
            "batch": batch,
            "bytes": len(content),
        }
    write_json(folder / METADATA, about)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="the run that was exported")
    parser.add_argument("model", type=Path, help="the exported model, such as saved_models/mnist")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    parser.add_argument("--calls", type=int, default=2000, help="calls to time")
    arguments = parser.parse_args()
    result = measure(arguments.run, arguments.model, arguments.calls)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    litert = {"ai-edge-litert": metadata.version("ai-edge-litert")}
    write_json(arguments.output, {"machine": machine() | litert, "result": result})


if __name__ == "__main__":
    main()
