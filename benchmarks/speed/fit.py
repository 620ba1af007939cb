"""What Keras, tf.data and the callbacks add to the bare step: `fit` as `tfssl train` runs it."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from benchmarks.speed.turns import summary
from tfssl.data.experiment import Experiment
from tfssl.data.source import Source
from tfssl.runs.folder import RunFolder
from tfssl.settings import load_settings
from tfssl.training import build
from tfssl.training.fit import Place, fit
from tfssl.training.strategy import make_strategy

# The steps of benchmarks.speed.cases, as settings of a run on as many images as MNIST trains on.
NUM_EXAMPLES, NUM_LABELLED = 50_000, 100
CASES = {
    "m2_100_1000": ["model=m2", "m2.batch_size=1000"],
    "m2_100_100": ["model=m2", "m2.batch_size=100"],
    "m1_250": ["model=m1", "m1.batch_size=250"],
    "m2_on_z1": ["model=m1m2", "m2.batch_size=100", "m2.active_threshold=0"],
}
SHARED = [
    "likelihood=bernoulli",
    "data.num_test=0",
    f"data.num_labelled={NUM_LABELLED}",
    "m1.hidden_units=[600,600]",
    "m1.epochs=1",
    "m2.hidden_units=[500]",
    "m2.labelled_batch_size=100",
    "m2.supervised_steps=0",
]


class Epochs(keras.callbacks.Callback):
    """Times every epoch, and after it as many calls of `train_step` on one and the same batch."""

    def __init__(self, stage):
        super().__init__()
        self.network, self.batch = stage.network, next(iter(stage.batches(0)))
        self.fitted, self.bare, self.step = [], [], None

    def on_epoch_begin(self, epoch, logs=None):
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        steps = self.params["steps"]
        self.fitted.append((time.perf_counter() - self.started) / steps)
        if self.step is None:
            self.step = tf.function(self.network.train_step)
            self.step(self.batch)
        started = time.perf_counter()
        for _ in range(steps):
            self.step(self.batch)["loss"].numpy()
        self.bare.append((time.perf_counter() - started) / steps)


def random_images(count):
    """As many labelled grey images as asked for, with the shape and type of MNIST."""
    rng = np.random.default_rng(0)
    x, label = rng.integers(0, 256, (count, 28, 28), np.uint8), np.arange(count) % 10
    names = tuple("0123456789")
    return Source("random", x, label, x[:0], label[:0], names, levels=255)


def train(settings, source, watch):
    """Fit M1, or M2 on x or on an untrained M1, in a run folder that is thrown away.

    Args:
      settings: `Settings`.
      source: a `Source`.
      watch: Stage -> a callback, which is returned.
    """
    experiment, strategy = Experiment.prepare(settings, source), make_strategy("default")
    if settings.model == "m2":
        stage = build.m2_stage(experiment, strategy)
    else:
        stage = build.m1_stage(experiment, strategy)
    if settings.model == "m1m2":
        stage, _ = build.stack_stage(experiment, strategy, stage.network)
    watching = watch(stage)
    with tempfile.TemporaryDirectory() as folder:
        place = Place(
            strategy, folder=RunFolder.create(Path(folder) / "run", settings), verbose=False
        )
        fit(replace(stage, callbacks=(*stage.callbacks, watching)), place)
    return watching


def measure(rounds, tiny):
    """{case: seconds per step in `fit` and bare, and the overhead}, the first epoch left out."""
    source = random_images(400 if tiny else NUM_EXAMPLES)
    results = {}
    for name, overrides in CASES.items():
        print(f"fit of {name} ...", flush=True)
        stage = "m1" if name.startswith("m1") else "m2"
        epochs = [f"{stage}.epochs={rounds + 1}", f"{stage}.evaluate_every={rounds + 1}"]
        settings = load_settings(None, [*SHARED, *overrides, *epochs])
        epochs_seen = train(settings, source, Epochs)
        fitted, bare = epochs_seen.fitted[1:], epochs_seen.bare[1:]
        results[name] = {
            "fit": summary(fitted),
            "bare": summary(bare),
            "overhead": float(np.median(fitted) / np.median(bare) - 1.0),
        }
    return results
