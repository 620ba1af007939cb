"""Shared fixtures. What TensorFlow reads when it is imported is set before anything does."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest

import tfssl  # noqa: F401  # turns oneDNN on


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def call():
    """A function that runs the command in this process: (exit code, output, error)."""
    from typer.testing import CliRunner

    from tfssl import cli
    from tfssl.errors import InputError

    def call(*arguments):
        result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
        if isinstance(result.exception, InputError):
            return 2, result.output, str(result.exception)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output, result.stderr

    return call


@pytest.fixture
def grid_tile():
    """A function that cuts a tile out of a grid that `tfssl.pictures.drawing` drew."""
    from tfssl.pictures import drawing

    def cut(picture, shape, row, column):
        """The tile's pixels; `shape` is [rows, columns, height, width] of the grid's tiles."""
        rows, columns, height, width = shape
        pixels = np.asarray(picture)
        bottom, right = (edge - drawing.MARGIN + drawing.GAP for edge in pixels.shape[:2])
        top = bottom - (rows - row) * (height + drawing.GAP)
        left = right - (columns - column) * (width + drawing.GAP)
        return pixels[top : top + height, left : left + width]

    return cut
