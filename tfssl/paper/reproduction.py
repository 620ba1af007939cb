"""The paper's tables and figure 1 made anew, job by job.

A job is (data, method, labels, split, budget). M1 needs no labels, so it is trained once for each
data set and shared; the splits then have the same validation points and differ in their labels.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

from tfssl.errors import expect
from tfssl.paper import baselines
from tfssl.paper.job_kinds import baseline_settings, model_settings, run_baseline, run_model
from tfssl.paper.jobs import Job, run_jobs
from tfssl.paper.tables import METHODS, PaperTable
from tfssl.runs.folder import RunFolder
from tfssl.runs.opened import experiment_of
from tfssl.runs.trained import TrainedRun
from tfssl.settings import M2Settings, load_settings, with_changes

BUDGETS = {"full": 1, "quick": 10}
"""What the epochs of the settings are divided by."""


def default_splits(method, labels):
    """How many splits a cell of the table averages over."""
    return 5 if method in ("m2", "m1_m2") and labels == 100 else 3


@dataclass(frozen=True)
class Reproduction:
    """A table, or a part of it, to be made in a folder.

    Args:
      table: a `PaperTable`.
      folder: result files go to `folder/results`, runs to `folder/runs`.
      configs: the folder of the settings files.
      methods, labels: which rows and columns; all if empty.
      splits: how many, or None for `default_splits`.
      budget: "full", or "quick" for a tenth of the epochs.
      validation: whether to hold out the validation points of the settings; without them they
        join the unlabelled points, and no label but those of the split is used.
      overrides: "key=value" strings laid over every settings file; which labels, which seeds and
        which M1 a job takes stays the table's.
    """

    table: PaperTable
    folder: Path
    configs: Path
    methods: tuple[str, ...] = ()
    labels: tuple[int, ...] = ()
    splits: int | None = None
    budget: str = "full"
    validation: bool = True
    overrides: tuple[str, ...] = ()

    def __post_init__(self):
        for name, known in (
            ("methods", tuple(self.table.published)),
            ("labels", self.table.labels),
        ):
            chosen = getattr(self, name) or known
            unknown = [value for value in chosen if value not in known]
            expect(
                not unknown,
                f"{self.table.title} has these {name}: {', '.join(map(str, known))}",
                unknown=unknown,
            )
            object.__setattr__(self, name, tuple(value for value in known if value in chosen))

    def run(self, report=print, processes=1):
        """Run what is missing; the results, in the order of the table."""
        folder, m1 = self.folder / "results", None
        if any(method.startswith("m1") for method in self.methods):
            # First and alone, with every core: the others build on it.
            (m1,) = run_jobs([self.m1_job()], folder, report)
        results = run_jobs(self.jobs(), folder, report, processes, self.folder / "logs")
        if m1 is not None:
            check_m1(results, m1)
        return results

    def jobs(self):
        """Every job, split by split."""
        return [
            self.job(method, labels, split)
            for labels in self.labels
            for split in range(self.splits or max(default_splits(m, labels) for m in self.methods))
            for method in self.methods
            if split < (self.splits or default_splits(method, labels))
        ]

    def job(self, method, labels, split):
        name = self._name(method, str(labels), f"split{split}")
        title = f"{self.table.title}, {METHODS[method]}, {labels} labels, split {split}"
        settings = self.settings(method, labels, split)
        record = {"method": method, "split": split, "budget": self.budget}
        if method in baselines.NAMES:
            work = functools.partial(run_baseline, method, settings, record, self.folder / "shared")
            return Job(name, title, baseline_settings(settings), work)
        work = functools.partial(run_model, settings, self._run_dir(name), record)
        return Job(name, title, model_settings(settings), work)

    def m1_job(self):
        """M1 itself; the classifier on top and the labels it takes are of no further use."""
        settings = self.settings("m1_tsvm", self.table.labels[0], split=0)
        # Split 0 chooses the same validation points by itself.
        settings = with_changes(settings, data={"validation_seed": None}, m1={"run": None})
        settings = with_changes(settings, m2=M2Settings())  # whose changes do not concern M1
        name = self._name("m1")
        record = {"method": "m1", "split": 0, "budget": self.budget}
        work = functools.partial(
            _run_with_likelihood, settings, self._run_dir(name), record, num_samples=500
        )
        return Job(name, f"{self.table.title}, M1", model_settings(settings), work)

    def settings(self, method, labels, split):
        """The settings of a job."""
        model = {"m2": "m2", "m1_m2": "m1m2"}.get(method, "m1")
        name = f"{self.table.data}_{'m2' if model == 'm2' else 'm1m2'}"
        own = self.configs / f"{name}_{labels}.toml"
        path = own if own.exists() else self.configs / f"{name}.toml"
        settings = load_settings(path, self.overrides)
        data = {"num_labelled": labels, "split_seed": split, "validation_seed": 0}
        if not self.validation:
            data |= {"num_validation": 0}
        shared = {"run": str(self._run_dir(self._name("m1")))} if model != "m2" else {}
        classifier = {"m1_tsvm": "tsvm", "m1_knn": "knn"}.get(method)
        shared |= {"classifier": classifier} if classifier else {}
        return with_changes(
            settings,
            model=model,
            seed=split,
            data=data,
            m1={"epochs": _epochs(settings.m1, self.budget), **shared},
            m2={"epochs": _epochs(settings.m2, self.budget)},
        )

    def _name(self, *parts):
        return _job_name(self.table.data, *parts, validation=self.validation, budget=self.budget)

    def _run_dir(self, name):
        return self.folder / "runs" / name


def check_m1(results, m1):
    """Fail unless all results that rest on an M1 rest on the one with the result `m1`."""
    others = [
        "{data} {method}, {labels[training]} labels, split {split}".format(**result)
        for result in results
        if result["method"].startswith("m1") and result.get("m1") != m1.get("m1")
    ]
    expect(
        not others,
        "the jobs of a table must share one M1",
        hint="It was trained again since: remove the result files and runs of these jobs.",
        of_another_m1=others,
    )


def run_supervised(folder, configs, budget="full", validation=True, overrides=(), report=print):
    """M2 with every label of MNIST, classified by q(y|x) and by Bayes' rule: its result.

    Args:
      folder, configs, budget, overrides: as in `Reproduction`.
      validation: whether to hold out the validation points of the settings; without them their
        labels are learned from like all others.
      report: called with a line of text when the job is done.
    """
    settings = _all_labels(configs, "mnist", budget, overrides)
    if not validation:
        settings = with_changes(settings, data={"num_validation": 0})
    name = _job_name("mnist", "m2_all", validation=validation, budget=budget)
    record = {"method": "m2_all", "split": 0, "budget": budget}
    work = functools.partial(
        _run_with_likelihood, settings, folder / "runs" / name, record, num_samples=100
    )
    job = Job(name, "MNIST, M2, all labels", model_settings(settings), work)
    return run_jobs([job], folder / "results", report)[0]


def run_figure1(folder, configs, budget="full", overrides=(), report=print):
    """The pictures of figure 1, from runs that are trained if they are not there: their paths.

    All by M2 with all labels: (a) with two latent dimensions and (b) that of `run_supervised` on
    MNIST, (c) on SVHN.
    """
    from tfssl.pictures import of_run
    from tfssl.training.run import train

    mnist = _all_labels(configs, "mnist", budget, overrides)
    parts = {
        "1a": ("mnist", "m2_plane", with_changes(mnist, m2={"latent_dim": 2})),
        "1b": ("mnist", "m2_all", mnist),
        "1c": ("svhn", "m2_all", _all_labels(configs, "svhn", budget, overrides)),
    }
    runs = {}
    for part, (data, name, settings) in parts.items():
        run_dir = folder / "runs" / _job_name(data, name, validation=True, budget=budget)
        if run_dir.exists():  # from `run_supervised`, say: better refused now than hours later
            RunFolder.open(run_dir).check_settings(settings)
        runs[part] = (settings, run_dir)
    written = []
    for part, (settings, run_dir) in runs.items():
        train(settings, run_dir, resume=run_dir.exists())
        paths, skipped = of_run.write_figures(run_dir, folder / "figures" / part)
        report(f"figure {part}: {len(paths)} pictures of {run_dir}, {len(skipped)} do not fit it")
        written += paths
    return written


def _all_labels(configs, data, budget, overrides):
    settings = load_settings(configs / f"{data}_m2_all.toml", overrides)
    return with_changes(settings, m2={"epochs": _epochs(settings.m2, budget)})


def _job_name(*parts, validation, budget):
    return "_".join((*parts, *(() if validation else ("no_validation",)), budget))


def _epochs(settings, budget):
    return max(1, settings.epochs // BUDGETS[budget])


def _run_with_likelihood(settings, run_dir, record, num_samples):
    """Train one model and estimate the log p(x) of test points; M2 classifies by it too.

    Few points tell a mean log-likelihood, but an error takes all.
    """
    from tfssl.runs.evaluation import estimate_likelihood

    result = run_model(settings, run_dir, record)
    run = TrainedRun(run_dir)
    experiment = experiment_of(run)
    points = 1000 if settings.model == "m1" else len(experiment.split.x_test)
    estimate = estimate_likelihood(experiment, run.model, "test", points, num_samples)
    return result | {"likelihood": estimate}
