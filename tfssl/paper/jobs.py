"""Long work in jobs: each leaves one result file, and one that has its file is not run again.

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
class Job:
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


def run_jobs(jobs, folder, report=print, processes=1, log=None):
    """Run every missing job and return all results in order.

    Args:
      jobs: list of `Job`.
      folder: where the result files are.
      report: called with a line of text for every job that is run.
      processes: how many at a time, each with its share of the cores.
      log: folder for what the jobs print when several run at a time.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create {folder}: {error.strerror}.") from None
    missing = []
    for job in jobs:
        if path_of(job, folder).exists():
            _check_settings(job, folder)
        else:
            missing.append(job)
    if missing and log is not None and processes > 1:
        report(f"{len(missing)} jobs to run, {processes} at a time; progress: tail -f {log}/*")
    started = time.monotonic()
    for done, job in enumerate(_run_all(missing, folder, processes, log), start=1):
        left = (time.monotonic() - started) / done * (len(missing) - done)
        result = read_result(path_of(job, folder))
        percent = 100 * result["test"]["error"]
        report(f"[{done}/{len(missing)}] {job.title}: {percent:.2f}% ({left:.0f} s left)")
    return [read_result(path_of(job, folder)) for job in jobs]


def path_of(job, folder):
    return Path(folder) / f"{job.name}.json"


def _check_settings(job, folder):
    """Fail unless the result of a job was made with its settings."""
    path = path_of(job, folder)
    differ = differences(read_result(path).get("settings", {}), job.settings)
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


def _run_all(jobs, folder, processes, log):
    """The jobs, each as soon as its result is written."""
    if processes == 1:
        for job in jobs:
            _run(job, folder)
            yield job
        return
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        # One small network keeps one core busy: two of them on two cores beat one on both.
        with _environment(dict.fromkeys(THREADS, threads)):
            running = {pool.submit(_run, job, folder, log): job for job in jobs}
        for future in as_completed(running):
            future.result()
            yield running[future]
    except BrokenProcessPool:
        raise InputError(
            "a worker process died, perhaps for want of memory. Run the command again with fewer "
            "jobs at a time: finished jobs are kept."
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


def _run(job, folder, log=None):
    if log is not None:
        # Of a process of its own, everything it prints: TensorFlow's C++ part writes there itself.
        Path(log).mkdir(parents=True, exist_ok=True)
        with open(Path(log) / f"{job.name}.log", "a", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
    with locked(folder / f".{job.name}.lock", job.title):
        if path_of(job, folder).exists():  # by another process, since this one looked
            return
        remove_temporaries(folder, f"-{job.name}.json")
        began = time.monotonic()
        result = job.work() | {"settings": job.settings}
        result["seconds"] = round(time.monotonic() - began, 2)
        write_json(path_of(job, folder), result)
    sys.stdout.flush()
