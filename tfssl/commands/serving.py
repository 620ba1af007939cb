"""Commands that serve exported models."""

import contextlib
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import quiet_tensorflow, say
from tfssl.commands.export import FOLDER
from tfssl.errors import expect

NamesArgument = Annotated[list[str], typer.Argument(metavar="NAME", help="Exported models.")]
FromOption = Annotated[Path, typer.Option("--from", help="The folder of the exported models.")]


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
        from tfssl.serving import tf_serving  # heavy
    written, command = tf_serving.write_serving_config(folder, names, to, image)
    for path in written:
        say(f"wrote {path}")
    say(command)


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
        from tfssl.serving import server  # heavy
    made = server.make_server(folder, names, max_megabytes * 2**20)
    with server.listen(host, port) as listener:
        address = f"http://{host}:{listener.getsockname()[1]}"
        for name in names:
            say(f"serving {name}: {address}/v1/models/{name}:predict")
        say("stop it with Ctrl-C")
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
    expect(
        find_spec("kserve") is not None,
        "serving needs KServe",
        hint='Install it with `pip install "tfssl[serve]"`.',
    )
