"""A training that was interrupted goes on as if it had not been."""

import json
import time

import keras
import numpy as np

from tfssl.storage.archives import damaged, read_arrays
from tfssl.storage.files import atomic_path


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
