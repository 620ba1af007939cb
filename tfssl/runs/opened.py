"""A finished run together with the data that it was trained on."""

from dataclasses import dataclass

from tfssl.data.experiment import Experiment
from tfssl.errors import expect
from tfssl.runs.trained import TrainedRun


@dataclass(frozen=True)
class OpenedRun:
    """What calibration, reports, comparisons, suggestions and pictures look at.

    Attributes:
      run: the `TrainedRun`.
      experiment: its data, split and seen as they were in training.
    """

    run: TrainedRun
    experiment: Experiment

    @classmethod
    def open(cls, run_dir):
        """A finished run and its data."""
        run = TrainedRun(run_dir)
        run.folder.check_finished()
        return cls(run, experiment_of(run))


def experiment_of(run):
    """The `Experiment` of a `TrainedRun`; `InputError` if the data are no longer the same."""
    experiment = Experiment.prepare(
        run.settings, preprocessing=run.preprocessing, schema=run.folder.schema()
    )
    expect(
        experiment.source.class_names == run.class_names,
        f"the data must have the classes that {run.folder.path} was trained on",
        trained_on=run.class_names,
        data=experiment.source.class_names,
    )
    run.folder.check_split(experiment.split)
    return experiment
