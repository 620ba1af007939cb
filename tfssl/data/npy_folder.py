"""A folder of .npy files: x, y (-1 for "no label"), perhaps x_test, y_test and class_names.

The inputs may be larger than memory: then they are read from disk a batch at a time.
"""

from dataclasses import replace

from tfssl.data.cache import open_array
from tfssl.data.npz import from_arrays
from tfssl.errors import InputError

NAMES = ("x", "y", "x_test", "y_test", "class_names")


def load(folder, memory_limit_mb=1000):
    """The `Source` of a folder; larger inputs than the limit stay on disk."""
    try:
        arrays = {
            name: open_array(folder / f"{name}.npy", memory_limit_mb)
            for name in NAMES
            if (folder / f"{name}.npy").exists()
        }
    except OSError as error:
        raise InputError(f"cannot read {folder}: {error.strerror or error}.") from None
    return replace(from_arrays(arrays, folder), name=folder.resolve().name)
