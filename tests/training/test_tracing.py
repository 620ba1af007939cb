"""TensorFlow's word on retracing."""

import numpy as np
import tensorflow as tf

from tfssl import SemiSupervisedClassifier
from tfssl.training.tracing import RETRACING, several_networks


def test_fits_of_several_networks_are_no_reason_to_warn(caplog):
    x = np.random.default_rng(0).normal(size=(24, 2))
    y = np.where(np.arange(24) < 6, np.arange(24) % 2, -1)
    small = {"hidden_units": (2,), "latent_dim": 1, "epochs": 1, "supervised_steps": 0}
    with caplog.at_level("WARNING", logger="tensorflow"):  # the command turns it down
        for _ in range(6):
            SemiSupervisedClassifier("m2", calibrate=False, random_state=0, **small).fit(x, y)
    assert RETRACING not in caplog.text


def test_other_warnings_are_heard(caplog):
    with caplog.at_level("WARNING", logger="tensorflow"):
        with several_networks():
            tf.get_logger().warning("something else")
        tf.get_logger().warning(RETRACING)
    assert "something else" in caplog.text
    assert RETRACING in caplog.text
