"""Fit one stage, from its checkpoint if there is one.

An interrupted stage that goes on ends with the same weights as an uninterrupted one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras

from tfssl.models.optimizers import FusedAdam
from tfssl.training.checkpoint import Checkpoint
from tfssl.training.divergence import StopOnDivergence, explain_divergence
from tfssl.training.progress import ShowProgress
from tfssl.training.strategy import distribute, use_jit
from tfssl.training.tracing import several_networks
from tfssl.training.weights import AveragedWeights, SelectedWeights, averaged_variables


@dataclass(frozen=True)
class Fitted:
    """What a stage leaves behind besides its network's weights.

    Attributes:
      history: one dictionary of mean loss terms per epoch.
      seconds: how long it trained, interruptions not counted.
      selected: `SelectedWeights`, those of the epoch with the lowest validation error.
    """

    history: list[dict[str, float]]
    seconds: float
    selected: SelectedWeights


@dataclass(frozen=True)
class Place:
    """Where stages are fitted, and what is kept and shown of it.

    Attributes:
      strategy: from `strategy.make_strategy`.
      jit_compile: as in `DeviceSettings`.
      folder: a `RunFolder` for checkpoints and logs, or None to keep everything in memory.
      checkpoint_seconds: least time between two checkpoints.
      draw: (model, x [N, D], preprocessing) -> {name: picture} for TensorBoard, or None for none.
      verbose: whether to show progress.
    """

    strategy: Any
    jit_compile: bool | str = "auto"
    folder: Any = None
    checkpoint_seconds: float = 0.0
    draw: Callable[..., dict[str, Any]] | None = None
    verbose: bool = True


def fit(stage, place):
    """Train the network of a `Stage` and return what is `Fitted`: it ends with averaged weights."""
    folder = None if place.folder is None else place.folder / stage.name
    if folder is not None:
        folder.mkdir(exist_ok=True)
    path = None if folder is None else folder / "checkpoint.npz"
    begun = path is not None and path.exists()
    if stage.warm_start is not None and not begun:
        # It is short, so a run that is interrupted in it repeats it, with the same result.
        warm_up(stage.warm_start, place)
    network = stage.network
    compile_network(stage, place)
    checkpoint = Checkpoint(path, place.checkpoint_seconds)
    done = checkpoint.restore(network)
    selected = SelectedWeights(None if folder is None else folder / "selected.npz")
    selected.restore(checkpoint.history)
    if done < stage.epochs:
        start_step = done * stage.steps * place.strategy.num_replicas_in_sync
        watching = StopOnDivergence(stage.chance, checkpoint.history)
        callbacks = [watching, AveragedWeights(), *stage.callbacks, *observers(stage, place)]
        with explain_divergence(stage, path), several_networks():
            network.fit(
                distribute(stage.batches(start_step), place.strategy),
                steps_per_epoch=stage.steps,
                initial_epoch=done,
                epochs=stage.epochs,
                validation_data=stage.validation,
                validation_freq=stage.evaluate_every,
                # What is seen of an epoch must be good before it is kept.
                callbacks=[*callbacks, selected, checkpoint],
                shuffle=False,
                verbose=0,
            )
    for weight, average in averaged_variables(network):
        weight.assign(average)
    return Fitted(checkpoint.history, round(checkpoint.elapsed, 1), selected)


def warm_up(stage, place):
    """Train a short `Stage`, of which nothing but the weights is kept."""
    compile_network(stage, place)
    with explain_divergence(stage), several_networks():
        stage.network.fit(
            distribute(stage.batches(0), place.strategy),
            steps_per_epoch=stage.steps,
            epochs=stage.epochs,
            callbacks=[StopOnDivergence(stage.chance)],
            shuffle=False,
            verbose=0,
        )


def compile_network(stage, place):
    """Give the network a new optimizer: Adam, with averaged weights if there is a window."""
    # Keras 3.15 cannot run several steps in one call on several replicas.
    single = place.strategy.num_replicas_in_sync == 1
    with place.strategy.scope():
        optimizer = FusedAdam(
            stage.learning_rate,
            use_ema=stage.averaging_steps > 0,
            ema_momentum=1.0 - 1.0 / max(2.0, stage.averaging_steps),
            global_clipnorm=stage.clip_norm,
        )
        stage.network.compile(
            optimizer=optimizer,
            jit_compile=use_jit(place.jit_compile),
            steps_per_execution=stage.steps_per_call if single else 1,
            stage=stage.name,
            **stage.compile_options,
        )
        # Variables created inside the first step would make TensorFlow trace it twice.
        stage.network.optimizer.build(stage.network.trained)


def observers(stage, place):
    """Callbacks that only look on: progress, and TensorBoard's logs."""
    found: list[keras.callbacks.Callback] = []
    if place.verbose:
        found.append(ShowProgress(stage.name, stage.passes))
    if place.folder is None:
        return found
    logs = place.folder / "tensorboard" / stage.name
    found.append(keras.callbacks.TensorBoard(logs, write_graph=False))
    if stage.draw is not None:
        from tfssl.training.tensorboard import Pictures  # heavy

        found.append(Pictures(stage.draw, logs))
    return found
