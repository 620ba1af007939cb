"""Training that diverges: numbers that are not finite, or absurdly large, stop it with a message.

A step whose loss or gradient is not finite fails inside TensorFlow, see `GenerativeModel`, and
changes no weight. Losses that are finite and of no use are found at the end of an epoch.
"""

import contextlib
import itertools

import keras
import numpy as np
import tensorflow as tf

from tfssl.errors import InputError
from tfssl.models.base import NOT_FINITE

ADVICE = "Lower the learning rate, or check the data for extreme values."
# A term of the loss this many times as large as a model's that has learned nothing has diverged.
ABSURD = 10.0
# Steps that such a loss has to heal: with few points an epoch has one or two.
PATIENCE = 50


class DivergenceError(InputError):
    """The loss is no longer a number, or absurdly large."""


@contextlib.contextmanager
def explain_divergence(stage, checkpoint=None):
    """Turn the error of a step that is not finite into a `DivergenceError` that says what and when.

    Args:
      stage: the `Stage` that is trained.
      checkpoint: the file of the last good state, if there may be one.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        if NOT_FINITE not in error.message:
            raise
        step = int(stage.network.optimizer.iterations)  # it has not been counted
        pass_number = step * stage.passes // stage.steps + 1
        terms = ", ".join(stage.network.faulty_terms()) or "the gradient of a finite loss"
        kept = ""
        if checkpoint is not None and checkpoint.exists():
            kept = f" The last good state is kept in {checkpoint}."
        raise DivergenceError(
            f"training of {stage.name} diverged at step {step + 1}, in epoch {pass_number}: "
            f"{terms} not finite.{kept} {ADVICE}"
        ) from None


class StopOnDivergence(keras.callbacks.Callback):
    """Stop with a clear error, before a checkpoint is written, when the loss is of no use.

    That is when a term of an epoch is not finite; or when one is absurd, see `_absurd`, for a
    tenth of all epochs and `PATIENCE` steps on end, or in the last epoch: a short excursion may
    heal.

    Args:
      chance: the loss of a model that has learned nothing, see `chance_loss`.
      history: the epochs before an interruption, one dictionary each.
    """

    def __init__(self, chance, history=()):
        super().__init__()
        self.chance = chance
        self.history = list(history)

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        bad = [name for name, value in logs.items() if not np.isfinite(value)]
        if bad:
            raise DivergenceError(
                f"training diverged in epoch {epoch + 1}: {', '.join(bad)} not finite. {ADVICE}"
            )
        self.history.append(dict(logs))
        absurd = self._absurd(self.history[-1])
        if not absurd:
            return
        epochs = self.params["epochs"]
        patience = max(epochs / 10, PATIENCE / self.params["steps"])
        on_end = itertools.takewhile(self._absurd, reversed(self.history))
        if epoch + 1 == epochs or sum(1 for _ in on_end) >= patience:
            values = ", ".join(f"{name} is {value:.3g}" for name, value in absurd.items())
            raise DivergenceError(
                f"training diverged by epoch {epoch + 1}: {values}, and a model that has learned "
                f"nothing would lose {self.chance:.3g} nats. {ADVICE}"
            )

    def _absurd(self, losses):
        """The terms of an epoch that are `ABSURD` and have not fallen since the first epoch.

        The loss itself also holds the weights' prior and alpha, which know no such limit; and the
        first epoch has the start of training in it.
        """
        first = self.history[0]
        terms = [n for n in self.model.loss_names if n not in ("loss", "weight_prior")]
        limits = {name: max(ABSURD * self.chance, first[name]) for name in terms}
        return {name: losses[name] for name in terms if losses[name] > limits[name]}
