"""`tfssl demo`: a page that runs a trained model in the browser."""

import signal
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tfssl.commands.common import quiet_tensorflow, say


def demo(
    run: Annotated[
        Path | None,
        typer.Option(
            help="A run folder on images; if left out, an MNIST or digits run below runs/ "
            "(trained now if there is none)."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free one.")
    ] = 8000,
    litert: Annotated[
        Path | None,
        typer.Option(help="Folder with the npm package @litertjs/core, instead of fetching it."),
    ] = None,
):
    """Serve a page on which to draw: it is classified in the browser while you draw.

    The page shows the class, the reconstruction, the drawing's style in every class, and a pad to
    move through the styles. The first start fetches LiteRT.js with npm; from then on no network is
    needed.
    """
    from tfssl.demo import assets as litert_js  # heavy
    from tfssl.demo.page_server import PageServer  # heavy
    from tfssl.runs.folder import RunFolder  # heavy

    if run is not None:
        RunFolder.open(run).check_finished()
    # To be told to end is as Ctrl+C, which a shell's background does not know: nothing is left.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="tfssl-demo-") as models:
        folders = {"/models/": Path(models)}
        with PageServer(host, port, folders) as page_server:
            folders["/litert/"] = litert_js.locate(litert) if litert else litert_js.fetch(say)
            write_models(run, Path(models))
            say(f"open {page_server.url}   (Ctrl+C stops it)")
            try:
                page_server.serve_forever()
            except KeyboardInterrupt:
                say("stopped")


def write_models(run, folder):
    """Export the run to show into a folder; train one if there is none."""
    from tfssl.demo import default_run  # heavy

    runs = Path("runs")
    run = run or default_run.find(runs)
    with quiet_tensorflow():
        from tfssl.demo import bundle  # heavy
    if run is None:
        say("no MNIST or digits run below runs/: training M2 on the digits, half a minute")
        run = train_on_digits(runs / default_run.TRAINED_HERE)
    trained = bundle.open_run(run)
    say(f"exporting {run}")
    bundle.write_bundle(trained, folder, say)


def train_on_digits(path):
    """Train M2 on the digits, as `tfssl train --set model=m2` does, and return the run's folder."""
    from tfssl.settings import load_settings  # heavy
    from tfssl.training.run import train  # heavy

    settings = load_settings(None, ["model=m2"])
    return train(settings, path, resume=path.exists()).folder.path
