"""Keras callbacks: averaged weights, exact checkpoints, progress, pictures in TensorBoard."""

import json
import time

import keras
import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tfssl.storage.archives import damaged, read_arrays
from tfssl.storage.files import atomic_path


def averaged_variables(model):
    """Pairs (weight, its moving average); empty if the optimizer keeps none."""
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    if not optimizer.use_ema:
        return []
    averages = optimizer._model_variables_moving_average
    return list(zip(model.trainable_variables, averages, strict=True))


class AveragedWeights(keras.callbacks.Callback):
    """Evaluate with the averaged weights and train on with the raw ones.

    Keras' own SwapEMAWeights swaps by adding and subtracting, which rounds the weights each time.
    """

    def on_test_begin(self, logs=None):
        self._raw = [(weight, weight.numpy()) for weight, _ in averaged_variables(self.model)]
        for weight, average in averaged_variables(self.model):
            weight.assign(average)

    def on_test_end(self, logs=None):
        for weight, value in self._raw:
            weight.assign(value)


class SelectedWeights(keras.callbacks.Callback):
    """Keep the averaged weights of the evaluation with the lowest validation error.

    Args:
      path: the .npz file to keep them in, or None for memory only.

    Attributes:
      epoch: the epoch they are from, counted from 1; None before the first evaluation.
      weights: the trainable weights.
    """

    def __init__(self, path=None):
        super().__init__()
        self.path = path
        self.epoch, self.error, self.weights = None, np.inf, None

    def restore(self, history):
        """Go on after `history`, one dictionary per finished epoch.

        The file can be of a later epoch than the checkpoint: training comes by it once more.
        """
        errors = [logs.get("val_error", np.inf) for logs in history]
        if (
            self.path is None
            or not self.path.exists()
            or not np.isfinite(min(errors, default=np.inf))
        ):
            return
        self.error = min(errors)
        arrays = read_arrays(self.path)
        with damaged(self.path):
            self.epoch = int(arrays["epoch"])
            self.weights = [arrays[f"v{i}"] for i in range(len(arrays) - 1)]

    def on_epoch_end(self, epoch, logs=None):
        error = (logs or {}).get("val_error", np.inf)
        if error >= self.error:
            return
        averages = averaged_variables(self.model)
        kept = [average for _, average in averages] or self.model.trainable_variables
        self.epoch, self.error = epoch + 1, error
        self.weights = [variable.numpy() for variable in kept]
        if self.path is not None:
            arrays = {f"v{i}": weight for i, weight in enumerate(self.weights)}
            with atomic_path(self.path) as temporary:
                np.savez(temporary, epoch=self.epoch, **arrays)


class TruncateLater(keras.callbacks.Callback):
    """Enumerate every class at first, and M2's `top_classes` only from some epoch on.

    Args:
      share: the share of all epochs that enumerate fully.
    """

    def __init__(self, share):
        super().__init__()
        self.share = share

    def on_epoch_begin(self, epoch, logs=None):
        full = epoch < self.share * self.params["epochs"]
        if full != self.model.enumerates_fully:
            self.model.enumerates_fully = full
            self.model.make_train_function(force=True)


class Checkpoint(keras.callbacks.Callback):
    """Everything needed to continue as if never interrupted, in one file written atomically.

    Args:
      path: the .npz file, or None to keep the history only.
      seconds: least time between two writes; the last epoch is always written.

    Attributes:
      history: one dictionary per epoch.
      elapsed: seconds of training until the last epoch, interruptions not counted.
    """

    def __init__(self, path, seconds):
        super().__init__()
        self.path = path
        self.seconds = seconds
        self.history = []
        self.elapsed = 0.0
        self._written_at = self._epoch_ended_at = time.monotonic()

    def restore(self, model):
        """Load the checkpoint, if there is one, and return the number of finished epochs."""
        if self.path is None or not self.path.exists():
            return 0
        arrays = read_arrays(self.path)
        with damaged(self.path):
            for i, variable in enumerate(_state(model)):
                variable.assign(arrays[f"v{i}"])
            self.history = json.loads(str(arrays["history"]))
            self.elapsed = float(arrays["elapsed"])
        return len(self.history)

    def on_epoch_end(self, epoch, logs=None):
        now = time.monotonic()
        self.elapsed += now - self._epoch_ended_at
        self._epoch_ended_at = now
        self.history.append({name: float(value) for name, value in (logs or {}).items()})
        due = time.monotonic() - self._written_at >= self.seconds
        if self.path is not None and (due or epoch == self.params["epochs"] - 1):
            self._write()

    def _write(self):
        arrays = {f"v{i}": variable.numpy() for i, variable in enumerate(_state(self.model))}
        with atomic_path(self.path) as temporary:
            np.savez(temporary, history=json.dumps(self.history), elapsed=self.elapsed, **arrays)
        self._written_at = time.monotonic()


def _state(model):
    return [*model.variables, *model.optimizer.variables]


class ShowProgress(keras.callbacks.Callback):
    """A bar with the time left; a line now and then where the output is not a terminal.

    Args:
      title: what is being trained.
      seconds: time between two lines without a terminal.
    """

    def __init__(self, title, seconds=10.0):
        super().__init__()
        self.title = title
        self.seconds = seconds
        self.console = Console()
        self._bar = None

    def on_train_begin(self, logs=None):
        self._started = self._printed = time.monotonic()
        self._first_epoch = None
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[numbers]}"),
                console=self.console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(
                self.title, total=self.params["epochs"], numbers="compiling"
            )

    def on_epoch_end(self, epoch, logs=None):
        self._first_epoch = epoch if self._first_epoch is None else self._first_epoch
        shown = {k: v for k, v in (logs or {}).items() if k in ("loss", "val_loss", "val_error")}
        numbers = "  ".join(f"{name} {value:.4g}" for name, value in shown.items())
        if self._bar is not None:
            self._bar.update(self._task, completed=epoch + 1, numbers=numbers)
        elif time.monotonic() - self._printed >= self.seconds:
            self._print_line(epoch + 1, numbers)

    def on_train_end(self, logs=None):
        if self._bar is not None:
            self._bar.stop()
        elapsed = time.monotonic() - self._started
        self.console.print(f"{self.title}: {self.params['epochs']} epochs in {elapsed:.0f} s")

    def _print_line(self, done, numbers):
        self._printed = time.monotonic()
        pace = (self._printed - self._started) / (done - self._first_epoch)
        left = pace * (self.params["epochs"] - done)
        self.console.print(
            f"{self.title}: epoch {done}/{self.params['epochs']}, {left:.0f} s left, {numbers}"
        )


class Pictures(keras.callbacks.Callback):
    """Write pictures of the model to TensorBoard at the first, the last and some epochs between.

    Args:
      draw: model -> {name: images [N, height, width, channels] in [0, 1]}.
      folder: TensorBoard's log folder.
      times: about how often over the whole training.
    """

    def __init__(self, draw, folder, times=10):
        super().__init__()
        self.draw = draw
        self.writer = tf.summary.create_file_writer(str(folder))
        self.times = times

    def on_epoch_end(self, epoch, logs=None):
        epochs = self.params["epochs"]
        if epoch + 1 != epochs and epoch % max(1, epochs // self.times):
            return
        with self.writer.as_default():
            for name, images in self.draw(self.model).items():
                tf.summary.image(name, images, step=epoch, max_outputs=1)
        self.writer.flush()
