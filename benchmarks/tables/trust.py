"""Studies, suggestions, calibration, and what kills and bad input did."""

import json

import numpy as np

from benchmarks.tables.layout import markdown
from tfssl.paper import baselines
from tfssl.paper.jobs import read_result
from tfssl.paper.study import summarise
from tfssl.settings.kinds import CLASSIFIERS

ABUSE = {
    "bad_data": "data files",
    "bad_settings_file": "settings files",
    "bad_overrides": "lists of `--set`",
    "bad_words": "command lines",
    "bad_run": "run folders",
    "bad_export": "exports",
    "bad_inputs": "inputs to predict",
}
# Points of the data sets whose test points the splits draw from them.
POINTS = {"digits": 1797, "data/wine.csv": 178}


def errors_table(folder):
    """A study: mean test errors of the methods, baselines first, then M1, M2 and the stack."""
    order = [*baselines.NAMES.values(), *(f"M1+{c}" for c in CLASSIFIERS.values()), "M2", "M1+M2"]
    results = [_with_overlap(read_result(file)) for file in folder.glob("*.json")]
    results.sort(key=lambda result: (order.index(result["method"]), result["split"]))
    rows = []
    for method, error, half_width, splits, seconds in summarise(results):
        mean = f"{100 * error:.2f}" + (f" ± {100 * half_width:.2f}" if splits > 1 else "")
        rows.append([method, mean, str(splits), f"{seconds:.0f}"])
    return markdown(["method", "test error %", "splits", "seconds"], rows)


def _with_overlap(result):
    """A result, with the `overlap` that those of earlier versions do not say."""
    tested = result["test"]["examples"]
    rest = POINTS.get(result["data"], tested) - tested
    return {"overlap": tested / rest if rest else 0.0, **result}


def active_table(path):
    """Mean test error over the seeds, by how points to label were chosen."""
    seeds = [read_result(file) for file in sorted(path.parent.glob(f"{path.name}_*.json"))]
    names = {"random": "random", "uncertainty": "highest entropy", "suggest": "`suggest`"}
    rows = []
    for strategy, name in names.items():
        errors = 100 * np.mean([seed["errors"][strategy] for seed in seeds], axis=0)
        rows.append([name, *(f"{error:.2f}" for error in errors)])
    return markdown(["labels", *map(str, seeds[0]["labels"])], rows)


def calibration_table(folder):
    """Calibration error and log-loss before and after, means over the seeds."""
    names = {"m1": "M1+TSVM, cross-fitted on {} labels", "m2": "M2, {} validation points"}
    rows = []
    for model, name in names.items():
        files = sorted(folder.glob(f"{model}_*.json"))
        seeds = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        before, after = (
            {key: np.mean([seed[when][key] for seed in seeds]) for key in seeds[0][when]}
            for when in ("before", "after")
        )
        temperatures = [seed["calibration"]["temperature"] for seed in seeds]
        rows.append(
            [
                name.format(seeds[0]["calibration"]["points"]),
                f"{min(temperatures):.2f} to {max(temperatures):.2f}",
                f"{100 * after['error']:.2f}",
                f"{before['calibration_error']:.3f} → {after['calibration_error']:.3f}",
                f"{before['log_loss']:.3f} → {after['log_loss']:.3f}",
            ]
        )
    return markdown(["digits, 50 labels", "T", "error %", "calibration error", "log-loss"], rows)


def kills_table(path):
    """Processes that were killed, by what they did, and what was left in the end."""
    kinds = ("training", "checkpointing", "export", "reproduce")
    outcomes = ("count", "left_a_half_written_file", "whole_files_read", "same_outcome")
    rows = []
    for file in sorted(path.parent.glob(f"{path.name}*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        numbers = [found["by_kind"].get(kind, 0) for kind in kinds]
        rows.append([f"`{file.name}`", found["seed"], *numbers, *(found[key] for key in outcomes)])
    sums = [sum(column) for column in zip(*(row[2:] for row in rows), strict=True)]
    header = ["result file", "seed", "training", "while a checkpoint is written", "export"]
    header += ["reproduce", "kills", "half-written file left", "whole files", "same outcome"]
    return markdown(header, [[str(cell) for cell in row] for row in [*rows, ["all", "", *sums]]])


def abuse_table(path):
    """Bad input of every kind, and how the program ended."""
    found = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    rows = [[name, str(found["by_kind"][kind])] for kind, name in ABUSE.items()]
    rows += [
        [f"all, seed {found['seed']}", str(found["cases"])],
        ["refused, exit code 2", str(found["refused"])],
        ["accepted, exit code 0", str(found["accepted"])],
        ["tracebacks or files left", str(len(found["failures"]))],
    ]
    return markdown(["bad input", "cases"], rows)
