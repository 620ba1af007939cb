"""The stages of an experiment: which network, on which inputs, for how long.

M1 learns from every training input, M2 from x itself, and M2 of the stack from q(z1|x) of a trained
M1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tfssl.data import batches
from tfssl.data.batches import in_batches
from tfssl.data.on_disk import Rows
from tfssl.models import M1, ONE_STAGE, LatentM2, StackedM1M2, active_dimensions
from tfssl.models.enumeration import TruncateLater
from tfssl.models.noise import stream
from tfssl.models.optimizers import HoldThenDecay
from tfssl.training.stage import MAX_STEPS_PER_CALL, Stage, largest_divisor, plan_epoch
from tfssl.training.strategy import per_replica

NUM_FOR_CHANCE = 1000
LEAST_EVALUATION_BATCH = 500


@dataclass(frozen=True)
class Waiting:
    """How inputs wait to be learned from, and what is left to do with a batch of them.

    Attributes:
      store: stored inputs [N, ...] -> what waits, an array or `Rows`.
      transform: a batch of that -> what the network sees; None if it is that already.
    """

    store: Callable[[Any], Any]
    transform: Callable[[Any], Any] | None


def waiting(experiment):
    """On disk, as compact images, or as what the model sees.

    To find the components of every batch anew takes long; only inputs that do not fit into memory,
    and images that are moved at every step, are treated so.
    """
    x, preprocessing = experiment.split.x_unlabelled, experiment.preprocessing
    compact = x.dtype == np.uint8 and preprocessing.components is None
    if compact or isinstance(x, Rows) or experiment.settings.data.max_shift > 0:
        return Waiting(lambda x: x, preprocessing)
    return Waiting(lambda x: in_batches(preprocessing, x), None)


def waiting_features(experiment, stack):
    """As q(z1|x) of the stack's M1, computed once unless x itself changes at every step."""

    def features(x):
        return stack.features(experiment.preprocessing(x))

    if experiment.settings.data.max_shift > 0:
        return Waiting(lambda x: x, features)
    return Waiting(lambda x: in_batches(features, x), None)


def m1_stage(experiment, strategy):
    """M1 on every training input, without labels."""
    settings, preprocessing = experiment.settings, experiment.preprocessing
    with strategy.scope():
        m1 = M1(
            preprocessing.dim,
            settings.m1.latent_dim,
            settings.m1.hidden_units,
            settings.likelihood,
            preprocessing.total_count,
            seed=settings.seed,
            binary_columns=preprocessing.binary_columns,
            dtype=settings.device.precision,
        )
    inputs = waiting(experiment)
    x = inputs.store(experiment.split.x_train)
    rows = per_replica(settings.m1.batch_size, strategy)

    def unlabelled(start_step):
        seed = stream(settings.seed, "m1")
        shift = settings.data.max_shift
        return batches.unlabelled(x, rows, seed, inputs.transform, start_step, shift)

    steps, steps_per_call = plan_epoch(len(x), settings.m1.batch_size)
    warmup_steps = settings.m1.kl_warmup * settings.m1.epochs * steps
    return Stage(
        "m1",
        m1,
        unlabelled,
        steps,
        steps_per_call,
        chance=_chance(m1, x, inputs),
        validation=_validation(experiment, inputs, settings.m1),
        compile_options={"kl_warmup_steps": warmup_steps},
        **_schedule(settings.m1, steps),
    )


def m2_stage(experiment, strategy, m2=None):
    """M2, or another model of `ONE_STAGE`, on x itself.

    Args:
      experiment: an `Experiment`.
      strategy: from `strategy.make_strategy`.
      m2: the network of another such stage, for `Refittable`: it keeps N_l, N_u and p(y) that it
        was made with.
    """
    settings, dim = experiment.settings, experiment.preprocessing.dim
    if m2 is None:
        with strategy.scope():
            columns = {"binary_columns": experiment.preprocessing.binary_columns}
            cls = ONE_STAGE[settings.model]
            m2 = _make_m2(cls, experiment, dim, settings.likelihood, **columns)
    return _m2_stage(experiment, strategy, m2, waiting(experiment))


def stack_stage(experiment, strategy, m1, stack=None):
    """(stage, stack): M2 on q(z1|x) of a trained M1, and the `StackedM1M2` that it completes.

    Args:
      experiment, strategy: as in `m2_stage`.
      m1: the trained M1.
      stack: that of another such stage, for `Refittable`.
    """
    if stack is not None:
        inputs = waiting_features(experiment, stack)
        return _m2_stage(experiment, strategy, stack.m2, inputs), stack
    settings, preprocessing = experiment.settings.m2, experiment.preprocessing
    latents = in_batches(lambda x: m1.latents(preprocessing(x)), experiment.split.x_train)
    active = active_dimensions(latents, settings.active_threshold)
    with strategy.scope():
        own = {"noise_scale": settings.noise_scale}
        m2 = _make_m2(LatentM2, experiment, len(active), "gaussian", **own)
        stack = StackedM1M2(m1, m2, active)
    inputs = waiting_features(experiment, stack)
    return _m2_stage(experiment, strategy, m2, inputs), stack


def _make_m2(cls, experiment, input_dim, likelihood, **options):
    settings, parts = experiment.settings.m2, experiment.split
    return cls(
        input_dim,
        experiment.source.num_classes,
        len(parts.label),
        len(parts.x_unlabelled),
        settings.latent_dim,
        settings.hidden_units,
        likelihood,
        experiment.preprocessing.total_count,
        settings.posterior_scale,
        experiment.class_prior,
        settings.classification_weight,
        settings.top_classes,
        labelled_share=settings.labelled_share,
        seed=experiment.settings.seed,
        dtype=experiment.settings.device.precision,
        **options,
    )


def _m2_stage(experiment, strategy, m2, inputs):
    """M2's stage on inputs that wait, after a warm start on the labelled ones alone."""
    settings, parts = experiment.settings.m2, experiment.split
    labelled = (inputs.store(parts.x_labelled), parts.label)
    unlabelled = inputs.store(parts.x_unlabelled) if len(parts.x_unlabelled) else None
    sizes = (settings.labelled_batch_size, settings.batch_size)
    rows = [per_replica(size, strategy) for size in sizes]

    def batches_of(name, unlabelled):
        def dataset(start_step):
            return batches.semi_supervised(
                labelled,
                unlabelled,
                m2.num_classes,
                rows,
                stream(experiment.settings.seed, name),
                inputs.transform,
                start_step,
                experiment.settings.data.max_shift,
            )

        return dataset

    if unlabelled is None:
        steps, steps_per_call = plan_epoch(len(parts.label), settings.labelled_batch_size)
    else:
        steps, steps_per_call = plan_epoch(len(unlabelled), settings.batch_size)
    truncated = settings.top_classes is not None
    later = TruncateLater(settings.full_enumeration, m2.enumeration)
    stage = Stage(
        "m2",
        m2,
        batches_of("m2", unlabelled),
        steps,
        steps_per_call,
        chance=_chance(m2, labelled[0], inputs),
        validation=_validation(experiment, inputs, settings),
        callbacks=(later,) if truncated else (),
        **_schedule(settings, steps),
    )
    if not settings.supervised_steps:
        return stage
    name = "m2 on labels alone"
    return replace(stage, warm_start=_warm_start(name, stage, batches_of(name, None), settings))


def _warm_start(name, stage, labelled_batches, settings):
    """The short stage on labels alone that comes before M2's `stage`."""
    options = {"only": "classifier"} if settings.warm_start == "classifier" else {}
    return Stage(
        name,
        stage.network,
        labelled_batches,
        settings.supervised_steps,
        largest_divisor(settings.supervised_steps, MAX_STEPS_PER_CALL),
        epochs=1,
        learning_rate=settings.learning_rate,
        chance=stage.chance,
        clip_norm=settings.clip_norm,
        compile_options=options,
    )


def _schedule(settings, steps):
    """How long a stage trains and at which rates, of `FitSettings`."""
    all_steps = settings.epochs * steps
    return {
        "epochs": settings.epochs,
        "learning_rate": HoldThenDecay(settings.learning_rate, all_steps, settings.decay_start),
        "averaging_steps": settings.averaging * all_steps,
        "clip_norm": settings.clip_norm,
        "evaluate_every": settings.evaluate_every,
    }


def _chance(network, x, inputs):
    """What the network would lose on inputs that wait if it learned nothing, in nats."""
    x = x[:NUM_FOR_CHANCE]
    return network.chance_loss(x if inputs.transform is None else inputs.transform(x).numpy())


def _validation(experiment, inputs, settings):
    """One pass over the validation points, or None if there are none."""
    parts = experiment.split
    if not len(parts.x_validation):
        return None
    return batches.evaluation(
        inputs.store(parts.x_validation),
        parts.label_validation,
        experiment.source.num_classes,
        max(settings.batch_size, LEAST_EVALUATION_BATCH),
        inputs.transform,
    )
