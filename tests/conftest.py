"""Shared fixtures. TensorFlow's C++ log is silenced before anything imports it."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)
