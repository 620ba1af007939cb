"""One network, compiled once, that is fitted again and again: to other labels, from the start.

To choose between models by folds over a few labels means many short fits of the same network.
TensorFlow would take longer to trace each anew than to run it.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from tfssl.errors import expect
from tfssl.models.optimizers import HoldThenDecay
from tfssl.training.divergence import StopOnDivergence, explain_divergence
from tfssl.training.fit import compile_network
from tfssl.training.stage import unwatched
from tfssl.training.strategy import distribute
from tfssl.training.tracing import several_networks
from tfssl.training.weights import averaged_variables


class Refittable:
    """A `Stage`, and its warm start if it has one, compiled to be fitted many times in memory.

    Each fit begins with the weights that the network had when this was made, with a new optimizer,
    averages and step count: the same batches give the same weights, whatever was fitted before.

    Args:
      stage: a `Stage` without callbacks: M2's `TruncateLater` changes what a step computes.
      place: a `Place`; nothing is written to its folder.
    """

    def __init__(self, stage, place):
        expect(
            not stage.callbacks,
            "a stage that is fitted again and again must not have callbacks",
            hint="Leave m2.top_classes out: every class is then enumerated from first to last.",
            stage=stage.name,
        )
        self.place = place
        self.network = stage.network
        self.stage = unwatched(stage)
        self.steps = self.stage.epochs * self.stage.steps
        # A variable, so that a fit of other length decays its rate in the same trace.
        self._decay_steps = tf.Variable(float(self.steps), trainable=False)
        self._initial = _values(self.network.variables)
        warm = self.stage.warm_start
        self._warm = None if warm is None else _Compiled.of(warm, place)
        self._main = _Compiled.of(self._with_variable_decay(), place)

    def fit(self, stage=None, steps=None):
        """Train from the start, and return the network: it has averaged weights, and keeps them
        until the next fit.

        Args:
          stage: a `Stage` of the same network whose batches are to be learned from, and those of
            its warm start, such as `build.m2_stage` makes of other labels; the first one's if None.
            Batches must have the same shapes.
          steps: how many, rounded up to whole calls into TensorFlow; the stage's own if None. The
            learning rate decays over these, averages reach as far back as ever.
        """
        stage = self.stage if stage is None else stage
        length = self.stage.steps_per_call
        calls = math.ceil((steps or self.steps) / length)
        self._decay_steps.assign(float(calls * length))
        _assign(self.network.variables, self._initial)
        if self._warm is not None:
            warm = self._warm.stage
            self._run(self._warm, stage.warm_start.batches, warm.steps // warm.steps_per_call)
        self._run(self._main, stage.batches, calls)
        for weight, average in averaged_variables(self.network):
            weight.assign(average)
        return self.network

    def _run(self, compiled, batches, calls):
        """Take as many calls of `steps_per_call` steps, each an epoch to Keras."""
        compiled.restart()
        with explain_divergence(compiled.stage), several_networks():
            self.network.fit(
                distribute(batches(0), self.place.strategy),
                steps_per_epoch=compiled.stage.steps_per_call,
                epochs=calls,
                callbacks=[StopOnDivergence(compiled.stage.chance)],
                shuffle=False,
                verbose=0,
            )

    def _with_variable_decay(self):
        rate = self.stage.learning_rate
        if not isinstance(rate, HoldThenDecay):
            return self.stage
        decaying = HoldThenDecay(rate.learning_rate, self._decay_steps, rate.decay_start)
        return replace(self.stage, learning_rate=decaying)


@dataclass(frozen=True)
class _Compiled:
    """What compiling gives a network for one stage: put back, it need not be traced again.

    Attributes:
      stage: the `Stage`.
      optimizer: its optimizer, and `initial`, the values of its variables before the first step.
      function: Keras' function of several steps.
      steps_per_call: how many these are.
    """

    stage: Any
    optimizer: Any
    initial: list
    function: Any
    steps_per_call: int

    @classmethod
    def of(cls, stage, place):
        compile_network(stage, place)
        network = stage.network
        network.make_train_function()
        optimizer = network.optimizer
        initial, function = _values(optimizer.variables), network.train_function
        return cls(stage, optimizer, initial, function, network.steps_per_execution)

    def restart(self):
        """The network as it was when it was compiled for this stage, but for its weights."""
        network = self.stage.network
        _assign(self.optimizer.variables, self.initial)
        network.optimizer, network.train_function = self.optimizer, self.function
        network.steps_per_execution = self.steps_per_call
        # What the first step is traced with.
        network.begin(self.stage.name, **self.stage.compile_options)


def _values(variables):
    return [variable.numpy() for variable in variables]


def _assign(variables, values):
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)
