"""How the time of M2's step grows with one size at a time, from 784-500-z50, 10 classes, 100 + 100.

The number of classes is also tried with the enumeration kept to 10 classes.
"""

import dataclasses
import time

from benchmarks.speed import cases, ours
from benchmarks.speed.turns import summary

BASE = cases.CASES["m2_100_100"]
TOP_CLASSES = 10
SIZES: dict[str, tuple] = {
    "num_classes": (2, 10, 100, 1000),
    "latent_dim": (10, 50, 250),
    "hidden_units": ((100,), (500,), (2500,)),
    "unlabelled": (10, 100, 1000),
}


def measure(rounds, tiny):
    """[{what, value, top_classes, median, quartiles}]"""
    rows = []
    for what, values in SIZES.items():
        for value in values[::2] if tiny else values:
            print(f"{what} = {value} ...", flush=True)
            base = cases.tiny(BASE) if tiny else BASE
            case = dataclasses.replace(base, **{what: value})
            truncates = what == "num_classes" and value > TOP_CLASSES
            for top_classes in (None, TOP_CLASSES) if truncates else (None,):
                seconds = _seconds(case, top_classes, rounds)
                rows.append(
                    {"what": what, "value": value, "top_classes": top_classes, **summary(seconds)}
                )
    return rows


def _seconds(case, top_classes, rounds):
    """Seconds of a step, `rounds` times; after two steps to warm up."""
    implementation = ours.make(
        case, cases.weights(case, 0), cases.data(case, 0), top_classes=top_classes
    )
    seconds = []
    for _ in range(2 + rounds):
        started = time.perf_counter()
        implementation.step()
        seconds.append(time.perf_counter() - started)
    return seconds[2:]
