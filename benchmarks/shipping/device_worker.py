"""Measure .tflite classifiers where TensorFlow is not loaded, for benchmarks/shipping/devices.py.

  python -m benchmarks.shipping.device_worker FOLDER CALLS

FOLDER holds test.npz (x, label, the Keras model's probabilities) and tflite/. The result is printed
as JSON: {quantisation: measures}.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.turns import summary
from tfssl.devices.ondevice import DeviceModel

WARM_UP = 10


def measure(folder, calls):
    with np.load(folder / "test.npz", allow_pickle=False) as arrays:
        x, label, expected = (arrays[name] for name in ("x", "label", "probabilities"))
    rows = {}
    for path in sorted((folder / "tflite").glob("classify_*_batch1.tflite")):
        any_batch = DeviceModel(path.with_name(path.name.replace("_batch1", "")))
        one = DeviceModel(path)
        found = any_batch(x=x)["probabilities"]
        rows[one.about["quantisation"]] = {
            **comparison(found, expected, label),
            "batch1_differs_by": float(np.abs(one(x=x)["probabilities"] - found).max()),
            "bytes": one.about["bytes"],
            "seconds": summary(seconds_per_image(one, x, calls)),
        }
    return rows


def comparison(found, expected, label):
    """Probabilities [N, K] beside those expected: errors, and how far they are apart.

    "changed_lead" is the largest lead that a class whose label was lost had over the next one.
    """
    differences = np.abs(found - expected).max(axis=1)
    changed = found.argmax(axis=1) != expected.argmax(axis=1)
    second, first = np.sort(expected, axis=1)[:, -2:].T
    return {
        "error": float((found.argmax(axis=1) != label).mean()),
        "labels_changed": int(changed.sum()),
        "changed_lead": float((first - second)[changed].max(initial=0.0)),
        "largest_difference": float(differences.max()),
        "mean_difference": float(differences.mean()),
    }


def seconds_per_image(model, x, calls):
    """The seconds of every call with one image and one thread, after a few to warm up."""
    seconds = []
    for call in range(calls + WARM_UP):
        row = x[call % len(x)][np.newaxis]
        started = time.perf_counter()
        model(x=row)
        seconds.append(time.perf_counter() - started)
    return seconds[WARM_UP:]


if __name__ == "__main__":
    measured = measure(Path(sys.argv[1]), int(sys.argv[2]))
    assert "tensorflow" not in sys.modules
    print(json.dumps(measured))
