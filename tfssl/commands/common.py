"""What the commands share."""

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

console = Console()

RunArgument = Annotated[Path, typer.Argument(help="A run folder.")]


@contextlib.contextmanager
def quiet_tensorflow():
    """Import TensorFlow without the lines that its C++ part prints before logging starts."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    saved = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        import tensorflow as tf
        import tensorflow_probability  # noqa: F401
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    # Every network is traced once; TensorFlow warns of it after the fifth.
    tf.get_logger().setLevel("ERROR")
    yield
