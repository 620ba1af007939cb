"""Shared fixtures. What TensorFlow reads when it is imported is set before anything does."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest

import tfssl  # noqa: F401  # turns oneDNN on


@pytest.fixture
def rng():
    return np.random.default_rng(0)
