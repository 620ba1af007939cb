"""What the page loads of a run: its models as .tflite files, and demo.json with these entries.

model, data      what was trained, and on what
labels           how many it was given, null for all
error            on the test points, null if not measured
classes          their names
has_classes      whether `decode` takes a class: M1's does not
image, output    {height, width, channels} of what goes in and comes out; of the former also levels
style_dim, axes  the size of z, and the pad's two directions in it
models           {classify, encode, decode: address}
samples          test images, [{label, pixels: stored numbers, flat}]
"""

import json
from pathlib import Path

import numpy as np

from tfssl.demo.plane import style_axes
from tfssl.devices import conversion
from tfssl.errors import InputError, expect
from tfssl.runs.opened import experiment_of
from tfssl.runs.trained import TrainedRun
from tfssl.settings.kinds import method_name

FUNCTIONS = ("classify", "encode", "decode")
SAMPLES_PER_CLASS = 2
MAX_SAMPLES = 40


def open_run(path):
    """A finished run on images, or an `InputError`."""
    run = TrainedRun(path)
    run.folder.check_finished()
    shape = run.preprocessing.shape
    expect(
        run.preprocessing.levels is not None
        and (len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))),
        "the page shows models of images",
        hint="Name a run that was trained on images.",
        shape=shape,
    )
    return run


def write_bundle(run, folder, report=print):
    """Write the models and demo.json of a run from `open_run`.

    Args:
      run: a `TrainedRun`.
      folder: an existing folder.
      report: called with a line of text if there are no test images to show.
    """
    about = describe(run) | {"samples": []}
    try:
        about["samples"] = samples(run)
    except InputError as reason:
        report(f"no test images on the page: {reason}")
    try:
        about["models"] = write_models(run, folder)
        (folder / "demo.json").write_text(json.dumps(about), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write the models to {folder}: {error.strerror}.") from None


def describe(run):
    """The entries of demo.json that need neither models nor data."""
    model = run.generative("the demo page")
    settings, preprocessing = run.settings, run.preprocessing
    labels = settings.data.num_labelled
    return {
        "model": method_name(settings),
        "data": Path(settings.data.name).stem,  # it may be a file of the user's
        "labels": None if labels == "all" else labels,
        "error": run.folder.read_json("metrics.json").get("test", {}).get("error"),
        "classes": run.class_names,
        "has_classes": model.has_classes,
        "image": _layout(preprocessing.shape) | {"levels": preprocessing.levels},
        "output": _layout(preprocessing.image_shape),
        "style_dim": model.style_dim,
        "axes": style_axes(model).tolist(),
    }


def samples(run):
    """A few test images of every class, the same at every call."""
    parts = experiment_of(run).split
    order = np.random.default_rng(0).permutation(len(parts.label_test))
    chosen = []
    for k in range(len(run.class_names)):
        chosen += [i for i in order if parts.label_test[i] == k][:SAMPLES_PER_CLASS]
    return [
        {"label": int(parts.label_test[i]), "pixels": parts.x_test[i].ravel().tolist()}
        for i in chosen[:MAX_SAMPLES]
    ]


def write_models(run, folder):
    """Write the functions that the page calls, for single images: {function: address}."""
    found = conversion.device_functions(run)
    for name in FUNCTIONS:
        model = conversion.convert(found[name], "f32", batch=1)
        (folder / f"{name}.tflite").write_bytes(model)
    return {name: f"models/{name}.tflite" for name in FUNCTIONS}


def _layout(shape):
    height, width, *channels = shape
    return {"height": height, "width": width, "channels": channels[0] if channels else 1}
