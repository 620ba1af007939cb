"""Arrays of an .npz file as a data set."""

from pathlib import Path

import numpy as np

from tfssl.data.source import NO_LABEL, Source
from tfssl.errors import expect
from tfssl.storage.archives import read_array, read_arrays


def read_inputs(path):
    """The inputs to predict: `x` of an .npz file, or an .npy array."""
    path = Path(path)
    expect(
        path.suffix in (".npz", ".npy"), "the input must be an .npz or .npy file", path=str(path)
    )
    arrays = read_arrays(path) if path.suffix == ".npz" else {"x": read_array(path)}
    expect("x" in arrays, f"{path} must hold an array `x`", found=sorted(arrays))
    return arrays["x"]


def load_npz(path):
    """The `Source` of an .npz file."""
    return from_arrays(read_arrays(path), path)


def from_arrays(arrays, path):
    """x, y (y = -1 for "no label") and perhaps x_test, y_test, class_names; or x_train, y_train."""
    suffix = "_train" if "x_train" in arrays else ""
    x_key, y_key = f"x{suffix}", f"y{suffix}"
    expect(
        x_key in arrays and y_key in arrays,
        f"{path} must hold arrays x and y (or x_train, y_train), and perhaps x_test and y_test",
        found=sorted(arrays),
    )
    x, label = _check_pair(arrays[x_key], arrays[y_key], f"{path}: {x_key}, {y_key}")
    expect(
        ("x_test" in arrays) == ("y_test" in arrays),
        f"{path} must hold both x_test and y_test or neither",
        found=sorted(arrays),
    )
    x_test, label_test = _check_pair(
        arrays.get("x_test", x[:0]),
        arrays.get("y_test", label[:0]),
        f"{path}: x_test, y_test",
        empty=True,
    )
    expect(
        x.shape[1:] == x_test.shape[1:],
        f"{path}: training and test inputs must have the same shape",
        train=x.shape[1:],
        test=x_test.shape[1:],
    )
    num_classes = int(max(label.max(initial=-1), label_test.max(initial=-1))) + 1
    names = arrays.get("class_names")
    expect(
        names is None or (names.ndim == 1 and len(names) >= num_classes),
        f"{path}: `class_names` must name every class, in a list",
        names=None if names is None else names.shape,
        classes=num_classes,
    )
    class_names = range(num_classes) if names is None else names
    return Source(
        name=path.stem,
        x=x,
        label=label,
        x_test=x_test,
        label_test=label_test,
        class_names=tuple(str(name) for name in class_names),
        levels=255 if x.dtype == np.uint8 else None,
    )


def _check_pair(x, label, where, empty=False):
    expect(
        x.dtype == np.uint8 or x.dtype.kind in "fiu",
        f"{where}: inputs must be uint8 images or numbers",
        dtype=str(x.dtype),
    )
    expect(x.ndim >= 2, f"{where}: inputs must have the shape [N, ...]", shape=x.shape)
    expect(
        label.ndim == 1 and label.dtype.kind in "iu",
        f"{where}: labels must be integers of shape [N]",
        dtype=str(label.dtype),
        shape=label.shape,
    )
    expect(
        len(x) == len(label),
        f"{where}: inputs and labels must have the same length",
        inputs=len(x),
        labels=len(label),
    )
    expect(empty or len(x) > 0, f"{where}: there must be at least one example", examples=len(x))
    label = label.astype(np.int64)
    expect(
        label.min(initial=NO_LABEL) >= NO_LABEL,
        f"{where}: labels must be 0, 1, ... or -1 for no label",
        smallest=int(label.min(initial=NO_LABEL)),
    )
    if isinstance(x, np.memmap):  # it stays as it is, and its values are checked before training
        expect(
            x.dtype in (np.uint8, np.float32, np.float64),
            f"{where}: inputs on disk must be uint8, float32 or float64",
            dtype=str(x.dtype),
        )
    elif x.dtype != np.uint8:
        with np.errstate(over="ignore"):  # what float32 cannot hold becomes inf and is refused
            finite = np.isfinite(x.astype(np.float32))
            # Numbers far from 0 keep the digits that tell them apart until they are centred.
            x = x.astype(np.float32 if np.can_cast(x.dtype, np.float32) else np.float64)
        expect(
            bool(finite.all()),
            f"{where}: inputs must be finite",
            hint="Fill in or drop the missing values.",
            not_finite=int((~finite).sum()),
        )
    return x, label
