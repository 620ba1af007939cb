"""Commands for what leaves the workshop: export a run, check it, serve it."""

import contextlib
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import RunArgument, console, quiet_tensorflow, say_calibration
from tfssl.errors import expect

FOLDER = Path("saved_models")

NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME", help="Exported models.")]
FromOption = Annotated[Path, typer.Option("--from", help="The folder of the exported models.")]


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
    from tfssl.commands.devices import conversion_progress, parse_quantisations, print_files
    from tfssl.export.versions import check_folder, check_name
    from tfssl.runs.folder import RunFolder

    check_name(run.resolve().name if name is None else name)
    check_folder(to)
    quantisations = () if tflite is None else parse_quantisations(tflite)
    RunFolder.open(run).check_finished()
    with quiet_tensorflow():
        from tfssl.devices.files import write_device_files
        from tfssl.export import saved_model

    def for_devices(stage, trained, reference):
        if quantisations:
            progress = conversion_progress
            write_device_files(stage.tflite, trained, quantisations, reference, progress)

    with cleaning_up_when_terminated():
        version, comparisons = saved_model.export(run, to, name, for_devices)
    print_comparisons(comparisons)
    if quantisations:
        print_files(version.tflite)
    say_calibration(RunFolder(run))
    console.print(f"exported:   {version.path}", soft_wrap=True, highlight=False)
    console.print(f"model card: {version.card}/card.md", soft_wrap=True, highlight=False)
    console.print(
        f"serve it:   tfssl serve {version.model_dir.name} --from {to}",
        soft_wrap=True,
        highlight=False,
    )


@contextlib.contextmanager
def cleaning_up_when_terminated():
    """Let SIGTERM end the command like an error does; Python would stop at once."""
    previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


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
    from tfssl.export.versions import Version

    version = Version.open(folder)
    with quiet_tensorflow():
        from tfssl.export import check
        from tfssl.runs.trained import TrainedRun
    comparisons = check.check_version(version, None if run is None else TrainedRun(run))
    print_comparisons(comparisons)
    console.print(f"good: {version.path}", soft_wrap=True, highlight=False)


def serve_config(
    names: NamesArgument,
    folder: FromOption = FOLDER,
    to: Annotated[Path, typer.Option(help="Where to write.")] = Path("serving"),
    image: Annotated[
        str, typer.Option(help="TF Serving's container image.")
    ] = "tensorflow/serving",
):
    """Write what TF Serving needs to serve exported models, and print how to start it.

    models.config, batching.config, compose.yaml and docker-run.sh; the ports are bound to loopback.
    """
    with quiet_tensorflow():
        from tfssl.serving import tf_serving
    written, command = tf_serving.write_serving_config(folder, names, to, image)
    for path in written:
        console.print(f"wrote {path}", soft_wrap=True, markup=False, highlight=False)
    console.print(command, soft_wrap=True, markup=False, highlight=False)


def serve(
    names: NamesArgument,
    folder: FromOption = FOLDER,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8501,
    host: Annotated[
        str, typer.Option(help="The address to bind to; 0.0.0.0 for every network.")
    ] = "127.0.0.1",
    max_megabytes: Annotated[int, typer.Option(min=1, help="The largest body of a request.")] = 16,
):
    """Serve exported models over HTTP by KServe: TF Serving's REST and the V2 protocol."""
    expect_kserve()
    with quiet_tensorflow(), hidden_arguments():
        from tfssl.serving import server
    made = server.make_server(folder, names, max_megabytes * 2**20)
    with server.listen(host, port) as listener:
        address = f"http://{host}:{listener.getsockname()[1]}"
        for name in names:
            console.print(
                f"serving {name}: {address}/v1/models/{name}:predict", soft_wrap=True, markup=False
            )
        console.print("stop it with Ctrl-C")
        server.run(made, listener)


@contextlib.contextmanager
def hidden_arguments():
    """Hide the command line from KServe, which reads it when it is imported."""
    saved, sys.argv = sys.argv, sys.argv[:1]
    try:
        yield
    finally:
        sys.argv = saved


def expect_kserve():
    """Fail unless the extra that brings KServe is installed."""
    from importlib.util import find_spec

    expect(
        find_spec("kserve") is not None,
        "serving needs KServe",
        hint='Install it with `pip install "tfssl[serve]"`.',
    )


def print_comparisons(comparisons):
    from rich.table import Table

    table = Table("signature", "inputs", "outputs", "off by at most")
    for c in comparisons:
        table.add_row(c.signature, ", ".join(c.inputs), ", ".join(c.outputs), f"{c.deviation:.1e}")
    console.print(table)
    console.print(f"by TensorFlow's C++ loader, on {comparisons[0].rows} inputs of the run's data")
