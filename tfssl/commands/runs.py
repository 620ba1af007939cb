"""Commands for results to trust: calibrate, report, predict, suggest, compare."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tfssl.commands.common import (
    RunArgument,
    console,
    progress_bar,
    quiet_tensorflow,
    say,
    say_calibration,
)
from tfssl.errors import expect

SamplesOption = Annotated[int, typer.Option(min=1, help="Samples of z per point for log p(x).")]


def open_subject(run):
    """A finished run with its data."""
    from tfssl.runs.folder import RunFolder

    RunFolder.open(run).check_finished()
    with quiet_tensorflow():
        from tfssl.runs.opened import OpenedRun
    return OpenedRun.open(run)


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
    from tfssl.runs import calibration
    from tfssl.runs.temperature import FILE
    from tfssl.training.refit import refitting

    trained = subject.run
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
    from tfssl.results import report as module
    from tfssl.results.judged import Judged

    judged = Judged.gather(subject, points, samples, progress_bar("scoring log p(x)"))
    module.write_report(path, judged)
    say_calibration(subject.run.folder)
    say(f"report: {path}")


def predict(
    run: RunArgument,
    inputs: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT", help=".npz with x, .npy, or files like those the run was trained on."
        ),
    ],
    output: Annotated[Path, typer.Option(help="CSV file to write; it must not exist.")] = Path(
        "predictions.csv"
    ),
    abstain_below: Annotated[
        float,
        typer.Option(min=0, max=1, help="Give no label where the confidence is lower, e.g. 0.9."),
    ] = 0.0,
    raw: Annotated[
        bool, typer.Option("--raw", help="The classifier's own probabilities, not calibrated.")
    ] = False,
    samples: Annotated[
        int, typer.Option(min=0, help="Samples of z per point for log p(x); 0 leaves it out.")
    ] = 25,
):
    """Classify new inputs into a CSV file.

    Columns: id, label, confidence, entropy, log_likelihood (low where the input is unlike the
    training data), and the probability of each class. They are calibrated if the run is; the names
    of the columns say so. A name that a spreadsheet would run as a formula gets an apostrophe.
    """
    from tfssl.data.new_inputs import read_new
    from tfssl.runs import predictions_csv
    from tfssl.runs.folder import RunFolder
    from tfssl.runs.trained import TrainedRun

    predictions_csv.check_output(output)
    schema = RunFolder.open(run).schema()
    with quiet_tensorflow():
        from tfssl.models import importance
    x, names = read_new(inputs, schema)
    expect(x.ndim > 0 and len(x) > 0, f"{inputs} must hold at least one input", shape=x.shape)
    trained = TrainedRun(run)
    probabilities = trained.probabilities(x) if raw else trained.calibrated_probabilities(x)
    scores = None
    if samples:
        seen = trained.preprocessing(x).numpy()
        progress = progress_bar("scoring log p(x)")
        scores = importance.log_likelihood(trained.model, seen, samples, progress=progress)
    calibrated = trained.calibration is not None and not raw
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
    from tfssl.runs.predictions_csv import check_output

    table, sheet = to / "suggestions.csv", to / "suggestions.png"
    for path in (table, sheet):
        check_output(path)
    subject = open_subject(run)
    from tfssl.results import suggestions

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
    from rich.table import Table
    from rich.text import Text

    expect(len(runs) >= 2, "compare needs at least two runs", runs=len(runs))
    distinct = {run.resolve() for run in runs}
    expect(len(distinct) == len(runs), "the runs must be different folders", runs=len(runs))
    subjects = [open_subject(run) for run in runs]
    from tfssl.results import comparison

    outcomes = [comparison.Outcome.of(subject) for subject in subjects]
    verdicts = comparison.compare(outcomes)
    table = Table("method", "labels", "error %", "95% interval", "log-loss")
    table.add_column("run", overflow="fold")
    for o in outcomes:
        m = o.metrics
        interval = f"{100 * m['error_low']:.2f} to {100 * m['error_high']:.2f}"
        error, loss = f"{100 * m['error']:.2f}", f"{m['log_loss']:.3f}"
        table.add_row(o.title, str(o.labels), error, interval, loss, Text(o.name))
    console.print(table)
    for v in verdicts:
        if v.p is None:
            say(f"{v.first}  against  {v.second}: {v.evidence}")
            continue
        say(f"{v.first}  against  {v.second}")
        spread = "" if v.half_width is None else f" +- {100 * v.half_width:.2f}"
        adjusted = ", by Holm" if len(verdicts) > 1 else ""
        say(f"  difference {100 * v.difference:+.2f}{spread} points of error; {v.evidence}")
        chance = "could be chance" if v.p > 0.05 else "hardly chance"
        say(f"  p = {v.p:.2g}{adjusted}: {chance}")
