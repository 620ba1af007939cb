"""Long work in cells: each leaves one result file, and one that has its file is not run again.

So an interrupted study goes on where it stopped, and a wider one runs only what is new. A file that
was made with other settings is never taken for a result.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tfssl.errors import InputError, expect
from tfssl.settings import differences
from tfssl.storage.files import read_json, remove_temporaries, write_json
from tfssl.storage.locks import locked

THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class Cell:
    """One result to be had.

    Attributes:
      name: of its file, `name`.json.
      title: what to call it.
      settings: what it depends on, from `dump_settings` or a part of it; its result records it.
      work: () -> the result, a dictionary; a picklable function, for it may run elsewhere.
    """

    name: str
    title: str
    settings: dict
    work: Callable[[], dict]


def run_cells(cells, folder, report=print, jobs=1, log=None):
    """Run every missing cell and return all results in order.

    Args:
      cells: list of `Cell`.
      folder: where the result files are.
      report: called with a line of text for every cell that is run.
      jobs: processes at a time, each with its share of the cores.
      log: folder for what the cells print when several run at a time.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create {folder}: {error.strerror}.") from None
    missing = []
    for cell in cells:
        if path_of(cell, folder).exists():
            _check_settings(cell, folder)
        else:
            missing.append(cell)
    if missing and log is not None and jobs > 1:
        report(f"{len(missing)} cells to run, {jobs} at a time; their progress: tail -f {log}/*")
    started = time.monotonic()
    for done, cell in enumerate(_run_all(missing, folder, jobs, log), start=1):
        left = (time.monotonic() - started) / done * (len(missing) - done)
        result = read_result(path_of(cell, folder))
        percent = 100 * result["test"]["error"]
        report(f"[{done}/{len(missing)}] {cell.title}: {percent:.2f}% ({left:.0f} s left)")
    return [read_result(path_of(cell, folder)) for cell in cells]


def path_of(cell, folder):
    return Path(folder) / f"{cell.name}.json"


def _check_settings(cell, folder):
    """Fail unless the result of a cell was made with its settings."""
    path = path_of(cell, folder)
    differ = differences(read_result(path).get("settings", {}), cell.settings)
    expect(
        not differ,
        f"{path} must be a result of the settings that are asked for",
        hint="Choose another folder, or remove the file and its run to make them anew.",
        result=differ,
    )


def read_result(path):
    """A result file."""
    try:
        return read_json(path)
    except InputError as error:
        raise InputError(f"{error} Remove it to run it again.") from None


def _run_all(cells, folder, jobs, log):
    """The cells, each as soon as its result is written."""
    if jobs == 1:
        for cell in cells:
            _run(cell, folder)
            yield cell
        return
    threads = str(max(1, (os.cpu_count() or 1) // jobs))
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    try:
        # One small network keeps one core busy: two of them on two cores beat one on both.
        with _environment(dict.fromkeys(THREADS, threads)):
            running = {pool.submit(_run, cell, folder, log): cell for cell in cells}
        for future in as_completed(running):
            future.result()
            yield running[future]
    except BrokenProcessPool:
        raise InputError(
            "a worker process died, perhaps for want of memory. Run the command again with fewer "
            "jobs: finished cells are kept."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _environment(variables):
    """Environment variables for the processes that start within."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _run(cell, folder, log=None):
    if log is not None:
        # Of a process of its own, everything it prints: TensorFlow's C++ part writes there itself.
        Path(log).mkdir(parents=True, exist_ok=True)
        with open(Path(log) / f"{cell.name}.log", "a", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
    with locked(folder / f".{cell.name}.lock", cell.title):
        if path_of(cell, folder).exists():  # by another process, since this one looked
            return
        remove_temporaries(folder, f"-{cell.name}.json")
        began = time.monotonic()
        result = cell.work() | {"settings": cell.settings}
        result["seconds"] = round(time.monotonic() - began, 2)
        write_json(path_of(cell, folder), result)
    sys.stdout.flush()
