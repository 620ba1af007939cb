"""What the commands share."""

import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tfssl.errors import expect

# Names of files and classes are neither markup nor emoji, in lines and in tables.
console = Console(markup=False, emoji=False, highlight=False)

RunArgument = Annotated[Path, typer.Argument(help="A run folder.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting, e.g. m2.epochs=40."),
]


@contextlib.contextmanager
def quiet_tensorflow():
    """Import TensorFlow without the lines that its C++ part prints before logging starts."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    saved = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    gc.disable()  # half a million objects come, and none is garbage: a quarter of the time
    try:
        import tensorflow as tf  # heavy
        import tensorflow_probability  # noqa: F401
    finally:
        gc.enable()
        os.dup2(saved, 2)
        os.close(saved)
    # Every network is traced once; TensorFlow warns of it after the fifth.
    tf.get_logger().setLevel("ERROR")
    yield


def say(text):
    """Print a line, however long, as one."""
    console.print(text, soft_wrap=True)


def say_calibration(folder, raw=False):
    """A line on whether the probabilities of a run are calibrated.

    Args:
      folder: its `RunFolder`.
      raw: whether the user wants them as they are.
    """
    from tfssl.runs.temperature import Calibration  # heavy

    fitted = Calibration.load(folder)
    if folder.settings().model == "auto":
        say("calibrated: by held-out labels, as every answer of a choice")
    elif raw:
        say("not calibrated: --raw")
    elif fitted is None:
        say(f"not calibrated: run `tfssl calibrate {folder.path}`")
    else:
        say(f"calibrated: {fitted}")


def progress_bar(title):
    """A function that wraps a list with a progress bar as it is walked."""
    from rich.progress import track  # heavy

    return lambda steps: track(steps, title, console=console, transient=True)


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
