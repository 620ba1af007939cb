"""What tells the points of a split from any others: a digest of each part's inputs and labels."""

import hashlib

import numpy as np

from tfssl.data.on_disk import chunks

# Of a part's inputs as many bytes are read: all of most data sets, and seconds of those on disk.
BYTES = 2**28


def digests(split):
    """{part: digest} of a `Split`; labels that the unlabelled points may have are not among it."""
    return {
        "labelled": digest(split.x_labelled, split.label),
        "unlabelled": digest(split.x_unlabelled),
        "validation": digest(split.x_validation, split.label_validation),
        "test": digest(split.x_test, split.label_test),
    }


def digest(x, label=()):
    """32 digits that tell inputs, in their order, and labels from others.

    They cover every label and the number, shape and type of the inputs, and the inputs themselves;
    of more than `BYTES` of these, rows that are spread evenly over all and make up as much.

    Args:
      x: [N, ...] array or `Rows`.
      label: [N] integers, or nothing.
    """
    state = hashlib.blake2b(digest_size=16)
    state.update(f"{x.dtype.str} {tuple(x.shape)}".encode())
    row_bytes = max(1, int(np.prod(x.shape[1:])) * x.dtype.itemsize)
    count = min(len(x), max(1, BYTES // row_bytes))
    rows = np.arange(count) * len(x) // max(count, 1)
    for some in chunks(rows):
        state.update(np.ascontiguousarray(x[some]).tobytes())
    state.update(np.asarray(label, "<i8").tobytes())
    return state.hexdigest()
