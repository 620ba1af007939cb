"""Does training with truncated enumeration end where full enumeration ends?

Two real runs, several seeds each:

  mnist    M2 (784-500-z50) at 100 labels, batches of 20 + 100. The first half enumerates all 10
           classes; from there on the second half is trained once in full and once for each number
           of top classes.
  triples  1000 classes: three of scikit-learn's 8x8 digits side by side, "000" to "999", 5 labels
           each. Trained from the start, in full and with 10 top classes.

Errors are on test points, by which nothing is chosen. MNIST comes from `TFSSL_DATA_DIR` or TFDS.
"""

import argparse
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

from tfssl.data import batches
from tfssl.data.loading import load_source
from tfssl.data.splits import split
from tfssl.models import M2
from tfssl.models.enumeration import make_enumeration
from tfssl.models.optimizers import FusedAdam, HoldThenDecay
from tfssl.storage.files import write_json

STEPS_PER_CALL = 20


def mnist(seed, tiny=False):
    """(labelled, unlabelled, test), each (x, label) but the unlabelled."""
    name, num_validation, num_test = ("digits", 0, 100) if tiny else ("mnist", 10_000, 0)
    parts = split(load_source(name), 100, num_validation, num_test, seed)
    return _flat(
        (parts.x_labelled, parts.label), parts.x_unlabelled, (parts.x_test, parts.label_test)
    )


def triples(seed, tiny=False):
    """Three digits side by side, [8, 24]; training and test triples share no digit image."""
    per_class, num_unlabelled, num_test = (1, 200, 100) if tiny else (5, 20_000, 2_000)
    rng = np.random.default_rng(seed)
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 8, 8) / 16.0).astype(np.float32)
    order = rng.permutation(len(images))
    train, test = order[:1200], order[1200:]

    def compose(pool, digits):
        """[N, 3] digits -> [N, 192], each shown by a random image of the pool."""
        of_digit = [pool[labels[pool] == digit] for digit in range(10)]
        shown = np.stack([[rng.choice(of_digit[d]) for d in row] for row in digits])
        return np.concatenate([images[shown[:, i]] for i in range(3)], axis=2).reshape(-1, 192)

    def digits_of(classes):
        return np.stack([classes // 100, classes // 10 % 10, classes % 10], axis=1)

    label = np.repeat(np.arange(1000), per_class)
    label_test = rng.integers(0, 1000, num_test)
    hidden = rng.integers(0, 1000, num_unlabelled)
    return (
        (compose(train, digits_of(label)), label),
        compose(train, digits_of(hidden)),
        (compose(test, digits_of(label_test)), label_test),
    )


def _flat(labelled, unlabelled, test):
    return (
        (labelled[0].reshape(len(labelled[0]), -1), labelled[1]),
        unlabelled.reshape(len(unlabelled), -1),
        (test[0].reshape(len(test[0]), -1), test[1]),
    )


class Training:
    """M2 under training, a stretch of steps at a time.

    Args:
      data: (labelled, unlabelled, test) as made above.
      num_classes: K.
      hidden_units, latent_dim: sizes of M2.
      batch_sizes: (labelled, unlabelled) rows per step.
      learning_rate: Adam's.
      steps: all steps of the run; the rate decays to zero over the second half.
      seed: seed of the weights, the order and the noise.
    """

    def __init__(
        self, data, num_classes, hidden_units, latent_dim, batch_sizes, learning_rate, steps, seed
    ):
        self.labelled, self.unlabelled, self.test = data
        self.batch_sizes, self.seed, self.done = batch_sizes, seed, 0
        self.model = M2(
            self.labelled[0].shape[1],
            num_classes,
            len(self.labelled[1]),
            len(self.unlabelled),
            latent_dim,
            hidden_units,
            seed=seed,
        )
        self.optimizer = FusedAdam(HoldThenDecay(learning_rate, steps, 0.5))
        self.optimizer.build(self.model.trainable_variables)

    def start_from_labels(self, steps):
        """Train on the labelled points alone, with an optimizer of its own."""
        self._fit(FusedAdam(1e-3), None, steps)

    def run(self, steps, top_classes=None):
        """Train for some steps and return the median seconds of one."""
        self.model.enumeration = make_enumeration(None, top_classes, self.model.num_classes)
        seconds = self._fit(self.optimizer, self.unlabelled, steps)
        self.done += steps
        return seconds

    def _fit(self, optimizer, unlabelled, steps):
        self.model.compile(
            optimizer=optimizer, jit_compile=False, steps_per_execution=STEPS_PER_CALL
        )
        transform = _scaled if self.unlabelled.dtype == np.uint8 else None
        dataset = batches.semi_supervised(
            self.labelled,
            unlabelled,
            self.model.num_classes,
            self.batch_sizes,
            self.seed,
            transform,
            self.done,
        )
        timer = StepTimer()
        self.model.fit(dataset, steps_per_epoch=steps, verbose=0, shuffle=False, callbacks=[timer])
        return timer.median()

    def state(self):
        return self.done, [v.numpy() for v in (*self.model.variables, *self.optimizer.variables)]

    def restore(self, state):
        self.done, values = state
        for variable, value in zip(
            (*self.model.variables, *self.optimizer.variables), values, strict=True
        ):
            variable.assign(value)

    def error(self):
        """Test error, %."""
        x, label = self.test
        x = _scaled(x) if x.dtype == np.uint8 else x
        predicted = self.model.predict(x, batch_size=1000, verbose=0).argmax(axis=1)
        return 100.0 * float(np.mean(predicted != label))


class StepTimer(keras.callbacks.Callback):
    """Seconds per step of every call of `STEPS_PER_CALL` steps, but the first, which compiles."""

    def on_train_batch_begin(self, batch, logs=None):
        self.started = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.seconds = [*getattr(self, "seconds", []), time.perf_counter() - self.started]

    def median(self):
        return float(np.median(self.seconds[1:] or self.seconds)) / STEPS_PER_CALL


def _scaled(x):
    return tf.cast(x, tf.float32) / 255.0


def measure_mnist(seed, steps, tiny, top_choices=(1, 2)):
    """Both halves of a run; `steps` must be a multiple of 2 * STEPS_PER_CALL."""
    training = Training(mnist(seed, tiny), 10, (500,), 50, (20, 100), 3e-3, steps, seed)
    training.start_from_labels(200)
    rows = [{"part": "first half", "seconds_per_step": training.run(steps // 2)}]
    rows[0]["test_error"] = training.error()
    half_way = training.state()
    for top in (None, *top_choices):
        training.restore(half_way)
        seconds = training.run(steps // 2, top)
        rows.append(
            {
                "part": "second half",
                "top_classes": top,
                "seconds_per_step": seconds,
                "test_error": training.error(),
            }
        )
    return rows


def measure_triples(seed, steps, tiny, top=10):
    rows = []
    data = triples(seed, tiny)
    hidden_units, supervised_steps = ((10,), STEPS_PER_CALL) if tiny else ((200,), 1000)
    batch_sizes = (20, 10) if tiny else (100, 50)
    for choice in (None, top):
        training = Training(data, 1000, hidden_units, 50, batch_sizes, 1e-3, steps, seed)
        training.start_from_labels(supervised_steps)
        supervised_error = training.error()
        seconds = training.run(steps, choice)
        rows.append(
            {
                "top_classes": choice,
                "seconds_per_step": seconds,
                "supervised_error": supervised_error,
                "test_error": training.error(),
            }
        )
    return rows


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", choices=["mnist", "triples"], required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="default: 5000 (mnist), 200 (triples)")
    parser.add_argument("--tiny", action="store_true", help="less of everything, digits for MNIST")
    parser.add_argument("--output", type=Path, default=Path("docs/results/truncation"))
    arguments = parser.parse_args(argv)
    measure = {"mnist": measure_mnist, "triples": measure_triples}[arguments.run]
    steps = arguments.steps or {"mnist": 5000, "triples": 200}[arguments.run]
    arguments.output.mkdir(parents=True, exist_ok=True)
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        rows = measure(seed, steps, arguments.tiny)
        result = {"run": arguments.run, "seed": seed, "steps": steps, "rows": rows}
        write_json(arguments.output / f"{arguments.run}-{seed}.json", result)
        print(result, flush=True)


if __name__ == "__main__":
    main()
