"""What the Keras model makes of real inputs, to hold exported graphs against.

A reference is {signature: (inputs, outputs)}, both {name: array}. The probabilities in it are
those of `TrainedRun.calibrated_probabilities`, and so M1's come from scikit-learn; the others are
from the functions of `tfssl.export.functions`, called one operation after another.
"""

import numpy as np

from tfssl.errors import expect
from tfssl.runs.opened import experiment_of
from tfssl.runs.trained import NUM_EXAMPLES
from tfssl.storage.archives import damaged, read_arrays

SAMPLES = 5  # of z, for log_likelihood
CLEAR = 1e-3  # how far the likeliest class must be ahead for its label to be compared


def real_inputs(run):
    """Inputs as they are stored: the run's examples, or of an older run the first of its data."""
    if run.examples is not None:
        return run.examples
    parts = experiment_of(run).split
    return np.asarray((parts.x_test if len(parts.x_test) else parts.x_train)[:NUM_EXAMPLES])


def make_reference(run, found, x):
    """The reference of a `TrainedRun`, with the `functions` found of it, on stored inputs x."""
    probabilities = run.probabilities(x)
    first, second = np.sort(probabilities, axis=1)[:, :-3:-1].T
    clear = first - second > CLEAR
    expect(
        clear.any(),
        f"the model must prefer a class for at least one of {len(x)} points",
        hint="It has learned nothing: train it for longer.",
    )
    x = x[clear]
    probabilities = run.calibrated_probabilities(x)
    reference = {}
    for name, function in found.items():
        inputs = {key: _values(key, spec, x, run) for key, spec in function.inputs.items()}
        outputs = {key: value.numpy() for key, value in function.call(**inputs).items()}
        if "probabilities" in outputs:
            outputs["probabilities"] = probabilities.astype(np.float32)
        reference[name] = inputs, outputs
    return reference | {"serving_default": reference["classify"]}


def _values(key, spec, x, run):
    """Values for an input: x itself, classes in turn, or noise."""
    if key == "x":
        levels = run.preprocessing.levels
        intensities = levels is not None and spec.dtype.is_floating
        return (x / levels).astype(np.float32) if intensities else x
    if key == "y":
        return np.arange(len(x), dtype=np.int32) % len(run.class_names)
    shape = [SAMPLES if size is None else size for size in spec.shape[1:]]
    return np.random.default_rng(0).standard_normal((len(x), *shape), np.float32)


def save_reference(path, reference):
    """Write an .npz file with names such as "classify/outputs/label"."""
    arrays = {
        f"{name}/{side}/{key}": value.astype(str) if value.dtype == object else value
        for name, (inputs, outputs) in reference.items()
        for side, values in (("inputs", inputs), ("outputs", outputs))
        for key, value in values.items()
    }
    np.savez_compressed(path, **arrays)


def load_reference(path):
    """The inverse of `save_reference`."""
    expect(
        path.is_file(),
        f"there must be a {path} to compare with",
        hint="Give the run that was exported as --run.",
    )
    reference: dict = {}
    with damaged(path):
        for full_name, array in read_arrays(path).items():
            name, side, key = full_name.split("/")
            pair = reference.setdefault(name, ({}, {}))
            pair[side == "outputs"][key] = array
    return reference
