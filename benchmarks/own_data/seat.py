"""A process in which cells are measured: what hangs is killed, what dies is a result."""

import multiprocessing
import signal
import threading
import time
from typing import Any

from benchmarks.own_data import cell as cells

PREPARE_SECONDS = 600  # to read a set and start TensorFlow on a busy machine


class Stopped(Exception):  # noqa: N818  # no error: somebody has asked for it
    """The cell is not to be finished."""


class Seat:
    """Measures cells one after another, in one process while that lives.

    Args:
      limit: seconds that a cell may take; beyond them it has failed.
      stop: a `threading.Event`; once it is set, cells end with `Stopped`.
    """

    def __init__(self, limit, stop=None):
        self.limit, self.stop = limit, stop or threading.Event()
        self.process: Any = None
        self.pipe: Any = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()

    def leave(self):
        """End the process, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None

    def run(self, cell):
        """The record of a cell, never an exception of the method."""
        if self.stop.is_set():
            raise Stopped
        if self.process is None:
            # Not forked: TensorFlow's threads and the memory of this process are not shared.
            context = multiprocessing.get_context("spawn")
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=work, args=(theirs,), daemon=True)
            self.process.start()
            theirs.close()
        began = time.monotonic()
        try:
            self.pipe.send(cell)
            self._receive(PREPARE_SECONDS)
            began = time.monotonic()
            return self._receive(self.limit)
        except TimeoutError:
            reason = f"longer than {self.limit:g} s"
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self.process.join()
            reason = f"its process died, exit code {self.process.exitcode}"
        self.leave()
        x, split = cells.inputs(cell.set, cell.labels, cell.split, raw=True)
        failure = cells.failure(cell, reason, time.monotonic() - began)
        return cells.facts(cell.set, split, x) | failure

    def _receive(self, seconds):
        deadline = time.monotonic() + seconds
        while not self.pipe.poll(min(0.5, max(0.0, deadline - time.monotonic()))):
            if self.stop.is_set():
                raise Stopped
            if time.monotonic() >= deadline:
                raise TimeoutError
        message = self.pipe.recv()
        if isinstance(message, Exception):
            raise message
        return message


def work(pipe):
    """In the process: answer every cell with "prepared" and its record, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that holds the seat
    while True:
        try:
            cell = pipe.recv()
        except EOFError:
            return
        try:
            prepared = cells.prepare(cell)
            pipe.send("prepared")
        except Exception as error:  # a set that cannot be read is no method's failure
            pipe.send(error)
            continue
        pipe.send(cells.measure(cell, *prepared))
