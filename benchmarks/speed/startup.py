"""What is loaded, and how long it takes, until a first small model is fitted.

  python -m benchmarks.speed.startup --before CHECKOUT

A new process imports tfssl, makes the estimator and fits M2 to 500 points of 20 features for one
epoch; Python's -X importtime says what each package's modules took by themselves, without those
that they import. The times of the whole are from processes without it. --before measures another
checkout, of an earlier revision, in turns with this one.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.machine import ROOT, machine
from tfssl.storage.files import write_json

FIRST_FIT = """
import json, sys, time
began = time.perf_counter()
from tfssl import SemiSupervisedClassifier
imported = time.perf_counter()
import numpy as np
label = np.arange(500) % 2
x = np.random.default_rng(0).normal(size=(500, 20)) + label[:, None]
label[20:] = -1
SemiSupervisedClassifier(model="m2", epochs=1, random_state=0).fit(x, label)
fitted = time.perf_counter()
print(json.dumps({"import": imported - began, "first fit": fitted - imported,
                  "modules": len(sys.modules)}))
"""
SHOWN = 0.03  # seconds: what no checkout takes so long to load is not written
LINE = re.compile(r"import time:\s*(\d+) \|\s*\d+ \|\s*([\w.]+)")


def by_package(log):
    """{package: (seconds of its modules by themselves, how many)} of what -X importtime wrote."""
    seconds: dict[str, float] = defaultdict(float)
    modules: dict[str, int] = defaultdict(int)
    for own, name in LINE.findall(log):
        package = name.partition(".")[0]
        seconds[package] += int(own) / 1e6
        modules[package] += 1
    return {package: (seconds[package], modules[package]) for package in seconds}


def measure(rounds, sources):
    """{name: medians over the rounds, in seconds}, the sources taking turns.

    Args:
      rounds: turns of each.
      sources: {name: checkout}.
    """
    turns = [{name: one_turn(source) for name, source in sources.items()} for _ in range(rounds)]
    return {name: summary([turn[name] for turn in turns]) for name in sources}


def one_turn(source):
    """Seconds of the whole, and those of each package with its number of modules."""
    run = ["-c", FIRST_FIT]
    whole = json.loads(_python(source, *run).stdout.splitlines()[-1])
    packages = by_package(_python(source, "-X", "importtime", *run).stderr)
    began = time.perf_counter()
    _python(source, "-m", "tfssl.cli", "--help")
    return {"whole": {**whole, "help": time.perf_counter() - began}, "packages": packages}


def summary(turns):
    """Medians of every number."""
    whole = {
        name: statistics.median(turn["whole"][name] for turn in turns) for name in turns[0]["whole"]
    }
    packages = {
        name: {
            "seconds": statistics.median(turn["packages"][name][0] for turn in turns),
            "modules": modules,
        }
        for name, (_, modules) in turns[0]["packages"].items()
        if all(name in turn["packages"] for turn in turns)
    }
    return {"whole": whole, "packages": packages}


def slowest(result):
    """What `measure` gives, with the packages alone that take `SHOWN` in one of the sources."""
    slow = {
        name
        for found in result.values()
        for name, package in found["packages"].items()
        if package["seconds"] >= SHOWN
    }
    return {
        source: {
            **found,
            "packages": {name: p for name, p in found["packages"].items() if name in slow},
        }
        for source, found in result.items()
    }


def _python(source, *arguments):
    """A new process in `source`, whose tfssl it imports."""
    environment = {**os.environ, "PYTHONPATH": str(source), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment, cwd=source
    )


def main(arguments=None):
    """The command: what it measured.

    Args:
      arguments: a list of words, or None for those of the command line.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier revision")
    output = ROOT / "docs/results/speed/startup.json"
    parser.add_argument("--output", type=Path, default=output)
    options = parser.parse_args(arguments)
    before = {} if options.before is None else {"before": options.before.resolve()}
    result = measure(options.rounds, {**before, "after": ROOT})
    write_json(options.output, {"machine": machine(), "result": slowest(result)})
    print(f"wrote {options.output}")
    return result


if __name__ == "__main__":
    main()
