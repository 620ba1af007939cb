"""Run exported .tflite files with LiteRT: an example of a client, and how tfssl checks them itself.

It needs numpy and ai-edge-litert, and pillow for PNG and JPEG files; neither TensorFlow nor the
rest of tfssl. Copy this file to the device, the model, and the metadata.json beside the model:

  python ondevice.py classify_f32.tflite seven.png three.png
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

METADATA = "metadata.json"
ABOUT = {"function", "batch", "sha256"}  # what the client needs to know of a file
SHOWN = 10  # classes, the likeliest ones


class DeviceModel:
    """A .tflite file with one function, and what its metadata say.

    Args:
      path: the file; its metadata.json must lie beside it.
      threads: how many to compute with.

    Attributes:
      about: the metadata of this file: "function", "quantisation", "batch", "inputs", ...
      metadata: those of the whole folder: "labels", "input", "files".
      operations: names of the builtin operations in use.
    """

    def __init__(self, path, threads=1):
        self.path = path = Path(path)
        self.metadata = read_metadata(path)
        self.about = self.metadata["files"][path.name]
        # First of all: LiteRT ends the process at some damaged files.
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.about["sha256"]:
            raise ValueError(f"{path} is not the file that was exported: copy it again.")
        try:
            # The file's own operations, not those of a delegate, are what `operations` lists.
            plain = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
            listed = Interpreter(str(path), experimental_op_resolver_type=plain)
            self.operations = [op["op_name"] for op in listed._get_ops_details()]
            interpreter = Interpreter(str(path), num_threads=threads)
            interpreter.allocate_tensors()
            self.run = interpreter.get_signature_runner()
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{path} is not a .tflite file that LiteRT can run: {error}") from None

    def __call__(self, **inputs):
        """{output: array [N, ...]} of the inputs, arrays [N, ...]; one at a time if need be."""
        try:
            if self.about["batch"] is None:
                return self.run(**inputs)
            count = len(next(iter(inputs.values())))
            rows = [self.run(**{k: v[i : i + 1] for k, v in inputs.items()}) for i in range(count)]
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{self.path} cannot compute: {error}") from None
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def read_metadata(path):
    """The metadata beside a .tflite file."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}: give a .tflite file that tfssl export wrote.")
    beside = path.parent / METADATA
    try:
        metadata = json.loads(beside.read_text(encoding="utf-8"))
        known = metadata["files"]
        about = known.get(path.name, dict.fromkeys(ABOUT))
        missing = ABOUT - about.keys()
    except FileNotFoundError:
        raise ValueError(f"{beside} is missing: copy it from the exported folder too.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{beside} is damaged: {error!r}.") from None
    if missing:
        raise ValueError(f"{beside} is damaged: of {path.name} it lacks {', '.join(missing)}.")
    if path.name not in known:
        raise ValueError(f"{beside} does not know {path.name}. It knows: {', '.join(known)}.")
    return metadata


def open_classifier(path, threads=1):
    """A `DeviceModel` that classifies."""
    model = DeviceModel(path, threads)
    if model.about["function"] != "classify":
        raise ValueError(
            f"{path} must be a classifier, and this one is for {model.about['function']!r}. "
            "Take one whose name starts with classify."
        )
    labels, expected = (model.metadata.get(name) for name in ("labels", "input"))
    described = isinstance(expected, dict) and "levels" in expected
    if not (described and isinstance(expected.get("shape"), list) and isinstance(labels, list)):
        raise ValueError(
            f"{METADATA} is damaged: it must hold labels, and an input with its shape."
        )
    return model


def read_inputs(path, expected, resize=False, invert=False):
    """Inputs of a classifier from a file: float32 [N, *shape].

    Args:
      path: an image file with one input, or .npy with one or several. Integers in .npy are grey
        levels as in the training data, other numbers intensities in [0, 1]; features that are no
        images come in their own units.
      expected: metadata["input"]: the "shape" of one input and its "levels", None for features.
      resize: scale an image file to the size that is expected.
      invert: of images, exchange black and white.
    """
    path, shape, levels = Path(path), tuple(expected["shape"]), expected["levels"]
    try:
        if path.suffix.lower() == ".npy":
            x = np.load(path, allow_pickle=False)
        else:
            x = _read_image(path, shape, levels, resize)
    except (OSError, ValueError, EOFError, MemoryError, *_image_errors()) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot read {path}: {reason}") from None
    if x.shape == shape:
        x = x[np.newaxis]
    if x.shape[1:] != shape or x.ndim != len(shape) + 1 or not len(x):
        raise ValueError(f"{path} must hold an input of the shape {shape}, not {x.shape}.")
    if x.dtype.kind not in "fiub":
        raise ValueError(f"{path} must hold numbers, not {x.dtype}.")
    if levels is not None:
        x = x / levels if x.dtype.kind in "iub" else x
    x = x.astype(np.float32)
    if not np.isfinite(x).all():
        raise ValueError(f"{path} must hold finite numbers.")
    if levels is None:
        return x
    if x.min() < 0.0 or x.max() > 1.0:
        raise ValueError(
            f"{path} must hold integers from 0 to {levels} or intensities from 0 to 1; its "
            f"intensities go from {x.min():.3g} to {x.max():.3g}."
        )
    return 1.0 - x if invert else x


def _image_errors():
    """What Pillow raises at an image that would not fit into memory."""
    try:
        from PIL import Image
    except ImportError:
        return ()
    return (Image.DecompressionBombError, Image.DecompressionBombWarning)


def _read_image(path, shape, levels, resize):
    """Intensities [*shape] of an image file, or of its own size."""
    from PIL import Image

    modes = {2: "L", 3: "RGB"}
    if levels is None or len(shape) not in modes or (len(shape) == 3 and shape[2] != 3):
        raise ValueError(f"this classifier takes .npy files only, with inputs of the shape {shape}")
    with Image.open(path) as image:
        height, width = shape[:2]
        if image.size != (width, height) and not resize:
            raise ValueError(
                f"expected {width}x{height} pixels, received {image.width}x{image.height}; "
                "--resize scales it"
            )
        pixels = image.convert(modes[len(shape)]).resize((width, height), Image.Resampling.BOX)
        return np.asarray(pixels, np.float32) / 255.0


def describe(probabilities, labels):
    """ "3 (0.98)  8 0.01  5 0.00 ...": the likeliest class, then the others in order."""
    first, *others = np.argsort(-probabilities, kind="stable")[:SHOWN]
    rest = "".join(f"  {labels[k]} {probabilities[k]:.3f}" for k in others)
    return f"{labels[first]} ({probabilities[first]:.3f}){rest}"


def classify_files(model_path, paths, resize=False, invert=False):
    """Yield (where, probabilities [K], labels) for every input in the files."""
    model = open_classifier(model_path)
    labels = model.metadata["labels"]
    # All are read before the first is classified: a bad one is no surprise after good answers.
    inputs = [read_inputs(path, model.metadata["input"], resize, invert) for path in paths]
    for path, x in zip(paths, inputs, strict=True):
        for row, probabilities in enumerate(model(x=x)["probabilities"]):
            where = f"{path}[{row}]" if len(x) > 1 else str(path)
            if len(probabilities) != len(labels):
                raise ValueError(
                    f"{METADATA} is damaged: it must hold {len(probabilities)} labels."
                )
            if not np.isfinite(probabilities).all():
                raise ValueError(f"{model_path} gives {where} probabilities that are not finite.")
            yield where, probabilities, labels


if __name__ == "__main__":
    try:
        for where, probabilities, labels in classify_files(sys.argv[1], sys.argv[2:]):
            print(f"{where}: {describe(probabilities, labels)}")
    except (ValueError, IndexError) as error:
        print(f"{error}\nusage: python ondevice.py MODEL.tflite IMAGE...", file=sys.stderr)
        sys.exit(2)
