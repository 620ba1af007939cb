"""Own data, a few labels: every method on every set, one result for each cell.

  python -m benchmarks.own_data --half development                     all methods, 3, 10, 30 labels
  python -m benchmarks.own_data --half development --methods auto --labels 10
  python -m benchmarks.own_data --half development --methods simple    scikit-learn's nine
  python -m benchmarks.own_data --half final --methods auto --labels 10    once, at the end
  python -m benchmarks.own_data --sets iris,wine --splits 2 --output build/own_data
  python -m benchmarks.own_data --half development --methods auto --again  after tfssl was changed

A cell that has a result is skipped, so an interrupted run goes on where it was. No score is
printed: `python -m benchmarks.own_data.report` shows them. The data are in the folder that
TFSSL_DATA_DIR names; nothing is downloaded.
"""

import argparse
import itertools
import os
import sys
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from benchmarks.own_data import results, sets
from benchmarks.own_data.cell import Cell
from benchmarks.own_data.names import GROUPS, METHODS, OURS
from benchmarks.own_data.seat import Seat
from tfssl.errors import InputError, expect

LIMIT = 600.0


class Progress:
    """Says which cell has ended, and about how long the others will take."""

    def __init__(self, cells, jobs):
        self.left, self.total, self.jobs = list(cells), len(cells), jobs
        self.took = defaultdict(list)

    def ended(self, cell, seconds, note):
        self.left.remove(cell)
        self.took[cell.method].append(seconds)
        number = self.total - len(self.left)
        print(
            f"[{number}/{self.total}] {cell}: {seconds:.1f} s{', ' + note if note else ''}; "
            f"about {self.remaining() / 60:.0f} min left",
            flush=True,
        )

    def remaining(self):
        """Seconds: what is left takes as long as its method did, or as all did."""
        every = [second for seconds in self.took.values() for second in seconds]
        mean = {method: sum(seconds) / len(seconds) for method, seconds in self.took.items()}
        others = sum(every) / len(every)
        return sum(mean.get(cell.method, others) for cell in self.left) / self.jobs


def chunks(cells):
    """Cells that share a process: scikit-learn's, of one set and number of labels. Each of ours has
    its own, so that what TensorFlow keeps of one is not counted as another's memory."""
    groups = defaultdict(list)
    for cell in cells:
        groups[cell if cell.method in OURS else (cell.set, cell.labels)].append(cell)
    return list(groups.values())


def run(cells, folder, limit=LIMIT, jobs=1):
    """Measure the cells that have no result yet; how many were measured."""
    have = {path: set(results.read(path)) for path in {results.path_of(folder, c) for c in cells}}
    missing = [cell for cell in cells if cell.key not in have[results.path_of(folder, cell)]]
    print(f"{len(cells)} cells, {len(cells) - len(missing)} of them have a result")
    progress = Progress(missing, jobs)
    made_by = {method: results.made_by(method) for method in {cell.method for cell in missing}}

    stop = threading.Event()

    def run_chunk(chunk):
        with Seat(limit, stop) as seat:
            for cell in chunk:
                began = time.monotonic()
                record = seat.run(cell)
                results.write(folder, cell, record | made_by[cell.method])
                failed = "failed" if "note" in record else ""
                progress.ended(cell, time.monotonic() - began, failed)

    with ThreadPoolExecutor(jobs) as executor:
        futures = [executor.submit(run_chunk, chunk) for chunk in chunks(missing)]
        try:
            for future in futures:
                future.result()
        except BaseException:  # Ctrl+C too: what is under way will be run again
            stop.set()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
    return len(missing)


def listed(text, known, what):
    """The names in a comma-separated text, groups of methods resolved."""
    words = [word.strip() for word in text.split(",")]
    names = [name for word in words for name in (GROUPS.get(word, (word,)))]
    unknown = [name for name in names if name not in known]
    expect(not unknown, f"--{what} must name some of {', '.join(known)}", hint="", unknown=unknown)
    return list(dict.fromkeys(names))


def parser():
    found = argparse.ArgumentParser(
        "python -m benchmarks.own_data",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = found.add_mutually_exclusive_group(required=True)
    which.add_argument("--half", choices=sets.HALVES, help="the sets of one half")
    which.add_argument("--sets", help="sets by name, comma-separated")
    methods = f"comma-separated, of {', '.join((*GROUPS, *METHODS))} (default: all)"
    found.add_argument("--methods", default="all", help=methods)
    found.add_argument("--labels", default="3,10,30", help="labels a class (default: 3,10,30)")
    found.add_argument("--splits", type=int, default=5, help="how many (default: 5)")
    found.add_argument("--jobs", type=int, default=1, help="processes side by side (default: 1)")
    found.add_argument("--limit", type=float, default=LIMIT, help="seconds a cell (default: 600)")
    found.add_argument("--again", action="store_true", help="forget the results of these cells")
    found.add_argument("--output", type=Path, default=results.FOLDER, help="folder of the results")
    return found


def main(arguments=None):
    """The command; `arguments` are a list of words, or None for those of the command line."""
    options = parser().parse_args(arguments)
    try:
        names = listed(options.sets, sets.SETS, "sets") if options.sets else None
        names = names or sets.of_half(options.half)
        methods = listed(options.methods, METHODS, "methods")
        words = options.labels.split(",")
        good = all(word.isdecimal() and int(word) >= 1 for word in words)
        expect(good, "--labels must be positive integers with commas", labels=options.labels)
        for name in ("splits", "jobs", "limit"):
            value = getattr(options, name)
            expect(value > 0, f"--{name} must be positive", **{name: value})
        sets.check_present(names)
        numbers = range(options.splits)
        # Ordered so that every method of a set is there before the next set begins.
        asked = itertools.product(map(int, words), names, methods, numbers)
        cells = [Cell(name, method, count, number) for count, name, method, number in asked]
        if options.again:
            results.forget(options.output, cells)
        run(cells, options.output, options.limit, options.jobs)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on with what is missing", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
