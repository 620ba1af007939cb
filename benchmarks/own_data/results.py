"""Results: docs/results/own_data/SET/METHOD.jsonl, a line for each cell."""

import contextlib
import fcntl
import json
import os
import subprocess
from importlib import metadata

from benchmarks.machine import ROOT
from benchmarks.own_data.names import OURS
from tfssl.errors import InputError
from tfssl.storage.files import atomic_path

FOLDER = ROOT / "docs/results/own_data"
DIGITS = 5


def path_of(folder, cell):
    return folder / cell.set / f"{cell.method}.jsonl"


def read(path):
    """{(labels, split): record} of a file; none if there is no file."""
    if not path.exists():
        return {}
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {(record["labels"], record["split"]): record for record in records}
    except (ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged: {error!r}. Remove it to run it again.") from None


def read_all(folder=FOLDER):
    """Every record."""
    return [record for path in sorted(folder.glob("*/*.jsonl")) for record in read(path).values()]


def write(folder, cell, record):
    """Add a cell, or put it in the place of an older one: the file is whole before and after."""
    path = path_of(folder, cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    named = {"set": cell.set, "method": cell.method, "labels": cell.labels, "split": cell.split}
    with _held(path.parent):
        records = read(path) | {cell.key: named | _rounded(record)}
        _write(path, records)


def forget(folder, cells):
    """Remove the results of some cells."""
    for cell in cells:
        path = path_of(folder, cell)
        if path.exists():
            with _held(path.parent):
                records = read(path)
                records.pop(cell.key, None)
                _write(path, records)


def made_by(method):
    """The versions that decide a method's result, and the revision: "+" if the code differs."""
    names = ["scikit-learn", "numpy", *(["tensorflow", "keras"] if method in OURS else [])]
    return {
        "versions": ", ".join(f"{name} {metadata.version(name)}" for name in names),
        "revision": revision(),
    }


def revision():
    """Twelve digits of the checkout's revision, with "+" if its code has uncommitted changes."""

    def git(*words):
        return subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, timeout=10, check=True
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", "tfssl", "benchmarks")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _write(path, records):
    lines = [json.dumps(records[key], separators=(",", ":")) for key in sorted(records)]
    with atomic_path(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@contextlib.contextmanager
def _held(folder):
    """Hold a folder against other processes that write into it; the lock leaves no file."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _rounded(value):
    """Floats to five digits: thousands of cells are to stay small."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
