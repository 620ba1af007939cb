"""Data sets by name or path: embedded digits, the paper's image sets, the user's own.

`load_source("mnist")` looks for `mnist.npz` (x_train, y_train, x_test, y_test) in the folder that
the environment variable TFSSL_DATA_DIR names, then asks TensorFlow Datasets, which downloads it;
`load_source("tfds:cifar10")` asks for any other of its sets. A path is one of an .npz file, a
folder of pictures (`images`), a table (`tables`), TFRecords (`records`) or a folder with x.npy and
y.npy, which may be larger than memory.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from tfssl.data.npz import load_npz
from tfssl.data.source import Source
from tfssl.errors import InputError, expect

# Our name -> TensorFlow Datasets' name, and the key of the label.
TFDS_NAMES = {
    "mnist": ("mnist", "label"),
    "fashion_mnist": ("fashion_mnist", "label"),
    "svhn_cropped": ("svhn_cropped", "label"),
    "smallnorb": ("smallnorb", "label_category"),
}


def source_of(data):
    """The data set that `DataSettings` name, read as they say."""
    return load_source(
        data.name, data.label, data.drop, data.image_size, data.colour, data.memory_limit_mb
    )


def load_source(name, label=None, drop=(), image_size=None, colour=None, memory_limit_mb=1000):
    """A named data set, or the one at the path `name`.

    Args:
      name: a name or a path, as above.
      label, drop, image_size, colour: as in `DataSettings`; refused for a kind of data that they do
        not concern.
      memory_limit_mb: as in `DataSettings`.
    """
    options = {"label": label, "drop": drop, "image_size": image_size, "colour": colour}
    given = {key: value for key, value in options.items() if value not in (None, ())}
    folder = os.environ.get("TFSSL_DATA_DIR")
    if name in ("digits", *TFDS_NAMES):
        check_options(name, given)
    if name == "digits":
        return _digits()
    if name in TFDS_NAMES and folder and (Path(folder) / f"{name}.npz").exists():
        return replace(load_npz(Path(folder) / f"{name}.npz"), name=name)
    if name in TFDS_NAMES or name.startswith("tfds:"):
        from tfssl.data import tfds

        check_options("a set of TensorFlow Datasets", given, "label", "image_size", "colour")
        tfds_name, label_key = TFDS_NAMES.get(name, (name.removeprefix("tfds:"), label))
        return tfds.load(name, tfds_name, label_key, folder, image_size, colour)
    if name.endswith(".npz"):
        check_options("an .npz file", given)
        return load_npz(Path(name))
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
    from tfssl.data.table_files import SUFFIXES, table_file

    known = path.suffix in (*SUFFIXES, *records.SUFFIXES)
    expect(
        path.exists() and (known or path.is_dir()),
        f"the data set must be one of {', '.join(['digits', *TFDS_NAMES])}, tfds:NAME, or the path "
        "of an .npz file, an image folder, a .csv, .tsv or .parquet table or a .tfrecord file",
        name=str(path),
        exists=path.exists(),
    )
    if path.suffix in SUFFIXES or (path.is_dir() and table_file(path, "train")):
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
