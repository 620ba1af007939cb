"""Take an M1 from another run instead of training one."""

import numpy as np

from tfssl.errors import expect
from tfssl.runs.provenance import m1_of


def reuse_m1(run, experiment):
    """The M1 of a `TrainedRun`, for an experiment that has this run's preprocessing."""
    m1 = m1_of(run.model)
    path, other = run.folder.path, run.settings.m1.run
    expect(m1 is not None, f"m1.run must be a run of m1 or m1m2, {path} is not")
    expect(other is None, f"m1.run must be the run that trained the M1: {other}", m1_run=str(path))
    learned = _view(run.settings, run.preprocessing.levels)
    wanted = _view(experiment.settings, experiment.source.levels)
    expect(
        learned == wanted,
        f"the M1 of {path} must see its inputs as these settings want them seen",
        m1=learned,
        settings=wanted,
    )
    if run.settings.data.name == experiment.settings.data.name:
        _check_unseen(run.folder, experiment)
    return m1


def _check_unseen(folder, experiment):
    """Fail if the M1 of a run has learned from points that the experiment holds out."""
    rows, learned = experiment.split.rows, folder.split_rows()
    held_out = rows["validation"]
    if not len(experiment.source.x_test):  # else test rows are those of another array
        held_out = np.concatenate([held_out, rows["test"]])
    seen = np.isin(held_out, np.concatenate([learned["labelled"], learned["unlabelled"]]))
    expect(
        not seen.any(),
        f"the M1 of {folder.path} must not have learned from validation or test points",
        hint="Give both runs the same data.validation_seed and num_validation: their splits then "
        "differ in the labels only.",
        learned_from=int(seen.sum()),
        held_out=len(seen),
    )


def _view(settings, levels):
    """What decides how a model sees its inputs, but for what is fitted to them."""
    data = settings.data
    return {
        "likelihood": settings.likelihood,
        "levels": levels,
        "downsample": data.downsample,
        "whitening": data.whitening,
    }
