"""The `tfssl` command: its subcommands, and how it ends."""

import os
import sys
from collections.abc import Callable

import typer

from tfssl.commands import data, demo, devices, export, paper, runs, serving, train
from tfssl.errors import InputError

app = typer.Typer(
    help="Train a classifier from a few labels and many unlabelled examples.",
    epilog="Examples:  tfssl train  |  tfssl train configs/mnist_m1m2.toml --set m2.epochs=20"
    "  |  tfssl evaluate runs/digits_m1  |  tfssl study --splits 3",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# Every command with the examples that its --help ends with, in the order of `tfssl --help`.
COMMANDS: dict[Callable[..., None], str] = {
    train.train: (
        "Examples:  tfssl train configs/digits_m1m2_50.toml --set seed=1 --run-dir runs/a"
        "  |  tfssl train --data pictures/  |  tfssl train --data table.csv --label species"
        "  |  tfssl train --data table.csv --set auto.budget=20  |  tfssl train --data table.csv "
        "--set model=m2"
    ),
    runs.evaluate: "Example:  tfssl evaluate runs/digits_m1",
    runs.likelihood: "Example:  tfssl likelihood runs/mnist_m2 --samples 100 --points 10000",
    paper.study: (
        "Example:  tfssl study configs/digits_m2_50.toml configs/digits_m1m2_50.toml --splits 10"
    ),
    paper.reproduce: (
        "Examples:  tfssl reproduce table1 --budget quick  |  tfssl reproduce table1 --labels "
        "100 --models m1_m2,m1_tsvm --splits 5 --jobs 2 --set device.precision=mixed_bfloat16"
    ),
    runs.figures: "Example:  tfssl figures runs/mnist_m2 --to pictures --indices 7910,8150,3623",
    data.inspect: (
        "Examples:  tfssl inspect pictures/ --pictures sheet.png"
        "  |  tfssl inspect table.csv --label species"
    ),
    data.init: "Example:  tfssl init table.csv --label species --output species.toml",
    runs.predict: (
        "Example:  tfssl predict runs/digits_m1 new.npz --output new.csv --abstain-below 0.9"
    ),
    runs.calibrate: "Example:  tfssl calibrate runs/digits_m2 --on labelled --folds 3",
    runs.report: "Example:  tfssl report runs/digits_m1 --output report.html",
    runs.suggest: "Example:  tfssl suggest runs/digits_m1 -n 20",
    runs.compare: "Example:  tfssl compare runs/digits_m1 runs/digits_m2",
    export.export: (
        "Examples:  tfssl export runs/digits_m1 --name digits"
        "  |  tfssl export runs/digits_m1 --tflite f32,int8"
    ),
    export.check_export: "Example:  tfssl check-export saved_models/digits/1",
    serving.serve_config: "Example:  tfssl serve-config digits mnist",
    serving.serve: "Example:  tfssl serve digits mnist --port 8501",
    devices.classify_on_device: (
        "Example:  tfssl classify-on-device saved_models/digits/tflite/1/classify_int8.tflite "
        "seven.png"
    ),
    demo.demo: "Example:  tfssl demo --run runs/mnist_m1m2 --port 8080",
}
for function, examples in COMMANDS.items():
    app.command(epilog=examples)(function)


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
