"""Several models and baselines on the same splits: one result file per cell, one table.

A cell is (method, split). Its result is stored as soon as it is there, and a cell that has one is
not run again, so an interrupted study goes on where it stopped.
"""

import json
import time
from pathlib import Path

import numpy as np
from rich.table import Table

from tfssl import baselines, evaluation, runs
from tfssl.config import dump_settings, parse_settings
from tfssl.errors import InputError, expect
from tfssl.files import write_json

BASELINES = ("knn", "svm", "label_spreading")
MODELS = {"m1": "M1", "m2": "M2", "m1m2": "M1+M2"}
CLASSIFIERS = {"tsvm": "TSVM", "svm": "SVM", "knn": "1-NN", "logistic": "logistic regression"}


def method_name(settings):
    """What a table calls the method of these settings."""
    if settings.model != "m1":
        return MODELS[settings.model]
    return f"M1+{CLASSIFIERS[settings.m1.classifier]}"


def run_study(experiments, splits, folder, report=print, rivals=BASELINES):
    """Run every missing cell and return all results.

    Args:
      experiments: list of `Settings` on the same data; their split and seed are set per split.
      splits: split numbers; number s uses split_seed = seed = s.
      folder: result files go to `folder/results`, runs to `folder/runs`.
      report: called with a line of text per cell.
      rivals: the baselines to run, names of `tfssl.baselines.NAMES`.
    """
    folder = Path(folder)
    data = experiments[0].data
    expect(
        all(settings.data == data for settings in experiments),
        "the experiments of a study must have the same [data] settings",
        names=[settings.data.name for settings in experiments],
    )
    for rival in rivals:
        baselines.check_name(rival)
    (folder / "results").mkdir(parents=True, exist_ok=True)
    total = (len(rivals) + len(experiments)) * len(splits)
    done, started = 0, time.monotonic()
    results = []
    for number in splits:
        for method, work in _cells(experiments, rivals, number, folder):
            path = folder / "results" / f"{_slug(method)}_{number}.json"
            if path.exists():
                result = read_result(path)
            else:
                began = time.monotonic()
                metrics, settings = work()
                result = {
                    "method": method,
                    "data": data.name,
                    "split": number,
                    "seconds": round(time.monotonic() - began, 2),
                    **metrics,
                    "settings": settings,
                    "versions": runs.versions(),
                }
                write_json(path, result)
            results.append(result)
            done += 1
            left = (time.monotonic() - started) / done * (total - done)
            error = 100 * result["test"]["error"]
            report(f"[{done}/{total}] split {number}, {method}: {error:.1f}% ({left:.0f} s left)")
    return results


def read_result(path):
    """A result file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot read the result {path}: {error}. Remove it to run it again."
        ) from None


def summarise(results):
    """[(method, mean error, half-width, splits, mean seconds)], in order of appearance."""
    rows = []
    for method in dict.fromkeys(result["method"] for result in results):
        own = [result for result in results if result["method"] == method]
        error, half_width = evaluation.mean_and_interval([r["test"]["error"] for r in own])
        rows.append((method, error, half_width, len(own), np.mean([r["seconds"] for r in own])))
    return rows


def table(results):
    """The summary for a terminal."""
    labels = results[0]["labels"]["training"]
    picture = Table(title=f"{results[0]['data']}, {labels} labels: test error")
    for column in ("method", "error %", "95% interval", "splits", "seconds"):
        picture.add_column(column, justify="left" if column == "method" else "right")
    for method, error, half_width, splits, seconds in summarise(results):
        interval = f"+- {100 * half_width:.2f}" if splits > 1 else "-"
        picture.add_row(method, f"{100 * error:.2f}", interval, str(splits), f"{seconds:.1f}")
    return picture


def markdown(results):
    """The summary as a Markdown table."""
    lines = ["| method | test error % | splits | seconds |", "| --- | ---: | ---: | ---: |"]
    for method, error, half_width, splits, seconds in summarise(results):
        cell = f"{100 * error:.2f} ± {100 * half_width:.2f}"
        lines.append(f"| {method} | {cell} | {splits} | {seconds:.0f} |")
    return "\n".join(lines)


def _cells(experiments, rivals, number, folder):
    """(method, work) for one split; work() gives (metrics, settings)."""
    first, cache = _for_split(experiments[0], number), folder / "cache"
    for rival in rivals:
        method = baselines.NAMES[rival]
        yield method, lambda rival=rival: (_run_baseline(rival, first, cache), None)
    m1_runs: list[tuple] = []
    for experiment in experiments:
        settings = _for_split(experiment, number)
        method = method_name(settings)
        run_dir = folder / "runs" / f"{_slug(method)}_{number}"
        yield method, lambda s=settings, d=run_dir: _run_model(s, d, m1_runs)
        if settings.model != "m2" and (run_dir / "model.keras").exists():
            m1_runs.append((settings, run_dir))


def _for_split(settings, number):
    values = dump_settings(settings)
    values["seed"] = values["data"]["split_seed"] = number
    return parse_settings(values)


def _run_model(settings, run_dir, m1_runs):
    """Train one model, with the M1 of an earlier cell where that is the same."""
    from tfssl import training

    used = settings
    for other, other_dir in m1_runs:
        if settings.model != "m2" and _same_m1(settings, other):
            reused = settings.m1.model_copy(update={"run": str(other_dir)})
            used = settings.model_copy(update={"m1": reused})
            break
    trained = training.train(used, run_dir, resume=run_dir.exists())
    # Where the shared M1 lies on this disk is no setting of the experiment.
    return trained.folder.read_json("metrics.json"), dump_settings(settings)


def _same_m1(one, other):
    """Whether two experiments train the same M1; what comes on top of it does not matter."""
    ignored = {"classifier": "tsvm", "run": None}
    return one.m1.model_copy(update=ignored) == other.m1.model_copy(update=ignored) and (
        one.likelihood,
        one.data,
        one.seed,
    ) == (other.likelihood, other.data, other.seed)


def _run_baseline(name, settings, cache):
    from tfssl.experiment import Experiment

    experiment = Experiment.prepare(settings)
    parts = experiment.split
    probabilities = baselines.fit(name, experiment, cache=cache)(parts.x_test)
    return {
        "labels": {"training": len(parts.label), "model_selection": 0},
        "test": evaluation.classification_metrics(probabilities, parts.label_test),
    }


def _slug(method):
    return method.lower().replace("+", "_").replace("-", "").replace(" ", "_")


def in_table_order(results):
    """Results by method, baselines first, then M1, M2 and the stack, and by split."""
    order = [*baselines.NAMES.values(), *(f"M1+{c}" for c in CLASSIFIERS.values()), "M2", "M1+M2"]
    return sorted(results, key=lambda result: (order.index(result["method"]), result["split"]))
