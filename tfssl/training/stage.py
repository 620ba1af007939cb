"""A stage: the training of one network, as a value that can be built, looked at and fitted."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import keras
import tensorflow as tf

from tfssl.data import batches
from tfssl.models.base import GenerativeModel
from tfssl.models.optimizers import HoldThenDecay

MAX_STEPS_PER_CALL = 64


@dataclass(frozen=True)
class Stage:
    """What it takes to train one network.

    Attributes:
      name: of its checkpoint and logs; its noise and the order of its batches depend on it too.
      network: what is trained.
      batches: start_step -> endless dataset of one replica's batches.
      steps: of an epoch.
      steps_per_call: how many TensorFlow runs in one call; divides `steps`.
      epochs: how many.
      learning_rate: Adam's, a number or a schedule.
      chance: what the network would lose if it had learned nothing, in nats.
      passes: how many an epoch makes over the data.
      averaging_steps: how many steps the moving average of the weights reaches back; 0 for none.
      clip_norm: the largest norm of a gradient that the optimizer takes as it is; None for any.
      validation: a dataset to evaluate on, or None.
      evaluate_every: epochs between two evaluations.
      compile_options: what the network's `compile` takes besides.
      callbacks: of this stage alone.
      draw: () -> {name: picture} of the model for TensorBoard, or None.
      warm_start: a short stage of the same network that comes first, or None.
    """

    name: str
    network: GenerativeModel
    batches: Callable[[int], tf.data.Dataset]
    steps: int
    steps_per_call: int
    epochs: int
    learning_rate: float | HoldThenDecay
    chance: float
    passes: int = 1
    averaging_steps: float = 0.0
    clip_norm: float | None = None
    validation: tf.data.Dataset | None = None
    evaluate_every: int = 1
    compile_options: dict[str, Any] = field(default_factory=dict)
    callbacks: tuple[keras.callbacks.Callback, ...] = ()
    draw: Callable[[], dict[str, Any]] | None = None
    warm_start: "Stage | None" = None


def plan_epoch(num_examples, batch_size):
    """Steps of an epoch, and steps of one call into TensorFlow.

    An epoch must be whole calls, or Keras overruns it. So it covers the set once, and goes on into
    the next pass for the few steps that fill the last call.
    """
    steps = batches.steps_per_epoch(num_examples, batch_size)
    if steps <= MAX_STEPS_PER_CALL:
        return steps, steps
    # Of the longer calls, the one that fills up with the fewest steps.
    lengths = range(MAX_STEPS_PER_CALL, MAX_STEPS_PER_CALL // 2, -1)
    steps_per_call = min(lengths, key=lambda length: -steps % length)
    return steps + -steps % steps_per_call, steps_per_call


def unwatched(stage):
    """The same training where nobody looks at its epochs: several make one, none is evaluated.

    Keras takes longer over the end of an epoch than over a dozen small steps.
    """
    passes = largest_divisor(stage.epochs, max(1, MAX_STEPS_PER_CALL // stage.steps))
    return replace(
        stage,
        passes=passes,
        epochs=stage.epochs // passes,
        steps=stage.steps * passes,
        steps_per_call=stage.steps_per_call * passes,
        validation=None,
    )


def largest_divisor(number, limit):
    """The largest divisor of `number` up to `limit`."""
    return max(d for d in range(1, min(number, limit) + 1) if number % d == 0)
