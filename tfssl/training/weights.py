"""Which weights are measured and kept: averages over the last steps, those of the best epoch."""

import keras
import numpy as np

from tfssl.storage.archives import damaged, read_arrays
from tfssl.storage.files import atomic_path


def averaged_variables(model):
    """Pairs (weight, its moving average); empty if the optimizer keeps none."""
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    if not optimizer.use_ema:
        return []
    averages = optimizer._model_variables_moving_average
    return list(zip(model.trained, averages, strict=True))


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
