"""Commands that ask finished runs: how good, how sure, what next, which is better."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tfssl.commands.common import (
    RunArgument,
    numbers,
    progress_bar,
    quiet_tensorflow,
    say,
    say_calibration,
)
from tfssl.commands.printing import (
    print_likelihood,
    print_metrics,
    print_outcomes,
    print_verdicts,
)
from tfssl.errors import expect
from tfssl.storage.files import write_json

SamplesOption = Annotated[int, typer.Option(min=1, help="Samples of z per point for log p(x).")]


def open_subject(run):
    """A finished run with its data."""
    from tfssl.runs.folder import RunFolder  # heavy

    RunFolder.open(run).check_finished()
    with quiet_tensorflow():
        from tfssl.runs.opened import OpenedRun  # heavy
    return OpenedRun.open(run)


def evaluate(run: RunArgument):
    """Measure a trained run again on its validation and test points."""
    from tfssl.runs.trained import TrainedRun  # heavy

    with quiet_tensorflow():
        from tfssl.runs.evaluation import evaluate as measure  # heavy
        from tfssl.runs.opened import experiment_of  # heavy
    trained = TrainedRun(run)
    experiment = experiment_of(trained)
    print_metrics(measure(experiment, trained.probabilities, trained.model))


def likelihood(
    run: RunArgument,
    samples: Annotated[int, typer.Option(min=1, help="Samples of z per point.")] = 500,
    points: Annotated[int, typer.Option(min=2, help="Points to score, drawn at random.")] = 1000,
    part: Annotated[Literal["test", "validation"], typer.Option(help="Which points.")] = "test",
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Seed of the samples.")] = 0,
):
    """Estimate log p(x) by importance sampling, and classify by Bayes' rule.

    The result is also written to likelihood.json in the run folder.
    """
    from tfssl.runs.trained import TrainedRun  # heavy

    with quiet_tensorflow():
        from tfssl.runs.evaluation import estimate_likelihood  # heavy
        from tfssl.runs.opened import experiment_of  # heavy
    trained = TrainedRun(run)
    model = trained.generative("a log-likelihood")
    experiment = experiment_of(trained)
    metrics = estimate_likelihood(
        experiment, model, part, points, samples, seed, progress_bar("sampling")
    )
    write_json(trained.folder / "likelihood.json", metrics)
    print_likelihood(metrics)


def figures(
    run: RunArgument,
    to: Annotated[
        Path | None, typer.Option(help="Where to write; RUN/figures if left out.")
    ] = None,
    indices: Annotated[
        str | None,
        typer.Option(
            metavar="I,J,...",
            help="Test points to show; figure 1's, or one of each class, if left out.",
        ),
    ] = None,
):
    """Draw a trained run: analogies and style grids (the paper's figure 1), samples, curves."""
    from tfssl.runs.folder import RunFolder  # heavy

    chosen = None if indices is None else list(numbers(indices, "--indices"))
    RunFolder.open(run).check_finished()
    with quiet_tensorflow():
        from tfssl.pictures import of_run  # heavy
    written, skipped = of_run.write_figures(run, to, chosen)
    for path in written:
        say(f"wrote {path}")
    for name, reason in skipped.items():
        say(f"skipped {name}: {reason}")


def calibrate(
    run: RunArgument,
    on: Annotated[
        Literal["auto", "validation", "labelled"],
        typer.Option(
            help="The validation points, or the labelled training points, cross-fitted; auto: "
            "validation points if there are any."
        ),
    ] = "auto",
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-fitting.")] = 5,
):
    """Fit the temperature of a run's probabilities, without test points.

    Training does it where that is quick. Cross-fitting trains what has seen labels once per fold:
    of M1 only the classifier, of M1+M2 the M2. The temperature is stored in the run folder, for
    predict, report, suggest and export.
    """
    subject = open_subject(run)
    from tfssl.runs import calibration  # heavy
    from tfssl.runs.temperature import FILE  # heavy
    from tfssl.training.refit import refitting  # heavy

    trained = subject.run
    if trained.blend is not None:
        say("nothing to do: the answer of a choice is calibrated by held-out labels already")
        return
    fitted = calibration.calibrate(
        subject.experiment,
        trained.model,
        trained.classifier,
        refitting,
        on,
        folds,
        progress_bar("calibrating"),
    )
    fitted.save(trained.folder)
    say(f"{fitted}: {trained.folder / FILE}")


def report(
    run: RunArgument,
    output: Annotated[
        Path | None, typer.Option(help="The HTML file; RUN/report.html if left out.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="Points to score by log p(x).")] = 2000,
    samples: SamplesOption = 25,
):
    """Write one HTML page on a run: error, calibration, curves, examples, settings.

    The page needs no other file and no network.
    """
    path = run / "report.html" if output is None else output
    expect(
        path.parent.is_dir() and not path.is_dir(),
        f"{path} must be a file in a folder that exists",
    )
    subject = open_subject(run)
    from tfssl.results import report as module  # heavy
    from tfssl.results.judged import Judged  # heavy

    judged = Judged.gather(subject, points, samples, progress_bar("scoring log p(x)"))
    module.write_report(path, judged)
    say_calibration(subject.run.folder)
    say(f"report: {path}")


InputArgument = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT", help=".npz with x, .npy, or files like those the run was trained on."
    ),
]
OutputOption = Annotated[Path, typer.Option(help="CSV file to write; it must not exist.")]
AbstainOption = Annotated[
    float,
    typer.Option(min=0, max=1, help="Give no label where the confidence is lower, e.g. 0.9."),
]
RawOption = Annotated[
    bool, typer.Option("--raw", help="The classifier's own probabilities, not calibrated.")
]
ScoringOption = Annotated[
    int, typer.Option(min=0, help="Samples of z per point for log p(x); 0 leaves it out.")
]


def predict(
    run: RunArgument,
    inputs: InputArgument,
    output: OutputOption = Path("predictions.csv"),
    abstain_below: AbstainOption = 0.0,
    raw: RawOption = False,
    samples: ScoringOption = 25,
):
    """Classify new inputs into a CSV file.

    Columns: id, label, confidence, entropy, log_likelihood (low where the input is unlike the
    training data), and the probability of each class. They are calibrated if the run is; the names
    of the columns say so. A name that a spreadsheet would run as a formula gets an apostrophe.
    """
    from tfssl.data.new_inputs import read_new  # heavy
    from tfssl.runs import predictions_csv  # heavy
    from tfssl.runs.folder import RunFolder  # heavy
    from tfssl.runs.trained import TrainedRun  # heavy

    predictions_csv.check_output(output)
    schema = RunFolder.open(run).schema()
    with quiet_tensorflow():
        from tfssl.models import importance  # heavy
    x, names = read_new(inputs, schema)
    expect(x.ndim > 0 and len(x) > 0, f"{inputs} must hold at least one input", shape=x.shape)
    trained = TrainedRun(run)
    expect(
        not raw or trained.blend is None,
        "--raw needs a classifier with probabilities of its own, and this run's answer is a mean "
        "of calibrated ones",
        hint="Leave --raw out.",
    )
    probabilities = trained.probabilities(x) if raw else trained.calibrated_probabilities(x)
    scores = None
    if samples and trained.model is None:
        say(
            "no column log_likelihood: it needs a generative model; train with "
            "--set auto.with_generative=true"
        )
    elif samples:
        seen = trained.preprocessing(x).numpy()
        progress = progress_bar("scoring log p(x)")
        scores = importance.log_likelihood(trained.model, seen, samples, progress=progress)
    calibrated = trained.is_calibrated and not raw
    abstained = predictions_csv.write_csv(
        output,
        probabilities,
        trained.class_names,
        names,
        calibrated=calibrated,
        log_likelihood=scores,
        abstain_below=abstain_below,
    )
    say_calibration(trained.folder, raw)
    if abstain_below:
        say(f"{abstained} of {len(x)} without a label: confidence below {abstain_below:g}")
    say(f"{len(x)} predictions: {output}")


def suggest(
    run: RunArgument,
    n: Annotated[int, typer.Option("-n", min=1, help="How many points.")] = 20,
    to: Annotated[
        Path, typer.Option(help="Folder for suggestions.csv and, of images, suggestions.png.")
    ] = Path(),
):
    """Name the unlabelled points to label next: uncertain, typical, unlike one another.

    `row` in the CSV file is the row of the data set, `file` the picture of an image folder. The
    files must not exist yet.
    """
    from tfssl.runs.predictions_csv import check_output  # heavy

    table, sheet = to / "suggestions.csv", to / "suggestions.png"
    for path in (table, sheet):
        check_output(path)
    subject = open_subject(run)
    from tfssl.results import suggestions  # heavy

    chosen = suggestions.suggest(subject, n)
    suggestions.write_csv(table, chosen)
    say_calibration(subject.run.folder)
    say(f"{len(chosen)} points to label: {table}")
    if subject.experiment.source.image_shape is not None:
        suggestions.write_sheet(sheet, subject, chosen)
        say(f"contact sheet: {sheet}")


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders.")],
):
    """Put runs side by side, with paired tests on the test points or splits they share.

    Runs that differ only in split and seed count as one method.
    """
    expect(len(runs) >= 2, "compare needs at least two runs", runs=len(runs))
    distinct = {run.resolve() for run in runs}
    expect(len(distinct) == len(runs), "the runs must be different folders", runs=len(runs))
    subjects = [open_subject(run) for run in runs]
    from tfssl.results import comparison  # heavy

    outcomes = [comparison.Outcome.of(subject) for subject in subjects]
    verdicts = comparison.compare(outcomes)
    print_outcomes(outcomes)
    print_verdicts(verdicts)
