"""Several models and baselines on the same splits: one result file per job, one table.

A job is (method, split).
"""

import functools
from pathlib import Path

import numpy as np
from rich.table import Table

from tfssl.errors import expect
from tfssl.paper import baselines
from tfssl.paper.job_kinds import baseline_settings, model_settings, run_baseline, run_model
from tfssl.paper.jobs import Job, run_jobs
from tfssl.results.intervals import mean_and_interval
from tfssl.settings import load_settings, with_changes
from tfssl.settings.kinds import method_name

BASELINES = ("knn", "svm", "label_spreading")


def default_experiments(overrides=()):
    """The default comparison: M1 with two classifiers, M2 and M1+M2."""
    variants = (
        ["model=m1", "m1.classifier=svm"],
        ["model=m1", "m1.classifier=tsvm"],
        ["model=m2"],
        ["model=m1m2"],
    )
    return [load_settings(None, [*overrides, *variant]) for variant in variants]


def run_study(experiments, splits, folder, report=print, rivals=BASELINES):
    """Run every missing job and return all results.

    Args:
      experiments: list of `Settings` on the same data; their split and seed are set per split.
      splits: split numbers; number s uses split_seed = seed = s.
      folder: result files go to `folder/results`, runs to `folder/runs`.
      report: called with a line of text per job.
      rivals: the baselines to run, names of `tfssl.paper.baselines.NAMES`.
    """
    folder = Path(folder)
    data = experiments[0].data
    expect(
        all(settings.data == data for settings in experiments),
        "the experiments of a study must have the same [data] settings",
        names=[settings.data.name for settings in experiments],
    )
    expect(data.num_test > 0, "a study compares test errors: it needs data.num_test", num_test=0)
    for rival in rivals:
        baselines.check_name(rival)
    every_job = [job for number in splits for job in _jobs(experiments, rivals, number, folder)]
    return run_jobs(every_job, folder / "results", report)


def summarise(results):
    """[(method, mean error, half-width, splits, mean seconds)], in order of appearance.

    The half-width is of the 95% interval over splits, corrected if they are splits of one pool.
    """
    rows = []
    for method in dict.fromkeys(result["method"] for result in results):
        own = [result for result in results if result["method"] == method]
        # Results of earlier versions do not say it.
        overlap = max(result.get("overlap", 0.0) for result in own)
        error, half_width = mean_and_interval([r["test"]["error"] for r in own], overlap)
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


def _jobs(experiments, rivals, number, folder):
    """The jobs of one split."""
    experiments = [_for_split(settings, number) for settings in experiments]
    for rival in rivals:
        method = baselines.NAMES[rival]
        record = {"method": method, "split": number}
        work = functools.partial(run_baseline, rival, experiments[0], record, folder / "cache")
        yield _job(method, number, baseline_settings(experiments[0]), work)
    m1_runs: list[tuple] = []
    for settings in experiments:
        method = method_name(settings)
        record = {"method": method, "split": number}
        run_dir = folder / "runs" / f"{_slug(method)}_{number}"
        if settings.model in ("m1", "m1m2"):
            # The M1 of an earlier job, where that is the same.
            shared = next((path for other, path in m1_runs if _same_m1(settings, other)), None)
            m1_runs.append((settings, run_dir))
            if shared is not None:
                settings = with_changes(settings, m1={"run": str(shared)})
        work = functools.partial(run_model, settings, run_dir, record)
        yield _job(method, number, model_settings(settings), work)


def _job(method, number, settings, work):
    return Job(f"{_slug(method)}_{number}", f"split {number}, {method}", settings, work)


def _for_split(settings, number):
    return with_changes(settings, seed=number, data={"split_seed": number})


def _same_m1(one, other):
    """Whether two experiments train the same M1; what comes on top of it does not matter."""
    ignored = {"classifier": "tsvm", "run": None}
    return one.m1.model_copy(update=ignored) == other.m1.model_copy(update=ignored) and (
        one.likelihood,
        one.data,
        one.seed,
    ) == (other.likelihood, other.data, other.seed)


def _slug(method):
    return method.lower().replace("+", "_").replace("-", "").replace(" ", "_")
