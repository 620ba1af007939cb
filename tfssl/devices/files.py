"""The .tflite files of an exported version, and what a client must know to use them.

  <name>/tflite/<version>/
    classify_f32.tflite          a function and a quantisation, for batches of any size
    classify_f32_batch1.tflite   the same for one input at a time, all shapes fixed: for browsers
    metadata.json                label names, temperature, inputs, and of every file its function,
                                 tensors, SHA-256 and how far it is from the Keras model

Beside the versions that TF Serving reads, which looks at numbers only.
"""

import hashlib

import numpy as np

from tfssl.devices import conversion
from tfssl.devices.litert import run_apart
from tfssl.devices.ondevice import METADATA
from tfssl.errors import expect
from tfssl.runs.opened import experiment_of
from tfssl.runs.provenance import versions
from tfssl.runs.temperature import calibration_record
from tfssl.storage.files import write_json

FORMAT = 1
BATCHES = {None: "", 1: "_batch1"}
# How far a file may be from the Keras model: the mean |difference| of an output, in units of its
# largest number if that exceeds 1; and the share of labels that change, as they do where two
# classes are about as likely.
LIMITS = {"f32": (1e-5, 0.0), "f16": (1e-3, 0.02), "dynamic": (2e-2, 0.1), "int8": (5e-2, 0.1)}


def write_device_files(folder, run, quantisations, reference, progress=iter):
    """Convert what devices can run, and check it with LiteRT where TensorFlow is not loaded.

    Args:
      folder: a new folder to fill; of no use after an error.
      run: a `TrainedRun`.
      quantisations: some of `litert.QUANTISATIONS`.
      reference: of the run, from `tfssl.export.reference.make_reference`.
      progress: wraps the list of files to convert.

    Returns:
      files: {file name: its metadata}.
    """
    found = conversion.device_functions(run)
    typical: dict = {}
    if "int8" in quantisations:
        x_train = experiment_of(run).split.x_train
        typical = conversion.calibration_inputs(run, found, x_train)
    plan = [
        (name, quantisation, batch)
        for name in found
        for quantisation in quantisations
        for batch in BATCHES
    ]
    folder.mkdir(parents=True)
    files = {}
    for name, quantisation, batch in progress(plan):
        file = f"{name}_{quantisation}{BATCHES[batch]}.tflite"
        content = conversion.convert(found[name], quantisation, batch, typical.get(name))
        (folder / file).write_bytes(content)
        files[file] = {
            "function": name,
            "quantisation": quantisation,
            "batch": batch,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    metadata = {"format": FORMAT, **describe(run), "versions": versions(), "files": files}
    write_json(folder / METADATA, metadata)  # the client that checks the files reads it
    compare(folder, files, device_reference(found, reference))
    write_json(folder / METADATA, metadata)
    return files


def describe(run):
    """Labels and preprocessing, as plain JSON values."""
    preprocessing = run.preprocessing
    images = preprocessing.levels is not None
    return {
        "model": run.settings.model,
        "data": run.settings.data.name,
        "labels": list(run.class_names),
        "calibration": calibration_record(run.calibration),
        "input": {
            "name": "x",
            "dtype": "float32",
            "shape": list(preprocessing.shape),
            "levels": preprocessing.levels,
            "preprocessing": f"intensities in [0, 1]: grey levels divided by {preprocessing.levels}"
            if images
            else "features in their own units",
        },
    }


def device_reference(found, reference):
    """The part of a reference that the files can be held against, under the files' names."""
    part = {}
    for name in found:
        inputs, outputs = reference.get(f"{name}_float", reference[name])
        floats = {k: v.astype(np.float32) if v.dtype.kind == "f" else v for k, v in inputs.items()}
        kept = conversion.OUTPUTS.get(name, outputs)
        part[name] = floats, {key: outputs[key] for key in kept}
    return part


def compare(folder, files, reference):
    """Hold the files against the reference; adds to their metadata, `InputError` if one fails."""
    computed = run_apart(folder, {name: inputs for name, (inputs, _) in reference.items()})
    for file, about in files.items():
        inputs, expected = reference[about["function"]]
        outputs = computed[file]
        operations = outputs.pop("operations").tolist()
        expect(
            not any(name.startswith(("Flex", "Custom")) for name in operations),
            f"{file} must have builtin operations only",
            operations=operations,
        )
        expect(
            {k: v.shape for k, v in outputs.items()} == {k: v.shape for k, v in expected.items()},
            f"{file} must give {', '.join(expected)} with the shapes of the reference",
            outputs={key: value.shape for key, value in outputs.items()},
        )
        numbers = [k for k, value in expected.items() if value.dtype.kind == "f"]
        differences = [_differences(outputs[key], expected[key]) for key in numbers]
        mean = max(float(values.mean()) for values in differences)
        changed = (
            float((outputs["label"] != expected["label"]).mean()) if "label" in expected else 0.0
        )
        mean_limit, changed_limit = LIMITS[about["quantisation"]]
        # Not `> limit`: a difference that is not a number must fail too.
        expect(
            mean <= mean_limit and changed <= changed_limit,
            f"{file} must be within {mean_limit} of the Keras model on average, and change at most "
            f"{changed_limit:.0%} of the labels",
            hint=f"Leave {about['quantisation']} out.",
            mean_difference=mean,
            labels_changed=changed,
        )
        about["inputs"] = _tensors(inputs, about["batch"])
        about["outputs"] = _tensors(outputs, about["batch"])
        about["operations"] = sorted(set(operations))
        largest = max(float(values.max()) for values in differences)
        about["difference"] = {"mean": mean, "largest": largest, "labels_changed": changed}


def _differences(found, expected):
    """|difference|, relative to the largest number of the output if that exceeds 1."""
    return np.abs(found - expected) / max(1.0, float(np.abs(expected).max()))


def _tensors(arrays, batch):
    """{name: {"shape": [batch, ...], "dtype": ...}}; the batch is null if it may be of any size."""
    return {
        name: {"shape": [batch, *array.shape[1:]], "dtype": str(array.dtype)}
        for name, array in arrays.items()
    }
