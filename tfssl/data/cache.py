"""Decoded data on disk: pictures and records become .npy files once, and are opened ever after.

The files are in the folder that the environment variable TFSSL_CACHE_DIR names, else in
~/.cache/tfssl. Any of its folders may be removed at any time: it is made again. The data may be
private: nobody else can read them there, and nothing is read that another user has put there.
"""

import hashlib
import json
import os
import stat
import tempfile
from pathlib import Path

import numpy as np

from tfssl.errors import InputError, expect

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def cache_folder():
    """Where decoded data is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TFSSL_CACHE_DIR") or Path(base) / "tfssl")


def cached_arrays(key, build, memory_limit_mb):
    """{name: array} that `build` gives, built once per `key`.

    Args:
      key: a JSON value that tells this data from all other.
      build: () -> {name: (shape, dtype, iterable of rows)}.
      memory_limit_mb: larger arrays stay on disk, as `open_array` opens them.
    """
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    folder = cache_folder() / digest[:32]
    try:
        folder.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        _check_owner(folder.parent, folder.parent.stat())
        if not os.path.lexists(folder):
            _fill(folder, build)
        _check_owner(folder, folder.lstat())
        folder.chmod(PRIVATE_FOLDER)  # older versions left it open to all
        return {path.stem: open_array(path, memory_limit_mb) for path in folder.glob("*.npy")}
    except OSError as error:
        raise InputError(
            f"cannot keep decoded data in {cache_folder()}: {error.strerror or error}. Set "
            "TFSSL_CACHE_DIR to a folder with enough room."
        ) from None


def open_array(path, memory_limit_mb):
    """An .npy file as an array: in memory, or a memory map if it is larger than the limit."""
    on_disk = Path(path).stat().st_size > memory_limit_mb * 1e6
    try:
        return np.load(path, mmap_mode="r" if on_disk else None, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{path} is not a valid .npy file: {error}.") from None


def _check_owner(folder, status):
    """Fail if a folder of the cache is another user's, or a link: its data could be anyone's."""
    expect(
        stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid(),
        f"{folder} must be a folder of the user who runs this: decoded data is kept there",
        hint="Set TFSSL_CACHE_DIR to a folder of your own.",
        owner=status.st_uid,
        user=os.geteuid(),
    )


def _fill(folder, build):
    """Write the arrays beside `folder`, then rename: it is whole or not there."""
    with tempfile.TemporaryDirectory(prefix=".", dir=folder.parent) as temporary:
        new = Path(temporary) / "arrays"
        new.mkdir(PRIVATE_FOLDER)
        for name, (shape, dtype, rows) in build().items():
            _write(new / f"{name}.npy", shape, np.dtype(dtype), rows)
        try:
            new.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first, with the same arrays
                raise


def _write(path, shape, dtype, rows):
    """Write rows one by one: there need never be more than one in memory."""
    with open(path, "wb", opener=_private) as file:
        header = {"descr": dtype.str, "fortran_order": False, "shape": tuple(shape)}
        np.lib.format.write_array_header_1_0(file, header)
        for row in rows:
            file.write(np.ascontiguousarray(row, dtype).tobytes())
        file.flush()
        os.fsync(file.fileno())


def _private(path, flags):
    return os.open(path, flags, PRIVATE_FILE)
