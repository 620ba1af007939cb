"""The functions of a trained run as .tflite files for LiteRT: phones, boards and browsers.

Every function of `tfssl.export.functions` but `log_likelihood`, which loops, becomes a file of its
own with one signature and builtin operations only. Images are intensities in [0, 1], float32. There
are no strings on a device: `classify` gives probabilities and labels, their names go beside it.

  f32      weights and arithmetic in float32
  f16      weights stored in float16, half the size
  dynamic  weights stored in int8 with a scale for each unit, a quarter of the size; products in
           int8, each row of activations with a scale of its own
  int8     the same weights, and all arithmetic in integers with fixed scales, chosen on training
           points. Activations have 16 bits: with 8, all of a layer's units share 256 levels, which
           are coarse where softplus has its bend, and each of its operations and the logits are
           rounded the same way (docs/devices.md has what that costs).
"""

import contextlib
import os
import sys
import warnings
from dataclasses import replace

import numpy as np
import tensorflow as tf

from tfssl.errors import InputError
from tfssl.export.functions import functions

NAMES = ("classify", "encode", "decode", "generate", "reconstruct", "analogies")
OUTPUTS = {"classify": ("probabilities", "label")}
INTEGERS = {
    8: tf.lite.OpsSet.TFLITE_BUILTINS_INT8,
    16: tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8,
}
# Beyond the range that calibration has seen, integers saturate: it takes the rarer points too.
CALIBRATION_POINTS = 1000


def device_functions(run):
    """{name: `Function`} of a `TrainedRun` for devices; "x" is float32, the batch of any size."""
    found = functions(run, dtype=tf.float32)
    return {
        name: _for_devices(name, found.get(f"{name}_float", found[name]))
        for name in NAMES
        if name in found
    }


def _for_devices(name, function):
    kept = OUTPUTS.get(name)

    def call(**inputs):
        outputs = function.call(**inputs)
        return {key: value for key, value in outputs.items() if kept is None or key in kept}

    inputs = {
        key: tf.TensorSpec(spec.shape, tf.float32 if spec.dtype.is_floating else spec.dtype, key)
        for key, spec in function.inputs.items()
    }
    return replace(function, name=name, call=call, inputs=inputs)


def convert(function, quantisation, batch=None, calibration=None, activation_bits=16):
    """A function as the bytes of a .tflite file.

    Args:
      function: a `Function` of `device_functions`.
      quantisation: one of `tfssl.devices.litert.QUANTISATIONS`.
      batch: the size of the batch, or None for any.
      calibration: {input: array [N, ...]}, typical inputs; only int8 needs them.
      activation_bits: of int8, 16, or 8 to measure what that would lose.
    """
    specs = {
        key: tf.TensorSpec([batch, *spec.shape[1:]], spec.dtype, key)
        for key, spec in function.inputs.items()
    }
    graph = tf.function(function.call, autograph=False).get_concrete_function(**specs)
    # The converter looks variables up in a TensorFlow module, and a Keras model is none: without
    # this it writes files whose variables are never set.
    holder = tf.Module()
    holder.held = list(graph.graph.variables)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([graph], holder)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantisation != "f32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantisation == "f16":
        converter.target_spec.supported_types = [tf.float16]
    if quantisation == "int8":
        # What has no integer version, such as argmax, stays in float32.
        converter.target_spec.supported_ops.append(INTEGERS[activation_bits])
        converter.representative_dataset = lambda: _rows(calibration)
    try:
        with _quiet():
            return converter.convert()
    except Exception as error:  # the converter has no common error
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"cannot convert {function.name} to {quantisation}: {reason}. Leave {quantisation} out."
        ) from None


def _rows(arrays):
    """{name: [N, ...]} -> N times {name: [1, ...]}."""
    for row in range(len(next(iter(arrays.values())))):
        yield {name: array[row : row + 1] for name, array in arrays.items()}


def calibration_inputs(run, found, x):
    """Typical inputs of the functions: {function: {input: array [N, ...]}}.

    Classes and styles to decode are those of training points and as many from the prior.

    Args:
      run: a `TrainedRun`.
      found: its `device_functions`.
      x: stored training inputs, [N, ...].
    """
    rng = np.random.default_rng(0)
    x = x[rng.permutation(len(x))[:CALIBRATION_POINTS]]
    images = {"x": (x / (run.preprocessing.levels or 1)).astype(np.float32)}
    code = {}
    if "encode" in found:  # there is a generative model
        code = {key: value.numpy() for key, value in found["encode"].call(**images).items()}
    count = len(x)

    def values(name, key, spec):
        if key == "x":
            return images["x"]
        if key == "y":
            y = rng.integers(len(run.class_names), size=count).astype(np.int32)
            return np.concatenate([code["label"], y]) if name == "decode" else y
        drawn = rng.standard_normal((count, spec.shape[1]), np.float32)
        return np.concatenate([code["loc"], drawn]) if key == "z" else drawn

    return {
        name: {key: values(name, key, spec) for key, spec in function.inputs.items()}
        for name, function in found.items()
    }


@contextlib.contextmanager
def _quiet():
    """Keep what the converter's C++ part prints, and its notes on versions, off the terminal."""
    sys.stderr.flush()
    saved = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
