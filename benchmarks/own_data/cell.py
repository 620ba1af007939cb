"""One cell: a method fitted to a split of a set, and what came of it."""

import functools
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.own_data import ours, sets, splits
from tfssl.runs.metrics import calibration_error

# A probability of zero is no infinite loss: the smallest step that float32 knows below 1.
LEAST_PROBABILITY = 1e-7
MANY_ROWS = 20_000


@dataclass(frozen=True)
class Cell:
    """What is asked for; the result has the same keys."""

    set: str
    method: str
    labels: int
    split: int

    @property
    def key(self):
        return self.labels, self.split

    def __str__(self):
        return f"{self.set}, {self.method}, {self.labels} labels, split {self.split}"


@functools.lru_cache(maxsize=1)
def load(name):
    return sets.load(name)


@functools.lru_cache(maxsize=1)
def inputs(name, labels, number, *, raw):
    """(x [n, D], a `Split`) of a set; raw images are as they are stored, others in [0, 1].

    A mixed table is the same matrix for every method.
    """
    data, levels = load(name), sets.SETS[name].levels
    split = splits.split(name, data.y, labels, number)
    if data.kinds is not None:
        return splits.encode(data.x, data.kinds, split.train), split
    if raw:
        return data.x, split
    return data.x.astype(np.float64) / (levels or 1), split


def facts(name, split, x):
    """What the record says of a set and a split."""
    data, kind = load(name), sets.SETS[name]
    return {
        "half": kind.half,
        "kind": kind.kind,
        "n": len(data.x),
        "d": x.shape[1],
        "classes": int(data.y.max()) + 1,
        "train": len(split.train),
        "test": len(split.test),
    }


def prepare(cell):
    """All that is nobody's time: data, imports, TensorFlow's start."""
    raw = cell.method in ours.ARGUMENTS
    data = inputs(cell.set, cell.labels, cell.split, raw=raw)
    if raw:
        ours.start()
        return functools.partial(ours.fit, cell.method), *data
    from benchmarks.own_data.simple import SIMPLE

    return SIMPLE[cell.method], *data


def measure(cell, fit, x, split):
    """The record of a cell whose `prepare` gave the other arguments."""
    label = load(cell.set).y[split.test]
    known = facts(cell.set, split, x)
    forget_peak()
    began, worked = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit(x[split.train], split.y, cell.split)
            seconds, cpu = time.perf_counter() - began, time.process_time() - worked
            found, predicting = timed(fitted.predict_proba, x[split.test])
            megabytes = peak_megabytes()
            probabilities = checked(found, fitted.classes_, known["classes"])
            record = scores(probabilities, label)
            record |= {"seconds": seconds, "cpu_seconds": cpu, "predict_seconds": predicting}
            record["megabytes"] = megabytes
            if cell.method in ours.ARGUMENTS:
                many = np.resize(split.test, MANY_ROWS)
                record["predict_20000_seconds"] = timed(fitted.predict, x[many])[1]
                choice = ours.said(fitted)
                record |= {} if choice is None else {"choice": choice}
    except Exception as error:  # whatever a method raises is its result
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        record = failure(cell, reason, time.perf_counter() - began, peak_megabytes())
    return known | record


def timed(function, x):
    """(function(x), seconds)."""
    began = time.perf_counter()
    found = function(x)
    return found, time.perf_counter() - began


def checked(found, classes, count):
    """Probabilities [M, K] in the order of all classes; uniform where a method says nothing.

    Label spreading gives NaN to a point none of whose neighbours were reached.
    """
    probabilities = np.zeros((len(found), count))
    probabilities[:, np.asarray(classes).astype(int)] = found
    probabilities[np.isnan(found).all(axis=1)] = 1 / count
    if not np.allclose(probabilities.sum(axis=1), 1, atol=1e-3):
        raise ValueError("the probabilities of a row do not sum to one")
    return probabilities


def scores(probabilities, label):
    """Error, log-loss and ECE, from [M, K] and [M]."""
    chosen = probabilities[np.arange(len(label)), label]
    return {
        "error": float((probabilities.argmax(axis=1) != label).mean()),
        "log_loss": float(-np.log(np.clip(chosen, LEAST_PROBABILITY, 1)).mean()),
        "ece": calibration_error(probabilities, label),
    }


def failure(cell, reason, seconds, megabytes=None):
    """A method that gives no answer is wrong as often as one that always names the commonest class,
    and knows nothing."""
    y = load(cell.set).y
    label = y[splits.split(cell.set, y, cell.labels, cell.split).test]
    count = int(y.max()) + 1
    commonest = np.bincount(label).max() / len(label)
    return {
        "error": float(1 - commonest),
        "log_loss": float(np.log(count)),
        "ece": float(abs(commonest - 1 / count)),
        "seconds": seconds,
        "megabytes": megabytes,
        "note": f"failed: {reason[:200]}",
    }


def forget_peak():
    """Let the kernel count this process's peak memory from now on, if it can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # then the peak is that of the whole process


def peak_megabytes():
    """The most memory of this process since `forget_peak`; getrusage cannot forget."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) * 1024 / 1e6
