"""Data sets by name or path: embedded digits, the paper's image sets, the user's own.

`load_source("mnist")` looks for `mnist.npz` (x_train, y_train, x_test, y_test) in the folder that
the environment variable TFSSL_DATA_DIR names, then asks TensorFlow Datasets, which downloads it;
`load_source("tfds:cifar10")` asks for any other of its sets. A path is one of an .npz file, a
folder of pictures (`images`), a table (`tables`), TFRecords (`records`) or a folder with x.npy and
y.npy, which may be larger than memory.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tfssl.errors import InputError, expect
from tfssl.storage.archives import read_array, read_arrays

NO_LABEL = -1

# Our name -> TensorFlow Datasets' name, and the key of the label.
TFDS_NAMES = {
    "mnist": ("mnist", "label"),
    "fashion_mnist": ("fashion_mnist", "label"),
    "svhn_cropped": ("svhn_cropped", "label"),
    "smallnorb": ("smallnorb", "label_category"),
}


@dataclass(frozen=True)
class Source:
    """A data set. A label of -1 means "no label".

    Attributes:
      name: what to call it.
      x: [N, ...] training inputs, uint8 images or features in float32 or float64; a memory map if
        they stay on disk.
      label: [N] integers in {-1, 0, ..., num_classes - 1}.
      x_test, label_test: the data set's own test points, perhaps none.
      class_names: one per class.
      levels: grey levels above black (255 for uint8 images, 16 for the digits); None for features
        that are not images.
      schema: how files were read, plain data by which new ones are read alike, see `new_inputs`;
        None for arrays, which are taken as they are.
      files, files_test: the names of the files that the inputs were read from, below the data set's
        folder; None if they have none of their own.
    """

    name: str
    x: np.ndarray
    label: np.ndarray
    x_test: np.ndarray
    label_test: np.ndarray
    class_names: tuple[str, ...]
    levels: int | None
    schema: dict | None = None
    files: tuple[str, ...] | None = None
    files_test: tuple[str, ...] | None = None

    @property
    def num_classes(self):
        return len(self.class_names)

    @property
    def image_shape(self):
        """(height, width[, 1 or 3 channels]) or None for features that are not images."""
        shape = self.x.shape[1:]
        pictorial = len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))
        return shape if self.levels is not None and pictorial else None


def load_source(
    name, label=None, drop=(), image_size=None, colour=None, memory_limit_mb=1000, **_others
):
    """A named data set, or the one at the path `name`.

    Args:
      name: a name or a path, as above.
      label, drop, image_size, colour: as in `DataSettings`; refused for a kind of data that they do
        not concern.
      memory_limit_mb: as in `DataSettings`; its other settings are not used.
    """
    options = {"label": label, "drop": drop, "image_size": image_size, "colour": colour}
    given = {key: value for key, value in options.items() if value not in (None, ())}
    folder = os.environ.get("TFSSL_DATA_DIR")
    if name in ("digits", *TFDS_NAMES):
        check_options(name, given)
    if name == "digits":
        return _digits()
    if name in TFDS_NAMES and folder and (Path(folder) / f"{name}.npz").exists():
        return replace(_from_file(Path(folder) / f"{name}.npz"), name=name)
    if name in TFDS_NAMES or name.startswith("tfds:"):
        from tfssl.data import tfds

        check_options("a set of TensorFlow Datasets", given, "label", "image_size", "colour")
        tfds_name, label_key = TFDS_NAMES.get(name, (name.removeprefix("tfds:"), label))
        return tfds.load(name, tfds_name, label_key, folder, image_size, colour)
    if name.endswith(".npz"):
        check_options("an .npz file", given)
        return _from_file(Path(name))
    try:
        return _from_path(Path(name), given, memory_limit_mb)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}.") from None


def needs_tensorflow(name):
    """Whether TensorFlow reads the data set: TFRecords, or a set of TensorFlow Datasets."""
    from tfssl.data import records

    if name in TFDS_NAMES or name.startswith("tfds:"):
        return True
    try:
        held = Path(name).iterdir() if Path(name).is_dir() else [Path(name)]
        return any(file.suffix in records.SUFFIXES for file in held)
    except OSError:  # which `load_source` explains
        return False


def check_options(kind, given, *known):
    """Fail if settings are given, {name: value}, that do not concern a kind of data."""
    unknown = {name: value for name, value in given.items() if name not in known}
    expect(
        not unknown,
        f"{kind} must be read without data.{', data.'.join(unknown)}"
        + (" (--label)" if "label" in unknown else ""),
        hint=f"Leave it out; what applies: {', '.join(f'data.{n}' for n in known) or 'none'}.",
        **unknown,
    )


def _from_path(path, given, memory_limit_mb):
    """The user's own files; `given` are the settings on how to read them."""
    from tfssl.data import images, npy_folder, records, tables

    known = path.suffix in (*tables.SUFFIXES, *records.SUFFIXES)
    expect(
        path.exists() and (known or path.is_dir()),
        f"the data set must be one of {', '.join(['digits', *TFDS_NAMES])}, tfds:NAME, or the path "
        "of an .npz file, an image folder, a .csv, .tsv or .parquet table or a .tfrecord file",
        name=str(path),
        exists=path.exists(),
    )
    if path.suffix in tables.SUFFIXES or (path.is_dir() and tables.table_file(path, "train")):
        check_options("a table", given, "label", "drop")
        return tables.load(path, **given)
    if records.record_files(path):
        check_options("a TFRecord file", given, "label", "image_size", "colour")
        return records.load(path, **given, memory_limit_mb=memory_limit_mb)
    if (path / "x.npy").exists():
        check_options("a folder with x.npy", given)
        return npy_folder.load(path, memory_limit_mb=memory_limit_mb)
    check_options("an image folder", given, "image_size", "colour")
    return images.load(path, **given, memory_limit_mb=memory_limit_mb)


def read_inputs(path):
    """The inputs to predict: `x` of an .npz file, or an .npy array."""
    path = Path(path)
    expect(
        path.suffix in (".npz", ".npy"), "the input must be an .npz or .npy file", path=str(path)
    )
    arrays = read_arrays(path) if path.suffix == ".npz" else {"x": read_array(path)}
    expect("x" in arrays, f"{path} must hold an array `x`", found=sorted(arrays))
    return arrays["x"]


def check_classes(names, where, rule):
    """Fail unless there are at least two classes."""
    expect(
        len(names) >= 2,
        f"{where} must have labels of at least two classes: {rule}",
        classes=list(names),
    )


def _digits():
    from sklearn.datasets import load_digits

    digits = load_digits()
    return Source(
        name="digits",
        x=digits.images.astype(np.uint8),
        label=digits.target.astype(np.int64),
        x_test=np.empty((0, 8, 8), np.uint8),
        label_test=np.empty(0, np.int64),
        class_names=tuple(str(name) for name in digits.target_names),
        levels=16,
    )


def _from_file(path):
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
