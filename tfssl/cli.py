"""The `tfssl` command: parse, call, print."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands import data as own_data
from tfssl.commands import demo, devices, export, paper, runs
from tfssl.commands.common import RunArgument, SetOption, console, quiet_tensorflow, say_calibration
from tfssl.errors import InputError, expect
from tfssl.settings import load_settings

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
    from tfssl.runs.folder import RunFolder

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
        RunFolder.open(run_dir).check_settings(settings)
    else:
        RunFolder(run_dir).check_new()
    with quiet_tensorflow():
        from tfssl.pictures.of_model import training_pictures
        from tfssl.training.run import train
    run = train(settings, run_dir, resume, source, training_pictures)
    print_metrics(run.folder.read_json("metrics.json"))
    say_calibration(run.folder)
    console.print(f"run folder: {run.folder.path}", soft_wrap=True)
    console.print(f"watch it:   tensorboard --logdir {run.folder.path}/tensorboard", soft_wrap=True)


@app.command(epilog="Example:  tfssl evaluate runs/digits_m1")
def evaluate(run: RunArgument):
    """Measure a trained run again on its validation and test points."""
    from tfssl.runs.trained import TrainedRun

    with quiet_tensorflow():
        from tfssl.runs.evaluation import evaluate_experiment
        from tfssl.runs.opened import experiment_of
    trained = TrainedRun(run)
    experiment = experiment_of(trained)
    print_metrics(evaluate_experiment(experiment, trained.model, trained.classifier))


app.command(epilog="Example:  tfssl likelihood runs/mnist_m2 --samples 100 --points 10000")(
    paper.likelihood
)
app.command(
    epilog="Example:  tfssl study configs/digits_m2_50.toml configs/digits_m1m2_50.toml --splits 10"
)(paper.study)
app.command(
    epilog="Examples:  tfssl reproduce table1 --budget quick  |  tfssl reproduce table1 --labels "
    "100 --models m1_m2,m1_tsvm --splits 5 --jobs 2 --set device.precision=mixed_bfloat16"
)(paper.reproduce)
app.command(epilog="Example:  tfssl figures runs/mnist_m2 --to pictures --indices 7910,8150,3623")(
    paper.figures
)
app.command(
    epilog="Examples:  tfssl inspect pictures/ --pictures sheet.png"
    "  |  tfssl inspect table.csv --label species"
)(own_data.inspect)
app.command(epilog="Example:  tfssl init table.csv --label species --output species.toml")(
    own_data.init
)
app.command(
    epilog="Example:  tfssl predict runs/digits_m1 new.npz --output new.csv --abstain-below 0.9"
)(runs.predict)
app.command(epilog="Example:  tfssl calibrate runs/digits_m2 --on labelled --folds 3")(
    runs.calibrate
)
app.command(epilog="Example:  tfssl report runs/digits_m1 --output report.html")(runs.report)
app.command(epilog="Example:  tfssl suggest runs/digits_m1 -n 20")(runs.suggest)
app.command(epilog="Example:  tfssl compare runs/digits_m1 runs/digits_m2")(runs.compare)
app.command(
    epilog="Examples:  tfssl export runs/digits_m1 --name digits"
    "  |  tfssl export runs/digits_m1 --tflite f32,int8"
)(export.export)
app.command(epilog="Example:  tfssl check-export saved_models/digits/1")(export.check_export)
app.command(epilog="Example:  tfssl serve-config digits mnist")(export.serve_config)
app.command(epilog="Example:  tfssl serve digits mnist --port 8501")(export.serve)
app.command(
    epilog="Example:  tfssl classify-on-device saved_models/digits/tflite/1/classify_int8.tflite "
    "seven.png"
)(devices.classify_on_device)
app.command(epilog="Example:  tfssl demo --run runs/mnist_m1m2 --port 8080")(demo.demo)


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
