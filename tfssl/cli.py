"""The `tfssl` command: parse, call, print."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from tfssl.commands import data as own_data
from tfssl.commands import demo, devices, results, serving
from tfssl.commands.common import RunArgument, console, quiet_tensorflow
from tfssl.config import load_settings
from tfssl.errors import InputError, expect

app = typer.Typer(
    help="Train a classifier from a few labels and many unlabelled examples.",
    epilog="Examples:  tfssl train  |  tfssl train configs/mnist_m1m2.toml --set m2.epochs=20"
    "  |  tfssl evaluate runs/digits_m1  |  tfssl study --splits 3",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ConfigArgument = Annotated[
    Path | None,
    typer.Argument(help="Settings file (.toml or .json); the defaults (digits) if left out."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, e.g. m2.epochs=40."),
]


@app.command(
    epilog="Examples:  tfssl train configs/digits_m1m2_50.toml --set seed=1 --run-dir runs/a"
    "  |  tfssl train --data pictures/  |  tfssl train --data table.csv --label species"
)
def train(
    config: ConfigArgument = None,
    overrides: SetOption = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Your own data, as `tfssl inspect` takes it; settings that are not given are "
            "chosen to suit it.",
        ),
    ] = None,
    label: own_data.LabelOption = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Where to write; runs/<data>_<model> if left out.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
):
    """Train one experiment, evaluate it and write a run folder."""
    from tfssl import runs

    if data is None:
        expect(label is None, "--label needs --data", hint="Or use --set data.label=NAME.")
        settings, source = load_settings(config, overrides or ()), None
    else:
        settings, source, chosen = own_data.automatic_settings(data, label, config, overrides)
        console.print("settings chosen for the data (all of them: settings.json):")
        own_data.print_chosen(chosen)
    name = Path(settings.data.name).stem if source is None else source.name
    run_dir = run_dir or Path("runs") / f"{name}_{settings.model}"
    if resume:
        runs.RunFolder.open(run_dir).check_settings(settings)
    else:
        runs.RunFolder(run_dir).check_new()
    with quiet_tensorflow():
        from tfssl import training
    run = training.train(settings, run_dir, resume, source)
    print_metrics(run.folder.read_json("metrics.json"))
    console.print(f"run folder: {run.folder.path}", soft_wrap=True)
    console.print(f"watch it:   tensorboard --logdir {run.folder.path}/tensorboard", soft_wrap=True)


@app.command(epilog="Example:  tfssl evaluate runs/digits_m1")
def evaluate(run: RunArgument):
    """Measure a trained run again on its validation and test points."""
    from tfssl import runs

    with quiet_tensorflow():
        from tfssl import training
    trained = runs.TrainedRun(run)
    experiment = training.Experiment.prepare(trained.settings)
    print_metrics(training.evaluate_experiment(experiment, trained.model, trained.classifier))


@app.command(epilog="Example:  tfssl likelihood runs/mnist_m2 --samples 100 --points 10000")
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
    from rich.progress import track

    from tfssl import runs
    from tfssl.files import write_json

    with quiet_tensorflow():
        from tfssl import training
    trained = runs.TrainedRun(run)
    experiment = training.Experiment.prepare(trained.settings)

    def progress(calls):
        return track(calls, "sampling", console=console, transient=True)

    metrics = training.estimate_likelihood(
        experiment, trained.model, part, points, samples, seed, progress
    )
    write_json(trained.folder / "likelihood.json", metrics)
    print_likelihood(metrics)


@app.command(
    epilog="Example:  tfssl study configs/digits_m2_50.toml configs/digits_m1m2_50.toml --splits 10"
)
def study(
    configs: Annotated[
        list[Path] | None,
        typer.Argument(help="Settings files on the same data; M1, M2 and M1+M2 on digits if none."),
    ] = None,
    overrides: SetOption = None,
    splits: Annotated[int, typer.Option(min=1, help="How many random splits.")] = 3,
    folder: Annotated[
        Path, typer.Option("--dir", help="Where results and runs go; finished cells are kept.")
    ] = Path("runs/study"),
    rivals: Annotated[
        str, typer.Option("--baselines", metavar="A,B,...", help="Baselines to compare with.")
    ] = "knn,svm,label_spreading",
):
    """Compare models and baselines on the same splits: a table of mean errors."""
    from tfssl.config import study_defaults

    overrides = overrides or []
    settings = [load_settings(path, overrides) for path in configs or ()]
    settings = settings or study_defaults(overrides)
    with quiet_tensorflow():
        from tfssl import study as study_module
    results = study_module.run_study(settings, range(splits), folder, console.print, words(rivals))
    console.print(study_module.table(results))
    console.print(f"results: {folder}/results   runs: {folder}/runs", soft_wrap=True)


@app.command(
    epilog="Examples:  tfssl reproduce table1 --budget quick  |  tfssl reproduce table1 --labels "
    "100 --models m1_m2,m1_tsvm --splits 5 --jobs 2"
)
def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="table1 (MNIST), table2 (SVHN), table3 (NORB), supervised (MNIST with all labels) "
            "or figure1."
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="N,M,...", help="Numbers of labels, such as 100,600; all if left out."
        ),
    ] = None,
    models: Annotated[
        str, typer.Option(metavar="A,B,...", help="Methods, such as m1_m2,m2,knn; all if left out.")
    ] = "",
    splits: Annotated[
        int | None, typer.Option(min=1, help="How many random splits; 3 or 5 if left out.")
    ] = None,
    budget: Annotated[str, typer.Option(help="full, or quick for a tenth of the epochs.")] = "full",
    validation: Annotated[
        bool,
        typer.Option(help="Hold out validation points to follow training; they are never fitted."),
    ] = True,
    precision: Annotated[
        str,
        typer.Option(
            help="Of the networks: float32, or mixed_bfloat16, faster on hardware that has it."
        ),
    ] = "float32",
    jobs: Annotated[
        int, typer.Option(min=1, help="Cells to run at a time, each with its share of the cores.")
    ] = 1,
    folder: Annotated[
        Path, typer.Option("--dir", help="Where results and runs go; finished cells are kept.")
    ] = Path("runs/reproduce"),
    configs: Annotated[Path, typer.Option(help="The folder of the settings files.")] = Path(
        "configs"
    ),
):
    """Make a table or figure of the paper: run what is missing, print it beside the paper's.

    For supervised and figure1 --labels, --models, --splits and --jobs do not matter, nor
    --no-validation for figure1.
    """
    with quiet_tensorflow():
        from tfssl import paper
        from tfssl import reproduce as module
    everything = (*paper.TABLES, "supervised", "figure1")
    expect(what in everything, f"WHAT must be one of {', '.join(everything)}", what=what)
    expect(
        budget in module.BUDGETS,
        f"--budget must be one of {', '.join(module.BUDGETS)}",
        budget=budget,
    )
    expect(
        precision in module.PRECISIONS,
        f"--precision must be one of {', '.join(module.PRECISIONS)}",
        precision=precision,
    )
    if what == "supervised":
        result = module.run_supervised(
            folder, configs, budget, validation, precision, console.print
        )
        print_likelihood(result["likelihood"])
        console.print("the paper's error by Bayes' rule: 0.96%")
        return
    if what == "figure1":
        for path in module.run_figure1(folder, configs, budget, precision, console.print):
            console.print(f"wrote {path}", soft_wrap=True, markup=False, highlight=False)
        return
    plan = module.Reproduction(
        paper.TABLES[what],
        folder,
        configs,
        words(models),
        () if labels is None else numbers(labels, "--labels"),
        splits,
        budget,
        validation,
        precision,
    )
    results = plan.run(console.print, jobs)
    console.print(paper.terminal_table(plan.table, results))
    console.print(f"results: {folder}/results   runs: {folder}/runs", soft_wrap=True)


@app.command(epilog="Example:  tfssl figures runs/mnist_m2 --to pictures --indices 7910,8150,3623")
def figures(
    run: RunArgument,
    to: Annotated[
        Path | None, typer.Option(help="Where to write; RUN/figures if left out.")
    ] = None,
    indices: Annotated[
        str | None,
        typer.Option(metavar="I,J,...", help="Test points to show; one of each class if left out."),
    ] = None,
):
    """Draw a trained run: analogies and style grids (the paper's figure 1), samples, curves."""
    from tfssl import runs

    chosen = None if indices is None else list(numbers(indices, "--indices"))
    runs.RunFolder.open(run).check_finished()
    with quiet_tensorflow():
        from tfssl import gallery
    written, skipped = gallery.write_figures(run, to, chosen)
    for path in written:
        console.print(f"wrote {path}", soft_wrap=True, markup=False, highlight=False)
    for name, reason in skipped.items():
        console.print(f"skipped {name}: {reason}", soft_wrap=True, markup=False, highlight=False)


app.command(
    epilog="Examples:  tfssl inspect pictures/ --pictures sheet.png"
    "  |  tfssl inspect table.csv --label species"
)(own_data.inspect)
app.command(epilog="Example:  tfssl init table.csv --label species --output species.toml")(
    own_data.init
)
app.command(
    epilog="Example:  tfssl predict runs/digits_m1 new.npz --output new.csv --abstain-below 0.9"
)(results.predict)
app.command(epilog="Example:  tfssl calibrate runs/digits_m2 --on labelled --folds 3")(
    results.calibrate
)
app.command(epilog="Example:  tfssl report runs/digits_m1 --output report.html")(results.report)
app.command(epilog="Example:  tfssl suggest runs/digits_m1 -n 20")(results.suggest)
app.command(epilog="Example:  tfssl compare runs/digits_m1 runs/digits_m2")(results.compare)
app.command(
    epilog="Examples:  tfssl export runs/digits_m1 --name digits"
    "  |  tfssl export runs/digits_m1 --tflite f32,int8"
)(serving.export)
app.command(epilog="Example:  tfssl check-export saved_models/digits/1")(serving.check_export)
app.command(epilog="Example:  tfssl serve-config digits mnist")(serving.serve_config)
app.command(epilog="Example:  tfssl serve digits mnist --port 8501")(serving.serve)
app.command(
    epilog="Example:  tfssl classify-on-device saved_models/digits/tflite/1/classify_int8.tflite "
    "seven.png"
)(devices.classify_on_device)
app.command(epilog="Example:  tfssl demo --run runs/mnist_m1m2 --port 8080")(demo.demo)


def words(text):
    """ "m2, m1_m2" -> ("m2", "m1_m2")."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def numbers(text, option):
    """ "7910,8150" -> (7910, 8150)."""
    parts = words(text)
    expect(
        bool(parts) and all(part.isdecimal() for part in parts),
        f"{option} must be numbers with commas between, such as 100,600",
        received=text,
    )
    return tuple(int(part) for part in parts)


def print_metrics(metrics):
    labels = metrics["labels"]
    console.print(
        f"labels used: {labels['training']} for training, "
        f"{labels['model_selection']} for model selection"
    )
    for name in ("validation", "test"):
        if name not in metrics:
            continue
        m = metrics[name]
        console.print(
            f"{name} error: {100 * m['error']:.2f}% "
            f"(95% interval {100 * m['error_low']:.2f} to {100 * m['error_high']:.2f}, "
            f"{m['examples']} points), log-loss {m['log_loss']:.3f} nats, "
            f"calibration error {m['calibration_error']:.3f}",
            soft_wrap=True,
        )
        for term, value in m["bounds"].items():
            console.print(f"  {term:20} {value:10.3f}")


def print_likelihood(metrics):
    console.print(
        f"{metrics['part']} log p(x): {metrics['log_likelihood']:.2f} nats "
        f"(standard error {metrics['log_likelihood_error']:.2f} over {metrics['points']} points), "
        f"{metrics['samples']} samples; its bound {metrics['bound']:.2f}",
        soft_wrap=True,
    )
    for name, title in (("recognition", "q(y|x)"), ("bayes", "Bayes' rule")):
        if name not in metrics:
            continue
        m = metrics[name]
        console.print(
            f"{metrics['part']} error by {title}: {100 * m['error']:.2f}% "
            f"(95% interval {100 * m['error_low']:.2f} to {100 * m['error_high']:.2f})",
            soft_wrap=True,
        )


def main():
    """Run the command; bad input and what the disk refuses end with a message and exit code 2."""
    try:
        app()
    except InputError as error:
        print(f"tfssl: error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # whoever read the output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"tfssl: error: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(
            "tfssl: interrupted; the same command goes on (train: with --resume)", file=sys.stderr
        )
        sys.exit(130)


if __name__ == "__main__":
    main()
