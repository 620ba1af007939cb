"""Commands that export a run and check what was exported."""

import contextlib
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import (
    RunArgument,
    progress_bar,
    quiet_tensorflow,
    say,
    say_calibration,
)
from tfssl.commands.devices import parse_quantisations
from tfssl.commands.printing import print_comparisons, print_files

FOLDER = Path("saved_models")


def export(
    run: RunArgument,
    name: Annotated[
        str | None, typer.Option(help="The model's name; the run folder's if left out.")
    ] = None,
    to: Annotated[Path, typer.Option(help="The folder of the exported models.")] = FOLDER,
    tflite: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Write .tflite files for devices too: f32, f16, dynamic, int8 or several of them.",
        ),
    ] = None,
):
    """Write a run as the next version of a SavedModel for TF Serving, with its model card.

    It is checked as by check-export first; one that fails the check is not kept. The files for
    devices are checked by LiteRT. The probabilities are calibrated if the run is.
    """
    from tfssl.export.versions import check_folder, check_name  # heavy
    from tfssl.runs.folder import RunFolder  # heavy

    check_name(run.resolve().name if name is None else name)
    check_folder(to)
    quantisations = () if tflite is None else parse_quantisations(tflite)
    RunFolder.open(run).check_finished()
    with quiet_tensorflow():
        from tfssl.devices.files import write_device_files  # heavy
        from tfssl.export import saved_model  # heavy

    def for_devices(stage, trained, reference):
        if quantisations:
            progress = progress_bar("converting for devices")
            write_device_files(stage.tflite, trained, quantisations, reference, progress)

    with cleaning_up_when_terminated():
        version, comparisons = saved_model.export(run, to, name, for_devices)
    print_comparisons(comparisons)
    if quantisations:
        print_files(version.tflite)
    say_calibration(RunFolder(run))
    say(f"exported:   {version.path}")
    say(f"model card: {version.card}/card.md")
    say(f"serve it:   tfssl serve {version.model_dir.name} --from {to}")


def check_export(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="An exported model, or one of its versions.")
    ],
    run: Annotated[
        Path | None,
        typer.Option(help="Compare with this run's model, not with what export stored of it."),
    ] = None,
):
    """Run every signature by TensorFlow's C++ loader and compare it with the Keras model."""
    from tfssl.export.versions import Version  # heavy

    version = Version.open(folder)
    with quiet_tensorflow():
        from tfssl.export import check  # heavy
        from tfssl.runs.trained import TrainedRun  # heavy
    comparisons = check.check_version(version, None if run is None else TrainedRun(run))
    print_comparisons(comparisons)
    say(f"good: {version.path}")


@contextlib.contextmanager
def cleaning_up_when_terminated():
    """Let SIGTERM end the command like an error does; Python would stop at once."""
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
