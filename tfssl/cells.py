"""Long work in cells: each leaves one result file, and one that has its file is not run again.

So an interrupted study goes on where it stopped, and a wider one runs only what is new.
"""

import contextlib
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tfssl.errors import InputError
from tfssl.files import write_json


@dataclass(frozen=True)
class Cell:
    """One result to be had.

    Attributes:
      name: of its file, `name`.json.
      title: what to call it.
      work: () -> the result, a dictionary; a picklable function, for it may run elsewhere.
    """

    name: str
    title: str
    work: Callable[[], dict]


def run_cells(cells, folder, report=print, jobs=1, log=None):
    """Run every missing cell and return all results in order.

    Args:
      cells: list of `Cell`.
      folder: where the result files are.
      report: called with a line of text per cell that is run: (cell, result) -> its last words.
      jobs: processes at a time, each with its share of the cores.
      log: folder for what the cells print when several run at a time.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in cells if not path_of(cell, folder).exists()]
    started = time.monotonic()
    for done, cell in enumerate(_run_all(missing, folder, jobs, log), start=1):
        left = (time.monotonic() - started) / done * (len(missing) - done)
        result = read_result(path_of(cell, folder))
        error = 100 * result["test"]["error"]
        report(f"[{done}/{len(missing)}] {cell.title}: {error:.2f}% ({left:.0f} s left)")
    return [read_result(path_of(cell, folder)) for cell in cells]


def path_of(cell, folder):
    return Path(folder) / f"{cell.name}.json"


def read_result(path):
    """A result file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read the result {path}: {error}. Remove it to run it again."
        ) from None


def _run_all(cells, folder, jobs, log):
    """The cells, each as soon as its result is written."""
    if jobs == 1:
        for cell in cells:
            _run(cell, folder)
            yield cell
        return
    threads = max(1, (os.cpu_count() or 1) // jobs)
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_limit_threads, initargs=(threads,)
    )
    try:
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


def _limit_threads(count):
    """One small network keeps one core busy; two networks on two cores beat one on both."""
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(count)
    os.environ["TF_NUM_INTEROP_THREADS"] = str(count)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def _run(cell, folder, log=None):
    with contextlib.ExitStack() as stack:
        if log is not None:
            Path(log).mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(open(Path(log) / f"{cell.name}.log", "a", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(file))
        began = time.monotonic()
        result = cell.work()
        result["seconds"] = round(time.monotonic() - began, 2)
        write_json(path_of(cell, folder), result)
