"""Files that are whole or not there: written beside the target, then renamed in one step."""

import contextlib
import json
import os
import secrets
from pathlib import Path

from tfssl.errors import InputError, expect

TEMPORARY = ".tmp-"
MAX_JSON_BYTES = 64 * 2**20


@contextlib.contextmanager
def atomic_path(path):
    """A temporary path that replaces `path` when the block ends, and vanishes if it fails.

    The temporary name keeps the suffix, because writers choose a format by it. What the disk
    refuses is an `InputError`, and `path` is as it was.
    """
    path = Path(path)
    temporary = temporary_path(path)
    try:
        # Made here, and never opened as it is found: a link of this name would lead elsewhere.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}. What was there before is unchanged."
        ) from None
    finally:
        with contextlib.suppress(OSError):  # it must not hide why the block failed
            temporary.unlink(missing_ok=True)


def temporary_path(path):
    """A name beside `path` that nobody can know before it is used."""
    return path.with_name(f"{TEMPORARY}{secrets.token_hex(8)}-{path.name}")


def remove_temporaries(folder, name=""):
    """Remove what killed processes left of files called `name`; only who holds these may."""
    for path in Path(folder).rglob(f"{TEMPORARY}*{name}"):
        path.unlink(missing_ok=True)


def write_json(path, value):
    """Write `value` as indented JSON."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def read_json(path):
    """The JSON object in a file, perhaps a stranger's."""
    path = Path(path)
    try:
        size = path.stat().st_size
        expect(size <= MAX_JSON_BYTES, f"{path} must be at most {MAX_JSON_BYTES} bytes", bytes=size)
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}.") from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{path} is damaged: {error}.") from None
    except RecursionError:
        raise InputError(f"{path} is damaged: it is nested too deeply.") from None
    expect(isinstance(value, dict), f"{path} must hold a JSON object", found=type(value).__name__)
    return value
