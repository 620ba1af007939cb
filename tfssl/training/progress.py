"""What a training shows of itself while it runs."""

import time

import keras
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class ShowProgress(keras.callbacks.Callback):
    """A bar with the time left; a line now and then where the output is not a terminal.

    Args:
      title: what is being trained.
      passes: how many an epoch of Keras makes over the data; these are what is counted.
      seconds: time between two lines without a terminal.
    """

    def __init__(self, title, passes=1, seconds=10.0):
        super().__init__()
        self.title = title
        self.passes = passes
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
            self._task = self._bar.add_task(self.title, total=self._total, numbers="compiling")

    @property
    def _total(self):
        return self.params["epochs"] * self.passes

    def on_epoch_end(self, epoch, logs=None):
        begun, done = epoch * self.passes, (epoch + 1) * self.passes
        self._first_epoch = begun if self._first_epoch is None else self._first_epoch
        shown = {k: v for k, v in (logs or {}).items() if k in ("loss", "val_loss", "val_error")}
        numbers = "  ".join(f"{name} {value:.4g}" for name, value in shown.items())
        if self._bar is not None:
            self._bar.update(self._task, completed=done, numbers=numbers)
        elif time.monotonic() - self._printed >= self.seconds:
            self._print_line(done, numbers)

    def on_train_end(self, logs=None):
        if self._bar is not None:
            self._bar.stop()
        elapsed = time.monotonic() - self._started
        self.console.print(f"{self.title}: {self._total} epochs in {elapsed:.0f} s")

    def _print_line(self, done, numbers):
        self._printed = time.monotonic()
        pace = (self._printed - self._started) / (done - self._first_epoch)
        left = pace * (self._total - done)
        self.console.print(
            f"{self.title}: epoch {done}/{self._total}, {left:.0f} s left, {numbers}"
        )
