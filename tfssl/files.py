"""Files that are whole or not there: written beside the target, then renamed in one step."""

import contextlib
import json
import os
from pathlib import Path


@contextlib.contextmanager
def atomic_path(path):
    """A temporary path that replaces `path` when the block ends, and vanishes if it fails.

    The temporary name keeps the suffix, because writers choose a format by it.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path, value):
    """Write `value` as indented JSON."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
