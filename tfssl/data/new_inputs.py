"""New inputs for a trained run, read as its training data were."""

from pathlib import Path

import numpy as np

from tfssl.data import images, records, table_files, tables
from tfssl.data.npz import read_inputs
from tfssl.errors import InputError, expect


def read_new(path, schema=None):
    """The inputs of a path and what to call them: (x [N, ...], N names).

    Args:
      path: an .npz file with `x`, an .npy file; or what the run was trained on: a table, a folder
        of pictures or a single one, TFRecords.
      schema: the `Source.schema` of the training data.
    """
    path = Path(path)
    if path.suffix in (".npz", ".npy"):
        x = read_inputs(path)
        return x, [str(row) for row in range(len(x) if np.ndim(x) else 0)]
    expect(path.exists(), f"the input {path} must exist")
    suffix, trained_on = path.suffix.lower(), "arrays" if schema is None else schema.get("format")
    try:
        if trained_on == "table" and suffix in table_files.SUFFIXES:
            return tables.read_new(path, schema)
        if trained_on != "table" and suffix in records.SUFFIXES:
            return records.read_new(path, schema)
        if trained_on == "images" and (path.is_dir() or suffix in images.SUFFIXES):
            return images.read_new(path, schema)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None
    raise InputError(
        f"the input must be an .npz or .npy file, or of the kind the run was trained on, "
        f"{trained_on}. Received: {path}."
    )
